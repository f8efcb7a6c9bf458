"""Drift and haste of the raters of a collection, as JSON documents and CSV tables.

Grades are ordered by the time when the pair was first rated. Seconds are those of the latest grades.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan

import numpy as np

from ratings.desk.figures import FEWEST_ANSWERS, Pace, Share, latest_grades, too_fast_to_read
from ratings.models import Collection
from ratings.pool.progress.counts import GRADES_FOR_DRIFT, hits

from ..agreement import FEWEST_GRADES, Course
from ..page import documents
from .consistency import SHARES_NONE, SHARES_ONE, Agreement

RUSHED = 1 / 3  # a rater rushes whose median time for a grade is below this share of the others'

# Why there is no number.
NO_ORDER = "most grades came at once, without times"
FEW = f"fewer than {2 * FEWEST_GRADES} grades"
NOT_ASKED = "no such pair was answered"


@dataclass(frozen=True)
class Checked:
    """Hits and times by rater. Not cached, because they change without a change of a judgment."""

    gold: dict[int, Share]
    repeats: dict[int, Share]
    seconds: dict[float, tuple[np.ndarray, np.ndarray]]  # by grade: raters, int64[n], and seconds, float64[n]
    too_fast: Mapping[int, int]  # how many of these grades of a rater came faster than anybody reads


def checked_in(collection: Collection, raters: Sequence[int]) -> Checked:
    """The gold hits, repeat hits and rating times of these raters. Five database queries.

    A hit is the expected grade for a pair of known grade (gold), or the same grade for a pair that was asked
    again.
    """
    rows = collection.raters.filter(pk__in=raters)
    latest = latest_grades(rows, GRADES_FOR_DRIFT)
    too_fast = too_fast_to_read(collection, rows, GRADES_FOR_DRIFT)  # how many grades, by rater
    by_grade: dict[float, list[tuple[int, float]]] = {}  # (rater, seconds) of each grade that was timed
    for rater, value, seconds_taken in latest.iterator():
        by_grade.setdefault(float(value), []).append((rater, seconds_taken))
    seconds = {}
    for grade, timed in by_grade.items():
        raters_of_grade, seconds_of_grade = zip(*timed, strict=True)
        seconds[grade] = np.array(raters_of_grade), np.array(seconds_of_grade)  # both: an element for each rating
    return Checked(**hits(raters), seconds=seconds, too_fast=too_fast)  # `hits` has gold and repeats


def document(agreed: Agreement, courses: Sequence[Course], checked: Checked, labels: Mapping[float, str]) -> dict:
    """A row for each rater with a grade, those with a hint first and then by name. labels: by grade."""
    grades = agreed.table.grades.tolist()
    raters = list(agreed.opinions.raters.items())
    rows = []
    for course in courses:
        pk, name = raters[course.rater]
        row = {"rater": name} | row_of(pk, course, grades, checked)
        rows.append(row | {"hints": hints(pk, row, checked, labels), "few": few(row)})
    rows.sort(key=lambda row: (not row["hints"], row["rater"]))
    return {"collection": agreed.collection, "grades": grades, "raters": rows}


def row_of(pk: int, course: Course, grades: Sequence[float], checked: Checked) -> dict:
    """The row of a rater in the JSON document, without name and hints.

    course: the rater's grades over time beside those of others; grades: of the scale, each with its times in
    `seconds`; checked: hits and times of all raters.

    `early`, `late`: the mean distance from the others' grades in the earlier and the later half; `shared_early`,
    `shared_late`, `shared`: how many grades of a half, and of all, are of pairs that others graded, too; `moved`:
    late minus early, with its 95 % interval from `low` to `high`; `told`: whether `moved` is significant;
    `by_chance`: whether the grades agree with those of others no more than grades by lot; `why`: by name, the
    reason for each of these numbers that is missing, and for periods where there are none.
    """
    names = ("ratings", "shared", "shared_early", "early", "shared_late", "late", "moved", "low", "high")
    return {name: documents.none_for_nan(getattr(course, name)) for name in names} | {
        "told": course.significant,
        "by_chance": course.by_chance,
        "why": why(course),
        "gold": share(checked.gold.get(pk, Share())),
        "repeats": share(checked.repeats.get(pk, Share())),
        "seconds": [seconds_of(pk, grade, checked) for grade in grades],
        "periods": [documents.numbers(period) for period in course.periods],
    }


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
    return {
        "hits": answered.hits,
        "n": answered.n,
        "share": answered.value,
        "low": low,
        "high": high,
        "few": answered.n < FEWEST_ANSWERS,
        "why": {} if answered.n else {"share": NOT_ASKED},
    }


def seconds_of(pk: int, grade: float, checked: Checked) -> dict:
    """The quartiles of a rater's seconds for one grade, the median of the others, and whether the rater rushes.

    `low`, `middle`, `high`: the quartiles; `others`: the median of the other raters' seconds, None without any;
    `n`, `n_others`: how many grades of the rater and of others were timed.
    """
    rater, seconds = checked.seconds.get(grade, (np.empty(0), np.empty(0)))
    pace = Pace.of(seconds[rater == pk].tolist())  # None where no such grade of the rater was timed
    others = seconds[rater != pk]
    low, middle, high = (pace.low, pace.middle, pace.high) if pace else (None, None, None)
    return {
        "grade": grade,
        "n": pace.n if pace else 0,
        "low": low,
        "middle": middle,
        "high": high,
        "others": float(np.median(others)) if others.size else None,
        "n_others": others.size,
        "rushed": rushes(pace, others),
    }


def hints(pk: int, row: Mapping, checked: Checked, labels: Mapping[float, str]) -> list[str]:
    """Hints at what is unusual in a rater's grades, as sentences without subject; [] for nothing.

    Each says on how many answers it rests, which are at least 20. pk: of the rater; row: as from `row_of`;
    labels: of the grades, by value.
    """
    sentences = []
    if row["told"]:  # the move from the earlier half to the later one is significant
        side = "higher" if row["moved"] > 0 else "lower"
        shared = f"{row['shared_early']:,} and {row['shared_late']:,} shared grades"
        sentences.append(f"grades {abs(row['moved']):.2f} {side} in the later half ({shared})")
    if row["by_chance"]:
        sentences.append(f"agrees with the others no more than by chance ({row['shared']:,} shared grades)")
    for shares, noun in ((checked.gold, "gold hits"), (checked.repeats, "same grades again")):
        own_share = shares.get(pk, Share())
        share_of_all = sum(shares.values(), Share())
        if own_share.below(share_of_all):  # significantly
            hits = f"{own_share.hits:,} of {own_share.n:,}"
            sentences.append(f"fewer {noun} ({hits}) than all together ({share_of_all.value:.0%})")
    if haste := hint_of_haste(pk, row, checked, labels):
        sentences.append(haste)
    return sentences


def hint_of_haste(pk: int, row: Mapping, checked: Checked, labels: Mapping[float, str]) -> str:
    """What is unusual in the times of a rater's grades, as a sentence without subject; "" for nothing.

    Where several hints apply, only the most serious one is returned: grades too fast for anybody to read, then
    haste beside the others in some grades, then over all grades. pk: of the rater; row: as from `row_of`; checked:
    the times of all raters, and by rater the number of grades that were too fast; labels: of the grades, by value.
    """
    if not checked.seconds:
        return ""
    own = np.concatenate([seconds[rater == pk] for rater, seconds in checked.seconds.values()])
    others = np.concatenate([seconds[rater != pk] for rater, seconds in checked.seconds.values()])
    pace = Pace.of(own.tolist())  # None where no grade of the rater is timed: then no hint below applies
    rushed = [of_grade for of_grade in row["seconds"] if of_grade["rushed"]]
    if pace and pace.unread(checked.too_fast.get(pk, 0)):
        return f"median {pace.middle:.1f} s a grade: too fast to have read ({pace.n:,} timed)"
    if rushed:
        grades = labels[rushed[0]["grade"]] if len(rushed) == 1 else f"{len(rushed)} of {len(labels)} grades"
        timed = sum(of_grade["n"] for of_grade in rushed)
        return f"less than a third of the others’ time for {grades} ({timed:,} timed)"
    # All grades together can be enough to tell where those of one value are too few.
    if rushes(pace, others):
        return f"less than a third of the others’ time over all grades ({own.size:,} timed)"
    return ""


def rushes(pace: Pace | None, others: np.ndarray) -> bool:
    """Whether a rater with this pace rushes beside the others, whose seconds are float64[n]."""
    if pace is None or min(pace.n, others.size) < FEWEST_ANSWERS:
        return False
    return pace.middle < RUSHED * float(np.median(others))


def few(row: Mapping) -> dict[str, int]:
    """The numbers of grades that are too few to say something: timed ones to see haste, shared ones the rest."""
    counts = {"timed": sum(of_grade["n"] for of_grade in row["seconds"]), "shared": row["shared"]}
    return {kind: count for kind, count in counts.items() if count < FEWEST_ANSWERS}


# The columns of the CSV table. `first` and `last` number the rater's grades, from 1.
COLUMNS = ["rater", "part", "first", "last", "grade", "name", "value", "low", "high", "n", "why"]


def table(whole: Mapping) -> documents.Table:
    """The document as a CSV table."""
    return documents.table_of(COLUMNS, (line for row in whole["raters"] for line in lines(row, whole["grades"])))


def lines(row: Mapping, grades: Sequence[float]) -> Iterator[dict]:
    """The lines of the CSV table for one rater's row of the JSON document, as dicts by column.

    A line has one number. The column `part` says what it is about: a half or a period of the grades, the pairs of
    known grade (gold), the repeats, the seconds of a grade, or a hint. A period is a run of the rater's grades in
    the order of time: `first` and `last` are their numbers, from 1. Names with `shared` count grades of pairs that
    others graded, too. grades: of the scale, lowest first.
    """
    why = row["why"]  # by name of the number that is missing

    def line(part: str, **cells) -> dict:
        return {"rater": row["rater"], "part": part, "name": "", "why": "", **cells}

    for half in ("early", "late"):  # the bias in each half
        yield line("half", name=half, value=row[half], n=row[f"shared_{half}"], why=why.get(half, ""))
    moved = {"value": row["moved"], "low": row["low"], "high": row["high"], "why": why.get("moved", "")}
    yield line("half", name="moved", n=row["shared_early"] + row["shared_late"], **moved)
    for period in row["periods"]:
        cells = {name: period[name] for name in ("first", "last", "low", "high")}
        yield line("period", name="bias", value=period["bias"], n=period["shared"], **cells)
        first_and_last = {"first": period["first"], "last": period["last"]}
        for grade, count in zip(grades, period["given"], strict=True):
            yield line("period", **first_and_last, grade=grade, name="given", value=count, n=sum(period["given"]))
    for name in ("gold", "repeats"):
        answered = row[name]
        cells = {cell: answered[cell] for cell in ("n", "low", "high")}
        yield line(name, name="share", value=answered["share"], why=answered["why"].get("share", ""), **cells)
    for times in row["seconds"]:
        for name in ("low", "middle", "high"):
            yield line("seconds", grade=times["grade"], name=name, value=times[name], n=times["n"])
        # The median of the other raters' seconds.
        yield line("seconds", grade=times["grade"], name="others", value=times["others"], n=times["n_others"])
    for hint in row["hints"]:
        yield line("hint", name=hint)
