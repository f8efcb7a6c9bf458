"""Guidelines as HTML. Raw HTML is escaped, and `javascript:` links are refused."""

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation

from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from ...models import Grade

VALUE = re.compile(r"([-−+]?\d+(?:[.,]\d+)?)(?!\w)(?![.)]\s)\W*")  # not the number of a chapter: "1. Scope"


def _demoted(state: StateCore) -> None:
    """Lower each heading by one level, because the page has a heading of its own."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"


def _identified(state: StateCore) -> None:
    """Give each heading an id: that of its grade, or one made of its words."""
    headings = [
        (token, _text_of(state.tokens[i + 1]))
        for i, token in enumerate(state.tokens)
        if token.type == "heading_open"
    ]
    grades = _headings_of_grades([text for _, text in headings], state.env.get("scale", ()))
    used: set[str] = set()
    last: dict[str, int] = {}  # number of each name; a search from 1 would try all numbers for each heading
    for place, (token, text) in enumerate(headings):
        name = section_of(grades[place]) if place in grades else f"guide-{slugify(text) or 'section'}"
        number = last.get(name, 0) + 1
        unique = name if number == 1 else f"{name}-{number}"
        while unique in used:
            number += 1
            unique = f"{name}-{number}"
        last[name] = number
        used.add(unique)
        token.attrSet("id", unique)


# No images: no page makes a browser send requests to other hosts.
_markdown = MarkdownIt("commonmark", {"html": False}).disable("image")
_markdown.core.ruler.push("demoted", _demoted)
_markdown.core.ruler.push("identified", _identified)


def rendered(text: str, scale: Iterable[Grade] = ()) -> SafeString:
    """The text as HTML, in which the heading of a grade of `scale` has the id `section_of(grade)`."""
    html = _markdown.render(text, {"scale": list(scale)})
    return mark_safe(html)  # safe: HTML is escaped, javascript: links are refused


def section_of(grade: Grade) -> str:
    """The id of the heading of a grade, if the guidelines have one."""
    return f"guide-grade-{grade.plain.replace('-', 'minus-')}"


def _headings_of_grades(headings: Sequence[str], scale: Iterable[Grade]) -> dict[int, Grade]:
    """The grade by the index of its heading: each grade has the heading that fits best, the first of equals."""
    by_heading: dict[int, Grade] = {}
    for grade in scale:
        fits = [_fit(heading, grade) for heading in headings]
        best = max(fits, default=0)
        if best:
            by_heading.setdefault(fits.index(best), grade)
    return by_heading


def _fit(heading: str, grade: Grade) -> int:
    """How well a heading fits a grade: 3 by value and label, 2 by label, 1 by value, 0 not at all."""
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


def _text_of(inline: Token) -> str:
    """The text of a heading without markup."""
    return "".join(child.content for child in inline.children or ()).strip()
