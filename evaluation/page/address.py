"""The measure, profile and options in the address of a page, and the evaluation by them."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect, render

from ratings.models import Collection
from ratings.people.access import View
from ratings.web.pages import frame
from ratings.words import nearest

from .. import scores
from ..measures import PROFILES, Measure
from ..measures.options import TEXT_NAMES
from ..measures.refusal import WrongOption
from ..scores import Asked, Evaluation, options_for
from ..scores.asked import DEFAULTS, MEASURE, PROFILE, ending
from . import options as panel
from .words import degree

SUGGESTED = "nDCG@5 nDCG@10 nDCG@20 nDCG CG@10 DCG@10 IDCG@10 P@10 R@100 AP RR Success@10 Rprec Bpref ERR@10"
OFFERED = (*SUGGESTED.split(), "RBP(p=0.8,rel=1)", "NumRelRet@10", "Judged@10")
# The parameters of every page with options, and those of how a page is drawn, not of what it shows.
OF_OPTIONS = ("measure", "profile", *TEXT_NAMES, *panel.OF_JUDGMENTS, "gain_map", "unjudged_grade", "panel")
OF_PICTURES = ("chart", "theme", "width", "step")
OF_PLACE = ("page", "raw")  # like those, they do not stay when the options change
OF_MAILS = ("utm_", "mtm_", "fbclid", "gclid", "msclkid")  # what other programs add to links begins with these

MOST_BOUNDED = 1_000_000  # queries x systems x cutoff: the bounds of more take too long for a page


class CannotAnswer(ValueError):
    """The address has parameters without a meaning. The message is for the reader."""


@contextmanager
def told_to_reader() -> Iterator[None]:
    """Around what the options in the address can make impossible: raises CannotAnswer in place of ValueError."""
    try:
        yield
    except ValueError as error:
        raise CannotAnswer(str(error)) from error


@told_to_reader()
def evaluated(
    collection: Collection, asked: Asked, beside: Iterable[Measure] = (), bounds: Iterable[Measure] = ()
) -> Evaluation:
    """The evaluation by the asked options. Raises CannotAnswer where they do not fit the collection."""
    return scores.evaluate(collection, asked, beside, bounds)


@told_to_reader()
def with_judgments(
    collection: Collection, asked: Asked, beside: Iterable[Measure] = (), bounds: Iterable[Measure] = ()
) -> Evaluation:
    """As `evaluated`, with the judgments, on which holes and neutral points rest."""
    return scores.evaluate(collection, asked, beside, bounds, judgments=True)


def bounded_in(collection: Collection, asked: Asked) -> list[Measure]:
    """[the asked measure] where its bounds are defined and can be computed fast enough for a page, else []."""
    cutoff = asked.measure.cutoff
    if cutoff is None or not scores.has_bounds(asked.measure):
        return []
    size = collection.queries.count() * collection.systems.count() * cutoff
    return [asked.measure] if size <= MOST_BOUNDED else []


def asked_in(request: HttpRequest, collection: Collection) -> Asked:
    """The measure, profile and options in the address of the request. Raises CannotAnswer."""
    params = request.GET
    values = panel.values_in(params)
    if values.get("unjudged") == "grade":
        missing = "the grade that is assumed for them is missing; 0 or 1, for example."
        raise CannotAnswer(f"unjudged documents: {missing}")
    named = {name: params[name] for name in ("measure", "profile") if params.get(name)}
    with told_to_reader():
        return Asked.of(collection, **named, **values)


def defaults_of(collection: Collection, profile: str) -> dict[str, str]:
    """The value of every option in the profile, by name. An unknown profile counts as the default one."""
    known = profile if profile in PROFILES else PROFILE
    return options_for(collection, known).as_dict() | {name: DEFAULTS[name] for name in panel.OF_JUDGMENTS}


def takes(*names: str, many: Iterable[str] = (), is_page: bool = True) -> Callable[[View], View]:
    """A decorator of view(request, collection, …): refuses other parameters. Those of `many` may repeat."""

    def decorated(view: View) -> View:
        @wraps(view)
        def answered(request: HttpRequest, collection: Collection, **kwargs) -> HttpResponse:
            problem = misread(request, (*names, *many), many)
            if problem:
                return refused(request, collection, problem, is_page=is_page)
            return view(request, collection, **kwargs)

        return answered

    return decorated


def with_options(*names: str, many: Iterable[str] = ()) -> Callable[[View], View]:
    """A decorator of view(request, collection, asked, …): passes `asked` from the address, or shows the error.

    `names` and `many`: the other parameters of the page, as for `takes`. They are kept when the options change.
    """

    def decorated(view: View) -> View:
        @wraps(view)
        def answered(request: HttpRequest, collection: Collection, **kwargs) -> HttpResponse:
            request.kept = [name for name in (*names, *many) if name not in OF_PLACE]
            try:
                if problem := misread(request, (*OF_OPTIONS, *names, *many), many):
                    raise CannotAnswer(problem)
                if "panel" in request.GET:
                    return redirect(request.path + departures(request, collection))
                return view(request, collection, asked_in(request, collection), **kwargs)
            except (CannotAnswer, WrongOption) as error:
                context = None if "ending" in kwargs else page(request, collection, "results")
                return refused(request, collection, str(error), is_page="ending" not in kwargs, context=context)

        return answered

    return decorated


def misread(request: HttpRequest, known: Iterable[str], many: Iterable[str] = ()) -> str:
    """A sentence that says which parameter in the address is wrong; "" where the page reads all of them."""
    known = (*known, *OF_PICTURES)
    for name, values in request.GET.lists():
        if name not in known and not name.startswith(OF_MAILS):
            instead = nearest(name, known) or f"it takes {', '.join(known)}."
            return f"This page takes no parameter {name[:40]!r}; {instead}"
        if name in known and len(values) > 1 and name not in many:
            return f"The address has {name} {len(values)} times; give it once."
    return ""


def departures(request: HttpRequest, collection: Collection) -> str:
    """The query string for a submitted panel: only the options that differ from the profile.

    The parameter `panel` has the profile of the form as it was shown. A control with the value of that profile was
    not changed by the reader, so that a change of the profile alone takes all options of the new one.
    """
    params = request.GET
    profile = params.get("profile") or PROFILE
    shown, wanted = defaults_of(collection, params["panel"]), defaults_of(collection, profile)
    changed = [
        (name, text) for name, text in panel.values_in(params).items() if text not in (shown[name], wanted[name])
    ]
    return ending([("measure", params.get("measure", "")), ("profile", profile), *changed, *kept_in(request)])


def kept_in(request: HttpRequest) -> list[tuple[str, str]]:
    """(name, value) of the parameters in the address that `with_options` keeps."""
    return [(name, value) for name in request.kept for value in request.GET.getlist(name) if value]


def refused(
    request: HttpRequest, collection: Collection, error: str, *, is_page: bool, context: dict | None = None
) -> HttpResponse:
    """The response with the error, status 400. A page with options has their form, filled in as it was sent."""
    if not is_page:
        return HttpResponseBadRequest(f"{error}\n", content_type="text/plain; charset=utf-8")
    context = context or frame(collection, "results")
    return render(request, "evaluation/refused.html", context | {"error": error}, status=400)


def page(request: HttpRequest, collection: Collection, section: str, asked: Asked | None = None) -> dict:
    """The context that all pages of results share. Without `asked`, the form is shown as it was filled in."""
    context = {"asked": asked, "form": form_for(request, collection, asked)}
    return frame(collection, section) | context | ({"degree": degree(asked.measure)} if asked else {})


def form_for(request: HttpRequest, collection: Collection, asked: Asked | None) -> dict:
    """The context of the form with measure, profile and options. One database query, for the scale.

    Without `asked`, which is where the address has an error, the form shows what was sent.
    """
    params = request.GET
    measure, profile = params.get("measure") or MEASURE, params.get("profile") or PROFILE
    of_profile = defaults_of(collection, profile)
    shown = of_profile | panel.values_in(params)
    if asked:
        shown |= asked.options.as_dict() | dict(asked.of_judgments)  # in their usual spelling
    grades = list(collection.grades.all())
    controls = panel.controls(shown, of_profile, [grade.plain for grade in grades])
    kept = kept_in(request)
    return {
        "measure": measure,
        "offered": OFFERED,
        "profile": profile,
        "profiles": PROFILES,
        "controls": controls,
        "departing": [control for control in controls if control["departs"]],
        "kept": kept,  # hidden fields
        "back": request.path + ending([("measure", measure), ("profile", profile), *kept]),  # without the options
        # The form does not show it: the page that compares systems takes it from here.
        "lowest": min((float(grade.value) for grade in grades), default=0.0),
    }
