"""Sentences on what a judge may be used for."""

from collections.abc import Mapping

from django.utils.html import format_html
from django.utils.safestring import SafeString

from ..page.numbers import decimals, share
from ..page.words import counted, named
from .worth import (
    AGAIN,
    ALPHA,
    HELP,
    LOOK,
    NOTHING,
    OF_SYSTEM,
    PAIRS,
    QUERIES,
    SAME,
    UNKNOWN,
)

HELPS = "It may help people: to predict missing judgments, and to choose what rounds draw first."
VERDICTS = {
    UNKNOWN: "Too little is known of this version to say. Leave its own columns off until more is known.",
    NOTHING: "It is of no use by these figures: its agreement with people may be no more than chance.",
    HELP: f"{HELPS} There people’s judgments of pairs drawn at random correct it. "
    "Do not compare systems by its own grades.",
    LOOK: f"{HELPS} Its own columns may give a first look at systems, before people have rated.",
}


def verdict(use: Mapping) -> SafeString:
    """The sentences on the verdict. use: the result of `analyses.worth.use_of`."""
    sentence = VERDICTS[use["verdict"]]
    if use["verdict"] == LOOK:
        text = "{} A difference of less than {} of a grade per document may be due to the machine’s bias alone."
        return format_html(text, sentence, decimals(use["apart"], 2))
    return format_html("{}", sentence)


def reasons(use: Mapping) -> list[tuple[bool, SafeString | str]]:
    """(whether it is a warning that the machine favours a system, sentence) of each reason of the verdict."""
    return [(each["reason"] in ("differs", "circular"), _reason(each)) for each in use["reasons"]]


def _reason(each: Mapping) -> SafeString | str:
    low = decimals(each["low"], 2) if each.get("low") is not None else "not known"
    match each["reason"]:
        case "not drawn":
            return (
                "The pairs were not drawn at random, so the figures speak for these pairs, not for the pool. "
                "To know of the pool, draw a sample on the page of the judge and let people rate it."
            )
        case "few":
            pairs, queries = counted(each["pairs"], "pair", "pairs"), counted(each["queries"], "query", "queries")
            return (
                f"It was compared on {pairs} of {queries}. At least {PAIRS} pairs of {QUERIES} queries are needed."
            )
        case "missing":
            return (
                f"Of the sample {each['compared']:,} of {each['pairs']:,} pairs are compared. "
                "What is missing may differ from the rest."
            )
        case "chance":
            return f"The interval of quadratic κ begins at {low}, not above 0."
        case "alpha":
            return f"The interval of Krippendorff’s α begins at {low}, below {decimals(ALPHA, 2)}."
        case "differs":
            text = "Its bias on the documents of {} differs significantly from that on all pairs, so its "
            return format_html(text + "grades could change the order of the systems.", named(each["systems"]))
        case "few of system":
            if not each["systems"]:
                return "There is no system to compare."
            return format_html("Fewer than {} pairs are of {}.", OF_SYSTEM, named(each["systems"]))
        case "wide":
            return (
                "Its bias on the documents of a system may differ from that on all by "
                f"{decimals(each['apart'], 2)} of a grade. Either the sample is too small to exclude that, or "
                "the bias does differ."
            )
        case "circular":
            text = (
                "The name of {} contains the name of this model’s family. A model tends to favour results of its "
            )
            return format_html(text + "own kind.", named(each["systems"]))
        case "not asked again":
            answers = counted(each["answers"], "pair", "pairs")
            return f"It was asked again about {answers}. At least {AGAIN} are needed."
        case "not the same":
            begins = f"begins at {share(each['low'])}, below {share(SAME)}"
            return f"Asked again it gave other grades: the interval of the same grade {begins}."
        case "not probed":
            return "It was not probed."
        case "deceived":
            return f"Of {each['asked']:,} probes {each['through']:,} got through."
    raise ValueError(f"unknown reason {each['reason']!r}")
