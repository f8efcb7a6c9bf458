"""Limits on what a file may grow to: a few packed or repeated bytes could otherwise fill any disk."""

from ..words import counted

HARMLESS = 100_000_000  # bytes that any file may grow to, however small it is
MOST = 16 << 30  # bytes
RATIO = 200  # text is not packed tighter than this
CURE = "Check that this is the file you meant. If it is, unpack it and import its parts."


class TooMuch(ValueError):
    """A file grows beyond its budget."""


class Budget:
    """The bytes that one file, or several together, may become: unpacked and, counted separately, as rows.

    The limit is `ratio` times the bytes that were sent, and at most `most`. Twice the bytes sent is always
    allowed.
    """

    def __init__(self, most: int = MOST, ratio: int = RATIO, *, of: "Budget | None" = None) -> None:
        self.most, self.ratio, self.of = most, ratio, of
        self.sent = self.unpacked = self.made = 0

    def part(self) -> "Budget":
        """The budget of one file. Its bytes count in this one, too."""
        return Budget(self.most, self.ratio, of=self)

    def receive(self, size: int, *, again: bool = False) -> None:
        """Count `size` bytes as sent. `again`: they are a part of counted ones, such as a file in an archive."""
        self.sent += size
        if self.of and not again:
            self.of.receive(size)

    def unpack(self, size: int) -> None:
        """Count unpacked bytes. Raises TooMuch."""
        self.unpacked += size
        self._check(self.unpacked, "it unpacks")
        if self.of:
            self.of.unpack(size)

    def foresee(self, size: int) -> None:
        """Raises TooMuch if unpacking `size` more bytes would."""
        self._check(self.unpacked + size, "it unpacks")
        if self.of:
            self.of.foresee(size)

    def make(self, size: int) -> None:
        """Count bytes of rows. Raises TooMuch."""
        self.made += size
        if self.made > HARMLESS:
            self._check(self.made, "its rows grow")
        if self.of:
            self.of.make(size)

    def _check(self, size: int, what: str) -> None:
        by_ratio = max(HARMLESS, self.ratio * self.sent)
        if size <= max(2 * self.sent, min(self.most, by_ratio)):
            return
        name = "what was sent" if self.of is None else "its size"
        if self.most <= by_ratio:
            raise TooMuch(f"{what} to more than {counted(self.most >> 20, 'megabyte')}")
        raise TooMuch(f"{what} to more than {self.ratio:,} times {name}")
