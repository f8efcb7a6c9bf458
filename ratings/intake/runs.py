"""Import of runs: what systems returned.

A run may hold several systems, and its lines may come in any order. They are kept on disk in pieces, one piece for
the lines of one ranking that stood near each other, so that a file that is grouped by query is as good as sorted.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby

import numpy as np

from ..formats import values
from ..formats.rankings import (
    ORDERS,
    Contradictions,
    FoundRanking,
    all_contradictions,
    as_trec_eval,
    best_first,
    contradictions,
    repeats,
)
from ..formats.refusal import Refusal
from ..formats.rows import RunLine, Stretch
from ..formats.source import Source
from ..models import Collection, Job, Query, Ranking, System
from .documents import Strangers, ids_of, known_ids, tell_of_bare_documents
from .publishing import PIECE, Landing, land
from .report import EXAMPLES, Report, counted
from .stage import Progress, batched, format_of, rows_of, silent, staged
from .topics import Names, Topics, compare_topics, refuse_strangers, refuse_without_queries

TABLE = "piece (system TEXT, query INTEGER, file INTEGER, lines BLOB, ranks BLOB, scores BLOB, documents TEXT)"
HELD = 50_000  # results held in memory


@dataclass
class Tally:
    """What the check finds out about one system."""

    rankings: int = 0
    results: int = 0
    depths: set[int] = field(default_factory=set)
    copies: int = 0
    unchanged: int = 0
    ties: int = 0
    queries: set[int] = field(default_factory=set)
    contradictions: int = 0
    contradicting: int = 0  # rankings
    first_contradiction: Refusal | None = None

    def note(self, found: Contradictions | None) -> None:
        if found:
            self.contradictions += found.count
            self.contradicting += 1
            self.first_contradiction = self.first_contradiction or found.first


def import_run(
    collection: Collection,
    sources: Sequence[Source],
    *,
    system: str | None = None,
    order: str | None = None,
    keep_first: bool = False,
    format: str | None = None,
    queries_by: str | None = None,
    progress: Progress = silent,
    job: Job | None = None,
) -> Report:
    """Add rankings. The rank column orders them where it agrees with the scores up to ties, or as `order` says.

    `system` renames the one system of the files. A document twice in a ranking is refused or, with `keep_first`,
    kept at its best place, and the ranks below close up. A ranking is written once: the same again is counted as
    unchanged, another one for its system and query is refused. Without a `format` each file shows its own. Raises
    ValueError for an unknown `order` and for a `system` that no run could name.
    """
    if order not in (None, *ORDERS):
        raise ValueError(f"The order is {order!r}; give rank or score.")
    if system is not None:
        values.checked_key(system, "system", values.SYSTEM_NAME_LENGTH)
    report, names = Report(), Names(collection)
    refuse_without_queries(names, sources, report)
    if report.refused:
        return report
    with staged(TABLE) as stage:
        named, unknown = _stage(stage, sources, names, system, format, queries_by, report, progress)
        batches = partial(_batches, stage, partial(_without_copies, order=order) if keep_first else _whole)
        check = partial(_check, batches, collection, sources, order, report)
        seen = _version(collection)
        tallies = check(progress)

        def write(place: Landing) -> None:
            # Until now others could import. What they brought for the same queries is looked at again.
            if _version(collection) != seen:
                tallies.update(check(partial(_alive, place, progress)))
            if not report.refused:
                _publish(batches, order, tallies, report, progress, place)

        if job and job.checking:
            _count_strangers(stage, batches, collection, report)
        elif report.changed and not report.refused:
            land(collection, sources, report, Job.Kind.RESULTS, job, write)
    if not report.refused or (job and job.checking):
        _tell(tallies, report, checked=bool(job and job.checking))
        _compare(collection, len(named), unknown, names.keys, tallies, report)
    return report


# Stage


def _stage(
    stage: sqlite3.Connection,
    sources: Sequence[Source],
    names: Names,
    system: str | None,
    format: str | None,
    queries_by: str | None,
    report: Report,
    progress: Progress,
) -> tuple[set[str], set[str]]:
    """Put the lines of known queries on disk. Returns the queries that the files name, and the unknown of them."""
    named: set[str] = set()
    unknown: set[str] = set()
    tags: dict[str, tuple[int, int]] = {}  # where each run tag stood first
    for file, source in enumerate(sources):
        found = format_of(source, "results", format, "trec-run", report)
        if found is None:
            continue
        by = queries_by or found.queries_by
        topics, extra = Topics(names.ids(by)), 0
        held, count, named_last = _no_pieces(), 0, None
        for row in rows_of(source, found.reads_stretches or found.reads["results"], report, progress):
            # What stands behind the six columns is never in a stretch.
            size, more = (len(row), False) if isinstance(row, Stretch) else (1, row.extra)
            extra += more
            # Most lines stand behind one of the same ranking.
            if (row.system, row.query) != named_last:
                named_last = row.system, row.query
                tags.setdefault(row.system, (file, row.line))
                query = topics.id_of(row.query, size)
                if query is not None:
                    cells = held[system or row.system, query]
            elif query is None:
                topics.skipped += size
            if query is None:
                continue
            _hold(row, *cells)
            count += size
            if count >= HELD:
                _put(stage, file, held)
                held, count, named_last = _no_pieces(), 0, None
        _put(stage, file, held)
        names.refuse_doubt(source, topics, by, report)
        refuse_strangers(source, topics, report)
        if extra:
            report.facts.append(
                f"{source.name}: {counted(extra, 'line')} with more than six columns; the rest was ignored."
            )
        named |= topics.named
        unknown |= topics.named - topics.ids.keys()
    if not system:
        _refuse_unnamed(tags, sources, report)
    if system and len(tags) > 1:
        _, (tag, (file, line)), *_ = tags.items()
        problem = f"{tag} is another system than {next(iter(tags))}, and --system can rename only one"
        report.refuse(sources[file].refusal(line, problem, "Leave --system out, or give one system at a time."))
    return named, unknown


def _hold(row: RunLine | Stretch, lines: list, ranks: list, scores: list, documents: list) -> None:
    if isinstance(row, Stretch):
        lines.extend(range(row.line, row.line + len(row)))
        ranks.extend(row.ranks.tolist())
        scores.extend(row.scores.tolist())
        documents.extend(row.documents)
    else:
        lines.append(row.line)
        ranks.append(row.rank)
        scores.append(row.score)
        documents.append(row.document)


def _refuse_unnamed(tags: dict[str, tuple[int, int]], sources: Sequence[Source], report: Report) -> None:
    """A system whose name could not stand in a run needs another one."""
    for tag, (file, line) in tags.items():
        try:
            values.checked_key(tag, "name of the system", values.SYSTEM_NAME_LENGTH)
        except ValueError as error:
            report.refuse(sources[file].refusal(line, str(error), "Name the system with --system NAME."))


def _no_pieces() -> defaultdict[tuple[str, int], tuple[list, list, list, list]]:
    return defaultdict(lambda: ([], [], [], []))


def _put(stage: sqlite3.Connection, file: int, held: dict[tuple[str, int], tuple]) -> None:
    stage.executemany(
        "INSERT INTO piece VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            (
                system,
                query,
                file,
                np.array(lines, np.int64).tobytes(),
                np.array(ranks, np.int64).tobytes(),
                np.array(scores, np.float64).tobytes(),
                "\n".join(documents),
            )
            for (system, query), (lines, ranks, scores, documents) in held.items()
        ),
    )


def _rankings(stage: sqlite3.Connection) -> Iterator[FoundRanking]:
    pieces = stage.execute("SELECT * FROM piece ORDER BY system, query, rowid")
    for (system, query), group in groupby(pieces, key=lambda piece: piece[:2]):
        _, _, files, lines, ranks, scores, documents = zip(*group, strict=True)
        lines = [np.frombuffer(part, np.int64) for part in lines]
        yield FoundRanking(
            system,
            query,
            np.repeat(files, [len(part) for part in lines]),
            np.concatenate(lines),
            np.concatenate([np.frombuffer(part, np.int64) for part in ranks]),
            np.concatenate([np.frombuffer(part, np.float64) for part in scores]),
            "\n".join(documents).split("\n"),
        )


def _whole(ranking: FoundRanking) -> FoundRanking:
    return ranking


def _without_copies(ranking: FoundRanking, order: str | None) -> FoundRanking:
    """The ranking with each document at its best place only."""
    best: dict[str, int] = {}
    for i in best_first(ranking, order):
        best.setdefault(ranking.documents[i], i)
    if len(best) == len(ranking.documents):
        return ranking
    kept = np.sort(np.fromiter(best.values(), np.int64))
    return FoundRanking(
        ranking.system,
        ranking.query,
        ranking.files[kept],
        ranking.lines[kept],
        ranking.ranks[kept],
        ranking.scores[kept],
        [ranking.documents[i] for i in kept],
        copies=len(ranking.documents) - len(kept),
    )


def _batches(
    stage: sqlite3.Connection, pick: Callable[[FoundRanking], FoundRanking]
) -> Iterator[list[FoundRanking]]:
    batch, count = [], 0
    for ranking in map(pick, _rankings(stage)):
        batch.append(ranking)
        count += len(ranking.documents)
        if count >= HELD:
            yield batch
            batch, count = [], 0
    if batch:
        yield batch


# Check


def _check(
    batches: Callable[[], Iterator[list[FoundRanking]]],
    collection: Collection,
    sources: Sequence[Source],
    order: str | None,
    report: Report,
    progress: Progress,
) -> dict[str, Tally]:
    tallies: dict[str, Tally] = defaultdict(Tally)
    done = 0
    for batch in batches():
        for ranking in batch:
            tally = tallies[ranking.system]
            tally.rankings += 1
            tally.results += len(ranking.documents)
            tally.depths.add(len(ranking.documents))
            tally.copies += ranking.copies
            tally.queries.add(ranking.query)
            for refusal in repeats(ranking, sources, "Keep one of the two, or give --keep-first."):
                report.refuse(refusal)
            if order != "score":
                tally.note(contradictions(ranking, sources, agree=order is None))
            in_order = best_first(ranking, order)
            scores = as_trec_eval(ranking.scores[in_order])
            tally.ties += int(np.count_nonzero(scores[1:] == scores[:-1]))
        _check_stored(collection, batch, sources, order, tallies, report)
        done += sum(len(r.documents) for r in batch)
        progress("checking", None, done)
    for name, tally in tallies.items():
        if tally.first_contradiction:
            counts = tally.contradictions, tally.contradicting, tally.rankings
            report.refuse(all_contradictions(tally.first_contradiction, name, *counts))
    report.counts["unchanged"] = sum(tally.unchanged for tally in tallies.values())
    report.counts["new"] = sum(tally.rankings for tally in tallies.values()) - report.counts["unchanged"]
    return tallies


def _alive(place: Landing, progress: Progress, *told) -> None:
    place.beat()
    progress(*told)


def _version(collection: Collection) -> int:
    return Collection.written.values_list("version", flat=True).get(pk=collection.pk)


def _stored(collection: Collection, batch: list[FoundRanking]) -> dict[tuple[str, int], Ranking]:
    """The rankings of the record that the batch names again."""
    rows = Ranking.objects.filter(
        system__collection=collection,
        system__name__in={ranking.system for ranking in batch},
        query__in=[ranking.query for ranking in batch],
    )
    return {(ranking.system.name, ranking.query_id): ranking for ranking in rows.select_related("system")}


def _check_stored(
    collection: Collection,
    batch: list[FoundRanking],
    sources: Sequence[Source],
    order: str | None,
    tallies: dict[str, Tally],
    report: Report,
) -> None:
    """Count the rankings that the record holds already, and refuse others in their place."""
    stored = _stored(collection, batch)
    again = [ranking for ranking in batch if (ranking.system, ranking.query) in stored]
    ids = known_ids(collection, {key for ranking in again for key in ranking.documents})
    for ranking in again:
        before, in_order = stored[ranking.system, ranking.query], best_first(ranking, order)
        documents = [ids.get(ranking.documents[i]) for i in in_order]
        if documents == before.documents.tolist() and np.array_equal(ranking.scores[in_order], before.scores):
            tallies[ranking.system].unchanged += 1
            continue
        query = Query.objects.get(pk=ranking.query)
        report.refuse(
            sources[int(ranking.files[0])].refusal(
                int(ranking.lines[0]),
                f"{ranking.system} has another ranking for query {query.key}, and a ranking is never overwritten",
                "Give the new version its own name with --system NAME, or delete the system in the admin.",
            )
        )


# Publish


def _publish(
    batches: Callable[[], Iterator[list[FoundRanking]]],
    order: str | None,
    tallies: dict[str, Tally],
    report: Report,
    progress: Progress,
    place: Landing,
) -> None:
    job, total, done = place.job, sum(tally.results for tally in tallies.values()), 0
    with place.piece(len(tallies)):
        systems = {
            name: System.objects.get_or_create(collection=job.collection, name=name, defaults={"job": job})[0]
            for name in tallies
        }
    for batch in batches():
        stored = _stored(job.collection, batch)
        new = [ranking for ranking in batch if (ranking.system, ranking.query) not in stored]
        ids = ids_of(place, {key for ranking in new for key in ranking.documents}, report)
        for piece in batched(new, PIECE):
            with place.piece(len(piece)):
                Ranking.objects.bulk_create(
                    _record(systems[r.system], r, ids, best_first(r, order), job) for r in piece
                )
        done += sum(len(ranking.documents) for ranking in batch)
        progress("writing", done / total, done)
    with place.published(report):
        pass


def _record(system: System, ranking: FoundRanking, ids: dict[str, int], in_order: np.ndarray, job: Job) -> Ranking:
    documents = np.array([ids[key] for key in ranking.documents], np.int64)
    return Ranking(
        system=system,
        query_id=ranking.query,
        documents=documents[in_order],
        scores=ranking.scores[in_order],
        job=job,
    )


def _count_strangers(
    stage: sqlite3.Connection,
    batches: Callable[[], Iterator[list[FoundRanking]]],
    collection: Collection,
    report: Report,
) -> None:
    """Of a check: how many documents the import would make."""
    strangers = Strangers(stage, collection)
    for batch in batches():
        strangers.look_at({key for ranking in batch for key in ranking.documents})
    report.counts["documents"] = strangers.count


# Tell


def _tell(tallies: dict[str, Tally], report: Report, *, checked: bool) -> None:
    for name, tally in tallies.items():
        report.facts.append(
            f"{name}: {counted(tally.rankings, 'ranking')} with {counted(tally.results, 'result')};"
            f" {tally.rankings - tally.unchanged:,} new, {tally.unchanged:,} unchanged."
        )
        if checked:
            least, most = min(tally.depths), max(tally.depths)
            depth = f"{most:,}" if least == most else f"{least:,} to {most:,}"
            report.facts.append(f"{name}: {depth} result{'' if most == 1 else 's'} for a query.")
        if tally.copies:
            copies = counted(tally.copies, "result")
            report.warnings.append(f"{name}: {copies} left out, whose document stands at a better place already.")
        if tally.ties:
            neighbours = tally.results - tally.rankings
            report.facts.append(
                f"{name}: {tally.ties:,} of {neighbours:,} neighbouring results ({tally.ties / neighbours:.1%})"
                " have tied scores; trec_eval orders those by document key."
            )
    if not checked:
        tell_of_bare_documents(report)


def _compare(
    collection: Collection,
    named: int,
    unknown: set[str],
    query_ids: dict[str, int],
    tallies: dict[str, Tally],
    report: Report,
) -> None:
    """Warn of queries without a ranking, once for systems that lack the same ones."""
    lacking: dict[frozenset[str], list[str]] = defaultdict(list)
    for name, tally in tallies.items():
        ranked = Ranking.objects.filter(system__collection=collection, system__name=name)
        has = tally.queries | set(ranked.values_list("query", flat=True))
        lacking[frozenset(key for key, pk in query_ids.items() if pk not in has)].append(name)
    for without, names in lacking.items():
        what = f"ranking by {', '.join(names[:EXAMPLES])}"
        compare_topics(report, unknown=unknown, named=named, without=without, what=what)
