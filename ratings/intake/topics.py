"""Which queries the files of an import name, held against those of the collection."""

from collections import Counter
from collections.abc import Collection as Keys
from collections.abc import Sequence
from dataclasses import dataclass, field

from .. import models
from ..formats.known import EITHER, KEY, TEXT
from ..formats.source import Source
from .report import Report, counted, some


class Names:
    """What a file may call the queries of a collection: their keys, or their texts. One query."""

    def __init__(self, collection: models.Collection) -> None:
        rows = list(collection.queries.values_list("pk", "key", "text"))
        self.keys = {key: pk for pk, key, _ in rows}
        texts = Counter(text for _, _, text in rows)
        self.texts = {text: pk for pk, _, text in rows if texts[text] == 1}
        self.repeated = {text for text, count in texts.items() if count > 1}

    def ids(self, by: str) -> dict[str, int]:
        """Name -> id, where queries are named `by` key, text or either."""
        return {KEY: self.keys, TEXT: self.texts, EITHER: self.texts | self.keys}[by]

    def refuse_doubt(self, source: Source, topics: "Topics", by: str, report: Report) -> None:
        """Refuse a file that can be understood in two ways."""
        if by != KEY and (repeated := topics.named & self.repeated - topics.ids.keys()):
            problem = f"several queries of the collection have a text that it names ({some(repeated)})"
            report.refuse(source.refusal(0, problem, "Name them by key."))
        if by != EITHER:
            return
        keys = {name for name in topics.named & self.keys.keys() if self.texts.get(name) != self.keys[name]}
        texts = {name for name in topics.named & self.texts.keys() if self.keys.get(name) != self.texts[name]}
        if keys and texts:
            problem = f"it names queries by key ({some(keys)}) and by text ({some(texts)})"
            report.refuse(source.refusal(0, problem, "Say which, with --queries-by key or --queries-by text."))
        elif texts:
            report.facts.append(f"{source.name}: its queries are named by their text.")


@dataclass
class Topics:
    """What one file names. Grows with the number of queries, not with that of lines."""

    ids: dict[str, int]  # what a query may be called -> its id
    named: set[str] = field(default_factory=set)
    skipped: int = 0  # lines

    def id_of(self, key: str, lines: int = 1) -> int | None:
        """None for a query outside the collection, whose lines are to be skipped."""
        self.named.add(key)
        found = self.ids.get(key)
        if found is None:
            self.skipped += lines
        return found


def refuse_without_queries(names: Names, sources: Sequence[Source], report: Report) -> None:
    if not names.keys:
        cure = "Import the queries first, with import_queries."
        report.refuse(sources[0].refusal(0, "the collection has no queries yet", cure))


def refuse_strangers(source: Source, topics: Topics, report: Report) -> None:
    """Refuse a file of which no query is in the collection; say how many lines of another were skipped."""
    if topics.named and not topics.named & topics.ids.keys():
        report.refuse(
            source.refusal(
                0,
                f"none of its queries ({some(topics.named)}) is in the collection, which has {some(topics.ids)}",
                "Check that both use the same numbering, or import the queries of this file first.",
            )
        )
    elif topics.skipped:
        lines = counted(topics.skipped, "line")
        unknown = some(topics.named - topics.ids.keys())
        report.facts.append(f"{source.name}: {lines} for queries outside the collection skipped ({unknown}).")


def compare_topics(report: Report, *, unknown: Keys[str], named: int, without: Keys[str], what: str) -> None:
    """Warn where the queries of the files and of the collection are not the same.

    `unknown`: queries of the files that the collection lacks, out of `named`; `without`: queries of the collection
    that have no `what` after this import.
    """
    topics = f"{len(unknown):,} of {counted(named, 'topic')} in the import"
    strangers = f"{topics} are not in the collection ({some(unknown)})"
    lacking = f"{counted(len(without), 'query has', 'queries have')} no {what} ({some(without)})"
    if unknown and without:
        report.warnings.append(
            f"topic ids do not match: {strangers} and {lacking}. Check that both use the same numbering."
        )
    elif unknown:
        report.warnings.append(f"{strangers}.")
    elif without:
        report.warnings.append(f"{lacking}.")
