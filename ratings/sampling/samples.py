"""Samples: drawn from a counted log, stored with their queries, and what an admin takes in or leaves out."""

import secrets
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import numpy as np
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from ..formats import values
from ..formats.refusal import Refusal
from ..formats.source import Source
from ..importing.intake.publishing import land
from ..importing.intake.report import Report
from ..importing.intake.stage import Progress, silent
from ..models import Collection, Job, MachineGrade, Pair, Query, Ranking, Sample, SampledPair, SampledQuery
from ..people.audit import Act, note
from ..words import counted
from .counting import Log, Row, counted_log, folded
from .drawing import Outlook, Stratum, chances, drawn, drawn_more, mixed, outlook, shared_out, thirds
from .personal import looks_personal

SIZES = (50, 150, 400)  # of which the outlook is told before a draw
MOST = 10_000  # queries of a sample
USUAL = 150
DAYS = 100  # characters
SEEDS = 2**53  # JSON and JavaScript keep whole numbers below it

Method = Sample.Method
LeftOut = SampledQuery.LeftOut


@dataclass(frozen=True)
class Design:
    """How queries are drawn. `shares`: of the places, by the name of a stratum; 1 for one that is not named."""

    size: int = USUAL
    method: str = Method.PROPORTIONAL
    shares: Mapping[str, float] = field(default_factory=dict)
    seed: int | None = None  # None: a new one
    days: str = ""  # on which the log was kept; "": those that it names itself


@dataclass
class Part:
    """The draw within one stratum: its size, the chance of a query of each count, and the places that it drew."""

    stratum: Stratum
    first: int  # the place of its first query in the log
    size: int
    chance: np.ndarray
    places: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))  # from 0, in the stratum

    def as_json(self) -> dict:
        """Its entry in `Sample.strata`."""
        certain = self.chance == 1
        counts, queries = self.stratum.counts[certain], self.stratum.queries[certain]
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
        """The chances of the queries at these places of the stratum."""
        return self.chance[np.searchsorted(np.cumsum(self.stratum.queries), places, side="right")]


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
        former = collection.samples.last()
        _tell_of(log, former, report)
        if design is None:
            return report
        name = ", ".join(dict.fromkeys(source.file for source in sources))
        try:
            parts = _more(log, former, design.size) if more else _parts(log, design)
        except ValueError as error:
            report.refuse(Refusal(name, 0, str(error), ()))
            return report
        new = Sample(
            collection=collection,
            number=former.number + 1 if former else 1,
            former=former if more else None,
            method=former.method if more and former else design.method,
            seed=secrets.randbelow(SEEDS) if design.seed is None else design.seed,
            log=", ".join(dict.fromkeys(Path(source.file).name for source in sources))[-200:],
            days=(design.days or log.days)[:DAYS],
        )
        rows = _draw(log, parts, new, report)

        def write(mine: Job) -> None:
            Collection.objects.select_for_update().get(pk=collection.pk)
            new.job = mine
            _store(new, rows, report)

        land(collection, sources, report, Job.Kind.LOG, job, write, lambda: _tell(new, parts, report))
    return report


def _tell_of(log: Log, former: Sample | None, report: LogReport) -> None:
    """Put into the report what the log has, and what samples of several sizes would say."""
    searches = counted(log.searches, "search", "searches")
    queries = counted(log.queries, "different query", "different queries")
    report.facts.append(f"{searches} for {queries}{f', {log.days}' if log.days else ''}.")
    if log.joined:
        joined = counted(log.joined, "query stands", "queries stand")
        how = "in several spellings, which differ in case, blanks or the form of letters"
        report.facts.append(f"{joined} there {how}, and each counts as one.")
    sizes = [size for size in SIZES if size < log.queries] or [log.queries]
    methods = [Method.PROPORTIONAL, Method.EVEN] if len(log.strata) == 1 else []
    outlooks = {
        method.value: [_as_json(_outlook_of(_parts(log, Design(size, method)))) for size in sizes]
        for method in [*methods, Method.STRATA]
    }
    strata = log.strata if len(log.strata) > 1 else thirds(log.strata[0])
    report.log = {
        "searches": log.searches,
        "queries": log.queries,
        "days": log.days,
        "joined": log.joined,
        "examples": log.examples,
        "strata": [{"name": each.name, "queries": each.size, "searches": each.searches} for each in strata],
        "by_column": len(log.strata) > 1,
        "outlooks": outlooks,
        "again": former.number if former and former.digest == log.digest else None,
    }


def _as_json(found: Outlook) -> dict:
    return found._asdict() | {"margin": None if np.isnan(found.margin) else found.margin}


def _outlook_of(parts: Sequence[Part]) -> Outlook:
    return outlook([(part.stratum, part.chance) for part in parts])


def _strata(log: Log, method: str) -> list[Stratum]:
    """The strata of the log in its order. Raises ValueError."""
    if method == Method.STRATA:
        return log.strata if len(log.strata) > 1 else thirds(log.strata[0])
    if len(log.strata) > 1:
        raise ValueError("a column divides the log into strata, and this method has none")
    return [Stratum("", log.strata[0].counts, log.strata[0].queries)]


def _parts(log: Log, design: Design) -> list[Part]:
    """The parts of a new draw, before it. Raises ValueError."""
    strata = _strata(log, design.method)
    if unknown := sorted(design.shares.keys() - {each.name for each in strata}):
        names = ", ".join(each.name or "(no name)" for each in strata)
        raise ValueError(f"there is no stratum {values.quoted(unknown[0])}; the strata are {names}")
    shares = [design.shares.get(each.name, 1.0) for each in strata]
    if not any(shares):
        raise ValueError("no stratum has a share of the places")
    sizes = shared_out(design.size, shares, [each.size for each in strata])
    return _with_chances(strata, sizes, design.method)


def _with_chances(strata: Sequence[Stratum], sizes: Sequence[int], method: str) -> list[Part]:
    parts, first = [], 0
    for stratum, size in zip(strata, sizes, strict=True):
        chance = chances(stratum, size, even=method == Method.EVEN)
        parts.append(Part(stratum, first, size, chance))
        first += stratum.size
    return parts


def _more(log: Log, former: Sample | None, size: int) -> list[Part]:
    """The parts of a draw in addition to the former sample, before it. Raises ValueError."""
    if former is None:
        raise ValueError("nothing was drawn yet, so there is nothing to add to")
    if former.digest != log.digest:
        raise ValueError(f"it is not the log of {former}: its queries, counts or strata are others")
    if size <= former.size:
        raise ValueError(f"{former} has {former.size:,} queries already; choose a larger number for all together")
    strata = _strata(log, former.method)
    old = [entry["size"] for entry in former.strata]
    room = [stratum.size - n for stratum, n in zip(strata, old, strict=True)]
    added = shared_out(size - former.size, old, room)
    if not any(added):
        raise ValueError(f"{former} has every query of the log already")
    return _with_chances(strata, [sum(pair) for pair in zip(old, added, strict=True)], former.method)


def _draw(log: Log, parts: Sequence[Part], new: Sample, report: LogReport) -> list[SampledQuery]:
    """The rows of the new sample, whose totals are set. Its former sample keeps what it has."""
    rng, kept = np.random.default_rng(new.seed), new.former
    before = {row.place: row for row in kept.drawn.select_related("query")} if kept else {}
    rows = []
    for part, entry in zip(parts, kept.strata if kept else [None] * len(parts), strict=True):
        start, last = rng.random(), part.first + part.stratum.size
        if kept:
            old = np.array([place - 1 - part.first for place in before if part.first < place <= last], np.int64)
            former = chances(part.stratum, entry["size"], even=new.method == Method.EVEN)
            order = mixed(part.stratum, part.chance, rng)
            added = drawn_more(part.stratum, old, former, part.chance, start, order)
            part.places = np.sort(np.concatenate([old, added]))
        elif part.size:
            order = mixed(part.stratum, part.chance, rng)
            part.places = drawn(part.stratum, part.chance, start, order)
        found = log.rows((part.places + part.first + 1).tolist())
        for row, chance in zip(found, part.chance_at(part.places), strict=True):
            rows.append(_sampled(row, float(chance), part.stratum.name, before.get(row.place)))
    new.digest, new.searches, new.queries = log.digest, log.searches, log.queries
    new.strata = [part.as_json() for part in parts]
    new.size, new.head_queries, new.head_searches = (
        sum(entry[name] for entry in new.strata) for name in ("size", "certain", "certain_searches")
    )
    report.log["outlook"] = _as_json(_outlook_of(parts))
    return rows


def _sampled(row: Row, chance: float, stratum: str, before: SampledQuery | None) -> SampledQuery:
    """The row of the new sample, with what was decided about it in the former one."""
    facts = {"place": row.place, "count": row.count, "chance": chance, "stratum": stratum}
    if before:
        return SampledQuery(query=before.query, text=before.text, left_out=before.left_out, **facts)
    held = LeftOut.HELD if looks_personal(row.text) else ""
    return SampledQuery(text=row.text, left_out=held, **facts)


def _store(new: Sample, rows: Sequence[SampledQuery], report: LogReport) -> None:
    """Write the sample, and the queries that are not in the record yet."""
    new.created_at = timezone.now()
    new.save()
    stored, made = list(new.collection.queries.order_by("-pk")), []
    known = {folded(query.text): query for query in stored}
    keys = {query.key for query in stored}
    for row in rows:
        row.sample = new
        if row.query is None and not row.left_out:
            row.query = known.get(folded(row.text))
            if row.query is None:
                row.query = _new_query(new, row.text, keys)
                made.append(row.query)
    Query.objects.bulk_create(made)
    SampledQuery.objects.bulk_create(rows)
    report.counts.update(new=len(made), drawn=len(rows), held=sum(row.left_out == LeftOut.HELD for row in rows))


def _new_query(sample: Sample, text: str, keys: Container[str]) -> Query:
    """A query with the key that imports make of its text, or with a longer one if that is among the `keys`."""
    key = values.key_of_text(text)
    if key in keys:
        key = f"{key}~{sha256(text.encode()).hexdigest()[:8]}"
    return Query(collection=sample.collection, key=key, text=text, job=sample.job)


def _tell(new: Sample, parts: Sequence[Part], report: LogReport) -> None:
    n, made, held = (report.counts[name] for name in ("drawn", "new", "held"))
    report.log["sample"] = new.number
    how = f"drawn {new.get_method_display()}, with the seed {new.seed}"
    report.facts.append(f"Sample {new.number}: {counted(n, 'query', 'queries')} {how}.")
    certain = counted(new.head_queries, "of them was drawn", "of them were drawn")
    share = f"{new.head_searches / new.searches:.0%} of the searches"
    report.facts.append(f"{certain} for certain, with {share}.")
    report.facts.append(f"{counted(made, 'query is', 'queries are')} new in the collection.")
    if held:
        queries = counted(held, "query that looks personal is", "queries that look personal are")
        decide = "Take each in or leave it out on the page of the sample."
        report.warnings.append(f"{queries} held back. {decide}")


# What an admin decides about one query


def take_in(row: SampledQuery) -> None:
    """Make the query a part of the record. Raises ValueError for one whose text was erased."""
    if not row.text:
        raise ValueError("Its text was erased, so it cannot be taken in")
    with transaction.atomic():
        sample = row.sample
        Collection.objects.select_for_update().get(pk=sample.collection_id)
        stored = list(sample.collection.queries.order_by("pk"))
        query = next((query for query in stored if folded(query.text) == folded(row.text)), None)
        if query is None:
            query = _new_query(sample, row.text, {query.key for query in stored})
            query.save()
        row.query, row.left_out = query, ""
        row.save(update_fields=["query", "left_out"])
        about = f"query {row.place} of the log"
        note(Act.QUERY_TAKEN_IN, sample.collection, about=about, sample=sample.number)
        sample.collection.touch()


def leave_out(row: SampledQuery, reason: str) -> bool:
    """Leave the query out for this reason: it stays counted among the drawn. Whether it left the record.

    A query that a draw brought leaves the record if nothing rests on it yet. The text of a personal one is erased
    in all samples of the log.
    """
    with transaction.atomic():
        sample, query = row.sample, row.query
        Collection.objects.select_for_update().get(pk=sample.collection_id)
        row.query, row.left_out = None, reason
        row.save(update_fields=["query", "left_out"])
        gone = query is None or (_is_drawn(query) and not _is_used(query))
        if query and gone:
            query.delete()
        if reason == LeftOut.PERSONAL:
            same = SampledQuery.objects.filter(place=row.place, sample__collection=sample.collection_id)
            same.filter(sample__digest=sample.digest).update(text="")
        about = f"query {row.place} of the log"
        note(Act.QUERY_LEFT_OUT, sample.collection, about=about, sample=sample.number, reason=reason)
        sample.collection.touch()
    return gone


def _is_drawn(query: Query) -> bool:
    return query.job_id is not None and Job.objects.filter(pk=query.job_id, kind=Job.Kind.LOG).exists()


def _is_used(query: Query) -> bool:
    """Whether rankings, pairs or judges rest on the query."""
    own = {"query": OuterRef("pk")}
    users = [Exists(model.objects.filter(**own)) for model in (Ranking, Pair, MachineGrade, SampledPair)]
    used = users[0] | users[1] | users[2] | users[3]
    return Query.objects.filter(used, pk=query.pk).exists()
