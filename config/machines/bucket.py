"""Files in an S3-compatible store. Raises ConnectionError where it cannot be reached."""

import io
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from typing import BinaryIO

from boto3.exceptions import Boto3Error
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.core.files.base import File
from storages.backends.s3 import S3Storage

from ratings.imports.folder import Entry

READ_AHEAD = 2**18  # bytes


@contextmanager
def errors_of_files() -> Iterator[None]:
    """Raises FileNotFoundError or ConnectionError in place of the errors of the client library."""
    try:
        yield
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        if error.response["ResponseMetadata"].get("HTTPStatusCode") == 404 and code != "NoSuchBucket":
            raise FileNotFoundError("The file is not in the store.") from error
        raise ConnectionError(f"The store of files refuses a request: {code or error}") from error
    except (BotoCoreError, Boto3Error) as error:
        raise ConnectionError(f"The store of files cannot be used: {error}") from error


def with_errors_of_files(method):
    """The method, within `errors_of_files`."""

    @wraps(method)
    def wrapped(*args, **kwargs):
        with errors_of_files():
            return method(*args, **kwargs)

    return wrapped


class Bucket(S3Storage):
    """A folder of a bucket. Names are random or hashes of the content, so that no file replaces another one."""

    def __init__(self, **options) -> None:
        style = "path" if options.get("endpoint_url") else "auto"
        # Many compatible stores refuse checksums that a call does not require.
        sums = dict.fromkeys(("request_checksum_calculation", "response_checksum_validation"), "when_required")
        limits = {"connect_timeout": 4, "read_timeout": 30, "retries": {"mode": "standard", "max_attempts": 3}}
        config = Config(signature_version="s3v4", s3={"addressing_style": style}, **sums, **limits)
        super().__init__(client_config=config, file_overwrite=True, default_acl=None, **options)

    def check_bucket(self) -> None:
        """Raises FileNotFoundError where there is no such bucket, ConnectionError where it cannot be reached."""
        with errors_of_files():
            self.bucket.meta.client.head_bucket(Bucket=self.bucket_name)

    def _open(self, name: str, mode: str = "rb") -> File:
        """A temporary copy of the whole file on this machine."""
        copy = tempfile.TemporaryFile()  # noqa: SIM115, the caller closes it
        try:
            with errors_of_files():
                self._object(name).download_fileobj(copy)
        except BaseException:
            copy.close()
            raise
        copy.seek(0)
        return File(copy, name)

    def stream(self, name: str) -> BinaryIO:
        """A stream of the content that can be read once. What is not read is not fetched."""
        with errors_of_files():
            return io.BufferedReader(Body(self._object(name).get()["Body"]), READ_AHEAD)

    def entries(self) -> Iterator[Entry]:
        """Yields the entries of the folder."""
        with errors_of_files():
            prefix = self.location.strip("/") + "/"
            for each in self.bucket.objects.filter(Prefix=prefix):
                yield Entry(each.key.removeprefix(prefix), each.size, each.last_modified.timestamp())

    def _object(self, name: str):
        return self.bucket.Object(self._normalize_name(name))

    _save = with_errors_of_files(S3Storage._save)
    delete = with_errors_of_files(S3Storage.delete)
    exists = with_errors_of_files(S3Storage.exists)
    listdir = with_errors_of_files(S3Storage.listdir)
    size = with_errors_of_files(S3Storage.size)
    get_modified_time = with_errors_of_files(S3Storage.get_modified_time)


class Body(io.RawIOBase):
    """The body of a response as a raw stream, within `errors_of_files`."""

    def __init__(self, body) -> None:
        self.body = body

    def readable(self) -> bool:
        return True

    def readinto(self, room) -> int:
        with errors_of_files():
            data = self.body.read(len(room))
        room[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self.body.close()
        super().close()
