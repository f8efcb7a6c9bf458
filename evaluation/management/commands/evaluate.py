import csv
import io
import json
import math

import numpy as np

from evaluation import scores
from evaluation.judgments import RULES
from evaluation.measures import PROFILES
from evaluation.scores import Evaluation
from ratings.management.commands._collection_command import ExportCommand, Refused

OPTIONS = {
    "gain": "linear, exponential, exponential_signed or map:0=0,1=1,…",
    "discount": "log_shift or jk2002",
    "log_base": "base of the logarithm: 2, 10, e",
    "ideal": "judged or retrieved",
    "unjudged": "zero, condensed, require or a grade to assume",
    "negatives": "minmax, minmax_closed, raw or clip",
    "undefined": "skip or zero",
    "missing": "empty or skip",
    "ties": "rank, score or average",
    "relevant_from": "the least grade that is relevant; by default the collection's",
}
NO_VALUE = "–"


class Command(ExportCommand):
    help = "Print what the systems of a collection score: means, 95 % intervals, and how many queries count."

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--measure",
            action="append",
            default=[],
            help="like nDCG@10, P(rel=2)@5, AP; may be repeated (nDCG@10)",
        )
        parser.add_argument("--system", action="append", default=[], help="only this system; may be repeated")
        parser.add_argument("--profile", default="default", help=f"a set of options: {', '.join(PROFILES)}")
        for name, values in OPTIONS.items():
            parser.add_argument(f"--{name.replace('_', '-')}", dest=name, help=values)
        parser.add_argument("--rule", default="mean", help=f"several ratings to one judgment: {', '.join(RULES)}")
        parser.add_argument("--per-query", action="store_true", help="every query, too")
        parser.add_argument("--format", default="table", help=f"{', '.join(FORMATS)} (table)")

    def handle(self, *, slug: str, measure: list[str], system: list[str], **given) -> None:
        collection = self.collection(slug)
        if given["format"] not in FORMATS:
            raise Refused(f"unknown format {given['format']!r}; known are {', '.join(FORMATS)}")
        changes = {name: given[name] for name in OPTIONS if given[name] is not None}
        try:
            options = scores.options_for(collection, given["profile"], **changes)
            evaluation = scores.evaluate(
                collection, measure or ["nDCG@10"], options, systems=system or None, rule=given["rule"]
            )
        except ValueError as error:
            raise Refused(str(error)) from error
        text = FORMATS[given["format"]](evaluation, given["profile"], given["per_query"])
        self.put_out([text], given["output"])
        for line in lacking(evaluation):
            self.stderr.write(line)


def lacking(evaluation: Evaluation) -> list[str]:
    """What must come before there are numbers. Their absence is an answer, so the exit status stays 0."""
    slug = evaluation.collection
    if evaluation.per_query.index.empty:
        return [f"{slug} has no queries yet: import_queries {slug} FILE"]
    if not evaluation.systems:
        return [f"{slug} has no systems yet: import_run {slug} FILE"]
    if (evaluation.reasons == "not judged").all(axis=None):
        return [f"{slug} has no ratings yet: import_qrels {slug} FILE, or pool {slug} and let people rate"]
    return []


# The three formats: (evaluation, profile, per query) -> text


def as_json(evaluation: Evaluation, profile: str, per_query: bool) -> str:
    document = {
        "collection": evaluation.collection,
        "profile": profile,
        "rule": evaluation.rule,
        "fingerprint": evaluation.fingerprint,
        "options": evaluation.options.as_dict(),
        "results": [
            result(evaluation, system, measure, row, per_query) for system, measure, row in rows(evaluation)
        ],
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def result(evaluation: Evaluation, system: str, measure: str, row: dict, per_query: bool) -> dict:
    entry = {"system": system, "measure": measure} | {name: or_null(value) for name, value in row.items()}
    if per_query:
        values = evaluation.per_query[measure, system]
        entry["per_query"] = {query: or_null(value) for query, value in values.items()}
    return entry


def or_null(value):
    return None if isinstance(value, float) and math.isnan(value) else value


def as_csv(evaluation: Evaluation, profile: str, per_query: bool) -> str:
    text = io.StringIO()
    write = csv.writer(text, lineterminator="\n").writerow
    made_by = [profile, evaluation.fingerprint]
    if per_query:
        write(["system", "measure", "query", "value", "reason", "profile", "options"])
        for system, measure, _ in rows(evaluation):
            reasons = evaluation.reasons[measure, system]
            for query, value in evaluation.per_query[measure, system].items():
                write([system, measure, query, or_null(value), reasons[query], *made_by])
    else:
        write([*NAMES, "profile", "options"])
        for system, measure, row in rows(evaluation):
            numbers = row | {"why": scores.why(row["why"])}
            write([system, measure, *(or_null(value) for value in numbers.values()), *made_by])
    return text.getvalue()


NAMES = ["system", "measure", "mean", "low", "high", "queries", "undefined", "why", "judged"]


def as_table(evaluation: Evaluation, profile: str, per_query: bool) -> str:
    lines = [["system", "measure", "mean", "95 % interval", "queries", "undefined", "judged"]]
    for system, measure, row in rows(evaluation):
        interval = NO_VALUE if math.isnan(row["low"]) else f"{four(row['low'])} to {four(row['high'])}"
        judged = NO_VALUE if math.isnan(row["judged"]) else f"{row['judged']:.1%}"
        lines.append(
            [system, measure, four(row["mean"]), interval, str(row["queries"]), str(row["undefined"]), judged]
        )
    parts = [aligned(lines, left=2)]
    if per_query:
        for measure in map(str, evaluation.measures):
            parts.append(aligned(per_query_lines(evaluation, measure), left=1))
    parts.append(f"{evaluation.fingerprint}\n" + undefined_lines(evaluation))
    return "\n".join(parts)


def per_query_lines(evaluation: Evaluation, measure: str) -> list[list[str]]:
    systems = list(evaluation.systems)
    values = evaluation.per_query[[(measure, system) for system in systems]]
    lines = [[measure, *systems]]
    lines += [[query, *map(four, row)] for query, row in zip(values.index, values.to_numpy(), strict=True)]
    return lines


def undefined_lines(evaluation: Evaluation) -> str:
    """Why queries count in no mean; once for all systems and measures where it is the same for all."""
    whys = {(system, measure): scores.why(row["why"]) for system, measure, row in rows(evaluation)}
    if len(set(whys.values())) == 1:
        (reason,) = set(whys.values())
        return f"undefined: {reason}\n" if reason else ""
    return "".join(f"undefined, {system}, {m}: {reason}\n" for (system, m), reason in whys.items() if reason)


def rows(evaluation: Evaluation):
    for (system, measure), row in zip(
        evaluation.summary.index, evaluation.summary.to_dict("records"), strict=True
    ):
        yield system, measure, row


def four(value: float) -> str:
    return NO_VALUE if np.isnan(value) else f"{value:.4f}"


def aligned(lines: list[list[str]], left: int) -> str:
    """Columns as wide as their widest cell: the first `left` ones to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        + "\n"
        for line in lines
    )


FORMATS = {"table": as_table, "csv": as_csv, "json": as_json}
