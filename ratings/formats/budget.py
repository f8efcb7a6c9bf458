"""Limits on what a file may grow to: a few packed or repeated bytes could otherwise fill any disk."""

from ..words import counted

HARMLESS_BYTES = 100_000_000  # bytes that any file may grow to, however small it is
MOST_BYTES = 16 << 30  # bytes
MOST_RATIO = 200  # text is not packed tighter than this
CURE = "Check that this is the file you meant. If it is, unpack it and import its parts."


class TooMuch(ValueError):
    """A file grows beyond its budget."""


class Budget:
    """The bytes that one file, or several together, may become: unpacked and, counted separately, as rows.

    The limit is `ratio` times the bytes that were sent, at least HARMLESS_BYTES and at most `most`. Twice the
    bytes sent is always allowed. `whole`: the budget of all files together, in which the bytes of this one count,
    too.
    """

    def __init__(self, most: int = MOST_BYTES, ratio: int = MOST_RATIO, *, whole: "Budget | None" = None) -> None:
        self.most, self.ratio, self.whole = most, ratio, whole
        self.sent = self.unpacked = self.made = 0

    def part(self) -> "Budget":
        """The budget of one file. Its bytes count in this one, too."""
        return Budget(self.most, self.ratio, whole=self)

    def receive(self, size: int, *, counted_before: bool = False) -> None:
        """Count `size` bytes as sent. `counted_before`: in the whole, as a part of an archive."""
        self.sent += size
        if self.whole and not counted_before:
            self.whole.receive(size)

    def unpack(self, size: int) -> None:
        """Count unpacked bytes. Raises TooMuch."""
        self.unpacked += size
        self._check(self.unpacked, "it unpacks")
        if self.whole:
            self.whole.unpack(size)

    def check_unpacking(self, size: int) -> None:
        """Raises TooMuch if unpacking `size` more bytes would."""
        self._check(self.unpacked + size, "it unpacks")
        if self.whole:
            self.whole.check_unpacking(size)

    def charge(self, size: int) -> None:
        """Count so many more bytes of rows. Raises TooMuch."""
        self.made += size
        if self.made > HARMLESS_BYTES:
            self._check(self.made, "its rows grow")
        if self.whole:
            self.whole.charge(size)

    def _check(self, size: int, problem: str) -> None:
        """Raises TooMuch if `size` bytes are beyond the limit. `problem`: what they show, such as "it unpacks"."""
        by_ratio = max(HARMLESS_BYTES, self.ratio * self.sent)
        if size <= max(2 * self.sent, min(self.most, by_ratio)):
            return
        if self.most <= by_ratio:  # `most` is what limits it
            raise TooMuch(f"{problem} to more than {counted(self.most >> 20, 'megabyte')}")
        sent = "its size" if self.whole else "what was sent"
        raise TooMuch(f"{problem} to more than {self.ratio:,} times {sent}")
