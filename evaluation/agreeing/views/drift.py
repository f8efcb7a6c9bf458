"""The page of drift: the grades of each rater over time, and against the others. Hints, not verdicts.

Admins see names, analysts pseudonyms, as on the page of agreement.
"""

from collections.abc import Mapping, Sequence

from django.http import HttpRequest, HttpResponse

from ratings.desk.figures import FEWEST_ANSWERS
from ratings.models import Collection, Role
from ratings.people.access import readers_page
from ratings.pool.progress.counts import GRADES_FOR_DRIFT
from ratings.web.pages import paged

from ... import charts
from ...agreement import courses
from ...page.address import page, with_options
from ...page.charts import Chart, charted
from ...page.downloads import Files, files
from ...page.numbers import number
from ...page.raters import names_in
from ...record import cache
from ...scores import Asked
from ..consistency import agreement_in
from ..drift import checked_in, document, table

RATERS_ON_PAGE = 12


@readers_page
@with_options("page")
def drift(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    """The page of the raters' grades over time, with hints at raters who are worth a look.

    Each rater is in one of three groups: with hints (`noted`), without a hint but with too few grades to say
    (`untold`), and without anything to see (`cleared`).
    """
    whole, labels, pks = drift_document(collection)
    pagination = paged(request, whole["raters"], RATERS_ON_PAGE)
    rows = list(pagination["page"].object_list)
    drawn = [row for row in rows if row["periods"]]  # rows that the chart of this page shows
    # Of all pages: the names or pseudonyms of the raters with hints, and how many others have too few grades.
    noted = [row["rater"] for row in whole["raters"] if row["hints"]]
    untold = sum(bool(row["few"]) for row in whole["raters"] if not row["hints"])
    context = {
        **page(request, collection, "agreement", asked),
        **pagination,
        "noted": noted,
        "untold": untold,
        "cleared": len(whole["raters"]) - len(noted) - untold,
        "raters": [row | {"pk": pks[row["rater"]]} for row in rows],
        "total": len(whole["raters"]),
        "grades": list(labels.items()),
        "scale": list(labels),
        "named": collection.role == Role.ADMIN,  # whether the reader sees names, not pseudonyms
        "enough": FEWEST_ANSWERS,  # answers that a hint rests on, at least
        "latest": GRADES_FOR_DRIFT,  # how many latest acts of a rater the times on the page are from
        "drawn": drawn,
        **pictured(drawn, noted),
    }
    return charted(request, "evaluation/drift.html", context)


def pictured(drawn: list[dict], noted: list[str]) -> dict:
    """The context of the chart of the distances from the others, with its reach; no chart where nobody has one."""
    if all(period["bias"] is None for row in drawn for period in row["periods"]):
        return {"charts": {}}
    dots, reach = distances(drawn)
    look = f"Mean distance from the others, period by period. Worth a look: {', '.join(noted) or 'nobody'}."
    spec = charts.biases(dots, raters=[row["rater"] for row in drawn], reach=reach)
    return {"charts": {"course": Chart("course-spec", spec, look)}, "reach": reach}


def drift_document(collection: Collection) -> tuple[dict, dict[float, str], dict[str, int]]:
    """The document with the names that its reader may see, the labels of grades, and the pks of raters by name.

    collection: with the role of the reader, by which `names_in` gives names or pseudonyms. Labels have the lowest
    grade first. The courses, each rater's grades over time, are cached for each state of the collection. Names,
    hits on gold pairs and repeats, and times are read each time.
    """
    names = names_in(collection)
    agreed = agreement_in(collection, names)
    # The key has the names, as courses number the raters in the order of names.
    rater_courses = cache.whole(collection, ("courses", tuple(names.items())), lambda: courses(agreed.table))
    scale = {float(grade.value): str(grade) for grade in collection.grades.all()}
    labels = {grade: scale.get(grade, number(grade)) for grade in agreed.table.grades.tolist()}
    pks = {name: pk for pk, name in agreed.opinions.raters.items()}
    checked = checked_in(collection, [*pks.values()])
    return document(agreed, rater_courses, checked, labels), labels, pks


# As pictures


def distances(rows: Sequence[Mapping]) -> tuple[list[dict], float]:
    """A dot for each rater and period, and the reach of a strip to either side; intervals may end outside."""
    dots = [
        {"place": place, "rater": row["rater"], "period": number, "significant": row["told"], **period}
        for place, row in enumerate(rows)
        for number, period in enumerate(row["periods"], 1)
        if period["bias"] is not None
    ]
    reach = 1.3 * max(abs(dot["bias"]) for dot in dots)
    return dots, round(reach, 1) or 0.1


# As files


@files()
def drift_files(request: HttpRequest, collection: Collection, asked: Asked) -> Files:
    """The CSV table and JSON document of drift, with the names of the page."""
    whole, *_ = drift_document(collection)
    return Files(f"{collection.slug}-drift", table=lambda: table(whole), json=lambda: whole)
