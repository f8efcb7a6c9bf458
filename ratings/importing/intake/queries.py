"""Import of queries."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from django.db.models import Exists, OuterRef

from ...formats import values
from ...formats.registry import Format
from ...formats.rows import Topic
from ...formats.source import Source
from ...formats.strict_json import as_stored
from ...models import Collection, Job, Query, Ranking, Rating
from ...words import counted, first_keys
from .report import Report
from .stage import Import, batched, put, staged

TABLE = "query (key TEXT, text TEXT, need TEXT, tags TEXT, weight REAL, fields TEXT, file INTEGER, line INTEGER)"
KEYS_CURE = "If it is a key, the file has no queries to import. If it is a text, give each query a key."
FACTS = ["text", "need", "tags", "weight", "fields"]  # what an import may change


def import_queries(collection: Collection, sources: Sequence[Source], **choices) -> Report:
    """The report of adding queries and changing stored ones. `choices` are fields of Import."""
    return QueriesImport(collection, sources, **choices).run()


class QueriesImport(Import):
    """An import of queries. A fact that the file does not have stays as it is stored.

    A query without a key is the stored query with the same text, or a new one with a key made of its text.
    """

    kind, usual_format = "queries", "topics"

    def run(self) -> Report:
        with staged(TABLE) as self.stage:
            for file, source in enumerate(self.sources):
                if format := self.format_of(source):
                    put(self.stage, "query", self._rows(source, file, format))
            self.refuse_repeats("query")
            if self.report.refused:
                return self.report
            self.in_files = {key for (key,) in self.stage.execute("SELECT key FROM query")}
            return self.concluded(Job.Kind.QUERIES, self._write)

    def _foresee(self) -> None:
        for _ in self._batches([]):
            pass

    def _tell(self) -> None:
        self.report.tell_of_changes(counted(len(self.in_files), "query", "queries"))
        _compare_with_record(self.collection, self.in_files, self.report)

    def _rows(self, source: Source, file: int, format: Format) -> Iterator[tuple]:
        for t in self.rows_of(source, format.reads["queries"]):
            if t.key is None and t.text not in self._keys_of_texts:
                t = t._replace(text=self._spellings.get(values.folded(t.text)) or t.text)
            # No tags in the file is NULL; an empty list of tags is [].
            tags = None if t.tags is None else json.dumps(t.tags)
            fields = None if t.fields is None else json.dumps(t.fields)
            yield self._key_of(t, source), t.text, t.need, tags, t.weight, fields, file, t.line

    @cached_property
    def _keys_of_texts(self) -> dict[str, list[str]]:
        keys = defaultdict(list)
        for key, text in self.collection.queries.values_list("key", "text"):
            keys[text].append(key)
        return keys

    @cached_property
    def _spellings(self) -> dict[str, str]:
        """How a text looks -> the stored text, "" where several look alike."""
        spellings: dict[str, str] = {}
        for text in self._keys_of_texts:
            seen = values.folded(text)
            spellings[seen] = "" if seen in spellings else text
        return spellings

    @cached_property
    def _stored_keys(self) -> set[str]:
        return {key for keys in self._keys_of_texts.values() for key in keys}

    def _key_of(self, topic: Topic, source: Source) -> str:
        if topic.key is not None:
            return topic.key
        keys = self._keys_of_texts.get(topic.text, [])
        if len(keys) > 1:
            same = f"the text {values.quoted(topic.text)} ({first_keys(keys)})"
            problem = f"several queries of the collection have {same}"
            cure = "Give the key of the query, in a format that has keys."
            self.report.refuse(source.refusal(topic.line, problem, cure))
        key = keys[0] if keys else values.key_of_text(topic.text)
        if not keys and key in self._stored_keys:
            of = "is the key of a query of the collection, which has another text"
            problem = f"{values.quoted(topic.text)} {of}"
            self.report.refuse(source.refusal(topic.line, problem, KEYS_CURE))
        return key

    def _batches(self, former: list[tuple]) -> Iterator[tuple[list[Query], list[Query]]]:
        """The new queries and the changed ones, in batches. Appends the former facts of changed ones to `former`.

        Counts them, and warns if queries with rankings or ratings get another text.
        """
        used, reworded = set(_used_keys(self.collection)), []
        rows = self.stage.execute("SELECT key, text, need, tags, weight, fields FROM query ORDER BY rowid")
        for batch in batched(rows, 1_000):
            stored = {q.key: q for q in self.collection.queries.filter(key__in=[key for key, *_ in batch])}
            new, changed = [], []
            for key, text, need, tags, weight, fields in batch:
                query = stored.get(key)
                before = query and _facts(query)
                query = query or Query(collection=self.collection, key=key)
                if before and key in used and text != query.text:
                    reworded.append(key)
                query.text = text
                query.need = query.need if need is None else need
                query.tags = query.tags if tags is None else json.loads(tags)
                query.weight = query.weight if weight is None else weight
                query.fields = query.fields if fields is None else as_stored(fields)
                if before is None:
                    new.append(query)
                elif before != _facts(query):
                    changed.append(query)
                    former.append((query.pk, *before))
            unchanged = len(batch) - len(new) - len(changed)
            self.report.counts.update(new=len(new), changed=len(changed), unchanged=unchanged)
            yield new, changed
        if reworded:
            self.report.warnings.append(
                f"{counted(len(reworded), 'query', 'queries')} with rankings or ratings got another text"
                f" ({first_keys(reworded)}). Check that the numbering is that of your runs and qrels."
            )

    def _write(self, job: Job) -> None:
        # Locked before its queries, as by the save of a rating, so that the two cannot deadlock.
        Collection.objects.select_for_update().get(pk=self.collection.pk)
        job.former = []
        for new, changed in self._batches(job.former):
            for query in new:
                query.job = job
            Query.objects.bulk_create(new)
            Query.objects.bulk_update(changed, FACTS, batch_size=200)


def _facts(query: Query) -> tuple:
    return tuple(getattr(query, name) for name in FACTS)


def _used_keys(collection: Collection) -> Iterable[str]:
    """Keys of the queries that have rankings or ratings. One database query."""
    ranked = Exists(Ranking.objects.filter(query=OuterRef("pk")))
    rated = Exists(Rating.objects.filter(pair__query=OuterRef("pk")))
    return collection.queries.filter(ranked | rated).values_list("key", flat=True)


def _compare_with_record(collection: Collection, in_files: set[str], report: Report) -> None:
    """Warn if only some queries of the files have rankings or ratings. If none has, they are just new."""
    used = set(_used_keys(collection))
    without, absent = in_files - used, used - in_files
    if without and absent and in_files & used:
        report.warnings.append(
            f"topic ids do not match: {len(without):,} of {len(in_files):,} queries in the import"
            f" have no rankings and no ratings ({first_keys(without)}) and {len(absent):,} of {len(used):,}"
            f" queries that have some were not in it ({first_keys(absent)})."
            " Check that both use the same numbering."
        )
