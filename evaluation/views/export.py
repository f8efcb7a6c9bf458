"""Tables as CSV and documents as JSON: every number at full precision, the options beside it."""

import csv
from collections.abc import Iterable
from math import isnan

from django.http import HttpResponse
from django.utils.http import content_disposition_header

from .. import report
from .answer import Answer


def csv_response(name: str, header: Iterable[str], rows: Iterable[Iterable]) -> HttpResponse:
    """The rows as a file to save. nan and None become empty cells, and no text runs as a formula."""
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = content_disposition_header(True, f"{name}.csv")
    writer = csv.writer(response)
    writer.writerow([cell(value) for value in header])
    writer.writerows([cell(value) for value in row] for row in rows)
    return response


def cell(value: object) -> object:
    if value is None or (isinstance(value, float) and isnan(value)):
        return ""
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{value}"
    # A NumPy number prints as a plain one.
    return value.item() if hasattr(value, "item") else value


def json_response(name: str, document: dict) -> HttpResponse:
    """The document, to read in the browser or to save under its name."""
    response = HttpResponse(report.as_text(document), content_type="application/json")
    response["Content-Disposition"] = content_disposition_header(False, f"{name}.json")
    return response


def every_query(answer: Answer) -> report.Table:
    """A row for each query and system, in the order of the record."""
    asked, record = answer.asked, answer.record
    header = ["query", "text", "system", "measure", "value", "why", str(asked.at("Judged"))]
    header += ["documents", "judgments", "profile", "options"]
    values, reasons = answer.values(), answer.reasons()
    judged = {name: answer.judged(name) for name in answer.systems}
    rows = []
    for place, (key, text) in enumerate(record.queries[["key", "text"]].itertuples(index=False)):
        for name in answer.systems:
            rankings = record.rankings[name]
            length = rankings.length[place] if rankings.present[place] else None
            rows.append(
                [key, text, name, str(asked.measure), values.at[key, name], reasons.at[key, name]]
                + [judged[name][place], length, answer.judgments.count[place], asked.profile, asked.fingerprint]
            )
    return header, rows
