"""The gate as text: for a terminal, for a pull request in Markdown, and for a build server as JUnit XML."""

from collections.abc import Iterable
from xml.etree import ElementTree

from ..page.documents import as_text
from ..page.numbers import decimals
from ..significance import FEWEST
from ..significance.gate import NOT_WORSE, UNDECIDED, WORSE, Limits
from .gate import AgainstAnchor, Gate, document

MARKS = {WORSE: "❌", NOT_WORSE: "✅", UNDECIDED: "❓"}
PLAIN, EXPECTED = "unjudged as the options say", "unjudged at their expected gain"


def as_json(gate: Gate, site: str) -> str:
    return as_text(document(gate))


def as_table(gate: Gate, site: str) -> str:
    """The verdict, then a line for each anchor and reading, then what would decide."""
    lines = [f"{gate.release}: {gate.verdict}, with the margin {gate.margin:g} in {gate.evaluation.label}"]
    for each in gate.anchors:
        lines.append(f"against {each.anchor}: {each.verdict}")
        lines += [f"  {name}: {reading}" for name, reading in readings(each)]
    return "\n".join([*lines, *undecided(gate, site)]) + "\n"


def as_markdown(gate: Gate, site: str) -> str:
    """A comment for a pull request."""
    measure = gate.evaluation.asked.measure
    lines = [
        f"### {MARKS[gate.verdict]} {_escaped(gate.release)}: {gate.verdict}",
        "",
        f"Margin {gate.margin:g} of {measure}, alpha {gate.alpha:g}.",
        "",
        f"| against | verdict | difference in {measure}, unjudged documents | queries |",
        "|---|---|---|---|",
    ]
    for each in gate.anchors:
        told = "<br>".join(f"{name}: {reading}" for name, reading in readings(each))
        lines.append(f"| {_escaped(each.anchor)} | {each.verdict} | {told} | {each.plain.queries:,} |")
    for each in gate.anchors:
        if each.worst:
            lines += ["", f"Queries that lose most against {_escaped(each.anchor)}:", ""]
            lines += [
                f"- [{_escaped(row['text'] or row['query'])}]({site}{row['path']}) {signed(row['difference'])}"
                for row in each.worst
            ]
    if would_decide := undecided(gate, site):
        lines += ["", *would_decide]
    return "\n".join([*lines, "", f"`{gate.evaluation.label}`", ""])


def as_junit(gate: Gate, site: str) -> str:
    """A test suite with a case for each anchor: a failure where the release is worse, skipped where undecided."""
    suite = ElementTree.Element("testsuite", name=f"gate {gate.release}", tests=str(len(gate.anchors)))
    verdicts = [each.verdict for each in gate.anchors]
    suite.set("failures", str(verdicts.count(WORSE)))
    suite.set("skipped", str(verdicts.count(UNDECIDED)))
    for each in gate.anchors:
        name = f"{gate.evaluation.asked.measure} against {each.anchor}"
        case = ElementTree.SubElement(suite, "testcase", classname="idealist.gate", name=name)
        told = "; ".join(f"{name}: {reading}" for name, reading in readings(each))
        if each.verdict == WORSE:
            ElementTree.SubElement(case, "failure", message=told)
        elif each.verdict == UNDECIDED:
            ElementTree.SubElement(case, "skipped", message=" ".join([told, *undecided(gate, site)]))
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def readings(each: AgainstAnchor) -> Iterable[tuple[str, str]]:
    """(how unjudged documents are read, the difference with its limits) of both readings."""
    yield PLAIN, in_words(each.plain)
    yield EXPECTED, in_words(each.expected) if each.expected else f"not known, because {each.without}"


def in_words(found: Limits) -> str:
    if found.difference is None:
        return "no query counts for both"
    if found.low is None:
        return f"{signed(found.difference)}, and too few queries for a verdict"
    return f"{signed(found.difference)} ({signed(found.low)} to {signed(found.high)}), {found.verdict}"


def undecided(gate: Gate, site: str) -> list[str]:
    """What would decide, a sentence a line; nothing where there is a verdict."""
    if gate.verdict != UNDECIDED:
        return []
    lines = []
    if gate.needed:
        about = "At least" if gate.needed == FEWEST else "About"
        lines.append(f"{about} {gate.needed:,} queries would decide, if the difference stays.")
    if gate.unjudged and any(each.is_open_by_judgments for each in gate.anchors):
        noun = "document decides" if gate.unjudged == 1 else "documents decide"
        lines.append(f"{gate.unjudged:,} unjudged {noun} it. Ask raters for them: {site}{gate.path}")
    return lines


def signed(value: float | None) -> str:
    text = decimals(value)
    return text if value is None or value <= 0 else f"+{text}"


def _escaped(text: str) -> str:
    """The text in one line of Markdown, without a meaning."""
    plain = " ".join(text.split())
    return "".join(f"\\{each}" if each in "\\`*_[]<>|#&!" else each for each in plain)


FORMATS = {"table": as_table, "markdown": as_markdown, "junit": as_junit, "json": as_json}
