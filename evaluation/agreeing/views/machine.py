"""The page of a judge's agreement with people: overall, and by system."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from ratings.models import Collection, Judge, JudgeVersion, Role, probe_results, short_value
from ratings.people.access import readers_page

from ...page.address import page, with_options
from ...page.charts import charted
from ...page.downloads import Files, files
from ...scores import Asked
from .. import machine as analysis
from .. import worth
from ..confusion import confused, labels_of
from ..machine import TOP_RANKS

LABELS = {
    "same": "Same grade",
    "higher": "Machine higher",
    "lower": "Machine lower",
    "bias": "Bias, machine less people",
    "kappa": "Cohen’s κ",
    "linear": "κ, linear weights",
    "quadratic": "κ, quadratic weights",
    "alpha": "Krippendorff’s α, interval",
}
SHARES = ("same", "higher", "lower")


@readers_page
@with_options("version")
def machine(request: HttpRequest, collection: Collection, asked: Asked, pk: int) -> HttpResponse:
    """The agreement of a version of the judge with people; what is missing where there is none.

    Agreement needs a version, a sample of pairs, and a pair of the sample that both graded. `against` has the
    grades of both on the sample, None without a version or a sample; `document` the JSON of their agreement.
    """
    judge = judge_of(collection, pk)
    version = version_of(request, judge)
    against = analysis.against_of(version) if version else None
    context = page(request, collection, "agreement", asked) | {
        "judge": judge,
        "version": version,
        "may_ask": collection.role == Role.ADMIN,  # whether the reader may have the judge asked
        "versions": list(judge.versions.values_list("number", flat=True)),
        "against": against,
        # Probes are documents that try to deceive the judge. They do if it gives them the grade `least` or more.
        "probed": probe_results(collection, [version] if version else []),
        "least": short_value(collection.relevant_from),
        "top": TOP_RANKS,  # how many first places of a system its bias is about
        "charts": {},  # of agreement: those of `confusion` take its place
    }
    if against and against.count():  # pairs that both graded
        document = analysis.document(against)
        context |= {
            "document": document,
            "files": f"?version={version.number}",
            # (label, whether the figure is a share, its numbers)
            "figures": [(LABELS[name], name in SHARES, figure) for name, figure in document["figures"].items()],
            "worth": worth,  # the module: the template tells its thresholds
            **confusion(collection, document["confusion"]),
        }
    return charted(request, "evaluation/machine.html", context)


def judge_of(collection: Collection, pk: int) -> Judge:
    judge = get_object_or_404(Judge, collection=collection, pk=pk)
    judge.collection = collection
    return judge


def version_of(request: HttpRequest, judge: Judge) -> JudgeVersion | None:
    """The version that the address names, else the latest; None where there is none yet."""
    asked = request.GET.get("version", "")
    if not asked:
        return judge.latest()
    # Every number of nine digits fits the column.
    if not (asked.isascii() and asked.isdecimal() and len(asked) < 10):
        raise Http404("A version is a number.")
    return get_object_or_404(judge.versions, number=int(asked))


def confusion(collection: Collection, matrix: dict) -> dict:
    """The context of the confusion matrix, with `charts`. matrix: the member of the JSON document."""
    labels = labels_of(collection)
    grades = [labels[grade] for grade in matrix["grades"]]
    cells = [
        {"one": one, "other": other, "share": value, "couples": count}
        for one, shares, counts in zip(grades, matrix["shares"], matrix["counts"], strict=True)
        for other, value, count in zip(grades, shares, counts, strict=True)
    ]
    return confused(cells, grades, "For each grade of people, how often the machine gave which grade.")


@files("version")
def machine_files(request: HttpRequest, collection: Collection, asked: Asked, pk: int) -> Files:
    version = version_of(request, judge_of(collection, pk))
    against = analysis.against_of(version) if version else None
    if against is None:
        raise Http404("There is no version, or no sample.")
    return Files(
        f"{collection.slug}-machine-{pk}-{against.version.number}",
        table=lambda: analysis.table(analysis.document(against)),
        json=lambda: analysis.document(against),
    )
