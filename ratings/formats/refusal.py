"""What a reader says of text that it cannot take."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Refusal:
    """One thing wrong in one place of a file, and what to do about it. Line 0 means the file as a whole."""

    file: str
    line: int
    problem: str
    cure: str

    def __str__(self) -> str:
        place = f"{self.file}, line {self.line}" if self.line else self.file
        return f"{place}: {self.problem}. {self.cure}"
