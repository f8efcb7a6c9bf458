"""Downloads. Each file is complete before its first byte is sent, so that no truncated one is saved."""

import tempfile
from collections.abc import Iterable
from typing import BinaryIO

from django.http import FileResponse


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
    """The response with a file to be saved as `name`, with - for the slashes in it."""
    # Of a path, FileResponse and browsers keep the last part alone.
    name = name.replace("/", "-").replace("\\", "-")
    file.seek(0)
    response = FileResponse(file, as_attachment=True, filename=name)
    if name.endswith((".zip", ".parquet", ".xlsx")):
        # So that the response is not compressed a second time.
        response["Content-Encoding"] = "identity"
    return response
