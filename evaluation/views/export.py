"""Tables as CSV and documents as JSON: every number at full precision, the options beside it."""

from collections.abc import Iterable
from itertools import chain

from django.http import HttpRequest, HttpResponse
from django.utils.http import content_disposition_header

from ratings.formats import spreadsheet

from .. import report
from .answer import Answer


def csv_response(request: HttpRequest, name: str, header: Iterable[str], rows: Iterable[Iterable]) -> HttpResponse:
    """The rows as a file to save. nan and None are empty cells, and no text runs as a formula unless ?raw=1."""
    lines = spreadsheet.written(chain([header], rows), raw=request.GET.get("raw") == "1")
    response = HttpResponse("".join(lines), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = content_disposition_header(True, f"{name}.csv")
    return response


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
