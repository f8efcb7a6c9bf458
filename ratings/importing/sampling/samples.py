"""Samples: drawn from a counted log, stored with their queries, and what an admin takes in or leaves out."""

import secrets
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

import numpy as np
from django.db import transaction
from django.utils import timezone

from ...formats import values
from ...formats.refusal import Refusal
from ...formats.source import Source
from ...models import Collection, Job, MachineGrade, Pair, Query, Ranking, Sample, SampledPair, SampledQuery
from ...people.audit import Act, note
from ...words import counted
from ..intake.publishing import land
from ..intake.report import Report
from ..intake.stage import Progress, silent
from .counting import Log, counted_log, folded
from .drawing import Stratum, chances, drawn, drawn_more, mixed_order, outlook, shared_out, thirds
from .personal import looks_personal

OUTLOOK_SIZES = (50, 150, 400)  # of which the outlook is told before a draw
MOST_QUERIES = 10_000  # queries of a sample
USUAL_SIZE = 150
LONGEST_DAYS = 100  # characters
LARGEST_SEED = 2**53  # JSON and JavaScript keep whole numbers up to it

Method = Sample.Method
LeftOut = SampledQuery.LeftOut


@dataclass(frozen=True)
class Design:
    """How queries are drawn. `shares`: of the places, by the name of a stratum; 1 for one that is not named."""

    size: int = USUAL_SIZE
    method: str = Method.PROPORTIONAL
    shares: Mapping[str, float] = field(default_factory=dict)
    seed: int | None = None  # None: a new one
    days: str = ""  # on which the log was kept; "": those that it names itself


@dataclass
class Part:
    """The draw within one stratum: how many queries, with what chances, and the places of those that are drawn."""

    stratum: Stratum
    offset: int  # how many queries of the log come before those of the stratum
    size: int  # queries to draw
    chance: np.ndarray  # float[counts]: of a query with each count of the stratum
    # int64[drawn], from 0 in the stratum; empty before the draw
    places: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))

    def as_json(self) -> dict:
        """Its entry in `Sample.strata`.

        "size": how many queries were to be drawn. "drawn": how many were drawn. Where they were added to a former
        sample these may be a few more or fewer.
        """
        certain = self.chance == 1  # bool[counts]: their queries are drawn for certain
        # Numbers of searches, and how many queries were searched for so often.
        counts, queries = self.stratum.search_counts[certain], self.stratum.queries_per_count[certain]
        return {
            "name": self.stratum.name,
            "size": self.size,
            "queries": self.stratum.size,
            "searches": self.stratum.searches,
            "certain": int(queries.sum()),
            "certain_searches": int((counts * queries).sum()),
            "drawn": len(self.places),
        }

    def chance_at(self, places: np.ndarray) -> np.ndarray:
        """The chances of the queries at these places of the stratum: float[places]."""
        return self.chance[np.searchsorted(np.cumsum(self.stratum.queries_per_count), places, side="right")]


@dataclass
class LogReport(Report):
    """The report on a log: `log` is what its page shows of it."""

    log: dict = field(default_factory=dict)


def sample_log(
    collection: Collection,
    sources: Sequence[Source],
    design: Design | None,
    *,
    format: str = "",
    more: bool = False,
    progress: Progress = silent,
    job: Job | None = None,
) -> LogReport:
    """The report of counting a log and, with a `design`, of drawing queries from it, which then are in the record.

    `more`: draw in addition to the last sample, which must be of the same log; its method counts then.
    If the report has a refusal, nothing was written. Raises Superseded for a job that was cancelled.
    """
    report = LogReport()
    with counted_log(sources, report, format=format, progress=progress) as log:
        if report.refused:
            return report
        last = collection.samples.last()
        _tell_of_log(log, last, report)
        if design is None:
            return report
        files = list(dict.fromkeys(source.file for source in sources))
        try:
            parts = _parts_of_more(log, last, design.size) if more else _parts(log, design)
        except ValueError as error:
            report.refuse(Refusal(", ".join(files), line=0, problem=str(error), cure=()))
            return report
        new = Sample(
            collection=collection,
            number=last.number + 1 if last else 1,
            former=last if more else None,
            method=last.method if last and more else design.method,
            seed=secrets.randbelow(LARGEST_SEED) if design.seed is None else design.seed,
            log=", ".join(Path(file).name for file in files)[-200:],
            days=(design.days or log.days)[:LONGEST_DAYS],
        )
        rows = _draw(log, parts, new)
        _set_totals(new, log, parts)
        report.log["outlook"] = _outlook_json(parts)

        def write(mine: Job) -> None:
            Collection.objects.select_for_update().get(pk=collection.pk)
            new.job = mine
            _store(new, rows, report)

        land(collection, sources, report, Job.Kind.LOG, job, write, lambda: _tell_of_sample(new, report))
    return report


def _tell_of_log(log: Log, last: Sample | None, report: LogReport) -> None:
    """Put into the report what the log has, and what samples of several sizes would say.

    `last`: the last sample of the collection; None before the first.
    """
    searches = counted(log.searches, "search", "searches")
    queries = counted(log.queries, "different query", "different queries")
    on_days = f", {log.days}" if log.days else ""
    report.facts.append(f"{searches} for {queries}{on_days}.")
    if log.joined:
        joined = counted(log.joined, "query stands", "queries stand")
        how = "in several spellings, which differ in case, blanks or the form of letters"
        report.facts.append(f"{joined} there {how}, and each counts as one.")
    report.log = {
        "searches": log.searches,
        "queries": log.queries,
        "days": log.days,
        "joined": log.joined,
        "examples": log.examples,  # of joined queries: (text, count, other spellings)
        "strata": [
            {"name": stratum.name, "queries": stratum.size, "searches": stratum.searches}
            for stratum in _strata(log, Method.STRATA)
        ],
        "by_column": log.by_column,
        "outlooks": _outlooks(log),
        # The number of the last sample, if it is of this log: then more can be drawn.
        "again": last.number if last and last.digest == log.digest else None,
    }


def _outlooks(log: Log) -> dict[str, list[dict]]:
    """For each method of a draw, the outlooks for samples of several sizes."""
    methods = [Method.STRATA] if log.by_column else [Method.PROPORTIONAL, Method.EVEN, Method.STRATA]
    sizes = [size for size in OUTLOOK_SIZES if size < log.queries] or [log.queries]
    return {
        method.value: [_outlook_json(_parts(log, Design(size, method))) for size in sizes] for method in methods
    }


def _outlook_json(parts: Sequence[Part]) -> dict:
    """The outlook of a draw for the report."""
    return outlook([(part.stratum, part.chance) for part in parts])._asdict()


def _strata(log: Log, method: str) -> list[Stratum]:
    """The strata of a draw by this method, in the order of the log. Raises ValueError."""
    if log.by_column and method != Method.STRATA:
        raise ValueError("a column divides the log into strata, and this method has none")
    if log.by_column:
        return log.strata
    whole = replace(log.strata[0], name="")  # a column may have given all queries one name
    return thirds(whole) if method == Method.STRATA else [whole]


def _parts(log: Log, design: Design) -> list[Part]:
    """The parts of a new draw, of which nothing is drawn yet. Raises ValueError."""
    strata = _strata(log, design.method)
    if unknown := sorted(design.shares.keys() - {stratum.name for stratum in strata}):
        names = ", ".join(stratum.name or "(no name)" for stratum in strata)
        raise ValueError(f"there is no stratum {values.quoted(unknown[0])}; the strata are {names}")
    shares = [design.shares.get(stratum.name, 1.0) for stratum in strata]
    if not any(shares):
        raise ValueError("no stratum has a share of the places")
    sizes = shared_out(design.size, shares, [stratum.size for stratum in strata])
    return _with_chances(strata, sizes, design.method)


def _with_chances(strata: Sequence[Stratum], sizes: Sequence[int], method: str) -> list[Part]:
    """The parts of a draw of so many queries from each stratum."""
    parts: list[Part] = []
    offset = 0
    for stratum, size in zip(strata, sizes, strict=True):
        parts.append(Part(stratum, offset, size, chances(stratum, size, even=method == Method.EVEN)))
        offset += stratum.size
    return parts


def _parts_of_more(log: Log, former: Sample | None, size: int) -> list[Part]:
    """The parts of a draw that adds to the former sample; nothing is added yet. Raises ValueError.

    `size`: how many queries the former sample and the added ones are together. Likewise, the size and the chances
    of a part are those of its former and its added queries together.
    """
    if former is None:
        raise ValueError("nothing was drawn yet, so there is nothing to add to")
    if former.digest != log.digest:
        raise ValueError(f"it is not the log of {former}: its queries, counts or strata are others")
    if size <= former.size:
        raise ValueError(f"{former} has {former.size:,} queries already; choose a larger number for all together")
    strata = _strata(log, former.method)
    old_sizes = [entry["size"] for entry in former.strata]
    room = [stratum.size - old_size for stratum, old_size in zip(strata, old_sizes, strict=True)]
    # The further queries are shared out as those of the former sample are.
    added_sizes = shared_out(size - former.size, old_sizes, room)
    if not any(added_sizes):
        raise ValueError(f"{former} has every query of the log already")
    return _with_chances(strata, np.add(old_sizes, added_sizes).tolist(), former.method)


def _draw(log: Log, parts: Sequence[Part], new: Sample) -> list[SampledQuery]:
    """Draw the places of each part, which are set in it. Returns the rows of their queries, which are not stored.

    A sample that adds to a former one keeps the places of that one.
    """
    rng = np.random.default_rng(new.seed)
    # By their places in the log; a place counts from 1 there, and from 0 in the stratum of a part.
    former_rows = {row.place: row for row in new.former.drawn.select_related("query")} if new.former else {}
    rows = []
    for number, part in enumerate(parts):
        stratum = part.stratum
        start = rng.random()  # where the systematic draw begins
        # `order`: in which the queries, by their counts, are laid on the line of the systematic draw.
        # From a part of size 0 nothing is drawn in either case.
        if new.former:
            old_places = np.array(list(former_rows), np.int64) - part.offset - 1
            old_places = old_places[(old_places >= 0) & (old_places < stratum.size)]
            old_chance = chances(stratum, new.former.strata[number]["size"], even=new.method == Method.EVEN)
            order = mixed_order(stratum, part.chance, rng)
            added_places = drawn_more(stratum, old_places, old_chance, part.chance, start, order)
            part.places = np.sort(np.concatenate([old_places, added_places]))
        elif part.size:
            order = mixed_order(stratum, part.chance, rng)
            part.places = drawn(stratum, part.chance, start, order)
        drawn_rows = log.rows((part.places + part.offset + 1).tolist())
        for row, chance in zip(drawn_rows, part.chance_at(part.places).tolist(), strict=True):
            row.chance = chance
            row.stratum = stratum.name  # "" where the method has no strata
            _decide(row, former_rows.get(row.place))  # whether it is left out of the collection
            rows.append(row)
    return rows


def _set_totals(new: Sample, log: Log, parts: Sequence[Part]) -> None:
    """Set what the new sample says of its log and of its strata, after the draw."""
    new.digest = log.digest
    new.searches = log.searches
    new.queries = log.queries
    new.strata = [part.as_json() for part in parts]
    new.size = sum(entry["size"] for entry in new.strata)
    new.head_queries = sum(entry["certain"] for entry in new.strata)
    new.head_searches = sum(entry["certain_searches"] for entry in new.strata)


def _decide(row: SampledQuery, before: SampledQuery | None) -> None:
    """Take over the decision of `before`, its former row. Without one, hold the row back if it looks personal."""
    if before:
        row.query, row.text, row.left_out = before.query, before.text, before.left_out
    elif looks_personal(row.text):
        row.left_out = LeftOut.HELD


def _store(new: Sample, rows: Sequence[SampledQuery], report: LogReport) -> None:
    """Write the sample with its rows, and the queries that are not in the record yet. Counts them in the report.

    A row that is left out, or held back for an admin to decide, brings no query.
    """
    new.created_at = timezone.now()
    new.save()
    # The latest first, so that of several queries with one text the oldest stays in the dict.
    stored_queries = list(new.collection.queries.order_by("-pk"))
    query_by_text = {folded(query.text): query for query in stored_queries}
    keys = {query.key for query in stored_queries}
    # New queries need not be added to these two: the folded texts of rows differ, and so do keys made of texts.
    new_queries = []
    for row in rows:
        row.sample = new
        if row.query is None and not row.left_out:
            row.query = query_by_text.get(folded(row.text))
            if row.query is None:
                row.query = _new_query(new, row.text, keys)
                new_queries.append(row.query)
    Query.objects.bulk_create(new_queries)
    SampledQuery.objects.bulk_create(rows)
    held = sum(row.left_out == LeftOut.HELD for row in rows)
    report.counts.update(new=len(new_queries), drawn=len(rows), held=held)


def _new_query(sample: Sample, text: str, keys: Container[str]) -> Query:
    """A query with the key that imports make of its text, or with a longer one if that is among the `keys`."""
    key = values.key_of_text(text)
    if key in keys:
        key = f"{key}~{sha256(text.encode()).hexdigest()[:8]}"
    return Query(collection=sample.collection, key=key, text=text, job=sample.job)


def _tell_of_sample(new: Sample, report: LogReport) -> None:
    """Put into the report what was drawn and stored."""
    report.log["sample"] = new.number
    queries = counted(report.counts["drawn"], "query", "queries")
    certain = counted(new.head_queries, "of them was drawn", "of them were drawn")
    new_queries = counted(report.counts["new"], "query is", "queries are")
    report.facts += [
        f"Sample {new.number}: {queries} drawn {new.get_method_display()}, with the seed {new.seed}.",
        f"{certain} for certain, with {new.head_searches / new.searches:.0%} of the searches.",
        f"{new_queries} new in the collection.",
    ]
    if report.counts["held"]:
        held = counted(report.counts["held"], "query that looks personal is", "queries that look personal are")
        report.warnings.append(f"{held} held back. Take each in or leave it out on the page of the sample.")


# What an admin decides about one query


def take_in(row: SampledQuery) -> None:
    """Bring a query that was left out, or held back (also a value of `left_out`), into the collection.

    Raises ValueError if its text was erased. If the collection has a query with this text, the row refers to that
    one.
    """
    if not row.text:
        raise ValueError("Its text was erased, so it cannot be taken in")
    with transaction.atomic():
        sample = row.sample
        Collection.objects.select_for_update().get(pk=sample.collection_id)
        stored_queries = list(sample.collection.queries.order_by("pk"))
        row.query = next((query for query in stored_queries if folded(query.text) == folded(row.text)), None)
        if row.query is None:
            row.query = _new_query(sample, row.text, {query.key for query in stored_queries})
            row.query.save()
        row.left_out = ""
        row.save(update_fields=["query", "left_out"])
        _note(Act.QUERY_TAKEN_IN, row)


def leave_out(row: SampledQuery, reason: str) -> bool:
    """Leave the query of this row out for the reason, and return whether the collection is without it now.

    The row still counts among the drawn. The query is deleted from the collection if a draw brought it there and
    nothing rests on it yet. With the reason PERSONAL its text is erased in all samples of the log.
    """
    with transaction.atomic():
        sample = row.sample
        query = row.query
        Collection.objects.select_for_update().get(pk=sample.collection_id)
        row.query = None
        row.left_out = reason
        row.save(update_fields=["query", "left_out"])
        is_gone = query is None or (_is_drawn(query) and not _is_used(query))
        if query and is_gone:
            query.delete()
        if reason == LeftOut.PERSONAL:
            samples_of_log = sample.collection.samples.filter(digest=sample.digest)
            SampledQuery.objects.filter(place=row.place, sample__in=samples_of_log).update(text="")
        _note(Act.QUERY_LEFT_OUT, row, reason=reason)
    return is_gone


def _note(act: Act, row: SampledQuery, **detail) -> None:
    """Note the act in the audit, without the text, and raise the version of the collection."""
    collection = row.sample.collection
    note(act, collection, about=f"query {row.place} of the log", sample=row.sample.number, **detail)
    collection.touch()


def _is_drawn(query: Query) -> bool:
    """Whether a draw brought the query into the record."""
    return query.job_id is not None and Job.objects.filter(pk=query.job_id, kind=Job.Kind.LOG).exists()


def _is_used(query: Query) -> bool:
    """Whether rankings, pairs or judges rest on the query."""
    return any(model.objects.filter(query=query).exists() for model in (Ranking, Pair, MachineGrade, SampledPair))
