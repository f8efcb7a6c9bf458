"""Write the archive of a collection: in bounded memory, from one database snapshot, without model instances."""

import json
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
from django.db.models import Exists, Model, OuterRef, QuerySet

from ..database.bulk import among, read
from ..database.snapshot import snapshot
from ..formats.zipped import FixedZip
from ..intake.stage import Progress, silent
from ..models import (
    Adjudication,
    Anchor,
    Assignment,
    Check,
    Collection,
    Document,
    Drawn,
    Guidelines,
    Job,
    Judge,
    JudgeRun,
    JudgeSample,
    JudgeUse,
    JudgeVersion,
    MachineGrade,
    Pair,
    Picture,
    Presentation,
    Probe,
    Ranking,
    Rater,
    Rating,
    RatingEvent,
    Round,
    SampledPair,
    System,
)
from ..pictures import store
from .judge_members import LIVE
from .members import BY_NAME, EVERY, FORMAT, MANIFEST, MEMBERS, VERSION, picture_file, snapshot_of
from .shape import Member

AT_ONCE = 2_000
LARGE_AT_ONCE = 500  # documents with their texts, rankings
RESULTS_AT_ONCE = 100_000
PIECE = 1 << 18

Rows = Iterator[Iterable[Any]]  # the values of each line, in the order of its fields
# Field of the archive -> lookup in the database, where they differ.
OF_PAIR = {"query": "pair__query__key", "document": "pair__document__key", "rater": "rater__name"}
OF_VERSION = {"judge": "version__judge__name", "version": "version__number"}
BY_KEY = {"query": "query__key", "document": "document__key", "rater": "rater__name"}


def write(
    collection: Collection,
    file: BinaryIO,
    *,
    members: Container[str] = BY_NAME,
    judges: bool = False,
    progress: Progress = silent,
) -> str:
    """The snapshot id of the written archive: the SHA-256 of its content, the same on every server.

    The same data give the same bytes. Members that are not in `members` are written empty. `judges`: with the
    judges, their prompts and their answers. Two database queries for each 2,000 rows.
    """
    archive, counts, written = FixedZip(), {}, EVERY if judges else MEMBERS
    with snapshot():
        collection = Collection.objects.get(pk=collection.pk)
        for member in written:
            rows = WRITERS[member.name](collection) if member.name in members else iter(())
            lines = _lines(rows, member, counts, progress)
            for part in archive.add(member.file, lines, large=True):
                file.write(part)
        digests = _digests(collection) if "pictures" in members else []
    # The pictures themselves need not be part of it: their hashes are.
    snapshot_id = snapshot_of(archive.sums)
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "snapshot": snapshot_id,
        "members": [
            {"file": member.file, "lines": counts[member.name], "sha256": archive.sums[member.file]}
            for member in written
        ],
    }
    for part in _files(archive, digests, progress):
        file.write(part)
    for part in archive.add(MANIFEST, [(json.dumps(manifest, indent=2) + "\n").encode()]):
        file.write(part)
    file.write(archive.end())
    return snapshot_id


def file_name(slug: str, snapshot: str) -> str:
    """The file name for the archive."""
    return f"{slug}-{snapshot[:12]}.zip"


def _lines(rows: Rows, member: Member, counts: dict[str, int], progress: Progress) -> Iterator[bytes]:
    lines, size, number = [], 0, 0
    for number, row in enumerate(rows, 1):
        lines.append(member.line(row))
        size += len(lines[-1])
        if size > PIECE:
            yield "".join(lines).encode()
            lines, size = [], 0
            progress(member.name, None, number)
    counts[member.name] = number
    yield "".join(lines).encode()


# The rows of each member, in the order of their ids


def _rows(rows: QuerySet, member: str, lookups: dict[str, str] | None = None, at_once: int = AT_ONCE) -> Rows:
    """The fields of all rows. Keeps all ids in memory, 8 bytes each, so that no database sorts a million rows."""
    columns = [(lookups or {}).get(name, name) for name in BY_NAME[member].fields]
    yield from _rows_by_id(rows.model, _ids(rows), columns, at_once)


def _rows_by_id(model: type, ids: np.ndarray, columns: Iterable[str], at_once: int = AT_ONCE) -> Rows:
    """The rows with these ids, in their order."""
    for start in range(0, len(ids), at_once):
        some = among(ids[start : start + at_once].tolist(), "bigint")
        yield from read(model._default_manager.filter(pk__in=some).order_by("pk"), columns)


def _ids(rows: QuerySet) -> np.ndarray:
    ids = np.fromiter(rows.order_by().values_list("pk", flat=True).iterator(chunk_size=AT_ONCE), np.int64)
    ids.sort()
    return ids


def _collection(collection: Collection) -> Rows:
    return _rows(Collection.objects.filter(pk=collection.pk), "collection")


def _grades(collection: Collection) -> Rows:
    return iter(collection.grades.order_by("value").values_list(*BY_NAME["grades"].fields))


def _guidelines(collection: Collection) -> Rows:
    rows = Guidelines.objects.filter(collection=collection).order_by("version")
    return iter(rows.values_list(*BY_NAME["guidelines"].fields))


def _presentations(collection: Collection) -> Rows:
    ids = _ids(collection.presentations.all())
    return _rows_by_id(Presentation, ids, BY_NAME["presentations"].fields)


def _queries(collection: Collection) -> Rows:
    return _rows(collection.queries.all(), "queries")


def _documents(collection: Collection) -> Rows:
    return _rows(collection.documents.all(), "documents", at_once=LARGE_AT_ONCE)


def _pictures(collection: Collection) -> Rows:
    """The pictures. A picture whose files are gone will be fetched again."""
    fields = list(BY_NAME["pictures"].fields)
    for row in _rows(Picture.objects.filter(collection=collection), "pictures"):
        line = dict(zip(fields, row, strict=True))
        if line["small"] and not (store.exists(line["small"]) and store.exists(line["large"])):
            line |= {"state": Picture.State.WANTED, "small": "", "large": "", "width": 0, "height": 0}
        yield line.values()


def _digests(collection: Collection) -> list[str]:
    """The files of the pictures, in a fixed order."""
    ready = Picture.objects.filter(collection=collection, state=Picture.State.READY)
    digests = {each for pair in ready.values_list("small", "large").iterator() for each in pair}
    return sorted(filter(store.exists, digests))


def _files(archive: FixedZip, digests: Sequence[str], progress: Progress) -> Iterator[bytes]:
    for number, digest in enumerate(digests, 1):
        with store.opened(digest) as picture:
            yield from archive.add(picture_file(digest), [picture.read()])
        progress("pictures", number / len(digests), number)


def _systems(collection: Collection) -> Rows:
    return _rows(System.objects.filter(collection=collection), "systems")


def _rankings(collection: Collection) -> Rows:
    rows = Ranking.objects.filter(system__collection=collection)
    waiting, results = [], 0
    for system, query, documents, scores in _rows(
        rows, "rankings", {"system": "system__name", "query": "query__key"}, LARGE_AT_ONCE
    ):
        waiting.append((system, query, np.frombuffer(documents, "<u4"), scores))
        results += len(waiting[-1][2])
        if results > RESULTS_AT_ONCE:
            yield from _with_keys(waiting)
            waiting, results = [], 0
    yield from _with_keys(waiting)


def _with_keys(rows: list[tuple]) -> Rows:
    if not rows:
        return
    ids = np.unique(np.concatenate([documents for _, _, documents, _ in rows]))
    keys = dict(_rows_by_id(Document, ids, ["pk", "key"]))
    for system, query, documents, scores in rows:
        listed = [keys[pk] for pk in documents.tolist()]
        yield system, query, listed, None if scores is None else np.frombuffer(scores, "<f8").tolist()


def _raters(collection: Collection) -> Rows:
    return _rows(Rater.objects.filter(collection=collection), "raters")


def _queries_of_raters(collection: Collection) -> Rows:
    rows = Rater.queries.through.objects.filter(rater__collection=collection)
    return _rows(rows, "queries_of_raters", BY_KEY)


def _pairs(collection: Collection) -> Rows:
    return _rows(Pair.objects.filter(query__collection=collection), "pairs", BY_KEY)


def _rounds(collection: Collection) -> Rows:
    """The rounds. They were stored one after the other, so the number of a round is that of its line."""
    return _rows(Round.objects.filter(collection=collection), "rounds")


def _drawn(collection: Collection) -> Rows:
    rows = Drawn.objects.filter(round__collection=collection)
    return _rows(rows, "drawn", OF_PAIR | {"round": "round__number"})


def _anchors(collection: Collection) -> Rows:
    return _rows(
        Anchor.objects.filter(pair__query__collection=collection), "anchors", OF_PAIR | {"grade": "grade__value"}
    )


def _assignments(collection: Collection) -> Rows:
    """The assignments. Leased ones are written as open. Leased extra ones, which cannot be open, are left out."""
    rows = Assignment.objects.filter(pair__query__collection=collection)
    rows = rows.exclude(state=Assignment.State.LEASED, extra=True)
    for query, document, rater, state, *facts in _rows(rows, "assignments", OF_PAIR):
        done = state == Assignment.State.DONE
        yield query, document, rater if done else None, "done" if done else "open", *facts


def _ratings(collection: Collection) -> Rows:
    lookups = BY_KEY | {"grade": "grade__value"}
    return _rows(Rating.objects.filter(rater__collection=collection), "ratings", lookups)


def _adjudications(collection: Collection) -> Rows:
    rows = Adjudication.objects.filter(pair__query__collection=collection)
    return _rows(rows, "adjudications", OF_PAIR | {"grade": "grade__value"})


def _imports(collection: Collection) -> Rows:
    """The imports with events. The number of an import is that of its line."""
    rows = _rows_by_id(Job, _ids(_with_events(collection)), list(BY_NAME["imports"].fields)[1:])
    return ((number, *row) for number, row in enumerate(rows, 1))


def _with_events(collection: Collection) -> QuerySet:
    return Job.objects.filter(Exists(RatingEvent.objects.filter(job=OuterRef("pk"))), collection=collection)


def _events(collection: Collection) -> Rows:
    """The events. The number of an event is that of its line."""
    ids = _ids(RatingEvent.objects.filter(pair__query__collection=collection))
    imports = _ids(_with_events(collection))
    fields = list(BY_NAME["events"].fields)
    undoes, job = fields.index("undoes"), fields.index("import")
    columns = [(OF_PAIR | {"import": "job"}).get(name, name) for name in fields[1:]]
    for number, row in enumerate(_rows_by_id(RatingEvent, ids, columns), 1):
        line = [number, *row]
        line[undoes], line[job] = _line_number(ids, line[undoes]), _line_number(imports, line[job])
        yield line


def _checks(collection: Collection) -> Rows:
    ids = _ids(RatingEvent.objects.filter(pair__query__collection=collection))
    for *facts, event, created_at in _rows(Check.objects.filter(rater__collection=collection), "checks", OF_PAIR):
        yield *facts, _line_number(ids, event), created_at


def _judges(collection: Collection) -> Rows:
    return _rows(Judge.objects.filter(collection=collection), "judges")


def _judge_versions(collection: Collection) -> Rows:
    rows = JudgeVersion.objects.filter(judge__collection=collection)
    return _rows(rows, "judge_versions", {"judge": "judge__name", "version": "number"})


def _judge_uses(collection: Collection) -> Rows:
    return _rows(JudgeUse.objects.filter(judge__collection=collection), "judge_uses", OF_VERSION)


def _judge_runs(collection: Collection) -> Rows:
    """The runs. Running and queued ones are written as paused: another server must not make calls by itself."""
    fields = list(BY_NAME["judge_runs"].fields)[1:]
    columns, state = [OF_VERSION.get(name, name) for name in fields], fields.index("state")
    for number, (*row,) in enumerate(_rows_by_id(JudgeRun, _ids(_runs_in(collection)), columns), 1):
        row[state] = JudgeRun.State.PAUSED if row[state] in LIVE else row[state]
        yield number, *row


def _runs_in(collection: Collection) -> QuerySet:
    return JudgeRun.objects.filter(version__judge__collection=collection)


def _machine_grades(collection: Collection) -> Rows:
    return _answers(collection, MachineGrade, "machine_grades")


def _judge_probes(collection: Collection) -> Rows:
    return _answers(collection, Probe, "judge_probes")


def _answers(collection: Collection, model: type[Model], member: str) -> Rows:
    runs = _ids(_runs_in(collection))
    rows = model._default_manager.filter(version__judge__collection=collection)
    for run, *row in _rows(rows, member, BY_KEY | OF_VERSION):
        yield _line_number(runs, run), *row


def _judge_samples(collection: Collection) -> Rows:
    ids = _ids(_samples_in(collection))
    columns = [{"judge": "judge__name"}.get(name, name) for name in BY_NAME["judge_samples"].fields][1:]
    return ((number, *row) for number, row in enumerate(_rows_by_id(JudgeSample, ids, columns), 1))


def _samples_in(collection: Collection) -> QuerySet:
    return JudgeSample.objects.filter(judge__collection=collection)


def _sampled_pairs(collection: Collection) -> Rows:
    samples = _ids(_samples_in(collection))
    rows = SampledPair.objects.filter(sample__judge__collection=collection)
    for sample, *row in _rows(rows, "sampled_pairs", BY_KEY):
        yield _line_number(samples, sample), *row


def _line_number(ids: np.ndarray, pk: int | None) -> int | None:
    """The number of the line with this id; None for None."""
    return None if pk is None else int(np.searchsorted(ids, pk)) + 1


WRITERS: dict[str, Callable[[Collection], Rows]] = {
    "collection": _collection,
    "grades": _grades,
    "guidelines": _guidelines,
    "presentations": _presentations,
    "queries": _queries,
    "documents": _documents,
    "pictures": _pictures,
    "systems": _systems,
    "rankings": _rankings,
    "raters": _raters,
    "queries_of_raters": _queries_of_raters,
    "pairs": _pairs,
    "rounds": _rounds,
    "drawn": _drawn,
    "anchors": _anchors,
    "assignments": _assignments,
    "ratings": _ratings,
    "adjudications": _adjudications,
    "imports": _imports,
    "events": _events,
    "checks": _checks,
    "judges": _judges,
    "judge_versions": _judge_versions,
    "judge_uses": _judge_uses,
    "judge_runs": _judge_runs,
    "machine_grades": _machine_grades,
    "judge_probes": _judge_probes,
    "judge_samples": _judge_samples,
    "sampled_pairs": _sampled_pairs,
}
