"""Files in an S3-compatible store. Where it cannot be reached, a ConnectionError says so."""

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

AHEAD = 2**18  # bytes


@contextmanager
def told() -> Iterator[None]:
    """Errors of the store as those of files."""
    try:
        yield
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        if error.response["ResponseMetadata"].get("HTTPStatusCode") == 404 and code != "NoSuchBucket":
            raise FileNotFoundError("The file is not in the store.") from error
        raise ConnectionError(f"The store of files refuses a request: {code or error}") from error
    except (BotoCoreError, Boto3Error) as error:
        raise ConnectionError(f"The store of files cannot be used: {error}") from error


def telling(method):
    """The method, with errors as `told`."""

    @wraps(method)
    def wrapped(*args, **kwargs):
        with told():
            return method(*args, **kwargs)

    return wrapped


class Bucket(S3Storage):
    """A folder of a bucket. Names are random or the hash of the content, so that no file is ever another one."""

    def __init__(self, **options) -> None:
        style = "path" if options.get("endpoint_url") else "auto"
        # Many compatible stores know no other checksums than those that a call needs.
        sums = dict.fromkeys(("request_checksum_calculation", "response_checksum_validation"), "when_required")
        limits = {"connect_timeout": 4, "read_timeout": 30, "retries": {"mode": "standard", "max_attempts": 3}}
        how = Config(signature_version="s3v4", s3={"addressing_style": style}, **sums, **limits)
        super().__init__(client_config=how, file_overwrite=True, default_acl=None, **options)

    def look(self) -> None:
        """Raises FileNotFoundError where there is no such bucket: a file that is missing would not tell."""
        with told():
            self.bucket.meta.client.head_bucket(Bucket=self.bucket_name)

    def _open(self, name: str, mode: str = "rb") -> File:
        """A copy of the whole file on this machine, gone when it is closed."""
        copy = tempfile.TemporaryFile()  # noqa: SIM115, who asked closes it
        try:
            with told():
                self._object(name).download_fileobj(copy)
        except BaseException:
            copy.close()
            raise
        copy.seek(0)
        return File(copy, name)

    def stream(self, name: str) -> BinaryIO:
        """The bytes, to be read once. What is not read is not fetched."""
        with told():
            return io.BufferedReader(Body(self._object(name).get()["Body"]), AHEAD)

    def entries(self) -> Iterator[Entry]:
        """Yields the entries of the folder."""
        with told():
            within = self.location.strip("/") + "/"
            for each in self.bucket.objects.filter(Prefix=within):
                yield Entry(each.key.removeprefix(within), each.size, each.last_modified.timestamp())

    def _object(self, name: str):
        return self.bucket.Object(self._normalize_name(name))

    _save = telling(S3Storage._save)
    delete = telling(S3Storage.delete)
    exists = telling(S3Storage.exists)
    listdir = telling(S3Storage.listdir)
    size = telling(S3Storage.size)
    get_modified_time = telling(S3Storage.get_modified_time)


class Body(io.RawIOBase):
    """The body of an answer, with errors as `told`."""

    def __init__(self, body) -> None:
        self.body = body

    def readable(self) -> bool:
        return True

    def readinto(self, room) -> int:
        with told():
            data = self.body.read(len(room))
        room[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self.body.close()
        super().close()
