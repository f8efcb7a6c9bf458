"""What a page is asked in its address: a measure, a profile, single options. The address gives the page again."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import render

from ratings.access import collection_for
from ratings.models import Collection, Role

from ..judgments import RULES
from ..measures import PROFILES, Measure, Options, parse_measure
from ..scores import SUMS, options_for

MEASURE, PROFILE, RULE = "nDCG@10", "default", "mean"
OFFERED = (
    "nDCG@5",
    "nDCG@10",
    "nDCG@20",
    "nDCG",
    "CG@10",
    "DCG@10",
    "IDCG@10",
    "P@10",
    "R@100",
    "AP",
    "RR",
    "Judged@10",
)
OPTIONS = tuple(Options().as_dict())


class CannotAnswer(ValueError):
    """The address asks for what has no meaning; the message is for its reader."""


@dataclass(frozen=True)
class Asked:
    measure: Measure
    profile: str
    given: tuple[tuple[str, str], ...]  # single options that depart from the profile
    options: Options
    rule: str

    @property
    def fingerprint(self) -> str:
        return self.options.fingerprint() + ("" if self.rule == RULE else f" rule={self.rule}")

    @property
    def label(self) -> str:
        """What stands beside every number."""
        return f"{self.measure} {self.fingerprint}"

    @property
    def keep(self) -> str:
        """The end of an address that asks the same of another page; empty where nothing departs from the usual."""
        parts = [("measure", str(self.measure)), ("profile", self.profile), ("rule", self.rule), *self.given]
        usual = {"measure": MEASURE, "profile": PROFILE, "rule": RULE}
        parts = [(name, value) for name, value in parts if usual.get(name) != value]
        return f"?{urlencode(parts, safe='@()=:,')}" if parts else ""

    @property
    def bounded(self) -> bool:
        """Whether the measure ends at 1, so that its axis can be drawn whole."""
        return self.measure.name not in SUMS

    def at(self, name: str) -> Measure:
        """Another measure at the same cutoff."""
        return Measure(name, self.measure.cutoff)

    def to(self, cutoff: int | None) -> Measure:
        """The same measure at another cutoff."""
        return Measure(self.measure.name, cutoff, self.measure.params)


def asked_in(request: HttpRequest, collection: Collection) -> Asked:
    """Raises CannotAnswer, which says what is wrong and what would be right."""
    params = request.GET
    profile, rule = params.get("profile") or PROFILE, params.get("rule") or RULE
    if rule not in RULES:
        raise CannotAnswer(f"unknown rule {rule!r} for judgments; known are {', '.join(RULES)}")
    given = tuple((name, params[name]) for name in OPTIONS if params.get(name))
    try:
        measure = parse_measure(params.get("measure") or MEASURE)
        options = options_for(collection, profile, **dict(given))
    except ValueError as error:
        raise CannotAnswer(str(error)) from error
    return Asked(measure, profile, given, options, rule)


def for_analysts(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Call view(request, collection, asked, …) for analysts and admins; for others the collection is absent."""

    @wraps(view)
    def answered(request: HttpRequest, slug: str, **kwargs) -> HttpResponse:
        collection = collection_for(request, slug, Role.ANALYST, Role.ADMIN)
        try:
            return view(request, collection, asked_in(request, collection), **kwargs)
        except CannotAnswer as error:
            return refused(request, collection, str(error))

    return answered


def refused(request: HttpRequest, collection: Collection, error: str) -> HttpResponse:
    """Says what is wrong, with the form as it was filled in. No number is shown in place of the one asked for."""
    if request.resolver_match.url_name.endswith("_csv"):
        return HttpResponseBadRequest(f"{error}\n", content_type="text/plain; charset=utf-8")
    context = {
        "collection": collection,
        "role": collection.role,
        "section": "results",
        "error": error,
        "form": form_for(request),
    }
    return render(request, "evaluation/refused.html", context, status=400)


def form_for(request: HttpRequest) -> dict:
    """What the form of measure and profile shows, as it was asked."""
    params = request.GET
    return {
        "measure": params.get("measure") or MEASURE,
        "offered": OFFERED,
        "profile": params.get("profile") or PROFILE,
        "profiles": PROFILES,
        "given": [(name, params[name]) for name in ("rule", *OPTIONS) if params.get(name)],
        "kept": [(name, params[name]) for name in ("left", "right", "sort", "q") if params.get(name)],
    }
