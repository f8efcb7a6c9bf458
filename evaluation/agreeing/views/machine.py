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
from ..machine import TOP, Against

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
    judge = judge_of(collection, pk)
    version = version_of(request, judge)
    found = analysis.against_of(version) if version else None
    context = page(request, collection, "agreement", asked) | {
        "judge": judge,
        "version": version,
        "may_ask": collection.role == Role.ADMIN,
        "versions": list(judge.versions.values_list("number", flat=True)),
        "found": found,
        "probed": probe_results(collection, [version] if version else []),
        "least": short_value(collection.relevant_from),
        "top": TOP,
        "charts": {},
    }
    if found and found.count():
        whole = analysis.document(found)
        context |= {
            "whole": whole,
            "files": f"?version={version.number}",
            "figures": [(LABELS[name], name in SHARES, each) for name, each in whole["figures"].items()],
            "worth": worth,
            **confusion(collection, whole["confusion"]),
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


def confusion(collection: Collection, found: dict) -> dict:
    labels = labels_of(collection)
    grades = [labels[grade] for grade in found["grades"]]
    cells = [
        {"one": one, "other": other, "share": value, "couples": count}
        for one, shares, counts in zip(grades, found["shares"], found["counts"], strict=True)
        for other, value, count in zip(grades, shares, counts, strict=True)
    ]
    return confused(cells, grades, "For each grade of people, how often the machine gave which grade.")


def against_in(request: HttpRequest, collection: Collection, pk: int) -> Against:
    version = version_of(request, judge_of(collection, pk))
    found = analysis.against_of(version) if version else None
    if found is None:
        raise Http404("There is no version, or no sample.")
    return found


@files("version")
def machine_files(request: HttpRequest, collection: Collection, asked: Asked, pk: int) -> Files:
    found = against_in(request, collection, pk)
    return Files(
        f"{collection.slug}-machine-{pk}-{found.version.number}",
        table=lambda: analysis.table(analysis.document(found)),
        json=lambda: analysis.document(found),
    )
