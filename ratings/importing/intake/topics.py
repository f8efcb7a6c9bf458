"""The queries that the files of an import name, compared with those of the collection."""

from collections import Counter
from collections.abc import Collection as Keys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

from ... import models
from ...formats import values
from ...formats.refusal import Option
from ...formats.registry import EITHER, KEY, TEXT, Format
from ...formats.source import Source
from ...words import counted, first_keys
from .report import Report
from .stage import Import

BY_KEY = Option("queries_by", KEY, "the keys count")
BY_TEXT = Option("queries_by", TEXT, "the texts count")


class Names:
    """The names by which a file may name the queries of a collection: keys or texts. One database query."""

    def __init__(self, collection: models.Collection) -> None:
        rows = list(collection.queries.values_list("pk", "key", "text"))
        self.keys = {key: pk for pk, key, _ in rows}
        texts = Counter(text for _, _, text in rows)
        self.texts = {text: pk for pk, _, text in rows if texts[text] == 1}
        self.repeated = {text for text, count in texts.items() if count > 1}

    def ids(self, by: str) -> dict[str, int]:
        """Name -> id, where queries are named `by` key, text or either. The caller may add names."""
        return {KEY: {}, TEXT: self.texts, EITHER: self.texts}[by] | ({} if by == TEXT else self.keys)

    def refuse_ambiguous(self, source: Source, topics: "Topics", by: str, report: Report) -> None:
        """Refuse a file if a name in it may mean more than one query."""
        if by != KEY and (repeated := topics.named & self.repeated - topics.ids.keys()):
            problem = f"several queries of the collection have a text that it names ({first_keys(repeated)})"
            report.refuse(source.refusal(0, problem, "Name them by key."))
        if by != EITHER:
            return
        keys = {name for name in topics.named & self.keys.keys() if self.texts.get(name) != self.keys[name]}
        texts = {name for name in topics.named & self.texts.keys() if self.keys.get(name) != self.texts[name]}
        if keys and texts:
            problem = f"it names queries by key ({first_keys(keys)}) and by text ({first_keys(texts)})"
            report.refuse(source.refusal(0, problem, BY_KEY, BY_TEXT))
        elif texts:
            report.facts.append(f"{source.name}: its queries are named by their text.")


@dataclass
class Topics:
    """The queries that one file names. Its memory grows with the number of queries, not of lines."""

    ids: dict[str, int]  # what a query may be called -> its id
    named: set[str] = field(default_factory=set)
    skipped: int = 0  # lines

    @cached_property
    def _folded(self) -> dict[str, int]:
        """Name as it looks -> id, where no other query looks alike."""
        folded: dict[str, int] = {}
        for name, pk in self.ids.items():
            seen = values.folded(name.replace("%20", " "))  # as `spaced_ids` keeps blanks
            folded[seen] = pk if folded.get(seen, pk) == pk else 0
        return folded

    def id_of(self, key: str, lines: int = 1) -> int | None:
        """The id of a query; None, and its lines count as skipped, if it is not in the collection."""
        self.named.add(key)
        pk = self.ids.get(key)
        if pk is None and (pk := self._folded.get(values.folded(key))):
            self.ids[key] = pk
        if not pk:
            self.skipped += lines
        return pk or None


@dataclass
class ImportForQueries(Import):
    """An import whose rows name queries of the collection, by `queries_by` or as the format usually does."""

    queries_by: str | None = None

    def __post_init__(self) -> None:
        self.names = Names(self.collection)
        self.named: set[str] = set()  # by any of the files
        self.unknown: set[str] = set()  # of these, the queries that are not in the collection
        if not self.names.keys:
            problem = "the collection has no queries yet"
            self.report.refuse(self.sources[0].refusal(0, problem, Option("before", "queries")))

    @contextmanager
    def topics(self, source: Source, format: Format) -> Iterator[Topics]:
        """The queries of one file, to look up while it is read. At its end a file without known ones fails."""
        by = self.queries_by or format.queries_by
        topics = Topics(self.names.ids(by))
        yield topics
        self.names.refuse_ambiguous(source, topics, by, self.report)
        refuse_strangers(source, topics, self.names, self.report)
        self.named |= topics.named
        self.unknown |= topics.named - topics.ids.keys()

    def compare_topics(self, without: Keys[str], what: str) -> None:
        """Warn if the queries of the files and of the collection are not the same.

        `without`: queries of the collection that have no `what` after this import.
        """
        unknown, warnings = self.unknown, self.report.warnings
        topics = f"{len(unknown):,} of {counted(len(self.named), 'topic')} in the import"
        strangers = f"{topics} are not in the collection ({first_keys(unknown)})"
        lacking = f"{counted(len(without), 'query has', 'queries have')} no {what} ({first_keys(without)})"
        if unknown and without:
            differing = f"topic ids do not match: {strangers} and {lacking}"
            cure = spelled_apart(unknown, self.names) or "Check that both use the same numbering."
            warnings.append(f"{differing}. {cure}")
        elif unknown:
            warnings.append(f"{strangers}.")
        elif without:
            warnings.append(f"{lacking}.")


def spelled_apart(unknown: Keys[str], names: Names) -> str:
    """How an unknown name differs from a known one with the same letters; "" where none has them."""
    known = {values.letters(name): name for name in [*names.keys, *names.texts]}
    for name in sorted(unknown):
        if other := known.get(values.letters(name)):
            only, instead = (
                " ".join(f"U+{ord(mark):04X}" for mark in Counter(one) - Counter(two)) or "nothing"
                for one, two in ((name, other), (other, name))
            )
            return f"{values.quoted(name)} has {only} where {values.quoted(other)} has {instead}."
    return ""


def refuse_strangers(source: Source, topics: Topics, names: Names, report: Report) -> None:
    """Refuse a file if none of its queries is in the collection. Otherwise report how many lines were skipped."""
    if topics.named and not topics.named & topics.ids.keys():
        own, known = first_keys(topics.named), first_keys(topics.ids)
        problem = f"none of its queries ({own}) is in the collection, which has {known}"
        apart = spelled_apart(topics.named, names)
        cure = apart or "Check that both use the same numbering, or import the queries of this file first."
        report.refuse(source.refusal(0, problem, cure))
    elif topics.skipped:
        lines = counted(topics.skipped, "line")
        unknown = first_keys(topics.named - topics.ids.keys())
        report.facts.append(f"{source.name}: {lines} for queries outside the collection skipped ({unknown}).")
