"""Files in an S3-compatible store. Raises ConnectionError where it cannot be reached."""

import io
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from threading import Semaphore
from typing import BinaryIO

from boto3.exceptions import Boto3Error
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ConnectTimeoutError, ReadTimeoutError
from django.conf import settings
from django.core.files.base import File
from storages.backends.s3 import S3Storage

from ratings.importing.folder import Entry

READ_AHEAD_BYTES = 2**18
# botocore tries again by itself. It is the only one here that does.
PAGE_WAITS = {"connect_timeout": 2, "read_timeout": 2, "retries": {"total_max_attempts": 1}}
WORKER_WAITS = {"connect_timeout": 4, "read_timeout": 30, "retries": {"mode": "standard", "total_max_attempts": 3}}

# A silent store must not hold all eight threads of a process that serves pages. A browser asks for six pictures at
# once, which a store sends in some hundredths of a second. So those beyond REQUESTS_AT_ONCE wait a little.
REQUESTS_AT_ONCE = 4
TURN_SECONDS = 0.25
SILENCE_SECONDS = 5  # for which nobody asks a store that did not answer in time
_turns = Semaphore(REQUESTS_AT_ONCE)
_silent_until = 0.0


@contextmanager
def errors_of_files() -> Iterator[None]:
    """Raises FileNotFoundError or ConnectionError in place of the errors of the client library."""
    try:
        yield
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        # 404 also answers a request to a bucket that does not exist, which is no missing file.
        if error.response["ResponseMetadata"].get("HTTPStatusCode") == 404 and code != "NoSuchBucket":
            raise FileNotFoundError("The file is not in the store.") from error
        raise ConnectionError(f"The store of files refuses a request: {code or error}") from error
    except (BotoCoreError, Boto3Error) as error:
        raise ConnectionError(f"The store of files cannot be used: {error}") from error


@contextmanager
def asking() -> Iterator[None]:
    """A request to the store. Raises FileNotFoundError, and ConnectionError where the store does not answer.

    In a process that serves pages, a request that finds REQUESTS_AT_ONCE others under way waits for one of them to
    end, and raises ConnectionError after TURN_SECONDS. If the store let a request time out in the last
    SILENCE_SECONDS, it is not asked, and ConnectionError is raised.
    """
    global _silent_until
    if not settings.SHORT_WAITS:  # a worker or a command, which may wait; processes that serve pages set it
        with errors_of_files():
            yield
        return
    if not _turns.acquire(timeout=TURN_SECONDS):
        raise ConnectionError("The store of files is slow, and others wait for it.")
    try:
        if time.monotonic() < _silent_until:
            raise ConnectionError("The store of files did not answer just now.")
        with errors_of_files():
            yield
    except ConnectionError as error:
        if isinstance(error.__cause__, (ConnectTimeoutError, ReadTimeoutError)):
            _silent_until = time.monotonic() + SILENCE_SECONDS
        raise
    finally:
        _turns.release()


def that_asks(method):
    """The method, within `asking`."""

    @wraps(method)
    def wrapped(*args, **kwargs):
        with asking():
            return method(*args, **kwargs)

    return wrapped


class Bucket(S3Storage):
    """A folder of a bucket. Names are random or hashes of the content, so that no file replaces another one."""

    def __init__(self, **options) -> None:
        style = "path" if options.get("endpoint_url") else "auto"
        # Many compatible stores refuse checksums that a call does not require.
        sums = dict.fromkeys(("request_checksum_calculation", "response_checksum_validation"), "when_required")
        limits = PAGE_WAITS if settings.SHORT_WAITS else WORKER_WAITS
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
            with self.stream(name) as stream:
                shutil.copyfileobj(stream, copy, READ_AHEAD_BYTES)
        except BaseException:
            copy.close()
            raise
        copy.seek(0)
        return File(copy, name)

    def stream(self, name: str) -> BinaryIO:
        """A stream of the content that can be read once. What is not read is not fetched."""
        with asking():
            return io.BufferedReader(Body(self._object(name).get()["Body"]), READ_AHEAD_BYTES)

    def entries(self) -> Iterator[Entry]:
        """Yields the entries of the folder."""
        with asking():
            prefix = self.location.strip("/") + "/"
            for each in self.bucket.objects.filter(Prefix=prefix):
                yield Entry(each.key.removeprefix(prefix), each.size, each.last_modified.timestamp())

    def _object(self, name: str):
        return self.bucket.Object(self._normalize_name(name))

    _save = that_asks(S3Storage._save)
    delete = that_asks(S3Storage.delete)
    exists = that_asks(S3Storage.exists)
    listdir = that_asks(S3Storage.listdir)
    size = that_asks(S3Storage.size)
    get_modified_time = that_asks(S3Storage.get_modified_time)


class Body(io.RawIOBase):
    """The body of a response as a raw stream, within `asking`."""

    def __init__(self, body) -> None:
        self.body = body

    def readable(self) -> bool:
        return True

    def readinto(self, room) -> int:
        with asking():
            data = self.body.read(len(room))
        room[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self.body.close()
        super().close()
