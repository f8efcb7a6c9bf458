"""Why on this query: two rankings side by side with the ideal list, and the way from their sums to nDCG."""

from dataclasses import dataclass

import numpy as np
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import slugify
from django.views.decorators.http import require_safe

from ratings.models import Assignment, Collection, Document, Query, System

from .. import charts, scores
from ..measures import Explanation, Measure
from ..templatetags.numbers import decimals
from . import sentences
from .answer import Answer, NextStep, holdings, known, next_step
from .asked import Asked, CannotAnswer, for_analysts
from .export import csv_response

# Without a cutoff a ranking may have thousands of ranks; so many are drawn.
SHOWN = 50

# So many lines can be told apart in the chart; with more systems it draws the two chosen.
LINES = 8

ROW = 54  # height of a row of a ranking in the style sheet, --row, in pixels


@dataclass(frozen=True)
class Line:
    """One rank as it is shown."""

    rank: int
    document: Document | None
    grade: float | None  # None = unjudged
    calc: str  # gain x discount
    adds: float


@dataclass(frozen=True)
class Side:
    """One system's list."""

    system: System
    ndcg: float | None
    why: str
    dcg: float
    rows: list[Line]
    more: int
    present: bool


@require_safe
@for_analysts
def query(request: HttpRequest, collection: Collection, asked: Asked, pk: int) -> HttpResponse:
    found = get_object_or_404(Query, collection=collection, pk=pk)
    answer = Answer.of(collection, asked, [asked.at(name) for name in ("nDCG", "DCG", "CG", "IDCG")])
    place = int(np.flatnonzero(answer.record.queries["pk"] == found.pk)[0])
    every = standings(answer, place)
    pks = answer.record.queries["pk"].tolist()
    context = {
        "collection": collection,
        "role": collection.role,
        "section": "queries",
        "asked": asked,
        "query": found,
        "all": every,
        "previous": pks[place - 1] if place else None,
        "next": pks[place + 1] if place + 1 < len(pks) else None,
        "keep": asked.keep,
        "hidden": [(name, value) for name, value in request.GET.items() if name not in ("left", "right")],
    }
    if not every:
        context["next_step"] = next_step(collection, holdings(collection))
        return render(request, "evaluation/query.html", context)
    context["judged"] = bool(answer.judgments.count[place])
    if not context["judged"]:
        context["next_step"] = not_judged(found)
    left, right = chosen(request, every)
    if request.GET.get("left") or request.GET.get("right"):
        context["keep"] = kept(asked, left, right)
    names = [each["system"].name for each in every]
    if len(names) > LINES:
        names = list(dict.fromkeys(each["system"].name for each in (left, right) if each))
    try:
        explained = scores.explain(collection, names, found.key, asked.measure, asked.options, asked.rule)
    except ValueError as error:
        raise CannotAnswer(str(error)) from error
    context |= compared(answer, place, explained, left, right)
    return render(request, "evaluation/query.html", context)


def standings(answer: Answer, place: int) -> list[dict]:
    """Every system on the query of this row, highest value first."""
    key = answer.record.queries["key"].iloc[place]
    values, reasons = answer.values().loc[key], answer.reasons().loc[key]
    ndcg = answer.values(answer.asked.at("nDCG")).loc[key]
    rows = [
        {
            "system": system,
            "value": known(values[name]),
            "why": reasons[name],
            "ndcg": known(ndcg[name]),
            "others": [known(answer.values(measure).loc[key][name]) for measure in others(answer.asked)],
            "judged": float(answer.judged(name)[place]),
        }
        for name, system in answer.systems.items()
    ]
    return sorted(rows, key=lambda row: (row["value"] is None, -(row["value"] or 0), row["system"].name))


def others(asked: Asked) -> list[Measure]:
    return [asked.at(name) for name in ("nDCG", "DCG", "CG") if name != asked.measure.name]


def chosen(request: HttpRequest, every: list[dict]) -> tuple[dict, dict | None]:
    """The two systems that the address names; else the worst and the best here. One system stands alone."""
    by_pk = {str(each["system"].pk): each for each in every}
    left, right = by_pk.get(request.GET.get("left", "")), by_pk.get(request.GET.get("right", ""))
    if len(every) == 1:
        return every[0], None
    if left is None:
        left = next(each for each in reversed(every) if each is not right)
    if right is None:
        right = next(each for each in every if each is not left)
    return left, right


def kept(asked: Asked, left: dict, right: dict | None) -> str:
    sides = f"left={left['system'].pk}" + (f"&right={right['system'].pk}" if right else "")
    return f"{asked.keep}&{sides}" if asked.keep else f"?{sides}"


def compared(
    answer: Answer, place: int, explained: dict[str, Explanation], left: dict, right: dict | None
) -> dict:
    """Everything below the heading: lists, lines, arithmetic, what is missed, the running sums."""
    asked, options = answer.asked, answer.asked.options
    judgments = answer.judgments.only(place)
    grades = dict(zip(judgments.document.tolist(), judgments.grade.tolist(), strict=True))
    pair = [each for each in (left, right) if each]
    lists = [explained[each["system"].name] for each in pair]
    ideal = lists[0]
    listed = [explained_list.ranking for explained_list in lists] + [ideal.ideal]
    documents = titles({row.document for rows in listed for row in rows[:SHOWN]})
    cutoff, judged = asked.measure.cutoff, bool(grades)
    sides = [
        Side(
            system=each["system"],
            ndcg=each["ndcg"],
            why=explanation.reason,
            dcg=explanation.dcg,
            rows=[line(row, documents, grades) for row in explanation.ranking[:SHOWN]],
            more=max(0, len(explanation.ranking) - SHOWN),
            present=bool(answer.record.rankings[each["system"].name].present[place]),
        )
        for each, explanation in zip(pair, lists, strict=True)
    ]
    return {
        "left": sides[0],
        "right": sides[1] if right else None,
        "sides": sides,
        "scale": list(answer.collection.grades.all()),
        "lead": lead(pair, lists, asked),
        "links": links(sides) if right else None,
        "ideal": ideal_list(ideal, documents, cutoff if judged else None),
        # Made of what a system returned, the ideal is another one for each system.
        "ideal_of": sides[0].system.name if options.ideal == "retrieved" else "",
        "negative": any(row.adds < 0 for side in sides for row in side.rows),
        "label": f"{asked.at('nDCG')} {asked.fingerprint}",
        "ndcg_label": str(asked.at("nDCG")),
        "judged_label": str(asked.at("Judged")),
        "shown_label": f"in the top {cutoff}" if cutoff else "in the list",
        "unjudged_words": sentences.unjudged(options),
        "missing_words": sentences.CHOSEN["missing"][options.missing],
        "others": [str(measure) for measure in others(asked)],
        "formula": formula(ideal),
        "sums": sums(sides, lists, options) if judged else [],
        "missed": missed(answer, place, sides, ideal, documents),
        "running": running(explained, left, right, asked) if judged else None,
    }


def titles(pks: set[int]) -> dict[int, Document]:
    """Documents by pk without their texts. One query."""
    return {document.pk: document for document in Document.objects.filter(pk__in=pks).only("pk", "key", "title")}


def line(row, documents: dict[int, Document], grades: dict[int, float]) -> Line:
    judged = row.document in grades
    times = f"{number(row.gain)} × {row.discount:.4f}"
    counted = "counted 0" if not judged and row.gain == 0 else times
    return Line(row.rank, documents.get(row.document), grades.get(row.document), counted, row.contribution)


def number(value: float, places: int = 4) -> str:
    """Without empty zeros: 3, 0.5, 2.6667, −1."""
    text = decimals(value, places)
    return text.rstrip("0").rstrip(".") if "." in text else text


def ideal_list(explanation: Explanation, documents: dict[int, Document], cutoff: int | None) -> dict:
    rows = [
        Line(
            row.rank,
            documents.get(row.document),
            row.grade,
            f"{number(row.gain)} × {row.discount:.4f}",
            row.contribution,
        )
        for row in explanation.ideal[:SHOWN]
    ]
    found = len(explanation.ideal)
    if cutoff and cutoff <= SHOWN:
        rows += [Line(rank, None, None, "", 0.0) for rank in range(found + 1, cutoff + 1)]
    undefined = explanation.idcg == explanation.min_dcg
    return {
        "rows": rows,
        "more": max(0, found - SHOWN),
        "total": explanation.idcg,
        "value": None if undefined else 1.0,
    }


def links(sides: list[Side]) -> dict:
    """Lines between the places of the same document on both sides; a stub for what the other does not have."""
    left, right = ({row.document.pk: row for row in side.rows if row.document} for side in sides)
    lines = []
    for pk, row in left.items():
        y = middle(row.rank)
        if pk in right:
            end = middle(right[pk].rank)
            lines.append({"path": f"M0 {y}C36 {y} 36 {end} 72 {end}", "end": end, "tone": tone(row)})
        else:
            lines.append({"path": f"M0 {y}H16M16 {y - 4}V{y + 4}", "end": None, "tone": tone(row)})
    for pk, row in right.items():
        if pk not in left:
            y = middle(row.rank)
            lines.append({"path": f"M56 {y}H72M56 {y - 4}V{y + 4}", "end": None, "tone": tone(row)})
    rows = max(len(side.rows) for side in sides)
    return {"lines": lines, "height": ROW * max(rows, 1), "shared": len(left.keys() & right.keys())}


def middle(rank: int) -> int:
    return ROW * rank - ROW // 2


def tone(row: Line) -> str:
    return " pos" if row.adds > 0 else " neg" if row.adds < 0 else ""


def lead(pair: list[dict], lists: list[Explanation], asked: Asked) -> SafeString | str:
    """What each scores, and how much of the difference comes from good and from harmful documents."""
    said = [
        format_html("{}{} <b>{}</b>", each["system"].name, "" if place else " scores", decimals(each["value"]))
        if each["value"] is not None
        else format_html("{} has no value ({})", each["system"].name, each["why"])
        for place, each in enumerate(sorted(pair, key=lambda each: -(each["value"] or 0)))
    ]
    sentence = format_html("{}, {}.", *said) if len(said) == 2 else format_html("{}.", *said)
    return (
        format_html("{} {}", sentence, difference(lists))
        if asked.measure.name == "nDCG" and len(lists) == 2
        else sentence
    )


def difference(lists: list[Explanation]) -> str:
    """Only where both are measured on one ideal, so that differences of DCG are shares of one whole."""
    left, right = sorted(lists, key=lambda explanation: explanation.dcg)
    span = left.idcg - left.min_dcg
    same = left.idcg == right.idcg and left.min_dcg == right.min_dcg
    if not same or span <= 0 or right.dcg - left.dcg < 1e-9:
        return ""
    good, bad = (
        (sum(part(row) for row in right.ranking) - sum(part(row) for row in left.ranking)) / span
        for part in (lambda row: max(row.contribution, 0.0), lambda row: min(row.contribution, 0.0))
    )
    if abs(bad) < 5e-5:
        return ""
    total = decimals((right.dcg - left.dcg) / span)
    plus, minus = decimals(abs(good)), decimals(abs(bad))
    if bad < 0:
        return f"Documents graded above 0 put it {plus} ahead; harmful ones take {minus} of that back."
    if good < 0:
        return f"It is {total} ahead because harmful documents cost the other {minus} more."
    return (
        f"Of the {total} between them, {plus} comes from documents graded above 0 and {minus} from harmful ones "
        "placed lower or left out."
    )


def formula(ideal: Explanation) -> str:
    if ideal.min_dcg:
        return "nDCG = (DCG − W) / (IDCG − W), where W is the DCG of the worst list: the harmful documents first."
    return "nDCG = DCG / IDCG."


def sums(sides: list[Side], lists: list[Explanation], options) -> list[dict]:
    """The arithmetic of each value, from the worst list over the empty one to those of the systems."""
    first = lists[0]
    rows = []
    if first.min_dcg and first.idcg > first.min_dcg:
        rows.append({"name": "Worst list", "arithmetic": arithmetic(first, first.min_dcg), "value": 0.0})
        empty = -first.min_dcg / (first.idcg - first.min_dcg)
        rows.append(
            {"name": "Empty list, the neutral point", "arithmetic": arithmetic(first, 0.0), "value": empty}
        )
    for side, explanation in zip(sides, lists, strict=True):
        rows.append(
            {
                "name": side.system.name,
                "arithmetic": arithmetic(explanation, explanation.dcg),
                "value": side.ndcg,
                "why": explanation.reason,
            }
        )
    return rows


def arithmetic(explanation: Explanation, dcg: float) -> str:
    """With six decimals, so that who computes it again gets the four that are shown."""
    ideal, worst = number(explanation.idcg, 6), explanation.min_dcg
    if not worst:
        return f"{number(dcg, 6)} / {ideal}"
    less = f"{'+' if worst < 0 else '−'} {number(abs(worst), 6)}"
    return f"({number(dcg, 6)} {less}) / ({ideal} {less})"


def missed(
    answer: Answer, place: int, sides: list[Side], ideal: Explanation, documents: dict[int, Document]
) -> list[dict]:
    """Documents of the ideal list that a side does not list down to the cutoff, and where it has them."""
    cutoff = answer.asked.measure.cutoff
    ranks = []
    for side in sides:
        rankings = answer.record.rankings[side.system.name].only(place)
        ranks.append({document: rank for rank, document in enumerate(rankings.documents.tolist(), 1)})
    rows = []
    for row in ideal.ideal[:SHOWN]:
        at = [where.get(row.document) for where in ranks]
        if any(rank is None or (cutoff and rank > cutoff) for rank in at):
            rows.append({"document": documents.get(row.document), "grade": row.grade, "ranks": at})
    return rows


def running(explained: dict[str, Explanation], left: dict, right: dict | None, asked: Asked) -> dict | None:
    """The sums down the ranks, drawn and as a table. None where no list has a rank."""
    focus = (right or left)["system"].name
    depth = max((len(explanation.ranking) for explanation in explained.values()), default=0)
    depth = min(depth, asked.measure.cutoff or SHOWN, SHOWN)
    if depth < 1:
        return None
    ideal = next(iter(explained.values())).ideal
    lists = [("ideal", sums_to(ideal, depth))]
    lists += [(name, sums_to(explanation.ranking, depth)) for name, explanation in explained.items()]
    rows = [
        {
            "system": name,
            "cutoff": rank,
            "value": value,
            "leader": name == focus and index > 0,
            "ideal": index == 0,
        }
        for index, (name, values) in enumerate(lists)
        for rank, value in enumerate(values, 1)
        if value is not None
    ]
    return {
        "spec": charts.running(rows),
        "says": f"DCG summed down to rank {depth}: "
        + ", ".join(f"{name} {decimals([v for v in values if v is not None][-1])}" for name, values in lists),
        "ranks": range(1, depth + 1),
        "table": lists,
    }


def sums_to(rows: list, depth: int) -> list[float]:
    """The running sums; a list that is too short adds nothing more and stays at its sum."""
    sums = [row.running for row in rows[:depth]]
    return sums + [sums[-1] if sums else 0.0] * (depth - len(sums))


def not_judged(found: Query) -> NextStep:
    lack = "Nobody has judged a document of this query yet."
    shown = "So nDCG has no value here: the rankings below are shown as they are."
    waiting = Assignment.objects.filter(pair__query=found).exclude(state=Assignment.State.DONE).count()
    if waiting:
        wait = "rating is" if waiting == 1 else "ratings are"
        return NextStep(lack, f"{shown} {waiting:,} {wait} waiting for raters.")
    pool = f"python3 run.py manage pool {found.collection.slug}"
    return NextStep(lack, f"{shown} Pool the query for raters:", (pool,))


@require_safe
@for_analysts
def query_csv(request: HttpRequest, collection: Collection, asked: Asked, pk: int) -> HttpResponse:
    """One row for each rank of each system down to the cutoff, then those of the ideal list."""
    found = get_object_or_404(Query, collection=collection, pk=pk)
    try:
        explained = scores.explain(collection, None, found.key, asked.measure, asked.options, asked.rule)
    except ValueError as error:
        raise CannotAnswer(str(error)) from error
    lists = [(name, explanation.ranking, explanation) for name, explanation in explained.items()]
    if lists:
        lists.append(("", lists[0][2].ideal, lists[0][2]))
    pks = {row.document for _, rows, _ in lists for row in rows}
    documents = titles(pks)
    header = [
        "query",
        "list",
        "system",
        "rank",
        "document",
        "title",
        "judgment",
        "gain",
        "discount",
        "adds",
        "dcg",
    ]
    header += [str(asked.at("nDCG")), "options"]
    label = f"{asked.at('nDCG')} {asked.fingerprint}"
    rows = (
        [found.key, "ranking" if name else "ideal", name or None, row.rank]
        + [documents[row.document].key, documents[row.document].title, row.grade]
        + [row.gain, row.discount, row.contribution, row.running, explanation.ndcg if name else None, label]
        for name, ranks, explanation in lists
        for row in ranks
    )
    name = slugify(found.key, allow_unicode=True) or found.pk
    return csv_response(f"{collection.slug}-query-{name}-{asked.measure}", header, rows)
