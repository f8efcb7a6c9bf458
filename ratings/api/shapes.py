"""Schemas of requests and answers: strict types, without unknown members, and pages of rows."""

import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Generic, Literal, TypeVar

from django.db.models import QuerySet
from ninja import Schema
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from ..formats import values
from ..models import Reason

MOST_ROWS_PER_PAGE = 1_000
Row = TypeVar("Row")


def text(longest: int, *, least: int = 0) -> StringConstraints:
    """Of text without NUL, which databases cannot store."""
    return StringConstraints(min_length=least, max_length=longest, pattern=r"^[^\x00]*$")


def key(longest: int) -> Any:
    """Text without blanks and control characters."""
    return Annotated[str, StringConstraints(min_length=1, max_length=longest, pattern=rf"^{values.KEY}+$")]


QueryKey = key(values.QUERY_KEY_LENGTH)
DocumentKey = key(values.DOCUMENT_KEY_LENGTH)
# Without control characters, and with one blank for each run of blanks.
SystemName = Annotated[
    str, StringConstraints(min_length=1, max_length=values.SYSTEM_NAME_LENGTH), AfterValidator(values.system_name)
]
RaterName = Annotated[str, text(values.RATER_NAME_LENGTH, least=1)]


def plain_digits(value: object) -> object:
    """The value, which becomes a number. Raises ValueError for text such as 1_000 or +5."""
    if isinstance(value, str) and not re.fullmatch("-?[0-9]{1,18}", value):
        raise ValueError("it must be a whole number in plain digits")
    return value


Whole = Annotated[int, BeforeValidator(plain_digits)]  # of an address, where it comes as text
Number = Annotated[float, Field(allow_inf_nan=False)]


class Sent(Schema):
    """A request body: of exactly the declared types, and without further members."""

    model_config = ConfigDict(strict=True, extra="forbid")


class Said(Sent):
    """A grade, or why the pair cannot be judged."""

    grade: Number | None = None
    reason: Literal[tuple(Reason.values)] | None = Field(None, description="Why it cannot be judged.")
    comment: Annotated[str, text(5_000)] = ""
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None

    @model_validator(mode="after")
    def _grade_or_reason(self) -> "Said":
        if (self.grade is None) == (self.reason is None):
            raise ValueError("a rating is a grade, or a reason why the pair cannot be judged")
        return self


class OfPage(Schema):
    """The parameters of a page of a list."""

    cursor: Annotated[str, StringConstraints(pattern=r"^[0-9]{1,18}(-[0-9]{1,18})?$")] | None = Field(
        None, description="`next` of the page before."
    )
    limit: Whole = Field(100, ge=1, le=MOST_ROWS_PER_PAGE, description="Rows of a page, at most.")

    @property
    def after(self) -> tuple[int, ...]:
        """The place of the last row of the page before."""
        return tuple(map(int, self.cursor.split("-"))) if self.cursor else ()


class Page(Schema, Generic[Row]):
    items: list[Row]
    next: str | None = Field(None, description="The cursor of the next page; null on the last one.")


def page(rows: QuerySet, asked: OfPage, shown: Callable[[Any], Any] = lambda row: row) -> dict:
    """One page of `rows` in the order of their ids, so that rows added meanwhile come on later pages.

    One database query, which reads one more row to know whether there is a next page.
    """
    rows = rows.order_by("pk")
    if asked.after:
        rows = rows.filter(pk__gt=asked.after[0])
    return page_of([((row.pk,), shown(row)) for row in rows[: asked.limit + 1]], asked)


def page_of(rows: Iterable[tuple[tuple[int, ...], Any]], asked: OfPage) -> dict:
    """One page of rows, each given with its place, by which they are ordered.

    A place is one number or two, such as the id of a query and a rank. The cursor is the place of the last row.
    """
    later = sorted((row for row in rows if row[0] > asked.after), key=lambda row: row[0])
    items = later[: asked.limit]
    last_place = items[-1][0] if len(later) > len(items) else ()  # () on the last page
    return {"items": [row for _, row in items], "next": "-".join(map(str, last_place)) or None}
