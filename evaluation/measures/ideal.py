"""The ideal list and the worst list of each query."""

import numpy as np

from .discounts import discount
from .gains import gain
from .grading import GradedLists, GradedRankings
from .options import Options


def best_lists(graded: GradedRankings) -> GradedLists:
    """The ideal list of each query, without a cutoff: the gains above 0, descending.

    Under negatives=minmax_closed, all judged documents.
    """
    return _extreme_lists(graded, "best")


def worst_lists(graded: GradedRankings) -> GradedLists:
    """The worst list of each query, without a cutoff: the gains below 0, ascending.

    Under negatives=minmax_closed, all judged documents.
    """
    return _extreme_lists(graded, "worst")


def _extreme_lists(graded: GradedRankings, end: str) -> GradedLists:
    """The best or the worst list of each query, by `end`: "best" or "worst".

    Under ideal=retrieved it is made of the documents of the ranking, else of all judged ones. The lists of all
    judged documents are the same for every system, and cached.
    """
    judgments, options = graded.judgments, graded.options
    if options.ideal == "retrieved":
        # From the grades: under ties=average the gains of the rows are means.
        return _sorted_lists(graded.queries, graded.query, graded.document, graded.grade, options, end)
    # All options that these lists depend on.
    options_read = (options.gain, options.gain_map, options.discount, options.log_base, options.negatives)
    return judgments.remember(
        (end, *options_read),
        lambda: _sorted_lists(
            judgments.queries, judgments.query, judgments.document, judgments.grade, options, end
        ),
    )


def _sorted_lists(
    queries: int, query: np.ndarray, document: np.ndarray, grade: np.ndarray, options: Options, end: str
) -> GradedLists:
    """The list of each query: by gain, descending for the `end` "best", ascending for "worst".

    It has the documents with a gain above 0 (in the worst list, below 0); under minmax_closed all that are judged.
    """
    gains = gain(grade, options)
    priority = gains if end == "best" else -gains  # the largest comes first
    is_listed = ~np.isnan(grade) if options.negatives == "minmax_closed" else priority > 0
    listed = np.flatnonzero(is_listed)
    order = listed[np.lexsort((-priority[listed], query[listed]))]
    query = query[order]
    first = np.searchsorted(query, np.arange(queries))  # the first row of each query
    rank = np.arange(len(order)) - first[query] + 1
    return GradedLists(
        queries,
        query,
        rank,
        documents=document,
        row=order,  # where in `documents` the document of each rank is: few measures need it in order
        grade=grade[order],
        gain=gains[order],
        discount=discount(rank, options),
    )
