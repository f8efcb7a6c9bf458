"""Drift and haste of the raters of a collection, as JSON documents and CSV tables.

Grades are ordered by the time when the pair was first rated. Seconds are those of the latest grades.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan

import numpy as np

from ratings.desk.figures import ENOUGH, Pace, Share, latest_grades
from ratings.models import Collection
from ratings.pool.progress.counts import LOOKED_THROUGH, hits

from ..agreement import FEWEST, Course
from ..page import documents
from .consistency import SHARES_NONE, SHARES_ONE, Agreement

RUSHED = 1 / 3  # of the others' median time for the same grade: below, a rater rushes
# Seconds: to see a choice and press its key takes about half a second without reading anything. (Hick, On the rate
# of gain of information, 1952.) Where all rush, a comparison with the others shows nothing.
UNREAD = 0.6

# Why there is no number.
NO_ORDER = "most grades came at once, without times"
FEW = f"fewer than {2 * FEWEST} grades"
NOT_ASKED = "no such pair was answered"


@dataclass(frozen=True)
class Checked:
    """Hits and times by rater. Not cached, because they change without a change of a judgment."""

    gold: dict[int, Share]
    repeats: dict[int, Share]
    seconds: dict[float, tuple[np.ndarray, np.ndarray]]  # by grade: raters, int64[n], and seconds, float64[n]


def checked_in(collection: Collection, raters: Sequence[int]) -> Checked:
    """Gold and repeat hits and rating times of these raters. Three database queries."""
    latest = latest_grades(collection.raters.filter(pk__in=raters), LOOKED_THROUGH)
    by_grade: dict[float, list[tuple[int, float]]] = {}
    for rater, value, took in latest.iterator():
        by_grade.setdefault(float(value), []).append((rater, took))
    seconds = {grade: tuple(map(np.array, zip(*rows, strict=True))) for grade, rows in by_grade.items()}
    return Checked(**hits(raters), seconds=seconds)


def document(agreed: Agreement, courses: Sequence[Course], checked: Checked, labels: Mapping[float, str]) -> dict:
    """A row for each rater with a grade, those with a hint first and then by name. labels: by grade."""
    raters, rows = list(agreed.opinions.raters.items()), []
    for course in courses:
        pk, name = raters[course.rater]
        row = one(pk, course, agreed, checked)
        rows.append({"rater": name} | row | {"hints": hints(pk, row, checked, labels)})
    rows.sort(key=lambda row: (not row["hints"], row["rater"]))
    return {"collection": agreed.collection, "grades": agreed.table.grades.tolist(), "raters": rows}


def one(pk: int, course: Course, agreed: Agreement, checked: Checked) -> dict:
    """The row of a rater in the document, without name and hints."""
    names = ("ratings", "shared_early", "early", "shared_late", "late", "moved", "low", "high")
    row = {name: documents.known(getattr(course, name)) for name in names}
    row |= {"told": course.significant, "why": why(course)}
    for name in ("gold", "repeats"):
        row[name] = share(getattr(checked, name).get(pk, Share()))
    row["seconds"] = [seconds_of(pk, grade, checked) for grade in agreed.table.grades.tolist()]
    row["periods"] = [documents.numbers(each) for each in course.periods]
    return row


def why(course: Course) -> dict:
    """The reason for each number of the course that is missing, by name."""
    if not course.in_order:
        reason = NO_ORDER
    elif not course.shared_early + course.shared_late:
        reason = SHARES_NONE
    else:
        reason = SHARES_ONE
    lacking = [name for name in ("early", "late", "moved", "low", "high") if isnan(getattr(course, name))]
    periods = {} if course.periods else {"periods": FEW if course.in_order else NO_ORDER}
    return dict.fromkeys(lacking, reason) | periods


def share(answered: Share) -> dict:
    low, high = answered.interval or (None, None)
    row = {"hits": answered.hits, "n": answered.n, "share": answered.value, "low": low, "high": high}
    return row | {"few": answered.n < ENOUGH, "why": {} if answered.n else {"share": NOT_ASKED}}


def seconds_of(pk: int, grade: float, checked: Checked) -> dict:
    """The quartiles of a rater's seconds for one grade, the median of the others, and whether the rater rushes."""
    who, took = checked.seconds.get(grade, (np.empty(0), np.empty(0)))
    pace, others = Pace.of(took[who == pk].tolist()), took[who != pk]
    row = {name: getattr(pace, name) if pace else None for name in ("low", "middle", "high")}
    row = {"grade": grade, "n": pace.n if pace else 0} | row
    row |= {"others": float(np.median(others)) if others.size else None, "n_others": others.size}
    enough = min(row["n"], others.size) >= ENOUGH
    return row | {"rushed": enough and row["middle"] < RUSHED * row["others"]}


def hints(pk: int, row: Mapping, checked: Checked, labels: Mapping[float, str]) -> list[str]:
    """Hints at what is unusual in a rater's grades, as text with n; none rests on fewer than 20 answers."""
    sentences = []
    if row["told"]:
        side = "higher" if row["moved"] > 0 else "lower"
        shared = f"{row['shared_early']:,} and {row['shared_late']:,} shared grades"
        sentences.append(f"grades {abs(row['moved']):.2f} {side} in the later half ({shared})")
    for name, what in (("gold", "gold hits"), ("repeats", "same grades again")):
        shares = getattr(checked, name)
        own, whole = shares.get(pk, Share()), sum(shares.values(), Share())
        if own.below(whole):
            sentences.append(f"fewer {what} ({own.hits:,} of {own.n:,}) than all together ({whole.value:.0%})")
    took = [seconds[who == pk] for who, seconds in checked.seconds.values()]
    pace = Pace.of(np.concatenate(took).tolist()) if took else None
    rushed = [each for each in row["seconds"] if each["rushed"]]
    if pace and pace.n >= ENOUGH and pace.middle < UNREAD:
        sentences.append(f"median {pace.middle:.1f} s a grade: too fast to have read ({pace.n:,} timed)")
    elif rushed:
        at = labels[rushed[0]["grade"]] if len(rushed) == 1 else f"{len(rushed)} of {len(labels)} grades"
        times = f"{sum(each['n'] for each in rushed):,} timed"
        sentences.append(f"less than a third of the others’ time for {at} ({times})")
    return sentences


# The columns of the CSV table. `first` and `last` number the rater's grades, from 1.
COLUMNS = ["rater", "part", "first", "last", "grade", "name", "value", "low", "high", "n", "why"]


def table(whole: Mapping) -> documents.Table:
    """The document as a CSV table."""
    return documents.table_of(COLUMNS, (line for row in whole["raters"] for line in lines(row, whole["grades"])))


def lines(row: Mapping, grades: Sequence[float]) -> Iterator[dict]:
    """The lines of one rater."""
    why = row["why"]

    def line(part: str, **cells) -> dict:
        return {"rater": row["rater"], "part": part, "name": "", "why": "", **cells}

    for half in ("early", "late"):
        yield line("half", name=half, value=row[half], n=row[f"shared_{half}"], why=why.get(half, ""))
    moved = {"value": row["moved"], "low": row["low"], "high": row["high"], "why": why.get("moved", "")}
    yield line("half", name="moved", n=row["shared_early"] + row["shared_late"], **moved)
    for each in row["periods"]:
        yield line("period", **each | {"name": "bias", "value": each["bias"], "n": each["shared"]})
        for grade, given in zip(grades, each["given"], strict=True):
            at = {"first": each["first"], "last": each["last"], "grade": grade}
            yield line("period", **at, name="given", value=given, n=sum(each["given"]))
    for name in ("gold", "repeats"):
        each = row[name]
        cells = {"name": "share", "value": each["share"], "why": each["why"].get("share", "")}
        yield line(name, **each | cells)
    for each in row["seconds"]:
        for name in ("low", "middle", "high"):
            yield line("seconds", grade=each["grade"], name=name, value=each[name], n=each["n"])
        yield line("seconds", grade=each["grade"], name="others", value=each["others"], n=each["n_others"])
    for hint in row["hints"]:
        yield line("hint", name=hint)
