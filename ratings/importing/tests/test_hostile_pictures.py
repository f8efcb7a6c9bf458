"""Hostile pictures: each is decoded or refused with a reason, and none takes the process or its memory."""

import re
from multiprocessing import Pipe
from pathlib import Path
from threading import Thread

import pytest

from ratings.importing.pictures import decoder, decoding
from ratings.importing.pictures.decoder import DIED, Decoder

from .hostile_pictures import hostile_pictures, picture, serve

pytestmark = pytest.mark.slow

MOST_MEMORY = 300 * 2**20
# Files that are whole pictures in spite of all.
GOOD = re.compile(
    "(HTML|a ZIP) behind|twice|one pixel|is animated|in a text|EXIF loop|of HTML|24 million|CMYK|11.9 million"
)


def memory_of(decoder: Decoder) -> int:
    """The most bytes that its process has had."""
    status = Path(f"/proc/{decoder._process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return hostile_pictures()


def test_each_is_decoded_or_refused_and_takes_little_memory(files):
    assert len(files) > 100
    with Decoder() as decoder:
        for name, content in files.items():
            try:
                made = decoder.decode(content)
            except decoding.Unusable as error:
                assert not GOOD.search(name), f"{name}: {error}"
                assert str(error).startswith("it "), name
                assert str(error) != DIED, name
            else:
                for each in (made.small, made.large):
                    assert decoding.checked(each) and b"window.hit" not in each, name
            if Path("/proc").exists():
                assert memory_of(decoder) < MOST_MEMORY, name


def test_where_a_system_lets_nobody_limit_memory_pictures_are_decoded(monkeypatch):
    """As macOS does."""

    def refused(*arguments) -> None:
        raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(decoder.resource, "setrlimit", refused)
    ours, theirs = Pipe()
    ours.send_bytes(picture("PNG"))
    Thread(target=decoder._serve, args=[theirs], daemon=True).start()
    assert ours.poll(60) and decoding.DecodedPicture(*ours.recv()).width == 120
    ours.close()


def test_a_decoder_that_dies_or_hangs_gives_a_reason_and_another_goes_on(monkeypatch):
    monkeypatch.setattr("ratings.importing.pictures.decoder._serve", serve)
    good = picture("PNG")
    with Decoder(seconds=2) as decoder:
        for content, said in ((b"die", DIED), (b"hang", "it was not decoded within 2 seconds")):
            monkeypatch.setattr(decoder, "seconds", 60)
            decoder.decode(good)
            before = decoder._process.pid
            monkeypatch.setattr(decoder, "seconds", 2)
            with pytest.raises(decoding.Unusable, match=said):
                decoder.decode(content)
            monkeypatch.setattr(decoder, "seconds", 60)
            assert decoder.decode(good).width == 120
            assert decoder._process.pid != before
