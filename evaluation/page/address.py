"""The measure, profile and options in the address of a page, and the evaluation by them."""

from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
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
from ..scores.asked import DEFAULTS, MEASURE, PROFILE, query_string, short_query_string
from ..scores.expected import MOST_PAIRS, expected_means
from . import options as panel
from .words import degree

SUGGESTED = "nDCG@5 nDCG@10 nDCG@20 nDCG CG@10 DCG@10 IDCG@10 P@10 R@100 AP RR Success@10 Rprec Bpref ERR@10"
OFFERED_MEASURES = (*SUGGESTED.split(), "RBP(p=0.8,rel=1)", "NumRelRet@10", "Judged@10")
# The parameters of every page with options, and those of how a page is drawn, not of what it shows.
OPTION_PARAMETERS = ("measure", "profile", *TEXT_NAMES, *panel.OF_JUDGMENTS, "gain_map", "unjudged_grade", "panel")
PICTURE_PARAMETERS = ("chart", "picture", "theme", "width", "step")
NOT_KEPT = ("page", "raw")  # parameters that do not stay in the address when the options change
MAIL_PREFIXES = ("utm_", "mtm_", "fbclid", "gclid", "msclkid")  # of what other programs add to links

MOST_BOUNDED = 1_000_000  # queries x systems x cutoff: the bounds of more take too long for a page


class CannotAnswer(ValueError):
    """The address has parameters without a meaning. The message is for the reader."""


@contextmanager
def raising_cannot_answer() -> Iterator[None]:
    """A context in which a ValueError becomes a CannotAnswer, since an option in the address caused it."""
    try:
        yield
    except ValueError as error:
        raise CannotAnswer(str(error)) from error


@raising_cannot_answer()
def evaluated(
    collection: Collection,
    asked: Asked,
    beside: Iterable[Measure] = (),
    bounds: Iterable[Measure] = (),
    judgments: bool = False,
) -> Evaluation:
    """As `scores.evaluate`. Raises CannotAnswer where the options do not fit the collection."""
    return scores.evaluate(collection, asked, beside, bounds, judgments)


def bounded_measures(collection: Collection, asked: Asked) -> list[Measure]:
    """[the asked measure] where its bounds are defined and can be computed fast enough for a page, else []."""
    cutoff = asked.measure.cutoff
    if cutoff is None or not scores.has_bounds(asked.measure):
        return []
    size = collection.queries.count() * collection.systems.count() * cutoff
    return [asked.measure] if size <= MOST_BOUNDED else []


def wanted_in(request: HttpRequest) -> bool:
    """Whether the address asks for expected values. Raises CannotAnswer."""
    value = request.GET.get("expected") or "0"
    if value not in ("0", "1"):
        raise CannotAnswer(f"expected must be 1, or be left out, not {value[:40]!r}.")
    return value == "1"


@raising_cannot_answer()
def with_expected_in(request: HttpRequest, collection: Collection, evaluation: Evaluation) -> Evaluation:
    """The evaluation, with expected values if the address asks for them. Raises CannotAnswer."""
    if not wanted_in(request):
        return evaluation
    means = expected_means(collection, evaluation.asked, [evaluation.asked.measure], MOST_PAIRS)
    return replace(evaluation, expected=means)


def asked_in(request: HttpRequest, collection: Collection) -> Asked:
    """The measure, profile and options that the address asks for. Raises CannotAnswer.

    Where the address names none of these, the defaults of the collection hold. An address that names one takes the
    rest from DEFAULTS instead, so that its numbers stay when the collection gets other defaults.
    """
    texts = option_texts_in(request)
    # The reader chose "grade" for unjudged documents, and left the text field for that grade empty.
    if texts.get("unjudged") == "grade":
        missing = "the grade that is assumed for them is missing; 0 or 1, for example."
        raise CannotAnswer(f"unjudged documents: {missing}")
    if texts:
        texts = DEFAULTS | texts  # otherwise `Asked.of` takes the defaults of the collection
    with raising_cannot_answer():
        return Asked.of(collection, **texts)


def option_texts_in(request: HttpRequest) -> dict[str, str]:
    """The measure, profile and options that the address names, as texts by name."""
    named = {name: request.GET[name] for name in ("measure", "profile") if request.GET.get(name)}
    return named | panel.values_in(request.GET)


def defaults_of(collection: Collection, profile: str) -> dict[str, str]:
    """The value of every option in the profile, by name. An unknown profile counts as the default one."""
    profile = profile if profile in PROFILES else PROFILE
    return options_for(collection, profile).as_dict() | {name: DEFAULTS[name] for name in panel.OF_JUDGMENTS}


def takes(*names: str, is_page: bool = True) -> Callable[[View], View]:
    """A decorator of view(request, collection, …): the page takes only parameters in the address with these names.

    Others are refused with status 400, as is every CannotAnswer of the view. is_page: whether the refusal is a
    page; else it is plain text.
    """

    def decorator(view: View) -> View:
        @wraps(view)
        def wrapper(request: HttpRequest, collection: Collection, **kwargs) -> HttpResponse:
            """The response of the view, or the refusal. `names` and `is_page` are those of the decorator."""
            try:
                if problem := problem_of_parameters(request, names):
                    raise CannotAnswer(problem)
                return view(request, collection, **kwargs)
            except CannotAnswer as error:
                return refused(request, collection, str(error), is_page=is_page)

        return wrapper

    return decorator


def with_options(*names: str, many: Iterable[str] = (), redirects: bool = True) -> Callable[[View], View]:
    """A decorator of view(request, collection, asked, …): passes the options in the address to it as `asked`.

    A wrong address is answered with the error instead, and the form with the options, when it is sent, with a
    redirect to the address that names what was chosen.

    names: the other parameters that the page reads; many: those that may repeat. All of them stay in the address
    when the options change.
    redirects: in a collection with default options of its own, an address without options is redirected to the one
    that names these. So an address that people share keeps its numbers when the defaults change.
    """

    def decorator(view: View) -> View:
        @wraps(view)
        def wrapper(request: HttpRequest, collection: Collection, **kwargs) -> HttpResponse:
            """The response of the view, a redirect, or the error. The decorator explains its parameters."""
            other_parameters = (*names, *many)
            # `kept_in` reads them: they become hidden fields of the form, and stay when it changes the options.
            request.kept = [name for name in other_parameters if name not in NOT_KEPT]
            # Views of files get the ending in the address, such as csv; all others make pages.
            is_page = "ending" not in kwargs
            try:
                if problem := problem_of_parameters(request, (*OPTION_PARAMETERS, *other_parameters), many):
                    raise CannotAnswer(problem)
                # The form with the options was sent: it has the hidden field `panel`.
                if "panel" in request.GET:
                    return redirect(request.path + query_of_panel(request, collection))
                asked = asked_in(request, collection)
                is_page_without_options = is_page and request.method == "GET" and not option_texts_in(request)
                # The address stands for the default options of the collection, which can change. The new address
                # names them, so that it keeps its numbers. It has all other parameters, too.
                if redirects and asked.collection_has_defaults and is_page_without_options:
                    others = parameters_without(request, OPTION_PARAMETERS)
                    return redirect(request.path + query_string([*asked.texts, *others]))
                return view(request, collection, asked, **kwargs)
            except (CannotAnswer, WrongOption) as error:
                # The page with the error has the form, filled in as it was sent; a file has no form.
                context = page(request, collection, "results") if is_page else None
                return refused(request, collection, str(error), is_page=is_page, context=context)

        return wrapper

    return decorator


def parameters_without(request: HttpRequest, names: Container[str]) -> list[tuple[str, str]]:
    """(name, text) of the parameters in the address but these; a name that is there twice has two entries."""
    return [(name, text) for name, texts in request.GET.lists() if name not in names for text in texts]


def problem_of_parameters(request: HttpRequest, names: Iterable[str], many: Iterable[str] = ()) -> str:
    """A sentence that says which parameter in the address is wrong; "" where the page reads all of them."""
    readable = (*names, *PICTURE_PARAMETERS)
    for name, values in request.GET.lists():
        if name not in readable and not name.startswith(MAIL_PREFIXES):
            instead = nearest(name, readable) or f"it takes {', '.join(readable)}."
            return f"This page takes no parameter {name[:40]!r}; {instead}"
        if name in readable and len(values) > 1 and name not in many:
            return f"The address has {name} {len(values)} times; give it once."
    return ""


def query_of_panel(request: HttpRequest, collection: Collection) -> str:
    """The query string for the form with the options as it was sent: only options that differ from the profile.

    In the request, `panel` is the profile with which the form was shown, `profile` the one with which it was sent.
    """
    params = request.GET
    measure, profile = params.get("measure") or MEASURE, params.get("profile") or PROFILE
    # The options of the profile that was shown and of the one that is chosen now, as texts by name.
    shown_options, new_options = defaults_of(collection, params["panel"]), defaults_of(collection, profile)
    sent_options = panel.values_in(params).items()
    # An option that still has the value of the profile that was shown was not changed: it takes that of the new
    # profile. One that has the value of the new profile already need not be named.
    changes = [(name, text) for name, text in sent_options if text not in (shown_options[name], new_options[name])]
    parts = [("measure", measure), ("profile", profile), *changes, *kept_in(request)]
    # In a collection with default options of its own, an address that names nothing stands for these. So there the
    # measure is always named: the reader may have chosen the usual options, which would leave nothing to name.
    return short_query_string(parts, with_measure=bool(collection.default_options))


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

    asked: what the address asks for; None where it has an error: then the form shows the texts of the address.
    """
    params = request.GET
    default = {"measure": str(asked.measure), "profile": asked.profile} if asked else DEFAULTS
    measure = params.get("measure") or default["measure"]
    profile = params.get("profile") or default["profile"]
    profile_options = defaults_of(collection, profile)
    shown_options = profile_options | panel.values_in(params)
    if asked:
        # The same options in their usual spelling; `of_judgments` has the rule and the use of adjudications.
        shown_options |= asked.options.as_dict() | dict(asked.of_judgments)
    grades = list(collection.grades.all())
    controls = panel.controls(shown_options, profile_options, [grade.plain for grade in grades])
    other_parameters = kept_in(request)
    parts_without_options = [("measure", measure), ("profile", profile), *other_parameters]
    # In a collection with default options of its own, an address that names nothing stands for these. So there the
    # measure is always named.
    query_of_profile = short_query_string(parts_without_options, with_measure=bool(collection.default_options))
    return {
        "measure": measure,
        "offered": OFFERED_MEASURES,
        "profile": profile,
        "profiles": PROFILES,
        "controls": controls,
        "departing": [control for control in controls if control["departs"]],  # from the profile
        "kept": other_parameters,  # as hidden fields
        "back": request.path + query_of_profile,  # the address with the options of the profile
        # Whether these are the default options that the collection stores.
        "is_default": asked is not None and dict(asked.texts) == collection.default_options,
        # The lowest grade. The form does not show it; the page that compares systems takes it from here.
        "lowest": min((float(grade.value) for grade in grades), default=0.0),
    }
