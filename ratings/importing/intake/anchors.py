"""Import of anchors: pairs whose grade is known, for warm-ups and gold."""

from collections.abc import Sequence
from functools import partial

from django.db import transaction

from ...desk import queue
from ...formats import values
from ...formats.anchors import AnchorLine, read_anchors
from ...formats.refusal import KEEP_ONE, Option
from ...formats.source import Source
from ...models import Anchor, Collection, Grade, Pair, plain_value
from ...pool.anchors import set_anchor
from ...words import counted, nearest
from .document_keys import known_ids
from .report import Report
from .stage import Import


def import_anchors(collection: Collection, sources: Sequence[Source], **choices) -> Report:
    """The report of making anchors and changing stored ones. `choices` are fields of Import."""
    return AnchorsImport(collection, sources, **choices).run()


class AnchorsImport(Import):
    """An import of anchors. Some ten database queries for each new or changed one.

    Unlike ratings, anchors are few and chosen one by one: a pair that cannot be found is refused, not skipped.
    """

    def run(self) -> Report:
        rows = [
            (file, row) for file, source in enumerate(self.sources) for row in self.rows_of(source, read_anchors)
        ]
        anchors = self._checked(rows)
        if not self.report.refused:
            self._publish(anchors)
            _report_facts(self.collection, len(anchors), self.report)
        return self.report

    def _checked(self, rows: Sequence[tuple[int, AnchorLine]]) -> dict[tuple[int, int], tuple[AnchorLine, Grade]]:
        """(query id, document id) -> the row of the pair and its grade; empty if a row was refused."""
        report = self.report
        queries = dict(self.collection.queries.values_list("key", "pk"))
        keys = [row.document for _, row in rows]
        documents = dict(zip(keys, known_ids(self.collection, keys).tolist(), strict=True))
        scale = {grade.value: grade for grade in self.collection.grades.all()}
        steps = ", ".join(grade.plain for grade in scale.values()) or "still empty"
        first: dict[tuple[str, str], tuple[int, AnchorLine]] = {}
        for file, row in rows:
            refusal = partial(self.sources[file].refusal, row.line)
            if row.query not in queries:
                question = nearest(row.query, queries)
                cure = f"{question[0].upper()}{question[1:]}" if question else Option("before", "queries")
                report.refuse(refusal(f"the collection has no query {values.quoted(row.query)}", cure))
            if not documents[row.document]:
                problem = f"the collection has no document {values.quoted(row.document)}"
                cure = "Correct the id.", Option("before", "documents", "the id is right")
                report.refuse(refusal(problem, *cure))
            if row.grade not in scale:
                problem = f"the grade {plain_value(row.grade)} is not on the scale of the collection"
                report.refuse(refusal(problem, f"The scale is {steps}."))
            before, known = first.setdefault((row.query, row.document), (file, row))
            if known[3:] != row[3:]:
                problem = "the pair has another grade, kind or explanation"
                report.refuse(refusal(problem, KEEP_ONE, other=self.sources[before].at(known.line)))
        if report.refused:
            return {}
        report.counts["duplicates"] = len(rows) - len(first)
        return {
            (queries[row.query], documents[row.document]): (row, scale[row.grade]) for _, row in first.values()
        }

    @transaction.atomic
    def _publish(self, anchors: dict[tuple[int, int], tuple[AnchorLine, Grade]]) -> None:
        ids = queue.pairs_for(list(anchors))
        of_collection = Anchor.objects.of(self.collection)
        stored = {anchor.pair_id: (anchor.use, anchor.grade_id, anchor.explanation) for anchor in of_collection}
        pairs = Pair.objects.select_related("query").in_bulk(ids.values())
        for done, (key, (row, grade)) in enumerate(anchors.items(), 1):
            pair = pairs[ids[key]]
            before = stored.get(pair.pk)
            if before == (row.use, grade.pk, row.explanation):
                self.report.counts["unchanged"] += 1
                continue
            set_anchor(pair, use=row.use, grade=grade, explanation=row.explanation)
            self.report.counts["changed" if before else "new"] += 1
            self.progress("writing", done / len(anchors), done)


def _report_facts(collection: Collection, total: int, report: Report) -> None:
    report.tell_of_changes(counted(total, "anchor"))
    anchors = list(Anchor.objects.of(collection).values_list("use", "grade"))
    warmed = {grade for use, grade in anchors if use == Anchor.Use.WARM_UP}
    lacking = [str(grade) for grade in collection.grades.all() if grade.pk not in warmed]
    if warmed and lacking:
        report.warnings.append(f"no warm-up shows {', '.join(lacking)}.")
    if any(use == Anchor.Use.GOLD for use, _ in anchors) and not collection.gold_share:
        report.warnings.append("gold is not mixed in: its share is 0. Change it under Pool.")
