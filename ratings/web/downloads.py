"""Downloads. Each file is complete before its first byte is sent, so that no truncated one is saved."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import Lock
from typing import BinaryIO

from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import render

from .problems import API_ADDRESS, Problem

FILES_AT_ONCE = 2  # of a process; its other threads are for pages
RETRY_SECONDS = 10  # of Retry-After
BUSY_FOR_OTHERS = "The server makes two files at a time, and is making two for others now."
BUSY_FOR_YOU = "The server is still making another file for this account, and makes one at a time."

_making: set[int] = set()  # the accounts for which a file is made
_lock = Lock()


class Busy(Exception):
    """No file can be made now. The message is for the reader."""


@contextmanager
def turn(account: int) -> Iterator[None]:
    """A context in which a file is made for the account. A process makes at most FILES_AT_ONCE at once.

    Raises Busy if a file is made for the same account, or so many for others.
    """
    with _lock:
        if account in _making:
            raise Busy(BUSY_FOR_YOU)
        if len(_making) >= FILES_AT_ONCE:
            raise Busy(BUSY_FOR_OTHERS)
        _making.add(account)
    try:
        yield
    finally:
        _making.discard(account)  # one step, before or after any check of others: it needs no lock


def made_in_turn(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A decorator of a view or a call of the API that makes a file: 503 unless it gets its turn.

    The attribute `made_in_turn` marks such views.
    """

    @wraps(view)
    def answered(request: HttpRequest, *args, **kwargs) -> HttpResponse:
        try:
            # A call of the API has its user in the token, `request.auth`; a page in the request itself.
            with turn(getattr(request, "auth", request).user.pk):
                return view(request, *args, **kwargs)
        except Busy as error:
            return busy(request, str(error))

    answered.made_in_turn = True
    return answered


def busy(request: HttpRequest, reason: str) -> HttpResponse:
    """The answer 503 to somebody who shall try again shortly: a page, or a problem of the API."""
    headers = {"Retry-After": str(RETRY_SECONDS)}
    if request.path_info.startswith(API_ADDRESS):
        return Problem(503, f"{reason} Try again shortly.", kind="busy", headers=headers).response()
    response = render(request, "ratings/busy.html", {"reason": reason}, status=503)
    response["Retry-After"] = headers["Retry-After"]
    return response


def whole_file(parts: Iterable[str | bytes]) -> BinaryIO:
    """A temporary file with the parts, which the response closes. Errors are raised before it is sent."""
    file = tempfile.TemporaryFile()  # noqa: SIM115
    try:
        file.writelines(part if isinstance(part, bytes) else part.encode() for part in parts)
    except BaseException:
        file.close()
        raise
    return file


def sent(file: BinaryIO, name: str) -> FileResponse:
    """The response with a file to be saved as `name`. Texts are in UTF-8."""
    # Slashes become -, since FileResponse and browsers would keep only what follows the last one.
    name = name.replace("/", "-").replace("\\", "-")
    file.seek(0)
    response = FileResponse(file, as_attachment=True, filename=name)
    if name.endswith((".zip", ".parquet", ".xlsx")):
        response["Content-Encoding"] = "identity"  # so that the response is not compressed a second time
    else:
        # FileResponse gives application/octet-stream to a name whose ending it does not know.
        media_type = response["Content-Type"].replace("application/octet-stream", "text/plain")
        response["Content-Type"] = f"{media_type}; charset=utf-8"
    return response
