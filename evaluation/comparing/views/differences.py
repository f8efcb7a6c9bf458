"""The page of two systems: their differences by query, and by segment of the queries."""

from collections.abc import Sequence
from operator import itemgetter
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from ratings.formats.values import natural
from ratings.models import Collection
from ratings.people.access import readers_page
from ratings.web.pages import paged

from ... import charts, scores
from ...measures.refusal import refuse_unknown
from ...page import tables
from ...page.address import CannotAnswer, evaluated, page, with_options
from ...page.charts import Chart, charted, dot
from ...page.downloads import Files, files
from ...page.numbers import decimals
from ...results import comparison
from ...results.comparison import Compared
from ...results.leader import Selection, tested
from ...scores import Asked, Evaluation
from ...scores.asked import query_string
from ...significance import ALPHA, FEWEST
from .. import segments
from ..chosen import NOTHING, nothing_to_compare
from ..parameters import kept_parameters
from ..segments import OnSegment

MOST_BARS = 1_000  # about the width in pixels: with more queries, every n-th is drawn
TITLES = {segments.TAG: "By tag", segments.LENGTH: "By length"}


# The columns that the table can be sorted by, and the default.
SORTS = {
    "text": lambda row: row["text"].casefold(),
    "key": lambda row: natural(row["key"]),
    **{name: itemgetter(name) for name in ("words", "weight", "first", "second", "difference")},
}
USUAL = "-difference"
OF_PAGE = ("baseline", "system", "segment", "sort", "q", "page")


@readers_page
@with_options(*OF_PAGE)
def differences(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    evaluation = evaluated(collection, asked)
    context = page(request, collection, "compare", asked) | {"ranked": list(evaluation.means)}
    pair = pair_in(request, evaluation)
    if pair is None:
        context["next_step"] = nothing_to_compare(collection, asked)
        return charted(request, "evaluation/differences.html", context)
    result, every = compared(evaluation, pair)
    (whole,), rows = result.rows(), every_row(result, asked)
    context |= {
        "whole": whole,
        "compared": result,
        "why_dropped": scores.why(result.why_dropped),
        "files": ending_with(request, *pair),
        "swapped": ending_with(request, *reversed(pair)),
        "hidden": kept_parameters(request, OF_PAGE),
        "label": evaluation.label,
        **pictured(collection, asked, rows, pair),
        **by_segment(every, result, whole),
        **table(request, rows, result, every),
    }
    context["charts"] |= {kind["id"]: kind["chart"] for kind in context["kinds"]}
    return charted(request, "evaluation/differences.html", context)


def pair_in(request: HttpRequest, evaluation: Evaluation) -> tuple[str, str] | None:
    """(baseline, system) of the address; a missing one is the best of the others.

    None where nothing can be compared. Raises CannotAnswer.
    """
    baseline, system = (request.GET.get(name, "") for name in ("baseline", "system"))
    order = list(evaluation.means)
    for name in filter(None, (baseline, system)):
        refuse_unknown("system", name, evaluation.systems)
        if name not in order:
            raise CannotAnswer(f"{name} has no mean in this measure, so nothing can be compared with it.")
    if baseline and baseline == system:
        raise CannotAnswer(f"{baseline} cannot be compared with itself; name another system.")
    if len(order) < 2:
        return None
    system = system or next(name for name in order if name != baseline)
    return baseline or next(name for name in order if name != system), system


def compared(evaluation: Evaluation, pair: tuple[str, str]) -> tuple[Compared, list[OnSegment]]:
    """The pair compared on all queries and on each segment, cached with the scores."""
    baseline, system = pair
    result = tested(evaluation, Selection(baseline, (system,), True, False))
    table = evaluation.table

    def of_segments() -> list[OnSegment]:
        # Segments are the same for every pair, and cached once.
        every = table.remember("segments", lambda: segments.segments(table.record.queries))
        return segments.compared(result, every)

    return result, table.remember(("segments", baseline, system), of_segments)


def every_row(result: Compared, asked: Asked) -> list[dict]:
    """A row for each query, in the order of the record, with the numbers of the file.

    first, second: the values of baseline and system, None without one; why: why the query is left out.
    """
    header, lines = comparison.every_query([result])
    names = {"first": "baseline_value", "second": "system_value", "difference": "difference", "why": "reason"}
    queries = result.evaluation.table.record.queries[["pk", "key", "text", "weight", "tags"]]
    return [
        query._asdict()
        | {"words": segments.words_in(query.text)}
        | {name: line[header.index(column)] for name, column in names.items()}
        for query, line in zip(queries.itertuples(index=False), lines, strict=True)
    ]


def pictured(collection: Collection, asked: Asked, rows: Sequence[dict], pair: tuple[str, str]) -> dict:
    """The context of the chart: the bars, the two queries at its ends, and the link from a bar to its query."""
    baseline, system = pair
    keep = asked.keep_with(urlencode([("system", baseline), ("system", system)]))
    known = tables.ordered((row for row in rows if row["difference"] is not None), SORTS["difference"], True)
    if not known:
        return {"keep": keep, "charts": {}}
    # Every n-th query, drawn n bars wide.
    step = -(-len(known) // MOST_BARS)
    bars = [
        {
            "query": row["key"],
            "text": row["text"],
            "first": row["first"],
            "second": row["second"],
            "value": row["difference"],
            "start": start,
            "end": min(start + step, len(known)),
            "url": reverse("query", args=[collection.slug, row["pk"]]) + keep,
        }
        for start, row in enumerate(known)
        if start % step == 0
    ]
    alt_text = f"{asked.measure} of {system} minus that of {baseline} on {len(known):,} queries, highest first: "
    alt_text += f"from {decimals(known[0]['difference'])} to {decimals(known[-1]['difference'])}."
    return {
        "keep": keep,
        "charts": {"bars": Chart("bars", charts.deltas(bars), alt_text)},
        "step": step,
        "first": known[0] if known[0]["difference"] > 0 else None,
        "last": known[-1] if known[-1]["difference"] < 0 else None,
    }


def ending_with(request: HttpRequest, baseline: str, system: str) -> str:
    """The query string of another page about this pair, without the parameters of this page alone."""
    parts = [*kept_parameters(request, OF_PAGE), ("baseline", baseline), ("system", system)]
    return query_string(parts)


# Segments


def by_segment(every: Sequence[OnSegment], result: Compared, whole: dict) -> dict:
    """The context of segments: a chart for each kind, on one scale, and a sentence."""
    table = result.evaluation.table
    known = [each for each in every if each.comparison.difference is not None]
    drawn = {kind: [dot_of(each) for each in known if each.segment.kind == kind] for kind in segments.KINDS}
    beside = [row for rows in drawn.values() for row in rows]
    return {
        "segments": every,
        "tested": sum(not each.few for each in every),
        "differing": [each for each in every if each.significant],
        "tags_left_out": table.remember("tags_left_out", lambda: segments.tags_left_out(table.record.queries)),
        "overlap": sum(each.segment.kind == segments.TAG for each in every) > 1,
        "alpha": ALPHA,
        "fewest": FEWEST,
        "kinds": [
            {
                "title": TITLES[kind],
                "id": f"by-{kind}",
                "chart": Chart(
                    f"by-{kind}-spec",
                    charts.differences(rows, scale_with=beside, overall=whole["difference"]),
                    f"{TITLES[kind]}: {'; '.join(in_words(row) for row in rows)}.",
                ),
            }
            for kind, rows in drawn.items()
            if rows
        ],
    }


def dot_of(each: OnSegment) -> dict:
    found, label = each.comparison, f"{each.segment.label} (n = {each.queries:,})"
    marks = {"significant": each.significant, "few": each.few}
    return dot(label, found.difference, found.low, found.high, each.queries, **marks)


def in_words(row: dict) -> str:
    return f"{row['label']} {decimals(row['value'])}"


# As a table


def table(request: HttpRequest, rows: Sequence[dict], result: Compared, every: Sequence[OnSegment]) -> dict:
    """The context of the table: the queries that match the address, in its order."""
    q, sort, segment = (request.GET.get(name, "").strip() for name in ("q", "sort", "segment"))
    chosen = {each.segment.key: each.segment for each in every}.get(segment)
    if segment and chosen is None:
        raise CannotAnswer(
            f"unknown segment {segment!r}; the tables of tags and lengths list those that there are."
        )
    sort = sort if sort.removeprefix("-") in SORTS else USUAL
    baseline, system = result.pairs[0]
    columns = [("text", "Query", False), ("difference", "Difference", True)]
    columns += [("second", system, True), ("first", baseline, True), ("words", "Words", True)]
    columns += [("weight", "Weight", True)] if result.evaluation.is_weighted else []
    columns += [("key", "Id", False)]
    members = [row for row, is_member in zip(rows, chosen.members, strict=True) if is_member] if chosen else rows
    shown = [row for row in members if tables.matches(q, row["key"], row["text"])]
    in_order = tables.ordered(shown, SORTS[sort.removeprefix("-")], sort.startswith("-"))
    return {
        "q": q,
        "chosen": chosen,
        "total": len(rows),
        "shown": len(shown),
        "heads": tables.heads(columns, sort),
        "weighted": result.evaluation.is_weighted,
        "searched": kept_parameters(request, ("q", "page")),
        **paged(request, in_order, tables.AT_ONCE),
    }


# As files


@files("baseline", "system")
def differences_files(request: HttpRequest, collection: Collection, asked: Asked) -> Files:
    """The CSV and JSON of `compare --per-query`, a row for each query; the JSON has `segments`, too."""
    result, every = for_file(request, collection, asked)

    def document() -> dict:
        of_pair = comparison.document([result], per_query=True)
        return of_pair | {"segments": segments.rows(result, every)}

    return Files(
        f"{collection.slug}-differences-{asked.measure}",
        table=lambda: comparison.every_query([result]),
        json=document,
    )


@files("baseline", "system")
def segments_files(request: HttpRequest, collection: Collection, asked: Asked) -> Files:
    """A row for each segment."""
    result, every = for_file(request, collection, asked)
    return Files(f"{collection.slug}-segments-{asked.measure}", table=lambda: segments.table(result, every))


def for_file(request: HttpRequest, collection: Collection, asked: Asked) -> tuple[Compared, list[OnSegment]]:
    evaluation = evaluated(collection, asked)
    pair = pair_in(request, evaluation)
    if pair is None:
        raise CannotAnswer(NOTHING)
    return compared(evaluation, pair)
