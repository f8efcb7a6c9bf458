"""Guidelines as HTML. Raw HTML in the text is shown as text, and links to scripts are not made."""

from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore


def _demoted(state: StateCore) -> None:
    """A heading one level down: the page has its own first heading."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"


# No images: a page sends nobody's browser to other hosts.
_markdown = MarkdownIt("commonmark", {"html": False}).disable("image")
_markdown.core.ruler.push("demoted", _demoted)


def rendered(text: str) -> SafeString:
    return mark_safe(_markdown.render(text))  # safe: html is off, and markdown-it refuses javascript: links
