"""Guidelines as HTML. Raw HTML in the text is shown as text, and links to scripts are not made."""

from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

_markdown = MarkdownIt("commonmark", {"html": False})


def rendered(text: str) -> SafeString:
    return mark_safe(_markdown.render(text))  # safe: html is off, and markdown-it refuses javascript: links
