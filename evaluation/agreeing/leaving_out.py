"""What it does to the numbers to leave out a rater, or to count them again: the numbers of both states."""

from typing import Any

import numpy as np
from django.db.models import Q

from ratings.models import Assignment, Collection, Rater, Rating

from .. import record, scores
from ..agreement.coefficients import ordinal_alpha
from ..scores import Asked


def effect_of(collection: Collection, rater: Rater, asked: Asked) -> dict[str, Any]:
    """What leaving out the rater changes, in the asked measure, as the context of a page.

    `before`, `after`: with and without the rater, {"judged": the number of pairs with a judgment, "alpha": the
    ordinal alpha, None where no pair has two grades}.
    `rows`: for each system its row of the results (`scores.Standing`) and its place before and after, the best one
    before first.
    `reorders`: whether a place changes; `unjudged`: the number of pairs that have a judgment only with the rater;
    `grades`: how many the rater gave; `wanted`: how many ratings would be open again.

    Rankings come from the cache, ratings are read. ValueError for options that do not fit the collection.
    """
    data, _ = scores.read(collection, asked)
    scale = record.scale(collection)
    # Those of the rater count before, even if the rater is left out already. A rating that is set aside counts in
    # neither state: other raters are asked for its pair in place of its rater.
    counted = Rating.objects.filter(Q(rater__left_out_at=None) | Q(rater=rater), set_aside_at=None)
    ratings = record.ratings_in(collection, data, counted)
    is_by_rater = ratings.rater == rater.pk
    states, standings = [], []
    for some_ratings in (ratings, ratings.subset(np.flatnonzero(~is_by_rater))):  # before, after
        evaluation = scores.of_ratings(data, some_ratings, asked)
        judged = int(evaluation.judgments.count.sum())
        states.append({"judged": judged, "alpha": ordinal_alpha(some_ratings, scale)["value"]})
        standings.append(evaluation.standings)
    before, after = states
    after_by_system = {row.system: (place, row) for place, row in enumerate(standings[1], 1)}
    rows = []
    for place, standing in enumerate(standings[0], 1):
        later_place, later_standing = after_by_system[standing.system]
        rows.append({"before": standing, "after": later_standing, "place": place, "place_after": later_place})
    return {
        "before": before,
        "after": after,
        "rows": rows,
        "reorders": any(row["place"] != row["place_after"] for row in rows),
        "unjudged": before["judged"] - after["judged"],
        "grades": int(is_by_rater.sum()),
        # Extra assignments, such as of gold pairs, are beyond the wanted number, and would not open again.
        "wanted": Assignment.objects.filter(rater=rater, state=Assignment.State.DONE, extra=False).count(),
    }
