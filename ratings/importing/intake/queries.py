"""Import of queries. Their rows are checked in the stage, the temporary database of an import."""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
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
from .stage import Import, batched, put

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

    kind, table, usual_format = "queries", TABLE, "topics"

    def _read(self) -> None:
        for file, source in enumerate(self.sources):
            if format := self.format_of(source):
                put(self.stage, "query", self._rows(source, file, format))

    def _check(self) -> None:
        self.refuse_repeats("query")

    def _foresee(self) -> None:
        for _ in self._batches([]):
            pass

    def _tell(self) -> None:
        (total,) = self.stage.execute("SELECT COUNT(*) FROM query").fetchone()
        self.report.tell_of_changes(counted(total, "query", "queries"))

    def _rows(self, source: Source, file: int, format: Format) -> Iterator[tuple]:
        for topic in self.rows_of(source, format.reads["queries"]):
            key, text = (topic.key, topic.text) if topic.key is not None else self._key_and_text(topic, source)
            # No tags in the file is NULL; an empty list of tags is [].
            tags = None if topic.tags is None else json.dumps(topic.tags)
            fields = None if topic.fields is None else json.dumps(topic.fields)
            yield key, text, topic.need, tags, topic.weight, fields, file, topic.line

    @cached_property
    def _stored_texts(self) -> dict[str, str]:
        """Key -> text."""
        return dict(self.collection.queries.values_list("key", "text"))

    @cached_property
    def _keys_by_folded_text(self) -> dict[str, list[str]]:
        """A stored text, folded -> the keys of the queries with such a text."""
        keys = defaultdict(list)
        for key, text in self._stored_texts.items():
            keys[values.visible_text(text)].append(key)
        return keys

    def _key_and_text(self, topic: Topic, source: Source) -> tuple[str, str]:
        """The key and the text of a query that comes without a key: those of a stored query, or new ones.

        A text of several stored queries, or one that is the key of another query, is refused in the report. The
        key and text that are returned are then never written.
        """
        quoted_text = values.quoted(topic.text)
        # Texts are nearly the same if they differ only in blanks, invisible characters or how accents are written.
        nearly_same = self._keys_by_folded_text.get(values.visible_text(topic.text), [])
        same = [key for key in nearly_same if self._stored_texts[key] == topic.text]
        found_keys = same or nearly_same
        if len(found_keys) > 1:
            the_text = "the text" if same else "nearly the text"
            problem = f"several queries of the collection have {the_text} {quoted_text} ({first_keys(found_keys)})"
            cure = "Give the key of the query, in a format that has keys."
            self.report.refuse(source.refusal(topic.line, problem, cure))
        if found_keys:
            return found_keys[0], self._stored_texts[found_keys[0]]
        new_key = values.key_of_text(topic.text)
        if new_key in self._stored_texts:
            problem = f"{quoted_text} is the key of a query of the collection, which has another text"
            self.report.refuse(source.refusal(topic.line, problem, KEYS_CURE))
        return new_key, topic.text

    def _batches(self, former: list[tuple]) -> Iterator[tuple[list[Query], list[Query]]]:
        """The new queries and the changed ones, in batches. Appends the former facts of changed ones to `former`.

        Facts are the fields in FACTS. Counts new, changed and unchanged queries in the report, and warns there if
        queries with rankings or ratings get another text.
        """
        used = _used_keys(self.collection)
        reworded = []
        rows = self.stage.execute("SELECT key, text, need, tags, weight, fields FROM query ORDER BY rowid")
        for batch in batched(rows, 1_000):
            stored = {q.key: q for q in self.collection.queries.filter(key__in=[key for key, *_ in batch])}
            new, changed = [], []
            for key, text, need, tags, weight, fields in batch:
                query = stored.get(key) or Query(collection=self.collection, key=key)
                before = _facts(query)
                if key in used and text != query.text:
                    reworded.append(key)
                # A fact that the file does not have is None, and stays as it is stored.
                query.text = text
                query.need = query.need if need is None else need
                query.tags = query.tags if tags is None else json.loads(tags)
                query.weight = query.weight if weight is None else weight
                query.fields = query.fields if fields is None else as_stored(fields)
                if key not in stored:
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


def _used_keys(collection: Collection) -> set[str]:
    """Keys of the queries that have rankings or ratings. One database query."""
    ranked = Exists(Ranking.objects.filter(query=OuterRef("pk")))
    rated = Exists(Rating.objects.filter(pair__query=OuterRef("pk")))
    return set(collection.queries.filter(ranked | rated).values_list("key", flat=True))
