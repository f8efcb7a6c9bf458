"""Decode an untrusted picture and make two small ones of it. No database. Call it in a process of its own."""

import warnings
from io import BytesIO
from typing import NamedTuple

from PIL import Image, ImageOps, UnidentifiedImageError

FORMATS = ("JPEG", "PNG", "GIF", "WEBP", "AVIF")
MOST_PIXELS = 12_000_000
MOST_PIXELS_OF_JPEG = 25_000_000  # pixels; a JPEG is decoded at a smaller size
MOST_BYTES = 12_000_000
SMALL, LARGE = 480, 1_600  # pixels of the longer side at most
WEBP_QUALITY = 82


class Unusable(ValueError):
    """The bytes are no picture that can be shown. The message has “it” for the picture."""


class DecodedPicture(NamedTuple):
    """A picture in two sizes, as WebP."""

    small: bytes
    large: bytes
    width: int  # of the small one
    height: int


def decode(content: bytes) -> DecodedPicture:
    """The picture in two sizes: its first frame, upright, without metadata. Raises Unusable."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about odd files that can be read
        try:
            return _decode(content)
        except Unusable:
            raise
        except UnidentifiedImageError as error:
            raise Unusable(f"it is not a picture in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}") from error
        except Image.DecompressionBombError as error:
            raise Unusable(f"it has too many pixels; at most {MOST_PIXELS / 1e6:g} million are allowed") from error
        except MemoryError as error:
            raise Unusable("it needs too much memory") from error
        except Exception as error:  # a broken file makes Pillow raise nearly anything
            raise Unusable(f"it is damaged ({type(error).__name__})") from error


def _decode(content: bytes) -> DecodedPicture:
    """The picture in two small sizes. Raises Unusable, and whatever a broken file makes Pillow raise."""
    if len(content) > MOST_BYTES:
        raise Unusable(f"it has {len(content) / 1e6:.1f} MB; at most {MOST_BYTES / 1e6:g} are allowed")
    _refuse_no_picture(content)
    picture = Image.open(BytesIO(content), formats=FORMATS)  # which decodes nothing yet
    width, height = picture.size
    most = MOST_PIXELS_OF_JPEG if picture.format == "JPEG" else MOST_PIXELS
    if width * height > most:
        raise Unusable(f"it has {width:,} × {height:,} pixels; at most {most / 1e6:g} million are allowed")
    picture.draft("RGB", (LARGE, LARGE))  # lets a JPEG be decoded smaller
    # The colours of a palette can only be mixed after conversion, so it comes before the resizing.
    if picture.mode.startswith("I"):
        # A grey picture of 16 bits, of which the upper 8 are kept. Pillow's own conversion would make every shade
        # above 255 white.
        picture = picture.convert("I").point([shade >> 8 for shade in range(1 << 16)], "L")
        picture.info.pop("transparency", None)  # the transparent shade, which has 16 bits
    if picture.has_transparency_data:
        picture = picture.convert("RGBA")
    elif picture.mode not in ("RGB", "L"):
        picture = picture.convert("RGB")
    picture.thumbnail((LARGE, LARGE))
    large = ImageOps.exif_transpose(picture)
    if large.mode == "L":
        large = large.convert("RGB")
    small = large.copy()
    small.thumbnail((SMALL, SMALL))
    return DecodedPicture(_webp(small), _webp(large), *small.size)


def _webp(picture: Image.Image) -> bytes:
    out = BytesIO()
    # Without exif and icc_profile, which Pillow would copy.
    picture.save(out, "WEBP", quality=WEBP_QUALITY, method=4, exif=b"", icc_profile=None)
    return out.getvalue()


def _refuse_no_picture(content: bytes) -> None:
    """Raise Unusable for bytes that are surely no picture."""
    start = content[:1000].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if not content:
        raise Unusable("it is empty")
    if start.startswith((b"<svg", b"<?xml")) or b"<svg" in start:
        raise Unusable("it is an SVG, which can hold scripts; give it as PNG")
    if start.startswith((b"<!doctype", b"<html")):
        raise Unusable("it is a web page and not a picture")


def checked(content: bytes) -> tuple[int, int]:
    """The width and height of a picture that an archive says Idealist made. Raises Unusable."""
    try:
        with Image.open(BytesIO(content), formats=("WEBP",)) as picture:
            if max(picture.size) > LARGE or getattr(picture, "n_frames", 1) > 1:
                raise Unusable("it is larger than Idealist makes pictures")
            picture.load()
            return picture.size
    except Unusable:
        raise
    except Exception as error:
        raise Unusable("it is not WebP") from error
