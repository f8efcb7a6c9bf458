"""Import of a whole data set as BEIR has it: three imports, which are written together or not at all.

Each can be undone by itself, the last one first. A split is a part of the qrels, such as train, dev or test.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from ...formats import beir, budget, values
from ...formats.archives import COPY_AGAIN
from ...formats.budget import TooMuch
from ...formats.packing import DAMAGED
from ...formats.refusal import Refusal
from ...formats.registry import KEY, recognised
from ...formats.source import Source
from ...models import Collection, Job
from .documents import DocumentsImport
from .publishing import Superseded
from .queries import QueriesImport
from .ratings import QrelsImport
from .report import Report
from .stage import Import, Progress, silent

# Kind of rows -> a file that has them.
WHOLE = {"documents": "corpus.jsonl", "queries": "queries.jsonl", "ratings": "qrels/test.tsv"}
Parts = dict[str, dict[str, list[Source]]]  # kind of rows -> split, "" for none -> files
Splits = dict[str, set[str]]  # key of a query -> the splits that have qrels for it


def import_beir(
    collection: Collection,
    sources: Sequence[Source],
    *,
    splits: str = "",
    rater: str = "qrels",
    progress: Progress = silent,
    job: Job | None = None,
) -> Report:
    """The report of importing queries, documents and qrels. Each query gets its splits as tags.

    `splits`: the names of the splits to import, with commas, and then their queries alone; "": all splits and all
    queries. `rater`: the name under which the qrels become ratings. `job`: that of a worker, which may ask for a
    check only. Raises ValueError if `rater` is no name of a rater, and Superseded for a job that was cancelled.
    """
    report = Report()
    parts = _parts(sources)
    chosen = _chosen_splits(splits, parts, sources, report)
    if report.refused:
        return report
    # Read before the transaction: on SQLite nobody else can write while it lasts.
    splits_by_query = _splits_by_query(parts["ratings"])
    wanted = None  # keys of the queries to import; None: all
    if splits.strip():
        wanted = {key for key, names in splits_by_query.items() if not names.isdisjoint(chosen)}
    checking = bool(job and job.checking)
    # In a check the imports run as `job`, which makes them write nothing. Otherwise each makes a job of its own,
    # in the name of nobody, and `_add_report` gives it the account of `job`.
    shared_fields = {"progress": progress, "job": job if checking else None}
    with nullcontext() if checking else transaction.atomic():
        for each_import in _imports(collection, parts, splits_by_query, chosen, wanted, rater, shared_fields):
            _add_report(each_import.run(), report, by=job.by if job else None)
            if report.refused:
                if not checking:
                    transaction.set_rollback(True)
                return report
        if job and not checking:
            _end(job, report)
    return report


def _parts(sources: Sequence[Source]) -> Parts:
    """The sources by the kind of their rows and their split, without files that belong to no part."""
    parts: Parts = {}
    for source in sources:
        kind, split = beir.part_of(source.name)
        if kind:
            parts.setdefault(kind, {}).setdefault(split, []).append(source)
    return parts


def _chosen_splits(splits: str, parts: Parts, sources: Sequence[Source], report: Report) -> list[str]:
    """The names of the splits to import. A missing file or split is refused in the report."""
    # What concerns the whole data set is refused under the name of its first file.
    missing = [file for kind, file in WHOLE.items() if kind not in parts]
    if missing:
        cure = f"A data set of BEIR has {', '.join(WHOLE.values())}."
        report.refuse(sources[0].refusal(0, f"there is no {' and no '.join(missing)} in it", cure))
        return []
    present = sorted(parts["ratings"])
    chosen = [name for name in map(str.strip, splits.split(",")) if name] or present
    for name in sorted(set(chosen) - set(present)):
        cure = f"Choose among {', '.join(present)}."
        report.refuse(sources[0].refusal(0, f"there is no split {values.quoted(name)} in it", cure))
    return chosen


def _imports(
    collection: Collection,
    parts: Parts,
    splits_by_query: Splits,
    chosen: list[str],
    wanted: set[str] | None,
    rater: str,
    shared_fields: dict,
) -> Iterator[Import]:
    """The imports of queries, documents and qrels, each made when the one before is done.

    `chosen`: the splits whose qrels are imported. `wanted`: the keys of queries that are imported; None: all.
    `rater`: the name of the rater of the qrels. `shared_fields`: `progress` and `job`, which each import gets. The
    job is that of a check; None if the imports write.
    """
    queries = list(chain.from_iterable(parts["queries"].values()))
    yield SplitQueries(collection, queries, splits=splits_by_query, wanted=wanted, **shared_fields)
    yield DocumentsImport(collection, list(chain.from_iterable(parts["documents"].values())), **shared_fields)
    # `_splits_by_query` has read these files, and no others. They are read again from the beginning.
    qrels = [_reopened(source) for split in chosen for source in parts["ratings"][split]]
    # A check writes no queries, so the qrels need the keys of those that would be written before them.
    coming = sorted(splits_by_query if wanted is None else wanted) if shared_fields["job"] else ()
    yield SplitQrels(collection, qrels, rater=rater, queries_by=KEY, coming=coming, **shared_fields)


def _splits_by_query(qrels: Mapping[str, list[Source]]) -> Splits:
    """The splits that have qrels for each query. `qrels`: split -> files.

    Nothing is refused here: the import reads the same files and refuses what it cannot read. A file that cannot be
    opened is replaced in `qrels` by a source that says why.
    """
    splits_by_query: Splits = defaultdict(set)
    for split, sources in qrels.items():
        for place, source in enumerate(sources):
            reopened = _reopened(source)
            if reopened.why_unopened:
                # A second try would take the part of the file that could be read for all of it.
                sources[place] = reopened
                continue
            format = recognised(reopened, "ratings", default="csv")
            if isinstance(format, Refusal):
                continue
            for row in format.reads["ratings"](reopened):
                if not isinstance(row, Refusal):
                    splits_by_query[row.query].add(split)
    return splits_by_query


def _reopened(source: Source) -> Source:
    """A new source that reads the same file from its beginning.

    Where that is not possible, the new source holds the reason in `why_unopened`.
    """
    if source.why_unopened:
        return source
    try:
        reopened = Source(source.name, source.seekable_file(), source.reading)
    except TooMuch as error:
        return source.unopened(str(error), budget.CURE)
    except DAMAGED as error:
        return source.unopened(f"it is cut off or damaged ({error})", COPY_AGAIN)
    reopened.file = source.file  # the file that people sent, such as an archive: its name stands in the import
    return reopened


@dataclass
class SplitQueries(QueriesImport):
    """An import of queries that get their splits as tags. `wanted`: the keys of those to import; None: all."""

    splits: Mapping[str, set[str]] = field(default_factory=dict)
    wanted: set[str] | None = None

    def rows_of(self, source: Source, read: Callable) -> Iterator[Any]:
        for topic in super().rows_of(source, read):
            if self.wanted is None or topic.key in self.wanted:
                names = sorted(self.splits.get(topic.key, ()))
                yield topic._replace(tags=tuple(dict.fromkeys([*(topic.tags or ()), *names])))


@dataclass
class SplitQrels(QrelsImport):
    """An import of qrels in a table, in which equal lines are one."""

    may_have_several_raters = False

    def _tell(self) -> None:
        if self.checking:
            self.report.counts["documents"] = 0  # the corpus is not written yet
        super()._tell()


def _add_report(part: Report, report: Report, by: User | None) -> None:
    """Add the report of an import (`part`) to that of all three.

    If the import wrote anything, it made a job without an account, which gets the account `by`.
    """
    report.counts.update(part.counts)
    report.grades.update(part.grades)
    for refusal in part.refusals:
        report.refuse(refusal)
    report.refused += part.refused - len(part.refusals)  # those that are counted, but not kept
    report.facts += part.facts
    report.warnings += part.warnings
    if part.job:
        Job.objects.filter(pk=part.job).update(by=by)
        report.facts.append(f"This is import {part.job}, which can be undone by itself.")


def _end(job: Job, report: Report) -> None:
    """End the job together with what it wrote. Raises Superseded."""
    if not job.mine().update(state=Job.State.PUBLISHED, ended_at=timezone.now(), report=report.as_json()):
        raise Superseded
