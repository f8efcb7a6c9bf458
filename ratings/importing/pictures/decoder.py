"""A process that decodes pictures, so that no picture ends the worker or takes its memory."""

import multiprocessing
import resource
from contextlib import suppress
from multiprocessing.connection import Connection

from .decoding import DecodedPicture, Unusable, decode

SECONDS_PER_PICTURE = 20.0
MOST_MEMORY = 400 * 2**20  # bytes of address space
DIED = "it cannot be decoded: the decoder died of it"


class Decoder:
    """Decodes pictures in a process with limits of memory and time. After its death the next call starts another.

    It is a context manager. The process also ends when its parent dies, because the pipe closes.
    """

    def __init__(self, seconds: float = SECONDS_PER_PICTURE) -> None:
        self.seconds = seconds
        self._process = self._pipe = None

    def __enter__(self) -> "Decoder":
        return self

    def __exit__(self, *_) -> None:
        self._end()

    def decode(self, content: bytes) -> DecodedPicture:
        """The picture in two sizes. Raises Unusable."""
        self._begin()
        try:
            self._pipe.send_bytes(content)
            # The fields of the picture, or a problem as text; None if none of them came in time.
            answer = self._pipe.recv() if self._pipe.poll(self.seconds) else None
        except (EOFError, OSError) as error:
            self._end()
            raise Unusable(DIED) from error
        if answer is None:
            self._end()
            raise Unusable(f"it was not decoded within {self.seconds:g} seconds")
        if isinstance(answer, str):
            raise Unusable(answer)
        return DecodedPicture(*answer)

    def _begin(self) -> None:
        if self._process:
            return
        # Not forked: that would copy the worker's threads and its connections to the database.
        context = multiprocessing.get_context("spawn")
        self._pipe, end_of_process = context.Pipe()
        self._process = context.Process(target=_serve, args=[end_of_process], daemon=True)
        self._process.start()
        end_of_process.close()

    def _end(self) -> None:
        if self._process:
            self._pipe.close()
            self._process.kill()
            self._process.join()
        self._process = None


def _serve(line: Connection) -> None:
    with suppress(ValueError, OSError):  # macOS has no such limit; those of pixels and bytes hold there, too
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    with suppress(EOFError, OSError, KeyboardInterrupt):
        while True:
            line.send(_answer(line.recv_bytes()))


def _answer(content: bytes) -> tuple | str:
    try:
        return tuple(decode(content))
    except Unusable as error:
        return str(error)
