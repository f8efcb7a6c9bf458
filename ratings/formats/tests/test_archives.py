"""ZIP and tar: each file in them is a file of its own, and no archive can do harm."""

import gzip
import io
import os
import stat
import tarfile
import zipfile
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pytest

from ratings.formats import archives
from ratings.formats.archives import files_of
from ratings.formats.budget import Budget
from ratings.formats.refusal import Refusal, Refused
from ratings.formats.registry import certain_kind
from ratings.formats.source import Source


def zst(content: bytes) -> bytes:
    return pa.Codec("zstd").compress(content, asbytes=True)


def zipped(files: dict, method: int = zipfile.ZIP_DEFLATED, **changes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = method
            for what, value in changes.items():
                setattr(entry, what, value)
            archive.writestr(entry, content)
    return out.getvalue()


def tarred(files: dict, format: int = tarfile.PAX_FORMAT, **changes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            for what, value in changes.items():
                setattr(entry, what, value)
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def lines_of(content: bytes, *, whole: Budget | None = None) -> list:
    """The name of each file, and its lines, or the problem where there is one."""
    found = []
    with ExitStack() as stack:
        files = files_of(Source("a", io.BytesIO(content), whole=whole), stack)
        for source in list(files):
            rows = list(source.lines())
            found.append((source.name, [r.problem if isinstance(r, Refusal) else r.text for r in rows]))
    return found


TWO = {"one.run": b"1\n2\n", "folder/two.run": b"3\n"}
READ = [("a/one.run", ["1", "2"]), ("a/folder/two.run", ["3"])]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zst])
@pytest.mark.parametrize("archive", [zipped, tarred])
def test_each_file_of_an_archive_is_a_file_of_its_own(archive, pack):
    assert lines_of(pack(archive(TWO))) == READ


@pytest.mark.parametrize("pack", [gzip.compress, zst])
@pytest.mark.parametrize("archive", [zipped, tarred])
def test_what_is_packed_in_an_archive_is_unpacked(archive, pack):
    assert lines_of(archive({"one.run": pack(b"1\n2\n")})) == [("a/one.run", ["1", "2"])]


@pytest.mark.parametrize("pack", [gzip.compress, zst])
def test_what_is_packed_without_an_archive_keeps_its_name(pack):
    assert lines_of(pack(b"1\n") + pack(b"2\n")) == [("a", ["1", "2"])]
    ((_, (problem,)),) = lines_of(pack(os.urandom(9_000))[:-20])
    assert "data are cut off or damaged here" in problem


def test_other_forms_of_zip_are_read():
    assert lines_of(zipped(TWO, zipfile.ZIP_STORED)) == READ
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive, archive.open("one.run", "w", force_zip64=True) as file:
        file.write(b"1\n2\n")
    assert lines_of(out.getvalue()) == READ[:1]


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_and_odd_names_are_told(format):
    name = "f" * 90 + "/" + "g" * 90 + ".run"
    assert lines_of(tarred({name: b"1\n"}, format)) == [(f"a/{name}", ["1"])]
    assert lines_of(zipped({"a\x1b[1m\u202e.run": b"1\n"})) == [("a/a?[1m?.run", ["1"])]


def test_what_systems_add_by_themselves_is_passed_over():
    names = "__MACOSX/._one.run", "runs/__MACOSX/x", ".DS_Store", "folder/", "._x", "runs/desktop.ini", "Thumbs.db"
    litter = dict.fromkeys(names, b"\0") | {"folder/": b""}
    assert lines_of(zipped(litter | TWO)) == READ


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        (zipped({"x.run": b"1\n"}, external_attr=(stat.S_IFLNK | 0o777) << 16), "a/x.run", "it is a link"),
        (tarred({"x.run": b""}, type=tarfile.SYMTYPE, linkname="/etc/passwd"), "a/x.run", "it is a link"),
        (tarred({"x.run": b""}, type=tarfile.LNKTYPE, linkname="one.run"), "a/x.run", "it is a link"),
        (tarred({"x.run": b""}, type=tarfile.CHRTYPE), "a/x.run", "a device"),
        (tarred({"x.run": b""}, type=tarfile.FIFOTYPE), "a/x.run", "a device"),
        (zipped({}), "a", "no file in the archive"),
        (tarred({"folder": b""}, type=tarfile.DIRTYPE), "a", "no file in the archive"),
        (zipped({f"{i}": b"" for i in range(501)}), "a", "more than 500 files"),
        (zipped(TWO)[:-30], "a", "cut off or damaged"),
        (tarred(TWO)[:700], "a", "cut off or damaged"),
        (zipped({"x.run": b"1\n"}, zipfile.ZIP_BZIP2), "a/x.run", "method 12"),
    ],
)
def test_what_is_no_file_to_be_read_is_refused_by_its_name(content, name, said):
    *_, (found, (problem,)) = lines_of(content)
    assert (found, said in problem) == (name, True)


@pytest.mark.parametrize(("inner", "said"), [(zipped, "a ZIP archive"), (tarred, "a tar archive")])
@pytest.mark.parametrize("outer", [zipped, tarred])
def test_an_archive_in_an_archive_is_sent_back(outer, inner, said):
    with ExitStack() as stack:
        (file,) = files_of(Source("a", io.BytesIO(outer({"b": inner(TWO)}))), stack)
        with pytest.raises(Refused, match=rf"a/b: it is {said}. Unpack it"):
            certain_kind(file)


def test_one_file_that_cannot_be_read_does_not_hide_the_others():
    content = bytearray(zipped(TWO))
    for signature, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + place] |= 1  # encrypted
    assert lines_of(bytes(content)) == [("a/one.run", ["it is encrypted"]), READ[1]]
    content = bytearray(zipped(TWO, zipfile.ZIP_STORED))
    content[content.index(b"1\n2\n")] ^= 1
    assert "data are cut off or damaged" in lines_of(bytes(content))[0][1][-1]
    content = bytearray(zipped(TWO))
    for signature, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        content[content.index(signature) + place] = 99
    assert "method 99" in lines_of(bytes(content))[0][1][0]


def test_no_two_files_have_the_same_name():
    with pytest.warns(UserWarning, match="Duplicate name"):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("x.run", "1\n")
            archive.writestr("x.run", "2\n")
    assert lines_of(out.getvalue())[1] == ("a/x.run", ["the archive has two files of that name"])


@pytest.mark.parametrize("name", ["/tmp/evil.run", "../../evil.run", "C:\\evil.run", "~/evil.run"])
@pytest.mark.parametrize("archive", [zipped, tarred])
def test_no_name_in_an_archive_becomes_a_path(archive, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = []
    monkeypatch.setattr("builtins.open", lambda *args, **kwargs: made.append(args))
    monkeypatch.setattr(os, "mkdir", lambda *args, **kwargs: made.append(args))
    assert [lines for _, lines in lines_of(archive({name: b"1\n"}))] == [["1"]]
    assert made == [] and list(tmp_path.iterdir()) == [] and not Path("/tmp/evil.run").exists()


# Bombs


def refused(content: bytes, **said) -> str:
    ((_, (*_, problem)),) = lines_of(content, **said)
    return problem


@pytest.mark.parametrize("pack", [gzip.compress, zst])
def test_what_unpacks_beyond_measure_is_refused(pack, monkeypatch):
    monkeypatch.setattr("ratings.formats.budget.HARMLESS_BYTES", 1_000_000)
    text = (b"x" * 999 + b"\n") * 20_000
    bomb = pack(text)
    assert "it unpacks to more than 200 times its size" in refused(bomb)
    assert "it unpacks to more than 200 times its size" in refused(zipped({"x": bomb}))
    assert "it unpacks to more than" in refused(pack(tarred({"x": text})))


def test_a_zip_that_tells_how_large_it_becomes_is_not_unpacked(monkeypatch):
    monkeypatch.setattr("ratings.formats.budget.HARMLESS_BYTES", 3_000_000)
    content = zipped({"x": b"0" * 40_000_000})
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *args: pytest.fail("it was unpacked"))
    assert refused(content) == "it unpacks to more than 200 times its size"


def test_a_zip_whose_files_are_all_the_same_bytes_is_refused(monkeypatch):
    """As Fifield's: the entries of the list overlap."""
    monkeypatch.setattr("ratings.formats.budget.HARMLESS_BYTES", 3_000_000)
    content = zipped({"0": b"0" * 2_000_000})
    begin, end = content.index(b"PK\x01\x02"), content.index(b"PK\x05\x06")
    entry, count = content[begin:end], 100
    entries = b"".join(entry[:46] + b"%c" % (48 + number) + entry[47:] for number in range(count))
    over = bytearray(content[end:])
    over[8:12] = count.to_bytes(2, "little") * 2
    over[12:16] = len(entries).to_bytes(4, "little")
    assert refused(content[:begin] + entries + bytes(over)) == "it unpacks to more than 200 times its size"


def test_all_files_of_an_upload_have_one_budget(monkeypatch):
    """Each of them keeps to the ratio; it is their sum that does not."""
    monkeypatch.setattr("ratings.formats.budget.HARMLESS_BYTES", 1_500_000)
    whole = Budget(most=4_000_000)
    content = zipped({"x": b"".join(b"%d\n" % i for i in range(150_000))})
    lines = [lines_of(content, whole=whole)[0][1] for _ in range(6)]
    assert [len(each) == 150_000 for each in lines] == [True, True, True, True, False, False]
    assert lines[4] == ["it unpacks to more than 3 megabytes"]


def test_a_list_of_names_that_is_too_long_is_not_read(monkeypatch):
    monkeypatch.setattr(archives, "LARGEST_LIST", 100_000)
    assert "its list of files is too long" in refused(zipped({f"{i:0200}": b"" for i in range(1_000)}))
    assert "its list of files is too long" in refused(tarred({"x" * 200_000: b"1\n"}, tarfile.GNU_FORMAT))
