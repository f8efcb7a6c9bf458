"""The page on which an admin makes the asked options the default ones of the collection, or takes that back."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from ratings.collection import making
from ratings.models import Collection
from ratings.people.access import admin_page, record_act

from ...page import options
from ...page.address import page, with_options
from ...scores import Asked
from ...scores.asked import DEFAULTS, short_query_string


@admin_page
# expected: only allowed, and not read, since the form on the overview, whose button leads here, may send it.
@with_options("expected", redirects=False)
def default_options(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    """What the default is and what it would become. A new default holds for all, so a page of its own asks first.

    An address without options is not redirected to one that names the default ones, as on other pages: this page
    has no scores that a shared address must keep.

    changes: whether the asked options differ from the present default; described: each of them in words; usual,
    named: the query strings of Idealist's defaults and of the asked options.
    """
    now = Asked.of(collection)  # the present default
    context = page(request, collection, "results", asked) | {
        "now": now,
        "changes": asked.texts != now.texts,
        "described": options.in_force(asked),
        "usual": short_query_string(DEFAULTS.items(), with_measure=True),
        "named": short_query_string(asked.texts, with_measure=True),
    }
    return render(request, "evaluation/default_options.html", context)


@record_act
@with_options()
def save_default_options(request: HttpRequest, collection: Collection, asked: Asked) -> HttpResponse:
    """Makes the options of the address the default ones."""
    making.save_default_options(collection, asked.as_default)
    messages.success(request, f"{asked.label} is the default of this collection now.")
    return redirect("overview", collection.slug)
