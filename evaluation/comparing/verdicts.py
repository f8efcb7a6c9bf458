"""What the tests tell of every pair, and by which tests."""

from collections.abc import Sequence

from ..page.words import counted
from ..results.comparison import Compared
from ..significance import HIGHER, LOWER, TWO_SYSTEMS


def said(result: Compared, rows: Sequence[dict]) -> dict:
    """The context of the verdict on every pair: who differs, who is equal on every query, and who is open.

    open: the systems without a verdict, but for the equal ones. nearest: the row of the open pair that the fewest
    more queries would decide, None where no such number is known. rows: as from `rows_against`, one for each
    system that is compared with the baseline. Their `more` is how many more queries would decide.
    """
    verdicts = []  # (verdict on the systems, its rows, their systems)
    for verdict in (HIGHER, LOWER):
        group = [row for row in rows if row["verdict"] == verdict]
        if group:
            verdicts.append((verdict, group, [row["system"] for row in group]))
    equal = [row["system"] for row in rows if row["ties"] == result.tests.queries]
    undecided = [row for row in rows if not row["significant"] and row["system"] not in equal]
    with_number = [row for row in undecided if row["more"]]
    return {
        "verdicts": verdicts,
        "equal": equal,
        "open": [row["system"] for row in undecided],
        "nearest": min(with_number, key=lambda row: row["more"], default=None),
    }


def judged_by(result: Compared) -> str:
    """The tests and the correction that the verdicts come from, in words."""
    systems, pairs = len(result.systems), len(result.pairs)
    if result.tests.correction == "hsd":
        return f"Tukey's HSD for all pairs of {counted(systems, 'system', 'systems')}"
    tested_pairs = [test for test in result.tests.pairs if test.p_holm is not None]
    names = []  # of the tests that were made
    # Where nothing could be tested, the t test is named: it would have been made.
    if any(test.p is not None for test in tested_pairs) or not tested_pairs:
        names.append("the paired t test")
    if any(test.p is None for test in tested_pairs):  # where all differences are equal, there is no t
        names.append("the randomisation test")
    test = " and ".join(names)
    if pairs == 1:
        return test
    return f"{test} with Holm's correction for {counted(pairs, 'comparison', 'comparisons')}"


def signs(result: Compared) -> str:
    """The draws and the seed of the randomisation test, as text."""
    if result.tests.exact:
        return f"all {2**result.tests.drawn:,} signs"
    return f"{result.tests.draws:,} draws, seed {result.tests.seed}"


def reasons(rows: Sequence[dict]) -> list[str]:
    """Why numbers are missing, a text for each pair. A correction that does not apply is no missing number."""
    why = {row["system"]: sorted({*row["why"].values()} - {TWO_SYSTEMS}) for row in rows}
    return [f"{system}: no value where {', '.join(texts)}" for system, texts in why.items() if texts]
