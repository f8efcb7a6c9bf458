"""The page of two systems: their differences by query, and by segment of the queries."""

from collections.abc import Sequence
from itertools import compress
from math import ceil
from operator import itemgetter
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from ratings.models import Collection
from ratings.people.access import readers_page
from ratings.web import tables
from ratings.web.pages import paged
from ratings.words import natural

from ... import charts, scores
from ...measures.refusal import refuse_unknown
from ...page.address import PICTURE_PARAMETERS, CannotAnswer, evaluated, page, parameters_without, with_options
from ...page.charts import Chart, charted, dot
from ...page.downloads import Files, files
from ...page.numbers import decimals
from ...results import comparison
from ...results.comparison import Compared
from ...scores import Asked, Evaluation
from ...scores.asked import query_string
from ...significance import ALPHA, FEWEST
from .. import segments
from ..chosen import NOTHING_TO_COMPARE, nothing_to_compare
from ..rivals import MOST_BARS, against_rivals
from ..segments import OnSegment

TITLES = {segments.TAG: "By tag", segments.LENGTH: "By length"}


# The columns that the table can be sorted by.
SORTS = {
    "text": lambda row: row["text"].casefold(),
    "key": lambda row: natural(row["key"]),
    **{name: itemgetter(name) for name in ("words", "weight", "first", "second", "difference")},
}
USUAL_ORDER = "-difference"  # of the table
PARAMETERS = ("baseline", "system", "segment", "sort", "q", "page")


@readers_page
@with_options(*PARAMETERS)
def differences(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    """The page of the pair in the address. Where it names none, also of the best system against all its rivals."""
    evaluation = evaluated(collection, asked)
    context = page(request, collection, "compare", asked) | {"ranked": list(evaluation.means)}
    pair = pair_in(request, evaluation)
    if pair is None:
        context["next_step"] = nothing_to_compare(collection, asked)
        return charted(request, "evaluation/differences.html", context)
    result, on_segments = compared(evaluation, pair)
    (whole,) = result.rows()  # one pair: one row
    rows = every_row(result)
    of_chart = pictured(collection, asked, rows, pair)  # its "charts" get further ones below
    of_segments = by_segment(on_segments, result, whole["difference"])
    context |= {
        "whole": whole,
        "compared": result,
        "why_dropped": scores.why(result.why_dropped),
        "files": query_string_with(request, *pair),  # of the links to the files
        "swapped": query_string_with(request, *reversed(pair)),
        "hidden": parameters_without(request, {*PARAMETERS, *PICTURE_PARAMETERS}),  # that the form sends anew
        "label": evaluation.label,
        **of_chart,
        **of_segments,
        **table(request, rows, result, on_segments),
    }
    context["charts"] |= {kind["id"]: kind["chart"] for kind in of_segments["kinds"]}
    if not (request.GET.get("baseline") or request.GET.get("system")):
        _, best_system = pair
        of_rivals = against_rivals(collection, evaluation, best_system)
        context |= of_rivals
        if of_rivals:
            context["charts"]["rivals"] = of_rivals["rivals_chart"]
    return charted(request, "evaluation/differences.html", context)


def pair_in(request: HttpRequest, evaluation: Evaluation) -> tuple[str, str] | None:
    """(baseline, system) of the address; for a missing one, the best system that is not the other one.

    None where nothing can be compared. Raises CannotAnswer or, for an unknown system, WrongOption.
    """
    baseline, system = request.GET.get("baseline", ""), request.GET.get("system", "")
    ranked = list(evaluation.means)  # best first
    for name in filter(None, (baseline, system)):
        refuse_unknown("system", name, evaluation.systems)
        if name not in ranked:
            raise CannotAnswer(f"{name} has no mean in this measure, so nothing can be compared with it.")
    if baseline and baseline == system:
        raise CannotAnswer(f"{baseline} cannot be compared with itself; name another system.")
    if len(ranked) < 2:
        return None
    system = system or next(name for name in ranked if name != baseline)
    baseline = baseline or next(name for name in ranked if name != system)
    return baseline, system


def compared(evaluation: Evaluation, pair: tuple[str, str]) -> tuple[Compared, list[OnSegment]]:
    """The pair, (baseline, system), compared on all queries and on each segment, both cached with the scores.

    A segment is a set of queries with the same tag, or of about the same length.
    """
    baseline, system = pair
    result = comparison.of_page(evaluation, baseline, (system,), all_pairs=False)  # from the cache where possible
    table = evaluation.table

    def compare_on_segments() -> list[OnSegment]:
        # Segments are the same for every pair, and cached once.
        of_queries = table.remember("segments", lambda: segments.segments(table.record.queries))
        return segments.compared(result, of_queries)

    return result, table.remember(("segments", baseline, system), compare_on_segments)


def every_row(result: Compared) -> list[dict]:
    """A row for each query of the collection, with the numbers of the CSV that the page offers (`every_query`).

    pk, key, text, weight, tags: of the query; words: how many its text has; first, second: the values of baseline
    and system, None for one that does not count; difference: second less first, None where the query is left out
    of the comparison; why: the reason for that, or "counted".
    """
    header, lines = comparison.every_query([result])
    rows_of_file = [dict(zip(header, line, strict=True)) for line in lines]
    queries = result.evaluation.table.record.queries[["pk", "key", "text", "weight", "tags"]]
    # Both have all queries, in the same order.
    return [
        {
            **query._asdict(),
            "words": segments.words_in(query.text),
            "first": row["baseline_value"],
            "second": row["system_value"],
            "difference": row["difference"],
            "why": row["reason"],
        }
        for query, row in zip(queries.itertuples(index=False), rows_of_file, strict=True)
    ]


def pictured(collection: Collection, asked: Asked, rows: Sequence[dict], pair: tuple[str, str]) -> dict:
    """The context of the chart: its bars, the queries that gain and lose most, and the links to queries.

    `keep`: the query string of these links; `first`, `last`: the rows of the queries at the ends of the chart, if
    the first one gains and the last one loses; else None.
    """
    baseline, system = pair
    keep = asked.keep_with(urlencode([("system", baseline), ("system", system)]))
    with_difference = [row for row in rows if row["difference"] is not None]
    if not with_difference:
        return {"keep": keep, "charts": {}}
    highest_first = tables.ordered(with_difference, SORTS, "-difference")
    total = len(highest_first)
    step = ceil(total / MOST_BARS)  # a bar shows the first of so many queries, and is as wide as all of them
    bars = [
        {
            "query": row["key"],
            "text": row["text"],
            "first": row["first"],
            "second": row["second"],
            "value": row["difference"],
            "start": start,
            "end": min(start + step, total),
            "url": reverse("query", args=[collection.slug, row["pk"]]) + keep,
        }
        for start, row in zip(range(0, total, step), highest_first[::step], strict=True)
    ]
    best, worst = highest_first[0], highest_first[-1]
    alt_text = f"{asked.measure} of {system} minus that of {baseline} on {total:,} queries, highest first: "
    alt_text += f"from {decimals(best['difference'])} to {decimals(worst['difference'])}."
    return {
        "keep": keep,
        "charts": {"bars": Chart("bars", charts.deltas(bars), alt_text)},
        "step": step,
        "first": best if best["difference"] > 0 else None,
        "last": worst if worst["difference"] < 0 else None,
    }


def query_string_with(request: HttpRequest, baseline: str, system: str) -> str:
    """The query string of another page about this pair, without the parameters of this page alone."""
    kept = parameters_without(request, {*PARAMETERS, *PICTURE_PARAMETERS})
    return query_string([*kept, ("baseline", baseline), ("system", system)])


# Segments


def by_segment(on_segments: Sequence[OnSegment], result: Compared, overall: float | None) -> dict:
    """The context of segments: a chart for each kind, all on one scale, and a sentence.

    overall: the difference on all queries, a line in the charts. `tested` counts the segments with enough queries
    for a test; `fewest` is that number of queries, and `alpha` the level of the tests.
    """
    table = result.evaluation.table
    with_difference = [on_segment for on_segment in on_segments if on_segment.comparison.difference is not None]
    all_dots = [dot_of(on_segment) for on_segment in with_difference]
    kinds = []  # a chart for each
    for kind, title in TITLES.items():
        dots = [dot_of(on_segment) for on_segment in with_difference if on_segment.segment.kind == kind]
        if dots:
            spec = charts.differences(dots, scale_with=all_dots, overall=overall)
            alt_text = "; ".join(f"{dot['label']} {decimals(dot['value'])}" for dot in dots)
            chart = Chart(f"by-{kind}-spec", spec, f"{title}: {alt_text}.")
            kinds.append({"title": title, "id": f"by-{kind}", "chart": chart})
    tags = [on_segment for on_segment in on_segments if on_segment.segment.kind == segments.TAG]
    return {
        "segments": on_segments,
        "tested": sum(not on_segment.few for on_segment in on_segments),
        "differing": [on_segment for on_segment in on_segments if on_segment.significant],
        "tags_left_out": table.remember("tags_left_out", lambda: segments.tags_left_out(table.record.queries)),
        "overlap": len(tags) > 1,  # a query with several tags is in several segments
        "alpha": ALPHA,
        "fewest": FEWEST,
        "kinds": kinds,
    }


def dot_of(on_segment: OnSegment) -> dict:
    test = on_segment.comparison
    label = f"{on_segment.segment.label} (n = {on_segment.queries:,})"
    marks = {"significant": on_segment.significant, "few": on_segment.few}
    return dot(label, test.difference, test.low, test.high, on_segment.queries, **marks)


# As a table


def table(request: HttpRequest, rows: Sequence[dict], result: Compared, on_segments: Sequence[OnSegment]) -> dict:
    """The context of the table: the queries that match the address, in the order that it asks for.

    rows: all of them, as of `every_row`; the column "words" is the number of words of a query.
    """
    # The text to search for, the name of a column in SORTS with "-" for descending, and the key of a segment.
    sought, sort, key = (request.GET.get(name, "").strip() for name in ("q", "sort", "segment"))
    segment = {on_segment.segment.key: on_segment.segment for on_segment in on_segments}.get(key)
    if key and segment is None:
        raise CannotAnswer(f"unknown segment {key!r}; the tables of tags and lengths list those that there are.")
    sort = sort if sort.removeprefix("-") in SORTS else USUAL_ORDER
    baseline, system = result.pairs[0]
    # (key of a row, heading, whether it is a number)
    columns = [("text", "Query", False), ("difference", "Difference", True)]
    columns += [("second", system, True), ("first", baseline, True), ("words", "Words", True)]
    columns += [("weight", "Weight", True)] if result.evaluation.is_weighted else []
    columns += [("key", "Id", False)]
    of_segment = compress(rows, segment.members) if segment else rows  # members: a bool for each row
    shown = [row for row in of_segment if tables.matches(sought, row["key"], row["text"])]
    return {
        "q": sought,
        "chosen": segment,
        "total": len(rows),
        "shown": len(shown),
        "heads": tables.heads(columns, sort),
        "weighted": result.evaluation.is_weighted,
        # Hidden fields of the search form: what the address has besides the text, which the form sends anew.
        "hidden_in_search": parameters_without(request, {"q", "page", *PICTURE_PARAMETERS}),
        **paged(request, tables.ordered(shown, SORTS, sort), tables.ROWS_PER_PAGE),
    }


# As files


@files("baseline", "system")
def differences_files(request: HttpRequest, collection: Collection, asked: Asked) -> Files:
    """The CSV and JSON of the command `compare --per-query`, a row a query; the JSON has `segments`, too."""
    result, on_segments = for_file(request, collection, asked)

    def document() -> dict:
        of_pair = comparison.document([result], per_query=True)
        return of_pair | {"segments": segments.rows(result, on_segments)}

    return Files(
        f"{collection.slug}-differences-{asked.measure}",
        table=lambda: comparison.every_query([result]),
        json=document,
    )


@files("baseline", "system")
def segments_files(request: HttpRequest, collection: Collection, asked: Asked) -> Files:
    """A row for each segment."""
    result, on_segments = for_file(request, collection, asked)
    return Files(f"{collection.slug}-segments-{asked.measure}", table=lambda: segments.table(result, on_segments))


def for_file(request: HttpRequest, collection: Collection, asked: Asked) -> tuple[Compared, list[OnSegment]]:
    """The pair of the address on all queries and on each segment. Raises CannotAnswer."""
    evaluation = evaluated(collection, asked)
    pair = pair_in(request, evaluation)
    if pair is None:
        raise CannotAnswer(NOTHING_TO_COMPARE)
    return compared(evaluation, pair)
