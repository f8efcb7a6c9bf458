"""The systems whose lists stand side by side on the page of one query, and how their values were computed."""

from dataclasses import replace
from urllib.parse import urlencode

from django.http import HttpRequest

from ratings.models import Collection, Query

from .. import scores
from ..measures import Explanation
from ..measures.refusal import refuse_unknown
from ..page.address import CannotAnswer, raising_cannot_answer
from ..scores import Asked

MOST_LISTS = 8  # lists side by side, and lines of the chart


@raising_cannot_answer()
def explanations_of(
    collection: Collection, asked: Asked, query: Query, names: list[str] | None = None, whole: bool = False
) -> dict[str, Explanation]:
    """Explanations of these systems (None: all), down to the cutoff or `whole`. Raises CannotAnswer."""
    asked = replace(asked, measure=asked.uncut) if whole else asked
    return scores.explain(collection, asked, query.key, names)


def chosen_in(request: HttpRequest, names: list[str]) -> list[str]:
    """The systems that the address names, in its order; if none, the worst and the best; if one, also the best.

    names: all systems, best first. Raises CannotAnswer for an unknown system, and for more than MOST_LISTS.
    """
    # Each system once, although the address may repeat it.
    chosen = list(dict.fromkeys(filter(None, request.GET.getlist("system"))))
    for name in chosen:
        refuse_unknown("system", name, sorted(names))
    if len(chosen) > MOST_LISTS:
        raise CannotAnswer(f"at most {MOST_LISTS} systems stand side by side, not {len(chosen)}.")
    chosen = chosen or names[-1:]  # the worst, or none where there are no systems
    if len(chosen) == 1:
        # The best of the others: if the chosen system is the best itself, that is the second.
        chosen += [name for name in names if name not in chosen][:1]
    return chosen


def beside(chosen: list[str], name: str) -> list[str]:
    """The chosen systems and `name`; where there are MOST_LISTS already, the first and `name`."""
    if name in chosen:
        return chosen
    return [*chosen, name] if len(chosen) < MOST_LISTS else [chosen[0], name]


def kept(asked: Asked, chosen: list[str]) -> str:
    """The query string of the same options with these systems."""
    return asked.keep_with(urlencode([("system", name) for name in chosen]))
