"""The page of the decisive order: its measure and systems, and its rounds."""

from collections.abc import Iterable
from dataclasses import replace
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from ratings.models import Collection
from ratings.people.access import admin_page, record_act
from ratings.pool import judging

from ...measures.refusal import refuse_unknown
from ...page.address import page, with_options
from ...scores import Asked
from ...scores.asked import DEFAULTS
from ..aims import checked, stored
from ..state import State

ROUNDS_ON_PAGE = 30  # listed on the page, the latest first


@admin_page
@with_options(many=["system"], redirects=False)
def decisive(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    """The page for the measure, options and systems of the address."""
    # The page shows what its address says. Without parameters it begins with what was chosen last.
    if collection.aim and not request.GET:
        return redirect(request.path + stored_in(collection))
    names, chosen = systems_in(request, collection)
    # An address without systems is about all. Where all are chosen none is named, so that later ones are included.
    systems_to_keep = chosen if len(chosen) < len(names) else []
    rounds = collection.rounds.annotate(pairs=Count("drawn")).order_by("-number")
    context = page(request, collection, "pool", asked) | {
        "names": names,
        "chosen": chosen,
        # The query string of links and of the form that switches, and the hidden fields of the form of systems.
        "keep": address([*asked.texts, *(("system", name) for name in systems_to_keep)]),
        "hidden": asked.texts,
        "in_use": collection.order == Collection.Order.DECISIVE,
        "rounds": rounds[:ROUNDS_ON_PAGE],
        "rounds_in_all": rounds.count(),
    }
    try:
        context |= pool_in(State.of(collection, aim_for(collection, asked, chosen)))
    except ValueError as error:
        context["refused"] = str(error)
    return render(request, "evaluation/decisive.html", context)


def pool_in(state: State) -> dict:
    """The context of the pool in this state."""
    return {
        "pairs": state.pool.pairs,
        "judged": int(state.judged.sum()),
        "outside": sum(state.not_in_pool.values()),
        "from_the_top": state.from_the_top,
    }


@record_act
@with_options(many=["system"])
def choose_decisive(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    """Switches the collection to the decisive order, for the measure, options and systems of the address."""
    _, chosen = systems_in(request, collection)
    try:
        aim = aim_for(collection, asked, chosen)
    except ValueError as error:
        messages.error(request, f"Nothing was changed: {error}")
        return redirect("decisive", collection.slug)
    judging.save_settings(collection, aim=stored(aim), order=Collection.Order.DECISIVE)
    messages.success(request, "Raters now get what tells these systems apart. The worker draws the first round.")
    return redirect("decisive", collection.slug)


def systems_in(request: HttpRequest, collection: Collection) -> tuple[list[str], list[str]]:
    """The names of all systems, and of those in the address; all where it names none. Raises WrongOption."""
    names = list(collection.systems.order_by("name").values_list("name", flat=True))
    wanted = request.GET.getlist("system")
    for name in filter(None, wanted):
        refuse_unknown("system", name, names)
    return names, [name for name in names if name in wanted] or names


def aim_for(collection: Collection, asked: Asked, chosen: list[str]) -> Asked:
    """The aim by the options of the address. Where all systems are chosen, later ones are included, too."""
    systems = tuple(chosen) if len(chosen) < collection.systems.count() else None
    return checked(replace(asked, systems=systems))


def stored_in(collection: Collection) -> str:
    """The query string of this page for the stored aim, without systems that were deleted since."""
    aim = collection.aim
    options = [(name, text) for name, text in aim.items() if name in DEFAULTS]
    stored = collection.systems.filter(name__in=aim.get("systems") or ()).order_by("name")
    systems = [("system", name) for name in stored.values_list("name", flat=True)]
    return address([*options, *aim.get("options", {}).items(), *systems])


def address(parts: Iterable[tuple[str, str]]) -> str:
    """The query string with all parameters, defaults too: without any, the page shows the stored aim."""
    return f"?{urlencode(list(parts), safe='@()=:,')}"
