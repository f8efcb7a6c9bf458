"""Tables as CSV: every number at full precision, and no text that a spreadsheet would run as a formula."""

import csv
from collections.abc import Iterable
from math import isnan

from django.http import HttpResponse
from django.utils.http import content_disposition_header


def csv_response(name: str, header: Iterable[str], rows: Iterable[Iterable]) -> HttpResponse:
    """The rows as a file to save. nan and None become empty cells."""
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
