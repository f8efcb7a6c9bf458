"""Features of (query, document) pairs for the model: ranks in systems, and grades of machines. NumPy only."""

from dataclasses import dataclass

import numpy as np

from ..measures import Options
from ..measures.discounts import discount

DEPTH = 100  # documents at lower ranks count as not retrieved
DEFAULTS = Options()  # the features of a rank are the same for all options of the measure
MACHINE_PRECISION = 0.5  # prior, of the coefficients of a machine's grades: below that of systems, which is 2
MOST_GRADES = 8  # of a machine: more grades are binned into so many bins of about equal size


@dataclass(frozen=True, eq=False)
class Features:
    """Standardised features of all pairs, and the normal prior of their coefficients in the first step."""

    values: np.ndarray  # float64[pairs, features]; the first is the intercept
    mean: np.ndarray  # float64[features], of the prior
    precision: np.ndarray  # float64[features], of the prior


def features(rank: np.ndarray, cutoff: int, depth: int, machine: np.ndarray | None = None) -> Features:
    """The features of pairs. rank: int64[pairs, systems], where a rank beyond `depth` means "not retrieved".

    In this order: an intercept; seven features over all systems (mean discount, its logarithm, share of systems
    that retrieve the document, largest discount, share of systems with the document above the cutoff, logarithm of
    the best rank, whether any system has the document above the cutoff); for each system, its discount over the
    root of the number of systems that retrieve the document; for each machine, those of `_grade_features`.

    The prior of a coefficient has a mean and a precision, which is 1 / variance. It expects that 27 % of documents
    with average features take the first step, to the second level of gain (log odds -1), and more at high ranks.
    Its numbers were chosen on TREC-COVID rounds 1 and 5, Cranfield and CACM, and checked on Robust 2003, CODEC and
    three other rounds, which were opened afterwards.

    cutoff: of the measure; machine: float64[pairs, machines], grades, nan without one.
    """
    retrieved, in_top = rank <= depth, rank <= cutoff
    discounts = np.where(retrieved, discount(rank, DEFAULTS), 0.0)
    retrieving = retrieved.sum(axis=1)
    mean_discount = discounts.mean(axis=1)
    systems = rank.shape[1]
    over_all = [
        mean_discount,
        np.log(0.02 + mean_discount),  # finite for a document that no system retrieves
        retrieving / systems,
        discounts.max(axis=1),
        in_top.mean(axis=1),
        np.log(rank.min(axis=1)),
        in_top.any(axis=1),
    ]
    # Of the coefficients of these features.
    prior_means = [0.4, 0.0, 0.0, 0.2, 0.2, 0.0, 0.0]
    by_system = discounts / np.sqrt(np.maximum(retrieving, 1))[:, np.newaxis]
    by_machine = [] if machine is None else [_grade_features(column) for column in machine.T]
    machine_columns = sum(columns.shape[1] for columns in by_machine)
    general = _standardised(np.column_stack(over_all))
    return Features(  # the prior has the order of the columns: intercept, over all, by system, by machine
        values=np.hstack([np.ones((len(rank), 1)), general, _standardised(by_system), *by_machine]),
        mean=np.concatenate([[-1.0], prior_means, np.zeros(systems + machine_columns)]),
        precision=np.concatenate(
            [[0.25], np.ones(len(prior_means)), np.full(systems, 2.0), np.full(machine_columns, MACHINE_PRECISION)]
        ),
    )


def _grade_features(grade: np.ndarray) -> np.ndarray:
    """The features of one machine's grades, standardised, float64[pairs, columns].

    For each grade but the least, whether the machine gave this grade or a higher one: all have the least one. A
    pair without a grade has 0 there, which is the mean of a standardised column. Where only some pairs have a
    grade, also whether a pair has none. grade: float64[pairs], nan without one.
    """
    has_grade = ~np.isnan(grade)
    grades = np.unique(grade[has_grade])
    if len(grades) > MOST_GRADES:  # the lowest grades of MOST_GRADES bins stand for all
        grades = np.unique(np.quantile(grade[has_grade], np.arange(MOST_GRADES) / MOST_GRADES, method="lower"))
    columns = np.zeros((len(grade), max(len(grades) - 1, 0)))
    if len(grades) > 1:
        columns[has_grade] = _standardised(grade[has_grade, np.newaxis] >= grades[1:])
    if not has_grade.all() and has_grade.any():
        columns = np.column_stack([columns, _standardised(~has_grade[:, np.newaxis])])
    return columns


def _standardised(columns: np.ndarray) -> np.ndarray:
    return (columns - columns.mean(axis=0)) / (columns.std(axis=0) + 1e-9)
