"""Downloads. Each file is complete before its first byte is sent, so that no truncated one is saved."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import Lock
from typing import BinaryIO

from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import render

from .problems import ADDRESS, Problem

AT_ONCE = 2  # files that a process makes; its other threads are for pages
SHORTLY = 10  # seconds of Retry-After
OTHERS = "The server makes two files at a time, and is making two for others now."
YOURS = "The server is still making another file for this account, and makes one at a time."

_making: set[int] = set()  # the accounts for which a file is made
_lock = Lock()


class Busy(Exception):
    """No file can be made now. The message is for the reader."""


@contextmanager
def turn(account: int) -> Iterator[None]:
    """The turn of an account to have a file made. Raises Busy."""
    with _lock:
        if account in _making:
            raise Busy(YOURS)
        if len(_making) >= AT_ONCE:
            raise Busy(OTHERS)
        _making.add(account)
    try:
        yield
    finally:
        _making.discard(account)


def made_in_turn(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A decorator of a view or a call of the API that makes a file: 503 unless it gets its turn.

    The attribute `made_in_turn` marks such views.
    """

    @wraps(view)
    def answered(request: HttpRequest, *args, **kwargs) -> HttpResponse:
        try:
            with turn(getattr(request, "auth", request).user.pk):
                return view(request, *args, **kwargs)
        except Busy as error:
            return busy(request, str(error))

    answered.made_in_turn = True
    return answered


def busy(request: HttpRequest, reason: str) -> HttpResponse:
    """The answer 503 to somebody who shall try again shortly: a page, or a problem of the API."""
    headers = {"Retry-After": str(SHORTLY)}
    if request.path_info.startswith(ADDRESS):
        return Problem(503, f"{reason} Try again shortly.", kind="busy", headers=headers).response()
    response = render(request, "ratings/busy.html", {"reason": reason}, status=503)
    response["Retry-After"] = headers["Retry-After"]
    return response


def whole(parts: Iterable[str | bytes]) -> BinaryIO:
    """A temporary file with the parts, which the response closes. Errors are raised before it is sent."""
    file = tempfile.TemporaryFile()  # noqa: SIM115
    try:
        file.writelines(part if isinstance(part, bytes) else part.encode() for part in parts)
    except BaseException:
        file.close()
        raise
    return file


def sent(file: BinaryIO, name: str) -> FileResponse:
    """The response with a file to be saved as `name`, with - for the slashes in it. Texts are in UTF-8."""
    # Of a path, FileResponse and browsers keep the last part alone.
    name = name.replace("/", "-").replace("\\", "-")
    file.seek(0)
    response = FileResponse(file, as_attachment=True, filename=name)
    if name.endswith((".zip", ".parquet", ".xlsx")):
        # So that the response is not compressed a second time.
        response["Content-Encoding"] = "identity"
    else:
        kind = response["Content-Type"].replace("application/octet-stream", "text/plain")
        response["Content-Type"] = f"{kind}; charset=utf-8"
    return response
