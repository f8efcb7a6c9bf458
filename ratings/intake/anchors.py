"""Import of anchors: pairs whose grade is known, for warm-ups and gold."""

from collections.abc import Sequence
from difflib import get_close_matches

from django.db import transaction

from .. import queue
from ..anchors import set_anchor
from ..formats import values
from ..formats.delimited import AnchorLine, read_anchors
from ..formats.source import Source, place
from ..models import Anchor, Collection, Grade, Pair, plain_value
from .documents import known_ids
from .report import Report, counted, tell_of_repeats
from .stage import Progress, rows_of, silent


def import_anchors(collection: Collection, sources: Sequence[Source], *, progress: Progress = silent) -> Report:
    """Make anchors, and change those that are there. Some ten database queries for each that is new or another.

    Unlike judgments anchors are few and meant one by one: a pair that cannot be found is refused, not passed over.
    """
    report = Report()
    rows = [
        (file, row)
        for file, source in enumerate(sources)
        for row in rows_of(source, read_anchors, report, progress)
    ]
    found = _checked(collection, sources, rows, report)
    if not report.refused:
        _publish(collection, found, report, progress)
        _tell(collection, len(found), report)
    return report


def _checked(
    collection: Collection, sources: Sequence[Source], rows: Sequence[tuple[int, AnchorLine]], report: Report
) -> dict[tuple[int, int], tuple[AnchorLine, Grade]]:
    """The rows by the ids of query and document, each pair once, with the grades of the scale."""
    queries = dict(collection.queries.values_list("key", "pk"))
    documents = known_ids(collection, {row.document for _, row in rows})
    scale = {grade.value: grade for grade in collection.grades.all()}
    steps = ", ".join(grade.plain for grade in scale.values()) or "still empty"
    first: dict[tuple[str, str], tuple[int, AnchorLine]] = {}
    for file, row in rows:
        wrong = []
        if row.query not in queries:
            near = get_close_matches(row.query, queries)
            cure = f"Did you mean {' or '.join(near)}?" if near else "Import it first, with import_queries."
            wrong.append((f"the collection has no query {values.shown(row.query)}", cure))
        if row.document not in documents:
            cure = "Correct the id, or import the document first, with import_documents."
            wrong.append((f"the collection has no document {values.shown(row.document)}", cure))
        if row.grade not in scale:
            problem = f"the grade {plain_value(row.grade)} is not on the scale of the collection"
            wrong.append((problem, f"The scale is {steps}."))
        before, known = first.setdefault((row.query, row.document), (file, row))
        if known[3:] != row[3:]:
            where = place(sources, before, known.line, seen_from=file)
            wrong.append((f"the pair stands on {where} with something else", "Keep one of the two."))
        for problem, cure in wrong:
            report.refuse(sources[file].refusal(row.line, problem, cure))
    if report.refused:
        return {}
    report.counts["duplicates"] = len(rows) - len(first)
    return {(queries[row.query], documents[row.document]): (row, scale[row.grade]) for _, row in first.values()}


@transaction.atomic
def _publish(
    collection: Collection,
    found: dict[tuple[int, int], tuple[AnchorLine, Grade]],
    report: Report,
    progress: Progress,
) -> None:
    ids = queue.pairs_for(list(found))
    of_collection = Anchor.objects.of(collection)
    stored = {anchor.pair_id: (anchor.use, anchor.grade_id, anchor.explanation) for anchor in of_collection}
    pairs = Pair.objects.select_related("query").in_bulk(ids.values())
    for done, (key, (row, grade)) in enumerate(found.items(), 1):
        pair = pairs[ids[key]]
        before = stored.get(pair.pk)
        if before == (row.use, grade.pk, row.explanation):
            report.counts["unchanged"] += 1
            continue
        set_anchor(pair, use=row.use, grade=grade, explanation=row.explanation)
        report.counts["changed" if before else "new"] += 1
        progress("writing", done / len(found), done)


def _tell(collection: Collection, total: int, report: Report) -> None:
    counts = report.counts
    report.facts.append(
        f"{counted(total, 'anchor')}: {counts['new']:,} new, {counts['changed']:,} changed,"
        f" {counts['unchanged']:,} unchanged."
    )
    tell_of_repeats(report)
    here = list(Anchor.objects.of(collection).values_list("use", "grade"))
    warmed = {grade for use, grade in here if use == Anchor.Use.WARM_UP}
    lacking = [str(grade) for grade in collection.grades.all() if grade.pk not in warmed]
    if warmed and lacking:
        report.warnings.append(f"no warm-up shows {', '.join(lacking)}.")
    if any(use == Anchor.Use.GOLD for use, _ in here) and not collection.gold_share:
        report.warnings.append("gold is not mixed in: its share is 0. Change it under Pool.")
