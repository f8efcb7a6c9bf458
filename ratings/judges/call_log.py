"""The call log of judges as rows: one for each pair and repeat."""

import json
from collections.abc import Iterable, Iterator
from itertools import chain

from django.db.models import QuerySet, Value
from django.db.models.functions import Concat

from ..formats import spreadsheet
from ..models import MachineGrade, Probe, plain_value

AT_ONCE = 2_000
COLUMNS = (
    "judge", "version", "query", "document", "repeat", "state", "grade", "problem", "detail", "answer",
    "model_asked", "model_said", "tokens_in", "tokens_out", "cost", "seconds", "tries", "at",
)  # fmt: skip
LOOKUPS = (
    "version__judge__name", "version__number", "query__key", "document__key", "repeat", "state", "value",
    "problem", "detail", "answer", "version__model", "model", "tokens_in", "tokens_out", "cost", "seconds",
    "tries", "at",
)  # fmt: skip


OF_PROBES = {"document__key": Concat(Value("probe "), "kind"), "repeat": Value(1)}  # no key has a blank


def rows(grades: QuerySet[MachineGrade] | QuerySet[Probe]) -> Iterator[dict]:
    """The calls in the order in which their pairs entered the runs. Unknown values are None."""
    others = OF_PROBES if grades.model is Probe else {}
    found = grades.order_by("pk").values_list(*(others.get(name, name) for name in LOOKUPS))
    for row in found.iterator(chunk_size=AT_ONCE):
        line = dict(zip(COLUMNS, row, strict=True))
        for name in ("grade", "cost"):
            line[name] = None if line[name] is None else plain_value(line[name])
        line["at"] = line["at"] and line["at"].isoformat()
        yield line


def as_jsonl(lines: Iterable[dict]) -> Iterator[str]:
    return (json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def as_csv(lines: Iterable[dict]) -> Iterator[str]:
    """The lines as CSV that no spreadsheet computes: an answer may come from a stranger's document."""
    return spreadsheet.download(chain([COLUMNS], (line.values() for line in lines)))


FORMATS = {"csv": as_csv, "jsonl": as_jsonl}
