"""The page of a sample: what was drawn, with what chance, and what is left out."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from ....formats import spreadsheet
from ....models import Collection, SampledQuery
from ....people import audit
from ....people.access import admin_page, readers_page, record_act
from ....web import downloads
from ....web.pages import frame, paged
from .. import samples
from ..forms import DecideForm
from ..personal import looks_personal

ROWS_PER_PAGE = 50
CSV_COLUMNS = ["sample", "log", "days", "method", "seed", "searches", "queries", "place", "query", "text", "count"]
CSV_COLUMNS += ["chance", "stratum", "left_out"]
LeftOut = SampledQuery.LeftOut


@admin_page
def sampled(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """The queries of a sample, first those that are held: they look personal and wait for an admin to decide."""
    sample = get_object_or_404(collection.samples, pk=pk)
    rows = sample.drawn.select_related("query")
    # Each with what it looks like, such as "an e-mail address"; "" if it does not look personal any more.
    held = [(row, looks_personal(row.text)) for row in rows.filter(left_out=LeftOut.HELD)]
    context = {
        **frame(collection, "imports"),
        "sample": sample,
        "is_last": sample == collection.samples.last(),  # only then can more be drawn
        "drawn": sample.drawn.count(),
        "head_share": sample.head_searches / sample.searches,
        "strata": sample.strata if len(sample.strata) > 1 else [],  # one alone is the whole log
        "held": held,
        # How many an admin left out. The empty choice is that of queries that are taken in.
        "left_out": sample.drawn.exclude(left_out__in=["", LeftOut.HELD]).count(),
        "reasons": [(value, label) for value, label in LeftOut.choices if value != LeftOut.HELD],
        **paged(request, rows.exclude(left_out=LeftOut.HELD), ROWS_PER_PAGE),
    }
    return render(request, "ratings/sampled.html", context)


@record_act
def decide_sampled(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """Take one query into the collection, or leave it out if the form names a reason."""
    sample = get_object_or_404(collection.samples, pk=pk)
    form = DecideForm(request.POST)
    back = redirect("sampled", collection.slug, pk)
    if not form.is_valid():
        messages.warning(request, "Choose a query, and the reason why it is left out. Nothing was changed.")
        return back
    row = get_object_or_404(sample.drawn, place=form.cleaned_data["place"])
    if reason := form.cleaned_data["reason"]:
        is_gone = samples.leave_out(row, reason)
        stays = "" if is_gone else " It stays in the collection, because rankings or ratings rest on it."
        messages.success(request, f"Left out, and still counted among the drawn.{stays}")
        return back
    try:
        samples.take_in(row)
        messages.success(request, "Taken in: the query is in the collection.")
    except ValueError as error:
        messages.warning(request, f"{error}.")
    return back


@readers_page
@downloads.made_in_turn
def sampled_csv(request: HttpRequest, collection: Collection, pk: int):
    """The sample as CSV, a row for each query. Of those that wait for an admin it has no text."""
    sample = get_object_or_404(collection.samples, pk=pk)
    facts = [sample.number, sample.log, sample.days, sample.method, sample.seed, sample.searches, sample.queries]
    rows = []
    for row in sample.drawn.select_related("query"):
        key = row.query.key if row.query else ""
        text = "" if row.left_out == LeftOut.HELD else row.text
        rows.append([*facts, row.place, key, text, row.count, row.chance, row.stratum, row.left_out])
    name = f"{collection.slug}-sample-{sample.number}.csv"
    audit.note(audit.Act.EXPORTED, collection, about=name)
    # Raw: without the apostrophes and the byte order mark that are added for spreadsheets.
    lines = spreadsheet.download([CSV_COLUMNS, *rows], raw=request.GET.get("raw") == "1")
    return downloads.sent(downloads.whole_file(lines), name)
