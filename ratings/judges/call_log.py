"""The call log of judges as rows: one for each pair and repeat."""

import json
from collections.abc import Iterable, Iterator
from itertools import chain

from django.db.models import QuerySet, Value
from django.db.models.functions import Concat

from ..formats import spreadsheet
from ..models import MachineGrade, Probe, plain_value

ROWS_AT_ONCE = 2_000
LOOKUPS = {
    "judge": "version__judge__name", "version": "version__number", "query": "query__key",
    "document": "document__key", "repeat": "repeat", "state": "state", "grade": "value", "problem": "problem",
    "detail": "detail", "answer": "answer", "model_asked": "version__model", "model_said": "model",
    "tokens_in": "tokens_in", "tokens_out": "tokens_out", "cost": "cost", "seconds": "seconds", "tries": "tries",
    "at": "at",
}  # fmt: skip
# A probe has no document. No key of one has a blank.
LOOKUPS_OF_PROBES = {"document__key": Concat(Value("probe "), "kind"), "repeat": Value(1)}


def rows(grades: QuerySet[MachineGrade] | QuerySet[Probe]) -> Iterator[dict]:
    """The calls in the order in which their pairs entered the runs. Unknown values are None."""
    probe_lookups = LOOKUPS_OF_PROBES if grades.model is Probe else {}
    calls = grades.order_by("pk").values_list(*(probe_lookups.get(name, name) for name in LOOKUPS.values()))
    for row in calls.iterator(chunk_size=ROWS_AT_ONCE):
        line = dict(zip(LOOKUPS, row, strict=True))
        for name in ("grade", "cost"):
            line[name] = None if line[name] is None else plain_value(line[name])
        line["at"] = line["at"] and line["at"].isoformat()  # None for a pair that waits
        yield line


def as_jsonl(lines: Iterable[dict]) -> Iterator[str]:
    return (json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def as_csv(lines: Iterable[dict]) -> Iterator[str]:
    """The lines as CSV that no spreadsheet computes: an answer may come from a stranger's document."""
    return spreadsheet.download(chain([LOOKUPS], (line.values() for line in lines)))


WRITERS = {"csv": as_csv, "jsonl": as_jsonl}
