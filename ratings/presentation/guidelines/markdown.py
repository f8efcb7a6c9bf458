"""Guidelines as HTML. Raw HTML is escaped, and `javascript:` links are refused."""

import re
from collections.abc import Iterable
from decimal import Decimal

from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore

from ...models import Grade

_grade_value = re.compile(r"([-−+]?\d+(?:[.,]\d+)?)(?!\w)(?![.)]\s)\W*")  # not the number of a chapter: "1. Scope"


def _demoted(state: StateCore) -> None:
    """Lower each heading by one level, because the page has a heading of its own."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"


def _identified(state: StateCore) -> None:
    """Give the first heading that begins with the value of a grade the id of this grade."""
    # Value of a grade -> id of its heading, of the grades that have none yet.
    ids = {grade.value: section_of(grade) for grade in state.env.get("scale", ())}
    for place, token in enumerate(state.tokens):
        if token.type == "heading_open":
            heading = state.tokens[place + 1]
            text = "".join(child.content for child in heading.children or ()).strip()  # without markup
            value = _grade_value.match(text)
            if value and _number(value[1]) in ids:
                token.attrSet("id", ids.pop(_number(value[1])))


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


def _number(text: str) -> Decimal:
    return Decimal(text.replace("−", "-").replace(",", "."))
