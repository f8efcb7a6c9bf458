"""The gate as text: for a terminal, for a pull request in Markdown, and for a build server as JUnit XML."""

from collections.abc import Callable, Iterable
from xml.etree import ElementTree

from ratings.words import counted

from ..page.documents import as_text
from ..page.numbers import decimals, percent
from ..significance.gate import NOT_WORSE, UNDECIDED, WORSE, Limits
from .gate import AgainstAnchor, Gate, document

MARKS = {WORSE: "❌", NOT_WORSE: "✅", UNDECIDED: "❓"}
PLAIN, EXPECTED = "unjudged as the options say", "unjudged at their expected gain"
ALIKE = "all queries with the same weight"


def as_json(gate: Gate, site: str) -> str:
    return as_text(document(gate))


def as_table(gate: Gate, site: str) -> str:
    """The verdict, then a line for each anchor and reading, then what is unjudged, then what would decide."""
    lines = [f"{gate.release}: {gate.verdict}, with the margin {gate.margin:g} in {gate.evaluation.label}"]
    for against in gate.anchors:
        lines.append(f"against {against.anchor}: {against.verdict}")
        lines += [f"  {name}: {reading}" for name, reading in readings(against)]
    return "\n".join([*lines, *unjudged(gate, site), *undecided(gate)]) + "\n"


def as_markdown(gate: Gate, site: str) -> str:
    """A comment for a pull request: the verdict, a row for each anchor, the worst queries, what is unjudged."""
    measure = gate.evaluation.asked.measure
    lines = [
        f"### {MARKS[gate.verdict]} {_escaped(gate.release)}: {gate.verdict}",
        "",
        f"Margin {gate.margin:g} of {measure}, alpha {gate.alpha:g}.",
        "",
        f"| against | verdict | difference in {measure}, unjudged documents | queries |",
        "|---|---|---|---|",
    ]
    for against in gate.anchors:
        differences = "<br>".join(f"{name}: {reading}" for name, reading in readings(against))
        cells = [_escaped(against.anchor), against.verdict, differences, f"{against.plain.queries:,}"]
        lines.append(f"| {' | '.join(cells)} |")
    for against in gate.anchors:
        if against.worst:
            lines += ["", f"Queries that lose most against {_escaped(against.anchor)}:", ""]
            lines += [
                f"- [{_escaped(row['text'] or row['query'])}]({site}{row['path']}) {signed(row['difference'])}"
                for row in against.worst
            ]
    lines += ["", *(f"- {sentence}" for sentence in [*unjudged(gate, site, _escaped), *undecided(gate)])]
    return "\n".join([*lines, "", f"`{gate.evaluation.label}`", ""])


def as_junit(gate: Gate, site: str) -> str:
    """A test suite with a case for each anchor: a failure where the release is worse, skipped where undecided."""
    suite = ElementTree.Element("testsuite", name=f"gate {gate.release}", tests=str(len(gate.anchors)))
    verdicts = [against.verdict for against in gate.anchors]
    suite.set("failures", str(verdicts.count(WORSE)))
    suite.set("skipped", str(verdicts.count(UNDECIDED)))
    for against in gate.anchors:
        name = f"{gate.evaluation.asked.measure} against {against.anchor}"
        case = ElementTree.SubElement(suite, "testcase", classname="idealist.gate", name=name)
        differences = "; ".join(f"{name}: {reading}" for name, reading in readings(against))
        message = " ".join([f"{differences}.", *unjudged(gate, site), *undecided(gate)])
        if against.verdict == WORSE:
            ElementTree.SubElement(case, "failure", message=message)
        elif against.verdict == UNDECIDED:
            ElementTree.SubElement(case, "skipped", message=message)
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def readings(against: AgainstAnchor) -> Iterable[tuple[str, str]]:
    """(how unjudged documents are read, the difference with its limits) of both readings.

    Where the queries were drawn from a log, what stands beside the first one comes last.
    """
    yield PLAIN, in_words(against.plain)
    yield EXPECTED, in_words(against.expected) if against.expected else f"not known, because {against.why_none}"
    plain, traffic = (against.beside.get(name) for name in ("plain", "traffic"))
    if traffic is not None:
        yield ALIKE, f"{signed(plain)}; the queries have {percent(traffic)} of the searches"


def in_words(limits: Limits) -> str:
    if limits.difference is None:
        return "no query counts for both"
    if limits.low is None:
        lacking = "too few queries" if limits.needed else "no query of a whole stratum of the log"
        return f"{signed(limits.difference)}, and {lacking} for a verdict"
    return f"{signed(limits.difference)} ({signed(limits.low)} to {signed(limits.high)}), {limits.verdict}"


def unjudged(gate: Gate, site: str, named: Callable[[str], str] = str) -> list[str]:
    """What nobody judged above the cutoff, a sentence for each system. `named`: how the report writes names."""
    sentences = []
    for row in gate.unjudged:
        count = f"{named(row.system)}: {row.results:,} of {counted(row.of, 'result')} unjudged."
        page = (
            f"Ask raters for them: {site}{row.path}"
            if row.path
            else "To ask raters for them, import its rankings."
        )
        sentences.append(f"{count} {page}" if row.results else count)
    return sentences


def undecided(gate: Gate) -> list[str]:
    """Why there is no verdict and what would decide, a sentence a line; nothing where there is a verdict."""
    if gate.verdict != UNDECIDED:
        return []
    lines = []
    if gate.needed:
        lines.append(f"At least {gate.needed:,} queries would decide, if the difference stays.")
    if any(against.is_open_by_judgments for against in gate.anchors):
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
