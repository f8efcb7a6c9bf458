"""Responses with tables, as CSV or as Excel workbooks, and with JSON documents."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from itertools import chain

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.utils.http import content_disposition_header

from ratings.formats import spreadsheet, workbooks
from ratings.models import Collection
from ratings.people.access import View, readers_page
from ratings.web.downloads import made_in_turn

from ..scores import Asked
from . import documents
from .address import with_options


@dataclass(frozen=True)
class Files:
    """The files of a page, which are made on request."""

    name: str  # without its ending
    table: Callable[[], documents.Table]  # for CSV and Excel
    json: Callable[[], dict] | None = None


def files(*names: str, many: Iterable[str] = ()) -> Callable[[Callable[..., Files]], View]:
    """A decorator of a view that returns `Files`: responds with the one of them that the address asks for.

    The address ends in csv, xlsx or json. names, many: the parameters besides options, as for `with_options`.
    """

    def decorator(view: Callable[..., Files]) -> View:
        @readers_page
        @made_in_turn  # 503 while too many other files are made
        @with_options(*names, "raw", many=many)  # raw: see `table_response`
        @wraps(view)
        def wrapper(
            request: HttpRequest, collection: Collection, asked: Asked, ending: str, **kwargs
        ) -> HttpResponse:
            """The file of this ending, which the `Files` of the view make."""
            page_files = view(request, collection, asked, **kwargs)
            if ending == "json":
                return json_response(page_files.name, page_files.json())
            header, rows = page_files.table()
            return table_response(request, ending, page_files.name, header, rows)

        return wrapper

    return decorator


def table_response(
    request: HttpRequest, ending: str, name: str, header: Iterable[str], rows: Iterable[Iterable]
) -> HttpResponse:
    """The response with the rows as the file of this ending, "csv" or "xlsx". nan and None are empty cells.

    CSV is for spreadsheets: it has a byte order mark, and no cell that they would compute. With ?raw=1 it has
    neither change, for programs. Too many rows for a workbook are refused.
    """
    if ending == "csv":
        lines = spreadsheet.download(chain([header], rows), raw=request.GET.get("raw") == "1")
        return saved("".join(lines), "text/csv; charset=utf-8", f"{name}.csv")
    try:
        workbook = workbooks.written(header, rows)
    except workbooks.TooManyRows as problem:
        return HttpResponseBadRequest(f"{problem} Save it as CSV.\n", content_type="text/plain; charset=utf-8")
    response = saved(workbook, workbooks.CONTENT_TYPE, f"{name}.xlsx")
    response["Content-Encoding"] = "identity"  # so that it is not compressed a second time
    return response


def json_response(name: str, document: dict) -> HttpResponse:
    """The response with the document as JSON, to read in the browser or to save under its name."""
    return saved(documents.as_text(document), "application/json; charset=utf-8", f"{name}.json", attachment=False)


def saved(content: str | bytes, content_type: str, file: str, *, attachment: bool = True) -> HttpResponse:
    """The response with the file that a browser saves under this name, or first shows if it is no attachment."""
    header = content_disposition_header(attachment, file)
    return HttpResponse(content, content_type=content_type, headers={"Content-Disposition": header})
