"""Files that attack whoever decodes them."""

import io
import os
import signal
import struct
import time
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from multiprocessing.connection import Connection

from PIL import Image, PngImagePlugin

from ratings.importing.pictures import decoder

KINDS = ("JPEG", "PNG", "GIF", "WEBP", "AVIF")
CUTS = (1, 4, 12, 40, 200, 0.5, 0.9, 0.999)  # bytes, or a share
FLIPS = (5, 9, 17, 21, 30, 60, 120, 300)  # the bytes that are changed
HTML = b"<html><script>window.hit=1</script></html>"


def picture(kind: str, size=(120, 90), **more) -> bytes:
    out = io.BytesIO()
    image = Image.radial_gradient("L").resize(size).convert("RGB")
    image.save(out, kind, **more)
    return out.getvalue()


def chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def png(width: int, height: int, *chunks: bytes, depth: int = 8, colour: int = 2, rows: bytes = b"") -> bytes:
    """A PNG whose head says what it likes."""
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        [chunk(b"IHDR", head), *chunks, chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")]
    )


def gif(width: int, height: int, *frames: tuple[int, int, int, int]) -> bytes:
    """A GIF with frames of any place and size, all of one colour."""
    out = b"GIF89a" + struct.pack("<HH", width, height) + b"\x80\0\0" + b"\xff\0\0\0\0\xff"
    for left, top, across, down in frames:
        out += b"," + struct.pack("<HHHH", left, top, across, down) + b"\0\x02\x02\x44\x01\0"
    return out + b";"


def webp(width: int, height: int, content: bytes) -> bytes:
    """A WebP whose extended head says what it likes."""
    head = b"\x10\0\0\0" + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    body = b"WEBPVP8X" + struct.pack("<I", 10) + head + content
    return b"RIFF" + struct.pack("<I", len(body)) + body


def exif_loop() -> bytes:
    """Tags that say that the next directory is they themselves."""
    entry = struct.pack("<HHII", 0x8769, 4, 1, 8)
    return b"Exif\0\0II*\0\x08\0\0\0" + struct.pack("<H", 1) + entry + struct.pack("<I", 8)


def zipped(content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("x.html", content)
    return out.getvalue()


@cache
def hostile_pictures() -> dict[str, bytes]:
    """All, by a name that says what each is."""
    return dict(_hostile())


def _hostile() -> Iterator[tuple[str, bytes]]:
    for kind in KINDS:
        whole = picture(kind)
        for cut in CUTS:
            yield f"{kind} cut at {cut}", whole[: cut if isinstance(cut, int) else int(cut * len(whole))]
        for place in FLIPS:
            flipped = bytearray(whole)
            flipped[place % len(whole)] ^= 0xFF
            yield f"{kind} flipped at {place}", bytes(flipped)
        yield f"{kind} with HTML behind", whole + HTML
        yield f"{kind} with a ZIP behind", whole + zipped(HTML)
        yield f"{kind} behind HTML", HTML + whole
        yield f"{kind} twice", whole + whole
        yield f"{kind} that is very wide", picture(kind, (6_000, 1))
        yield f"{kind} that is one pixel", picture(kind, (1, 1))

    yield "PNG that says 2 billion pixels across", png(2**31 - 1, 2**31 - 1)
    yield "PNG that says no pixels", png(0, 0)
    yield "PNG of 11.9 million pixels that is tiny", png(3_450, 3_450, rows=bytes(3_450 * (3 * 3_450 + 1)))
    yield (
        "PNG of 11.9 million deep pixels",
        png(3_450, 3_450, depth=16, colour=6, rows=bytes(3_450 * (8 * 3_450 + 1))),
    )
    yield "PNG whose rows go on for 100 MB", png(10, 10, rows=bytes(100_000_000))
    for name in (b"zTXt", b"iTXt", b"iCCP"):
        inner = {b"zTXt": b"a\0\0", b"iTXt": b"a\0\1\0\0\0", b"iCCP": b"a\0\0"}[name]
        bomb = chunk(name, inner + zlib.compress(bytes(60_000_000)))
        yield f"PNG with a bomb in {name.decode()}", png(10, 10, bomb, rows=bytes(310))
        yield f"PNG with rubbish in {name.decode()}", png(10, 10, chunk(name, b"\xff" * 5_000), rows=bytes(310))
    yield "PNG with 20,000 texts", png(10, 10, *[chunk(b"tEXt", b"a\0" + b"b" * 100)] * 20_000, rows=bytes(310))
    yield "PNG with an odd depth", png(10, 10, depth=7, colour=5)
    yield "PNG without rows", png(10, 10)
    yield "PNG with an EXIF loop", png(10, 10, chunk(b"eXIf", exif_loop()[6:]), rows=bytes(310))
    info = PngImagePlugin.PngInfo()
    info.add_text("Comment", HTML.decode())
    yield "PNG with HTML in a text", picture("PNG", pnginfo=info)
    yield "PNG that is animated", picture("PNG", save_all=True, append_images=[Image.new("RGB", (120, 90))] * 300)

    yield "GIF with a screen of 65,535", gif(65_535, 65_535, (0, 0, 1, 1))
    yield "GIF with no screen", gif(0, 0, (0, 0, 1, 1))
    yield "GIF with a frame outside its screen", gif(1, 1, (5_000, 5_000, 3_000, 3_000))
    yield "GIF with a frame larger than its screen", gif(1, 1, (0, 0, 65_535, 65_535))
    yield "GIF without a frame", gif(10, 10)
    yield "GIF with 50,000 frames", gif(3_000, 3_000, *[(0, 0, 1, 1)] * 50_000)
    yield "GIF that is a script", b"GIF89a/*" + bytes(60) + b"*/=1;window.hit=1"

    real = picture("WEBP")[12:]
    yield "WebP that says 16,384 across", webp(16_384, 16_384, real)
    yield "WebP that says less than it has", webp(1, 1, real)
    yield "WebP without a picture", webp(100, 100, b"")
    yield (
        "WebP that is animated",
        picture("WEBP", save_all=True, append_images=[Image.new("RGB", (120, 90), (n, 0, 0)) for n in range(100)]),
    )
    avif = picture("AVIF")
    place = avif.index(b"ispe") + 8
    for size in (0, 1, 60_000, 2**32 - 1):
        yield f"AVIF that says {size} across", avif[:place] + struct.pack(">II", size, size) + avif[place + 8 :]
    yield "AVIF with a box of no length", avif[:24] + bytes(8) + avif[32:]

    yield "JPEG with an EXIF loop", picture("JPEG", exif=exif_loop())
    yield "JPEG with a comment of HTML", picture("JPEG", comment=HTML)
    yield "JPEG of 24 million pixels", picture("JPEG", (6_000, 4_000), quality=5)
    yield (
        "JPEG that is progressive, of 24 million pixels",
        picture("JPEG", (6_000, 4_000), quality=5, progressive=True),
    )
    large = bytearray(picture("JPEG"))
    frame = large.index(b"\xff\xc0") + 5
    large[frame : frame + 4] = b"\xff\xff\xff\xff"
    yield "JPEG that says 65,535 across", bytes(large)
    yield "JPEG in CMYK", _in_cmyk()

    for kind in ("TIFF", "ICO", "BMP", "PPM", "TGA", "PCX", "ICNS", "JPEG2000", "SGI", "DDS", "MSP", "XBM"):
        mode = "1" if kind in ("MSP", "XBM") else "RGB"
        out = io.BytesIO()
        Image.new(mode, (64, 64)).save(out, kind)
        yield f"{kind} by another name", out.getvalue()
    yield "EPS", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n(x) run\n"
    yield "PDF", b"%PDF-1.7\n1 0 obj<</OpenAction<</S/JavaScript/JS(app.alert(1))>>>>endobj"
    yield "SVG", b"<svg xmlns='http://www.w3.org/2000/svg' onload='window.hit=1'/>"
    yield "SVG behind a comment", b"<!-- x -->\n<svg><script>window.hit=1</script></svg>"
    yield "SVG with entities", b"<?xml version='1.0'?><!DOCTYPE x [<!ENTITY a 'aaaa'>]><svg>&a;</svg>"
    yield "HTML", HTML
    yield "HTML with a doctype", b"\xef\xbb\xbf<!DOCTYPE html>" + HTML
    yield "script", b"window.hit=1"
    yield "ZIP", zipped(HTML)
    yield "program", b"\x7fELF" + bytes(500)
    yield "nothing", b""
    yield "one byte", b"\0"
    yield "zeros", bytes(12_000_000)
    yield "more than may come", bytes(12_000_001)


def _in_cmyk() -> bytes:
    out = io.BytesIO()
    Image.new("CMYK", (3_000, 3_000)).save(out, "JPEG")
    return out.getvalue()


def serve(line: Connection) -> None:
    """A decoder that hangs or dies over the files that say so."""
    with suppress(EOFError, OSError):
        while True:
            content = line.recv_bytes()
            if content == b"hang":
                time.sleep(600)
            if content == b"die":
                os.kill(os.getpid(), signal.SIGKILL)
            line.send(decoder._answer(content))
