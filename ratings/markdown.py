"""Guidelines as HTML. Raw HTML in the text is shown as text, and links to scripts are not made."""

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation

from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from .models import Grade

VALUE = re.compile(r"([-−+]?\d+(?:[.,]\d+)?)(?!\w)(?![.)]\s)\W*")  # no number of a list or a chapter: "1. Scope"


def _demoted(state: StateCore) -> None:
    """A heading one level down: the page has its own first heading."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"


def _identified(state: StateCore) -> None:
    """Give each heading an id that stays the same as long as its words do."""
    headings = [
        (token, _plain(state.tokens[i + 1]))
        for i, token in enumerate(state.tokens)
        if token.type == "heading_open"
    ]
    grades = _headings_of_grades([text for _, text in headings], state.env.get("scale", ()))
    used: set[str] = set()
    for place, (token, text) in enumerate(headings):
        name = section_of(grades[place]) if place in grades else f"guide-{slugify(text) or 'section'}"
        number = 1
        while (unique := name if number == 1 else f"{name}-{number}") in used:
            number += 1
        used.add(unique)
        token.attrSet("id", unique)


# No images: a page sends nobody's browser to other hosts.
_markdown = MarkdownIt("commonmark", {"html": False}).disable("image")
_markdown.core.ruler.push("demoted", _demoted)
_markdown.core.ruler.push("identified", _identified)


def rendered(text: str, scale: Iterable[Grade] = ()) -> SafeString:
    """HTML. The heading that speaks of a grade of `scale` has the id that `section_of` gives for it."""
    html = _markdown.render(text, {"scale": list(scale)})
    return mark_safe(html)  # safe: html is off, and markdown-it refuses javascript: links


def section_of(grade: Grade) -> str:
    """The id of the heading under which guidelines tell of a grade, if there is one."""
    return f"guide-grade-{grade.plain.replace('-', 'minus-')}"


def _headings_of_grades(headings: Sequence[str], scale: Iterable[Grade]) -> dict[int, Grade]:
    """Place of the heading of each grade that has one: that which names it best, the first of equals."""
    found: dict[int, Grade] = {}
    for grade in scale:
        fits = [_fit(heading, grade) for heading in headings]
        best = max(fits, default=0)
        if best:
            found.setdefault(fits.index(best), grade)
    return found


def _fit(heading: str, grade: Grade) -> int:
    """How well a heading names a grade: 3 by value and label, 2 by its label, 1 by its value, 0 not at all."""
    value = VALUE.match(heading)
    if value and _number(value[1]) != grade.value:
        return 0
    label = grade.label.strip().casefold()
    rest = heading[value.end() if value else 0 :].casefold()
    if label and re.match(rf"{re.escape(label)}(?!\w)", rest):
        return 3 if value else 2
    return 1 if value else 0


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text.replace("−", "-").replace(",", "."))
    except InvalidOperation:
        return None


def _plain(inline: Token) -> str:
    """The words of a heading without their marks."""
    return "".join(child.content for child in inline.children or ()).strip()
