"""The gate as text: for a terminal, for a pull request in Markdown, and for a build server as JUnit XML.

A gate is the document that `gate.gate_of` returns. site: what links begin with.
"""

from collections.abc import Callable, Iterable
from typing import Any
from xml.etree import ElementTree

from ratings.words import counted

from ..page.documents import as_text
from ..page.numbers import decimals, percent
from ..significance.gate import NOT_WORSE, UNDECIDED, WORSE

Document = dict[str, Any]

MARKS = {WORSE: "❌", NOT_WORSE: "✅", UNDECIDED: "❓"}
PLAIN, EXPECTED = "unjudged as the options say", "unjudged at their expected gain"
UNWEIGHTED = "all queries with the same weight"


def as_json(gate: Document, site: str) -> str:
    return as_text(gate)


def as_table(gate: Document, site: str) -> str:
    """The verdict, then a line for each anchor and reading, then what is unjudged, then what would decide."""
    lines = [f"{gate['release']}: {gate['verdict']}, with the margin {gate['margin']:g} in {label_of(gate)}"]
    for against in gate["anchors"]:
        lines.append(f"against {against['anchor']}: {against['verdict']}")
        lines += [f"  {name}: {reading}" for name, reading in readings(against)]
    return "\n".join([*lines, *unjudged(gate, site), *undecided(gate)]) + "\n"


def as_markdown(gate: Document, site: str) -> str:
    """A comment for a pull request: the verdict, a row for each anchor, the worst queries, what is unjudged.

    It ends with the measure and options that made its numbers. The column "queries" has the number of those that
    count in the first of the `readings`, which has unjudged documents as the options say.
    """
    measure = gate["measure"]
    lines = [
        f"### {MARKS[gate['verdict']]} {_escaped(gate['release'])}: {gate['verdict']}",
        "",
        f"Margin {gate['margin']:g} of {measure}, alpha {gate['alpha']:g}.",
        "",
        f"| against | verdict | difference in {measure}, unjudged documents | queries |",
        "|---|---|---|---|",
    ]
    for against in gate["anchors"]:
        differences = "<br>".join(f"{name}: {reading}" for name, reading in readings(against))
        cells = [_escaped(against["anchor"]), against["verdict"], differences, f"{against['plain']['queries']:,}"]
        lines.append(f"| {' | '.join(cells)} |")
    for against in gate["anchors"]:
        if against["worst"]:
            lines += ["", f"Queries that lose most against {_escaped(against['anchor'])}:", ""]
            lines += [
                # `query` is the key, for a query without a text.
                f"- [{_escaped(row['text'] or row['query'])}]({site}{row['path']}) {signed(row['difference'])}"
                for row in against["worst"]
            ]
    lines += ["", *(f"- {sentence}" for sentence in [*unjudged(gate, site, _escaped), *undecided(gate)])]
    return "\n".join([*lines, "", f"`{label_of(gate)}`", ""])


def as_junit(gate: Document, site: str) -> str:
    """A test suite with a case for each anchor: a failure where the release is worse, skipped where undecided.

    The message of such a case also has the sentences about the whole gate, since only cases have messages: what is
    unjudged and, where the whole gate has no verdict, what would decide.
    """
    suite = ElementTree.Element("testsuite", name=f"gate {gate['release']}", tests=str(len(gate["anchors"])))
    verdicts = [against["verdict"] for against in gate["anchors"]]
    suite.set("failures", str(verdicts.count(WORSE)))
    suite.set("skipped", str(verdicts.count(UNDECIDED)))
    for against in gate["anchors"]:
        case_name = f"{gate['measure']} against {against['anchor']}"
        case = ElementTree.SubElement(suite, "testcase", classname="idealist.gate", name=case_name)
        differences = "; ".join(f"{name}: {reading}" for name, reading in readings(against))
        message = " ".join([f"{differences}.", *unjudged(gate, site), *undecided(gate)])
        if against["verdict"] == WORSE:
            ElementTree.SubElement(case, "failure", message=message)
        elif against["verdict"] == UNDECIDED:
            ElementTree.SubElement(case, "skipped", message=message)
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def readings(against: Document) -> Iterable[tuple[str, str]]:
    """(how the means are taken, their difference in words) for each way to take them.

    against: as from `gate.against_anchor`, of one anchor, a system that the release is compared with. The first
    reading, `against["plain"]`, has unjudged documents as the options say, the second at their expected gain.
    Where the queries were drawn from a log, both are means over all its searches. A third reading, `log["plain"]`,
    is then the mean over queries, not weighted by their searches, with the share of the searches that they have
    (traffic). It is left out where the queries stand for no search, so that there is no share.
    """
    yield PLAIN, in_words(against["plain"])
    if against["expected"]:
        yield EXPECTED, in_words(against["expected"])
    else:
        yield EXPECTED, f"not known, because {against['without_expected']}"
    log = against["log"]
    if log and log["traffic"] is not None:
        yield UNWEIGHTED, f"{signed(log['plain'])}; the queries have {percent(log['traffic'])} of the searches"


def label_of(gate: Document) -> str:
    """The measure and the options that made the numbers."""
    return f"{gate['measure']} {gate['fingerprint']}"


def in_words(limits: Document) -> str:
    """The difference with its limits and the verdict. limits: of `significance.gate.Limits`, by name."""
    if limits["difference"] is None:
        return "no query counts for both"
    if limits["low"] is None:
        lacking = "too few queries" if limits["needed"] else "no query of a whole stratum of the log"
        return f"{signed(limits['difference'])}, and {lacking} for a verdict"
    low, high = signed(limits["low"]), signed(limits["high"])
    return f"{signed(limits['difference'])} ({low} to {high}), {limits['verdict']}"


def unjudged(gate: Document, site: str, named: Callable[[str], str] = str) -> list[str]:
    """What nobody judged above the cutoff, a sentence for each system. `named`: how the report writes names."""
    sentences = []
    for row in gate["unjudged"]:
        count = f"{named(row['system'])}: {row['results']:,} of {counted(row['of'], 'result')} unjudged."
        if row["results"] and row["path"]:
            count += f" Ask raters for them: {site}{row['path']}"
        elif row["results"]:
            count += " To ask raters for them, import its rankings."
        sentences.append(count)
    return sentences


def undecided(gate: Document) -> list[str]:
    """Why there is no verdict and what would decide, a sentence a line; nothing where there is a verdict."""
    if gate["verdict"] != UNDECIDED:
        return []
    lines = []
    if gate["needed"]:
        about = "At least" if any(row["plain"]["low"] is None for row in gate["anchors"]) else "About"
        lines.append(f"{about} {gate['needed']:,} queries would decide, if the difference stays.")
    if any(against["decided_by_judgments"] for against in gate["anchors"]):
        lines.append("Unjudged documents decide it: the two readings disagree.")
    return lines


def signed(value: float | None) -> str:
    text = decimals(value)
    return text if value is None or value <= 0 else f"+{text}"


def _escaped(text: str) -> str:
    """The text in one line of Markdown, without a meaning."""
    plain = " ".join(text.split())
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>|#&!" else letter for letter in plain)


FORMATS = {"table": as_table, "markdown": as_markdown, "junit": as_junit, "json": as_json}
