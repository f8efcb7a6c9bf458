"""Whether a rater of a collection drifts or rushes, as documents and rows: hints with what they rest on.

Grades and their distance from the others' go by when they were first given; times are those of the latest grades.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan

import numpy as np

from ratings.models import Collection
from ratings.progress import ENOUGH, LOOKED_THROUGH, Pace, Share, hits, latest_grades

from . import agreement, report
from .agreement import FEWEST, Course
from .consistency import SHARES_NONE, SHARES_ONE, Agreement

RUSHED = 1 / 3  # of the time that the others take for the same grade

# Why there is no number.
NO_ORDER = "most grades came at once, without times"
FEW = f"fewer than {2 * FEWEST} grades"
NOT_ASKED = "no such pair was answered"


@dataclass(frozen=True)
class Checked:
    """What is read anew each time, for it changes without a judgment: by rater."""

    gold: dict[int, Share]
    repeats: dict[int, Share]
    seconds: dict[float, tuple[np.ndarray, np.ndarray]]  # by grade: whose, int64[n], and how long, float64[n]


def checked_in(collection: Collection, raters: Sequence[int]) -> Checked:
    """Three queries."""
    latest = latest_grades(collection.raters.filter(pk__in=raters), LOOKED_THROUGH)
    by_grade: dict[float, list[tuple[int, float]]] = {}
    for rater, value, took in latest.iterator():
        by_grade.setdefault(float(value), []).append((rater, took))
    seconds = {grade: tuple(map(np.array, zip(*rows, strict=True))) for grade, rows in by_grade.items()}
    return Checked(**hits(raters), seconds=seconds)


def document(
    said: Agreement,
    courses: Sequence[Course],
    checked: Checked,
    names: Mapping[int, str],
    labels: Mapping[float, str],
) -> dict:
    """Every rater with a grade, those with a hint first and then by name.

    `names` are by pk, `labels` those of the grades; both as the reader may see them.
    """
    pks = list(said.opinions.raters)
    rows = [one(pks[each.rater], each, said, checked) for each in courses]
    rows = [{"rater": names[pk]} | row | {"hints": hints(pk, row, checked, labels)} for pk, row in rows]
    rows.sort(key=lambda row: (not row["hints"], row["rater"]))
    return {"collection": said.collection, "grades": said.table.grades.tolist(), "raters": rows}


def one(pk: int, course: Course, said: Agreement, checked: Checked) -> tuple[int, dict]:
    names = ("ratings", "shared_early", "early", "shared_late", "late", "moved", "low", "high")
    row = {name: report.known(getattr(course, name)) for name in names}
    row |= {"told": course.told, "why": why(course)}
    for name in ("gold", "repeats"):
        row[name] = share(getattr(checked, name).get(pk, Share()))
    row["seconds"] = [seconds_of(pk, grade, checked) for grade in said.table.grades.tolist()]
    row["periods"] = [period(each) for each in course.periods]
    return pk, row


def why(course: Course) -> dict:
    if not course.in_order:
        reason = NO_ORDER
    elif not course.shared_early + course.shared_late:
        reason = SHARES_NONE
    else:
        reason = SHARES_ONE
    lacking = [name for name in ("early", "late", "moved", "low", "high") if isnan(getattr(course, name))]
    periods = {} if course.periods else {"periods": FEW if course.in_order else NO_ORDER}
    return dict.fromkeys(lacking, reason) | periods


def share(found: Share) -> dict:
    low, high = found.interval or (None, None)
    row = {"hits": found.hits, "n": found.n, "share": found.value, "low": low, "high": high}
    return row | {"few": found.n < ENOUGH, "why": {} if found.n else {"share": NOT_ASKED}}


def seconds_of(pk: int, grade: float, checked: Checked) -> dict:
    """How long a rater takes for a grade: a quarter, half and three quarters of them; and half of the others'."""
    who, took = checked.seconds.get(grade, (np.empty(0), np.empty(0)))
    pace, others = Pace.of(took[who == pk].tolist()), took[who != pk]
    row = {name: getattr(pace, name) if pace else None for name in ("low", "middle", "high")}
    row = {"grade": grade, "n": pace.n if pace else 0} | row
    row |= {"others": float(np.median(others)) if others.size else None, "n_others": others.size}
    enough = min(row["n"], others.size) >= ENOUGH
    return row | {"rushed": enough and row["middle"] < RUSHED * row["others"]}


def period(found: agreement.Period) -> dict:
    row = {name: getattr(found, name) for name in ("first", "last", "given", "shared")}
    return row | {name: report.known(getattr(found, name)) for name in ("bias", "low", "high")}


def hints(pk: int, row: Mapping, checked: Checked, labels: Mapping[float, str]) -> list[str]:
    """What about a rater is worth a look. Each says on what it rests; none rests on fewer than 20 answers."""
    found = []
    if row["told"]:
        side = "higher" if row["moved"] > 0 else "lower"
        shared = f"{row['shared_early']:,} and {row['shared_late']:,} shared grades"
        found.append(f"grades {abs(row['moved']):.2f} {side} in the later half ({shared})")
    for name, what in (("gold", "gold hits"), ("repeats", "same grades again")):
        shares = getattr(checked, name)
        own, whole = shares.get(pk, Share()), sum(shares.values(), Share())
        if own.below(whole):
            found.append(f"fewer {what} ({own.hits:,} of {own.n:,}) than all together ({whole.value:.0%})")
    rushed = [each for each in row["seconds"] if each["rushed"]]
    if rushed:
        at = labels[rushed[0]["grade"]] if len(rushed) == 1 else f"{len(rushed)} of {len(labels)} grades"
        times = f"{sum(each['n'] for each in rushed):,} timed"
        found.append(f"less than a third of the others’ time for {at} ({times})")
    return found


def table(found: Mapping) -> report.Table:
    """Everything as rows of one shape: what of whom, in which of their grades or of which grade, and its n."""
    header = ["rater", "part", "first", "last", "grade", "name", "value", "low", "high", "n", "why"]
    rows = []
    for row in found["raters"]:

        def add(part, first, last, grade, name, value, low, high, n, why="", who=row["rater"]) -> None:
            rows.append([who, part, first, last, grade, name, value, low, high, n, why])

        for half in ("early", "late"):
            n = row[f"shared_{half}"]
            add("half", None, None, None, half, row[half], None, None, n, row["why"].get(half, ""))
        moved, both = row["why"].get("moved", ""), row["shared_early"] + row["shared_late"]
        add("half", None, None, None, "moved", row["moved"], row["low"], row["high"], both, moved)
        for each in row["periods"]:
            at = each["first"], each["last"]
            add("period", *at, None, "bias", each["bias"], each["low"], each["high"], each["shared"])
            for grade, given in zip(found["grades"], each["given"], strict=True):
                add("period", *at, grade, "given", given, None, None, sum(each["given"]))
        for name in ("gold", "repeats"):
            each = row[name]
            add(name, None, None, None, "share", each["share"], each["low"], each["high"], each["n"],
                each["why"].get("share", ""))  # fmt: skip
        for each in row["seconds"]:
            for name in ("low", "middle", "high"):
                add("seconds", None, None, each["grade"], name, each[name], None, None, each["n"])
            add("seconds", None, None, each["grade"], "others", each["others"], None, None, each["n_others"])
        for hint in row["hints"]:
            add("hint", None, None, None, hint, None, None, None, None)
    return header, rows
