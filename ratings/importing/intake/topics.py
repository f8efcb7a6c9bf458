"""The queries that the files of an import name, compared with those of the collection."""

from collections import Counter
from collections.abc import Collection as Keys
from collections.abc import Iterable, Iterator
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
    """The names by which a file may name the queries of a collection: keys or texts. One database query.

    `coming`: keys of queries that another import brings before this one writes. Their ids are negative.
    """

    def __init__(self, collection: models.Collection, coming: Iterable[str] = ()) -> None:
        rows = list(collection.queries.values_list("pk", "key", "text"))
        self.keys = {key: pk for pk, key, _ in rows}
        for number, key in enumerate(coming, 1):
            self.keys.setdefault(key, -number)
        texts = Counter(text for _, _, text in rows)
        self.texts = {text: pk for pk, _, text in rows if texts[text] == 1}
        self.repeated_texts = {text for text, count in texts.items() if count > 1}

    def ids(self, by: str) -> dict[str, int]:
        """Name -> id, where queries are named `by` key, text or either. The caller may add names."""
        return dict({KEY: self.keys, TEXT: self.texts, EITHER: self.texts | self.keys}[by])

    def check_meanings(self, source: Source, topics: "Topics", by: str, report: Report) -> None:
        """Refuse a file if a name in it may mean more than one query. Under EITHER, report if its names are texts.

        topics: the queries that the file names. by: whether it names them by KEY, by TEXT, or by EITHER.
        """
        # A text that several queries share is ambiguous, unless `ids` has it as another name of one query, such as
        # its key.
        ambiguous = topics.named & (self.repeated_texts - topics.ids.keys())
        if by != KEY and ambiguous:
            problem = f"several queries of the collection have a text that it names ({first_keys(ambiguous)})"
            report.refuse(source.refusal(0, problem, "Name them by key."))
        if by != EITHER:
            return
        # A name that is both the key and the text of one query shows nothing of how the file names queries.
        telling = {name for name in topics.named if self.keys.get(name) != self.texts.get(name)}
        # A key of one query that is the text of another is in both sets: it is refused.
        keys, texts = telling & self.keys.keys(), telling & self.texts.keys()
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
        """Name, folded -> id; 0 where names of several queries are alike."""
        folded: dict[str, int] = {}
        for name, pk in self.ids.items():
            folded_name = values.visible_text(name.replace(values.BLANK, " "))
            folded[folded_name] = pk if folded.get(folded_name, pk) == pk else 0
        return folded

    def id_of(self, key: str, lines: int = 1) -> int | None:
        """The id of a query; None, and its lines count as skipped, if it is not in the collection."""
        self.named.add(key)
        pk = self.ids.get(key)
        if pk is None and (pk := self._folded.get(values.visible_text(key))):
            self.ids[key] = pk
        if not pk:
            self.skipped += lines
        return pk or None


@dataclass
class ImportForQueries(Import):
    """An import whose rows name queries of the collection, by `queries_by` or as the format usually does."""

    queries_by: str | None = None
    coming: Iterable[str] = ()  # as of Names

    def __post_init__(self) -> None:
        self.known_names = Names(self.collection, self.coming)
        self.named_topics: set[str] = set()  # the names of queries in all files
        self.unknown: set[str] = set()  # those of them that name no query of the collection
        if not self.known_names.keys:
            problem = "the collection has no queries yet"
            self.report.refuse(self.sources[0].refusal(0, problem, Option("before", "queries")))

    @contextmanager
    def topics(self, source: Source, format: Format) -> Iterator[Topics]:
        """The queries of one file, to look up while it is read. At its end a file without known ones fails."""
        by = self.queries_by or format.queries_by
        topics = Topics(self.known_names.ids(by))
        yield topics
        self.known_names.check_meanings(source, topics, by, self.report)
        refuse_unknown(source, topics, self.known_names, self.report)
        self.named_topics |= topics.named
        self.unknown |= topics.named - topics.ids.keys()

    def compare_topics(self, without: Keys[str], what: str) -> None:
        """Warn of topics that the collection lacks, and of queries of the collection that stay without something.

        A topic is a query as a file names it. `without`: the keys of these queries of the collection. `what`: what
        they lack, such as "ratings".
        """
        warnings = self.report.warnings
        how_many = f"{len(self.unknown):,} of {counted(len(self.named_topics), 'topic')} in the import"
        unknown = f"{how_many} are not in the collection ({first_keys(self.unknown)})"
        lacking = f"{counted(len(without), 'query has', 'queries have')} no {what} ({first_keys(without)})"
        if self.unknown and without:
            # Compared with all names, as a topic may be the text of a query, and `without` has keys alone.
            cure = spelling_difference(self.unknown, self.known_names) or "Check that both use the same numbering."
            warnings.append(f"topic ids do not match: {unknown} and {lacking}. {cure}")
        elif self.unknown:
            warnings.append(f"{unknown}.")
        elif without:
            warnings.append(f"{lacking}.")


def spelling_difference(unknown: Keys[str], names: Names) -> str:
    """How an unknown name differs from a name in the collection that has the same letters and digits.

    Of several such names in the file the first one counts; "" for none. `unknown`: the names in the file.
    """
    known_by_letters = {values.letters_and_digits(name): name for name in [*names.keys, *names.texts]}
    for name in sorted(unknown):
        known = known_by_letters.get(values.letters_and_digits(name))
        if known is None:
            continue
        quoted, quoted_known = values.quoted(name), values.quoted(known)
        if values.visible_text(name).casefold() == values.visible_text(known).casefold():
            return f"{quoted} and {quoted_known} differ in capital letters. Write them alike."
        marks, marks_of_known = _code_points(name, without=known), _code_points(known, without=name)
        return f"{quoted} has {marks} where {quoted_known} has {marks_of_known}. Write them alike."
    return ""


def _code_points(name: str, without: str) -> str:
    return " ".join(f"U+{ord(mark):04X}" for mark in Counter(name) - Counter(without)) or "nothing"


def refuse_unknown(source: Source, topics: Topics, names: Names, report: Report) -> None:
    """Refuse a file if none of its queries is in the collection. Otherwise report how many lines were skipped."""
    if topics.named and not topics.named & topics.ids.keys():
        named, stored = first_keys(topics.named), first_keys(topics.ids)
        problem = f"none of its queries ({named}) is in the collection, which has {stored}"
        check = "Check that both use the same numbering, or import the queries of this file first."
        cure = spelling_difference(topics.named, names) or check
        report.refuse(source.refusal(0, problem, cure))
    elif topics.skipped:
        lines = counted(topics.skipped, "line")
        unknown = first_keys(topics.named - topics.ids.keys())
        report.facts.append(f"{source.name}: {lines} for queries outside the collection skipped ({unknown}).")
