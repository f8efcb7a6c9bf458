"""The means as a LaTeX table that needs no package."""

import re
from collections.abc import Sequence

from ratings.words import counted

from ...models import FrozenEvaluation
from ...scores import Evaluation, Standing
from .. import about

# The heads of columns that not every evaluation has, by the name of their number in a standing.
MORE = {"plain": "of the queries", "traffic": "searches", "weighted": "by weight"}
ESCAPED = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"{''}",  # LaTeX's default font has no straight quotation mark
    "'": r"{'}",  # in braces, since two in a row become a quotation mark
    "`": r"\textasciigrave{}",
    "[": "{[}",  # at the beginning of a row, \\ of the row before would take it for its argument
    "*": "{*}",
}


def escaped(text: str) -> str:
    """The text as LaTeX. Other letters than those of ASCII stay as they are."""
    written = "".join(ESCAPED.get(character, character) for character in " ".join(text.split()))
    return re.sub("-(?=-)", "-{}", written)  # two hyphens in a row become a dash


def table(frozen: FrozenEvaluation, evaluation: Evaluation) -> str:
    """The LaTeX table: by system, best first, the mean of the first measure with interval, n and judged share."""
    measure = evaluation.measures[0]
    further_columns = [name for name in MORE if name in evaluation.shown]
    columns = [
        "System",
        escaped(str(measure)),
        r"95\,\% interval",
        *(MORE[name] for name in further_columns),
        "$n$",
        "Judged",
    ]
    rows = [_row(standing, further_columns) for standing in evaluation.standings]
    of_log = " over all searches of the log" if evaluation.sampled else ""
    caption = (
        f"Mean {measure}{of_log} of {counted(len(rows), 'system')} on "
        f"{about(frozen).collection_name}. Options: {evaluation.plain_fingerprint_of(measure)}. "
        f"{about(frozen).software}, frozen evaluation {frozen.short}."
    )
    lines = [
        f"% {' '.join(frozen.name.split())}, SHA-256 {frozen.hash}. Needs no package.",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escaped(caption)}}}",
        rf"\begin{{tabular}}{{l{'r' * (len(columns) - 1)}}}",
        r"\hline",
        " & ".join(columns) + r" \\",
        r"\hline",
        *rows,
        r"\hline",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _row(standing: Standing, further_columns: Sequence[str]) -> str:
    interval = "--" if standing.low is None else f"{_decimals(standing.low)} to {_decimals(standing.high)}"
    cells = [escaped(standing.system), _decimals(standing.mean), interval]
    for name, value in standing.row(further_columns).items():
        cells.append(_share(value) if name == "traffic" else _decimals(value))
    return " & ".join([*cells, str(standing.queries), _share(standing.judged)]) + r" \\"


def _share(value: float | None) -> str:
    return "--" if value is None else rf"{100 * value:.1f}\,\%"


def _decimals(value: float | None) -> str:
    """The number with four decimals, and a minus sign from math mode."""
    if value is None:
        return "--"
    text = f"{value:.4f}"
    return f"$-{text[1:]}$" if text.startswith("-") and float(text) else text.lstrip("-")
