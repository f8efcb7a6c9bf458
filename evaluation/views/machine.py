"""The page of a judge's agreement with people: overall, and by system."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from ratings.models import Collection, Judge, JudgeVersion, Role
from ratings.people.access import READERS, of_collection

from .. import charts
from ..analyses import machine as analysis
from ..analyses import powered
from ..analyses.machine import TOP, Against
from ..pages.asked import Asked, CannotAnswer, page, with_options
from ..pages.charts import Chart, charted
from ..pages.downloads import Files, files
from ..templatetags.numbers import number
from ..words import worth
from .agreement import rows_of

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


@require_safe
@of_collection(*READERS)
@with_options("version")
def machine(request: HttpRequest, collection: Collection, asked: Asked, pk: int) -> HttpResponse:
    judge = judge_of(collection, pk)
    version = version_of(request, judge)
    found = analysis.against_of(version) if version else None
    context = page(request, collection, "agreement", asked) | {
        "judge": judge,
        "version": version,
        "may_ask": collection.role == Role.ADMIN,
        "versions": list(judge.versions.values_list("number", flat=True)),
        "found": found,
        "top": TOP,
        "charts": {},
    }
    if found and found.count():
        whole, version_kept = analysis.document(found), f"version={version.number}"
        context |= {
            "whole": whole,
            "files": f"?{version_kept}",
            "means_files": asked.keep_with(version_kept),
            "figures": [(LABELS[name], name in SHARES, each) for name, each in whole["figures"].items()],
            "verdict": worth.verdict(whole["use"]),
            "reasons": worth.reasons(whole["use"]),
            "means": means_of(asked, found),
            **confused(collection, whole),
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
        version = judge.latest()
    elif asked.isascii() and asked.isdecimal() and len(asked) < 10:
        version = get_object_or_404(judge.versions, number=int(asked))
    else:
        raise Http404("A version is a number.")
    if version:
        version.judge = judge
    return version


def confused(collection: Collection, whole: dict) -> dict:
    labels = {float(each.value): f"{number(float(each.value))} {each.label}" for each in collection.grades.all()}
    grades = [labels[grade] for grade in whole["confusion"]["grades"]]
    cells = [
        {"one": one, "other": other, "share": value, "couples": count}
        for one, shares, counts in zip(
            grades, whole["confusion"]["shares"], whole["confusion"]["counts"], strict=True
        )
        for other, value, count in zip(grades, shares, counts, strict=True)
    ]
    said = "For each grade of people, how often the machine gave which grade. The table has the numbers."
    chart = Chart("confusion-spec", charts.confusion(cells, grades=grades), said)
    return {"charts": {"confusion": chart}, "grades": grades, "confusion_rows": rows_of(cells, grades)}


def means_of(asked: Asked, found: Against) -> dict:
    """The document of mean DCG at the cutoff of the measure of the address. Raises CannotAnswer."""
    how = (asked.at("DCG"), asked.options, asked.rule, asked.adjudications)
    try:
        return powered.document(powered.estimates_of(found.version, found.sample, *how))
    except ValueError as error:
        raise CannotAnswer(str(error)) from error


def against_in(request: HttpRequest, collection: Collection, pk: int) -> Against:
    version = version_of(request, judge_of(collection, pk))
    found = analysis.against_of(version) if version else None
    if found is None:
        raise Http404("There is no version, or no sample.")
    return found


@files("version")
def means_files(request: HttpRequest, collection: Collection, asked: Asked, pk: int) -> Files:
    found = against_in(request, collection, pk)
    return Files(
        f"{collection.slug}-machine-means-{pk}-{found.version.number}",
        table=lambda: powered.table(means_of(asked, found)),
        json=lambda: means_of(asked, found),
    )


@files("version")
def machine_files(request: HttpRequest, collection: Collection, asked: Asked, pk: int) -> Files:
    found = against_in(request, collection, pk)
    return Files(
        f"{collection.slug}-machine-{pk}-{found.version.number}",
        table=lambda: analysis.table(analysis.document(found)),
        json=lambda: analysis.document(found),
    )
