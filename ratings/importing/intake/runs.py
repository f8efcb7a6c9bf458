"""Import of runs: the rankings of systems.

A run may hold several systems, and its lines may come in any order. While a file is read, its lines are collected
by system and query. Every RESULTS_HELD lines they are written to a temporary database, one row ("piece") for each
system and query. So memory is bounded, and a file that is grouped by query gives few pieces to put together. The
temporary database is called the stage, and a stretch is some lines of one ranking that a reader gives at once.
"""

import sqlite3
from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import numpy as np
from django.db.models import QuerySet

from ...formats import trec, values
from ...formats.rankings import (
    FoundRanking,
    NearTie,
    all_contradictions,
    best_first,
    contradictions,
    near_tie,
    repeats,
    without_copies,
)
from ...formats.refusal import Option, Refusal
from ...formats.registry import BY_NAME, Format
from ...formats.rows import RunLine, Stretch
from ...formats.source import Source
from ...models import Collection, Job, Query, Ranking, System
from ...words import EXAMPLES, counted
from .document_keys import DocumentIds, MissingDocuments, known_ids, tell_of_documents_by_key_alone
from .report import Report
from .stage import ROWS_AT_ONCE, batched_by_length
from .tags import Tags
from .topics import ImportForQueries

TABLE = "piece (system TEXT, query INTEGER, file INTEGER, lines BLOB, ranks BLOB, scores BLOB, documents TEXT)"
ANOTHER_VERSION = Option("system", when="this is another version")
ARE_QRELS = Option("kind", "qrels", "these are qrels")
RESULTS_HELD = 50_000  # in memory
RANKINGS_HELD = 50_000  # in memory: each has arrays of its own, however short it is
RESULTS_PER_LOOKUP = 100_000  # their documents are looked up at once, and made in the order of the keys


@dataclass
class Piece:
    """Some lines of one system and query in one file, in their order."""

    lines: array = field(default_factory=lambda: array("q"))  # their numbers
    ranks: array = field(default_factory=lambda: array("q"))
    scores: array = field(default_factory=lambda: array("d"))
    documents: list[str] = field(default_factory=list)

    def add(self, row: RunLine | Stretch) -> None:
        """Add the line, or all lines of a stretch."""
        if isinstance(row, Stretch):  # its arrays have numbers of the same types
            self.lines.frombytes(row.lines.tobytes())
            self.ranks.frombytes(row.ranks.tobytes())
            self.scores.frombytes(row.scores.tobytes())
            self.documents.extend(row.documents.to_pylist())
        else:
            self.lines.append(row.line)
            self.ranks.append(row.rank)
            self.scores.append(row.score)
            self.documents.append(row.document)


Pieces = dict[tuple[str, int], Piece]  # (system, id of the query) -> lines


@dataclass
class Tally:
    """The counts of the check for one system."""

    rankings: int = 0
    results: int = 0
    copies: int = 0  # results that are left out, as their document has a better place
    unchanged: int = 0  # rankings that are stored already
    ties: int = 0  # neighbouring results with equal scores
    queries: set[int] = field(default_factory=set)  # ids of those that have a ranking
    contradictions: int = 0  # results whose rank or score contradicts that of the result above them
    contradictory_rankings: int = 0  # rankings with such a result
    first_contradiction: Refusal | None = None  # the refusal of the first such result


def import_run(collection: Collection, sources: Sequence[Source], **choices) -> Report:
    """The report of adding rankings. `choices` are fields of RunImport. Raises ValueError if they contradict."""
    return RunImport(collection, sources, **choices).run()


@dataclass
class RunImport(ImportForQueries):
    """An import of rankings.

    `order`: "rank" or "score" orders the results; None means the ranks, which must then agree with the scores up
    to ties. With `keep_first` a document that a ranking has twice keeps its best place, and the ranks below close
    up; otherwise it is refused.

    The lines name their system, and all of its lines are in one file. Two files that name the same system are
    refused, because many programs give everything they write one name. With `system_from` "file" each file is a
    system, named by the file. With "tag" files that name the same system are parts of it, and each query is in one
    of them. `system` renames the only system of all files, which are its parts.

    A ranking is written once. The same ranking again counts as unchanged; another one for its system and query is
    refused.
    """

    kind, table, usual_format = "results", TABLE, "trec-run"

    system: str | None = None
    system_from: str | None = None
    order: str | None = None
    keep_first: bool = False

    def __post_init__(self) -> None:
        if self.system is not None:
            self.system = values.system_name(self.system)
            if self.system_from == "file":
                raise ValueError("Give --system or --system-from file: both name the system")
        super().__post_init__()
        self.tags = Tags(self.sources, self.system, self.system_from)
        self.tallies: dict[str, Tally] = {}
        self.near_ties: dict[int, NearTie] = {}  # the first of each file

    # Read

    def format_of(self, source: Source) -> Format | None:
        """As for other imports. Lines that may be qrels are no run until the format or the system is chosen."""
        format = super().format_of(source)
        chosen = self.format or self.system or self.system_from
        if format is BY_NAME["trec-run"] and not chosen and (doubt := trec.doubt(source.start)):
            self.report.refuse(source.refusal(0, doubt[0], ARE_QRELS, trec.TAGS_ARE_SYSTEMS))
            return None
        return format

    def _read(self) -> None:
        """Write the lines whose queries are in the collection into the stage."""
        # A pass reads each row once, so a large cache gains nothing.
        self.stage.execute("PRAGMA cache_size = -4000")
        for file, source in enumerate(self.sources):
            if format := self.format_of(source):
                self._read_file(file, source, format)

    def _read_file(self, file: int, source: Source, format: Format) -> None:
        """Write the lines of a file into the stage, in pieces: the lines of one ranking among RESULTS_HELD."""
        pieces: Pieces = defaultdict(Piece)
        lines_held = 0
        # Of the row before: its names of system and query, and its piece; None if the collection lacks the query.
        names = piece = None
        with self.topics(source, format) as topics:
            for row in self.rows_of(source, format.reads["results"]):
                lines = len(row) if isinstance(row, Stretch) else 1
                # Most rows belong to the ranking of the row before, so that nothing has to be looked up.
                if (row.system, row.query) != names:
                    names = row.system, row.query
                    system = self.tags.system_of(row.system, file, row.line)
                    query = topics.id_of(row.query, lines=0)  # skipped lines are counted below
                    piece = None if query is None else pieces[system, query]
                if piece is None:
                    topics.skipped += lines
                    continue
                piece.add(row)
                lines_held += lines
                if lines_held >= RESULTS_HELD:
                    _write_pieces(self.stage, file, pieces)
                    pieces.clear()
                    lines_held = 0
                    names = None  # as this piece is written, the next row must get a new one
            _write_pieces(self.stage, file, pieces)

    @property
    def _results(self) -> int:
        """The number of results in all files, counted by the check."""
        return sum(tally.results for tally in self.tallies.values())

    def _rankings(self) -> Iterator[FoundRanking]:
        """The rankings of the stage; with `keep_first`, each document at its best place only."""
        for ranking in _joined_pieces(self.stage):
            yield _without_copies(ranking, self.order) if self.keep_first else ranking

    # Check

    def _check(self) -> None:
        if self.tags.check(self.stage, self.known_names, self.report):
            self.version = _version(self.collection)
            self._check_rankings()

    def _check_rankings(self) -> None:
        """Count the rankings of each system, and refuse those that cannot be written.

        Contradictions, results whose rank or score contradicts that of the result above them, are refused once for
        each system.
        """
        self.tallies = tallies = defaultdict(Tally)
        done = 0
        for batch in batched_by_length(self._rankings(), len, size=RANKINGS_HELD, length=RESULTS_HELD):
            for ranking in batch:
                self._check_ranking(ranking, tallies[ranking.system])
            self._check_stored(batch)
            done += sum(map(len, batch))
            self.progress("checking", None, done)
        for name, tally in tallies.items():
            if tally.first_contradiction:
                totals = tally.contradictions, tally.contradictory_rankings, tally.rankings
                self.report.refuse(all_contradictions(tally.first_contradiction, name, *totals))
        counts = self.report.counts
        counts["unchanged"] = sum(tally.unchanged for tally in tallies.values())
        counts["new"] = sum(tally.rankings for tally in tallies.values()) - counts["unchanged"]

    def _check_ranking(self, ranking: FoundRanking, tally: Tally) -> None:
        """Count the ranking in the tally of its system. Refuse documents that are twice in the ranking.

        Where ranks and scores contradict each other, the tally counts that: `_check_rankings` then refuses the
        system once, and not each of its lines.
        """
        tally.rankings += 1
        tally.results += len(ranking)
        tally.copies += ranking.copies
        tally.queries.add(ranking.query)
        for refusal in repeats(ranking, self.sources):
            self.report.refuse(refusal)
        # With the order "score" the ranks do not count. With "rank" they must only differ from each other. Where
        # nobody chose an order, the scores must agree with them, too.
        if self.order != "score" and (found := contradictions(ranking, self.sources, agree=self.order is None)):
            count, first_refusal = found
            tally.contradictions += count
            tally.contradictory_rankings += 1
            tally.first_contradiction = tally.first_contradiction or first_refusal
        scores = ranking.scores[best_first(ranking, self.order)]
        tally.ties += int(np.count_nonzero(scores[1:] == scores[:-1]))
        if found_tie := near_tie(ranking.lines, ranking.scores):  # scores that are equal in 32 bits alone
            file = int(ranking.files[0])  # all lines of a ranking are in one file, as `Tags.check` has found
            # The one on the lower line, which is the first field of a NearTie.
            self.near_ties[file] = min(found_tie, self.near_ties.get(file, found_tie))

    def _stored(self, batch: list[FoundRanking]) -> dict[tuple[str, int], Ranking]:
        """The rankings that the database has for the systems and queries of the batch."""
        rows = Ranking.objects.filter(
            system__collection=self.collection,
            system__name__in={ranking.system for ranking in batch},
            query__in=[ranking.query for ranking in batch],
        )
        return {(ranking.system.name, ranking.query_id): ranking for ranking in rows.select_related("system")}

    def _check_stored(self, batch: list[FoundRanking]) -> None:
        """Count the rankings that are stored already. Refuse those that differ from the stored one."""
        stored = self._stored(batch)
        repeated = [ranking for ranking in batch if (ranking.system, ranking.query) in stored]
        ids = known_ids(self.collection, _keys(repeated))  # of all documents of these rankings; 0 if not stored
        for ranking, document_ids in zip(repeated, _split_by_ranking(ids, repeated), strict=True):
            stored_ranking = stored[ranking.system, ranking.query]
            best = best_first(ranking, self.order)  # indices of the results, best first, as rankings are stored
            same_documents = np.array_equal(document_ids[best], stored_ranking.documents)
            if same_documents and np.array_equal(ranking.scores[best], stored_ranking.scores):
                self.tallies[ranking.system].unchanged += 1
                continue
            query = Query.objects.get(pk=ranking.query)
            another = f"system {ranking.system} has another ranking for query {query.key}"
            problem = f"{another}, and a ranking is never overwritten"
            delete = "If that one is wrong, delete the system on its page."
            source = self.sources[int(ranking.files[0])]
            self.report.refuse(source.refusal(int(ranking.lines[0]), problem, delete, ANOTHER_VERSION))

    def _conclude(self) -> None:
        if self.checking or self.report.changed:
            super()._conclude()
        else:  # nothing is to be written, so nobody has to wait for it
            self._tell()

    def _foresee(self) -> None:
        """Count the documents that the import would make."""
        missing = MissingDocuments(self.stage)
        documents = DocumentIds(self.collection, self._results)
        for batch in batched_by_length(self._rankings(), len, size=RANKINGS_HELD, length=RESULTS_HELD):
            keys = _keys(batch)
            missing.add(keys, documents.find(keys))
        self.report.counts["documents"] = missing.count

    # Write

    def _write(self, job: Job) -> None:
        """Write the rankings that are not stored yet."""
        # The collection has another version if another import wrote after the check. Then the rankings are
        # checked again, against those of that import, too.
        if _version(self.collection) != self.version:
            self._check_rankings()
            if self.report.refused:
                return
        done = 0
        systems = {
            name: System.objects.get_or_create(collection=job.collection, name=name, defaults={"job": job})[0]
            for name in self.tallies
        }
        document_ids = DocumentIds(job.destination, self._results)
        for batch in batched_by_length(self._rankings(), len, size=RANKINGS_HELD, length=RESULTS_PER_LOOKUP):
            stored = self._stored(batch)
            new = [ranking for ranking in batch if (ranking.system, ranking.query) not in stored]
            ids = document_ids.find_or_make(job, _keys(new), self.report, self.progress)
            rows = [
                self._row(ranking, documents, systems[ranking.system], job)
                for ranking, documents in zip(new, _split_by_ranking(ids, new), strict=True)
            ]
            Ranking.objects.bulk_create(rows, batch_size=ROWS_AT_ONCE)
            done += sum(map(len, batch))  # also those that are stored already
            self.progress("writing", done / self._results, done)

    def _row(self, ranking: FoundRanking, ids: np.ndarray, system: System, job: Job) -> Ranking:
        """The row of a ranking, best first. ids: of its documents, in the order of its lines."""
        in_order = best_first(ranking, self.order)
        columns = {"documents": ids[in_order], "scores": ranking.scores[in_order]}
        return Ranking(system=system, query_id=ranking.query, job=job, **columns)

    # Report

    def _tell(self) -> None:
        """Add facts and warnings on each system to the report."""
        facts, warnings = self.report.facts, self.report.warnings
        for name, tally in self.tallies.items():
            facts.append(
                f"{name}: {counted(tally.rankings, 'ranking')} with {counted(tally.results, 'result')};"
                f" {tally.rankings - tally.unchanged:,} new, {tally.unchanged:,} unchanged."
            )
            if tally.copies:
                copies = counted(tally.copies, "result")
                warnings.append(f"{name}: {copies} left out, as their document has a better place.")
            if tally.ties:
                neighbours = tally.results - tally.rankings  # each result but the last of a ranking has a next one
                ties = f"{tally.ties:,} of {neighbours:,} neighbouring results ({tally.ties / neighbours:.1%})"
                facts.append(f"{name}: {ties} have tied scores; trec_eval orders those by document key.")
        warnings += (near.warning(self.sources[file].name) for file, near in sorted(self.near_ties.items()))
        if not (self.system or self.system_from):  # run tags name the systems, and two systems may have one tag
            self._warn_of_additions_to_systems()
        self._warn_of_missing()
        tell_of_documents_by_key_alone(self.report)
        if not self.checking:  # the warning compares stored rankings, and a check stores none
            self.warn_of_revealing_presentation()

    def _warn_of_additions_to_systems(self) -> None:
        """Warn if a system has rankings of an earlier import, too: another system may have the same name."""
        for name, tally in self.tallies.items():
            earlier = self._ranked(name).exclude(query__in=tally.queries).count()
            if earlier and not tally.unchanged:
                self.report.warnings.append(
                    f"{name}: the new rankings join {counted(earlier, 'ranking')} of an earlier import. If this is"
                    " another system, undo this import and give the system another name."
                )

    def _warn_of_missing(self) -> None:
        """Warn of queries without a ranking, once for all systems that lack the same queries."""
        lacking: dict[frozenset[str], list[str]] = defaultdict(list)
        for name, tally in self.tallies.items():
            ranked = tally.queries | set(self._ranked(name).values_list("query", flat=True))
            lacking[frozenset(key for key, pk in self.known_names.keys.items() if pk not in ranked)].append(name)
        for without, names in lacking.items():
            self.compare_topics(without, f"ranking by {', '.join(names[:EXAMPLES])}")

    def _ranked(self, system: str) -> QuerySet:
        return Ranking.objects.filter(system__collection=self.collection, system__name=system)


@dataclass
class RunReading(RunImport):
    """A run that is checked as an import is, and that nothing is written of. `found`: its rankings, best first."""

    checking = True
    found: list[FoundRanking] = field(default_factory=list, init=False)

    def _check_ranking(self, ranking: FoundRanking, tally: Tally) -> None:
        super()._check_ranking(ranking, tally)
        best = best_first(ranking, self.order)
        documents = [ranking.documents[place] for place in best.tolist()]
        self.found.append(replace(ranking, documents=documents, scores=ranking.scores[best]))


def _version(collection: Collection) -> int:
    return Collection.written.values_list("version", flat=True).get(pk=collection.pk)


def _write_pieces(stage: sqlite3.Connection, file: int, pieces: Pieces) -> None:
    rows = (
        (system, query, file, piece.lines, piece.ranks, piece.scores, "\n".join(piece.documents))
        for (system, query), piece in pieces.items()
    )
    stage.executemany("INSERT INTO piece VALUES (?, ?, ?, ?, ?, ?, ?)", rows)


def _joined_pieces(stage: sqlite3.Connection) -> Iterator[FoundRanking]:
    """Each ranking of the stage, put together from its pieces, in the order of systems and queries."""
    # Row numbers alone are sorted: SQLite would sort whole pieces in 40 MB of memory and on disk.
    rowids = stage.execute("SELECT rowid FROM piece ORDER BY system, query, rowid")
    in_order = np.fromiter((rowid for (rowid,) in rowids), np.int64)
    pieces = (stage.execute("SELECT * FROM piece WHERE rowid = ?", [int(rowid)]).fetchone() for rowid in in_order)
    for (system, query), group in groupby(pieces, key=lambda piece: piece[:2]):
        # Each column of all pieces of the ranking, as a tuple.
        _, _, files, lines, ranks, scores, documents = zip(*group, strict=True)
        yield FoundRanking(
            system,
            query,
            files=np.repeat(files, [len(packed) // 8 for packed in lines]),  # a number of a line has 8 bytes
            lines=np.frombuffer(b"".join(lines), np.int64),
            ranks=np.frombuffer(b"".join(ranks), np.int64),
            scores=np.frombuffer(b"".join(scores), np.float64),
            documents="\n".join(documents).split("\n"),
        )


def _without_copies(ranking: FoundRanking, order: str | None) -> FoundRanking:
    """The ranking with each document at its best place only."""
    kept = without_copies(ranking, order)
    if len(kept) == len(ranking.documents):
        return ranking
    columns = {name: getattr(ranking, name)[kept] for name in ("files", "lines", "ranks", "scores")}
    documents = [ranking.documents[place] for place in kept]
    return replace(ranking, **columns, documents=documents, copies=len(ranking.documents) - len(kept))


def _keys(rankings: list[FoundRanking]) -> list[str]:
    """The keys of the documents of these rankings, one ranking after the other."""
    return [key for ranking in rankings for key in ranking.documents]


def _split_by_ranking(ids: np.ndarray, rankings: list[FoundRanking]) -> list[np.ndarray]:
    """The ids of the documents of each ranking. ids: of all their documents, in the order of `_keys`."""
    return np.split(ids, np.cumsum([len(ranking) for ranking in rankings])[:-1]) if rankings else []
