"""Import of queries."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from django.db.models import Exists, OuterRef

from ..formats import values
from ..formats.rows import Topic
from ..formats.source import Source
from ..models import Collection, Job, Query, Ranking, Rating
from .publishing import Landing, land
from .report import Report, counted, some
from .stage import Progress, batched, format_of, put, refuse_repeats, rows_of, silent, staged

TABLE = "query (key TEXT, text TEXT, need TEXT, tags TEXT, weight REAL, file INTEGER, line INTEGER)"
FACTS = ["text", "need", "tags", "weight"]  # what an import may change


def import_queries(
    collection: Collection,
    sources: Sequence[Source],
    *,
    format: str | None = None,
    progress: Progress = silent,
    job: Job | None = None,
) -> Report:
    """Add queries and correct those that are there. What a file does not say of a query stays as it is.

    A query without a key is the one of the collection that has its text, or a new one with a key made of it.
    Without a `format` each file shows its own.
    """
    report = Report()
    keys = _KeysOfTexts(collection)
    with staged(TABLE) as stage:
        for file, source in enumerate(sources):
            found = format_of(source, "queries", format, "topics", report)
            topics = rows_of(source, found.reads["queries"], report, progress) if found else ()
            put(
                stage,
                "query",
                ((keys.of(t, source, report), t.text, t.need, _tags(t), t.weight, file, t.line) for t in topics),
            )
        refuse_repeats(stage, "query", "query", sources, report)
        if report.refused:
            return report
        rows = stage.execute("SELECT key, text, need, tags, weight FROM query ORDER BY rowid")
        found = _Found(collection, rows, report)
        if job and job.checking:
            for _ in found.batches():
                pass
        else:
            land(collection, sources, report, Job.Kind.QUERIES, job, lambda place: _publish(found, place, report))
        if report.refused:
            return report
        in_files = {key for (key,) in stage.execute("SELECT key FROM query")}
    counts = report.counts
    report.facts.append(
        f"{counted(len(in_files), 'query', 'queries')}: {counts['new']:,} new, {counts['changed']:,} changed,"
        f" {counts['unchanged']:,} unchanged."
    )
    _compare_with_record(collection, in_files, report)
    return report


def _tags(topic: Topic) -> str | None:
    """None where the file says nothing of them, which is not the same as none."""
    return None if topic.tags is None else json.dumps(topic.tags)


def _facts(query: Query) -> tuple:
    return tuple(getattr(query, name) for name in FACTS)


class _KeysOfTexts:
    """Keys for queries that come with a text alone. One query, where there are such."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection

    @cached_property
    def known(self) -> dict[str, list[str]]:
        found = defaultdict(list)
        for key, text in self.collection.queries.values_list("key", "text"):
            found[text].append(key)
        return found

    def of(self, topic: Topic, source: Source, report: Report) -> str:
        if topic.key is not None:
            return topic.key
        found = self.known.get(topic.text, [])
        if len(found) > 1:
            problem = f"several queries of the collection have the text {values.shown(topic.text)} ({some(found)})"
            report.refuse(source.refusal(topic.line, problem, "Say which, with a format that has keys."))
        return found[0] if found else values.key_of_text(topic.text)


class _Found:
    """The queries of the files, held against those of the collection."""

    def __init__(self, collection: Collection, rows: Iterable[tuple], report: Report) -> None:
        self.collection, self.rows, self.report = collection, rows, report
        self.former: list[tuple] = []  # what changed, as it was

    def batches(self) -> Iterator[tuple[list[Query], list[Query]]]:
        """Some at a time: those that are new and those that changed. Counts them, and warns of new words."""
        used, reworded = set(_used_keys(self.collection)), []
        for batch in batched(self.rows, 1_000):
            stored = {q.key: q for q in self.collection.queries.filter(key__in=[key for key, *_ in batch])}
            new, changed = [], []
            for key, text, need, tags, weight in batch:
                query = stored.get(key)
                before = query and _facts(query)
                query = query or Query(collection=self.collection, key=key)
                if before and key in used and text != query.text:
                    reworded.append(key)
                query.text = text
                query.need = query.need if need is None else need
                query.tags = query.tags if tags is None else json.loads(tags)
                query.weight = query.weight if weight is None else weight
                if before is None:
                    new.append(query)
                elif before != _facts(query):
                    changed.append(query)
                    self.former.append((query.pk, *before))
            unchanged = len(batch) - len(new) - len(changed)
            self.report.counts.update(new=len(new), changed=len(changed), unchanged=unchanged)
            yield new, changed
        if reworded:
            self.report.warnings.append(
                f"{counted(len(reworded), 'query', 'queries')} with rankings or ratings got another text"
                f" ({some(reworded)}). Check that the numbering is that of your runs and qrels."
            )


def _publish(found: _Found, place: Landing, report: Report) -> None:
    with place.published(report):
        # Before its queries, as the save of a rating locks them.
        Collection.objects.select_for_update().get(pk=found.collection.pk)
        for new, changed in found.batches():
            for query in new:
                query.job = place.job
            Query.objects.bulk_create(new)
            Query.objects.bulk_update(changed, FACTS, batch_size=200)
        place.job.former = found.former


def _used_keys(collection: Collection) -> Iterable[str]:
    """Keys of the queries that have rankings or ratings. One query."""
    ranked = Exists(Ranking.objects.filter(query=OuterRef("pk")))
    rated = Exists(Rating.objects.filter(pair__query=OuterRef("pk")))
    return collection.queries.filter(ranked | rated).values_list("key", flat=True)


def _compare_with_record(collection: Collection, in_files: set[str], report: Report) -> None:
    """Warn when a file fits the rankings and ratings only in part. A file of new queries only is no mismatch."""
    used = set(_used_keys(collection))
    without, absent = in_files - used, used - in_files
    if without and absent and in_files & used:
        report.warnings.append(
            f"topic ids do not match: {len(without):,} of {len(in_files):,} queries in the import"
            f" have no rankings and no ratings ({some(without)}) and {len(absent):,} of {len(used):,} queries that"
            f" have some were not in it ({some(absent)}). Check that both use the same numbering."
        )
