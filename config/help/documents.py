"""The documents in docs/ as HTML, and as sentences for the search."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath

from django.conf import settings
from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from ..program import CLONE_PROGRAM, PROGRAM

DOCS_FOLDER = settings.BASE_DIR / "docs"
# In the order in which the help lists them.
DOCUMENT_NAMES = (
    "first-steps",
    "raters",
    "analysts",
    "admins",
    "judges",
    "log",
    "engines",
    "files",
    "measures",
    "statistics",
    "gate",
    "watch",
    "notices",
    "api",
    "operating",
    "versions",
    "asvs",
    "architecture",
    "contributing",
    "glossary",
)
PUNCTUATION = re.compile(r"[^\w\- ]")
# `test` and `bench` need a clone, whatever this installation is.
OF_ANY_INSTALLATION = re.compile(rf"{re.escape(CLONE_PROGRAM)}(?! (?:test|bench)\b)")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=\S)")


@dataclass(frozen=True)
class Section:
    """A heading and the text up to the next heading."""

    anchor: str
    level: int
    title: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class HelpDocument:
    """A file of docs/. The heading of the first section is its title, the first sentence its summary."""

    name: str
    html: SafeString
    sections: tuple[Section, ...]

    @property
    def title(self) -> str:
        return self.sections[0].title

    @property
    def summary(self) -> str:
        return self.sections[0].sentences[0]

    @property
    def contents(self) -> list[Section]:
        return [section for section in self.sections if section.level in (2, 3)]


def _add_heading_ids(state: StateCore) -> None:
    """Set the id of each heading to the one that GitHub gives it. All but the title get a link to themselves."""
    counts: dict[str, int] = {}
    for position, token in enumerate(state.tokens):
        if token.type == "heading_open":
            heading = state.tokens[position + 1]
            name = PUNCTUATION.sub("", text_of(heading).lower()).replace(" ", "-")
            counts[name] = counts.get(name, -1) + 1  # how many headings before this one have the name
            token.attrSet("id", f"{name}-{counts[name]}" if counts[name] else name)
            if token.tag != "h1":
                heading.meta["anchor"] = token.attrGet("id")


def _rewrite_links(state: StateCore) -> None:
    """Replace links to documents by links to their pages, and paths of pictures by those of static files.

    A link to a file that is no document is replaced by its text.
    """
    for inline in state.tokens:
        if not inline.children:
            continue
        address = ""  # of the link that is open; "" also for a link to a file that is no document
        for token in inline.children:
            if token.type == "link_open":
                address = address_of(str(token.attrGet("href")))
                token.attrSet("href", address)
            if token.type.startswith("link_"):  # its beginning and its end
                token.hidden = not address
            if token.type == "image":
                token.attrSet("src", static(str(token.attrGet("src"))))
                token.attrSet("loading", "lazy")
        inline.children = [token for token in inline.children if not token.hidden]


def address_of(link: str) -> str:
    """The address in the app of a link in a document; "" for a link to a file that is no document."""
    file, separator, anchor = link.partition("#")
    if not file or "://" in file:
        return link
    path = PurePosixPath(file)
    if path.suffix != ".md" or path.stem not in DOCUMENT_NAMES or path.name != file:
        return ""
    return reverse("help_page", args=[path.stem]) + separator + anchor


# The rules that replace those of markdown-it with the same names: headings have links, and the keyboard can scroll
# tables.


def heading_close(renderer, tokens: Sequence[Token], position: int, options, env) -> str:
    inline = tokens[position - 1]
    close = f"</{tokens[position].tag}>\n"
    if "anchor" not in inline.meta:
        return close
    label = escape(f"Link to this part: {text_of(inline)}")
    return f' <a class="anchor" href="#{inline.meta["anchor"]}" aria-label="{label}">#</a>{close}'


def fence(renderer, tokens: Sequence[Token], position: int, options, env) -> str:
    return f'<pre class="cmds"><code>{escape(tokens[position].content)}</code></pre>\n'


def table_open(renderer, tokens: Sequence[Token], position: int, options, env) -> str:
    env["tables"] = env.get("tables", 0) + 1
    label = f'tabindex="0" role="region" aria-label="Table {env["tables"]}"'
    return f'<div class="scroll" {label}><table class="data lines">\n'


def table_close(renderer, tokens: Sequence[Token], position: int, options, env) -> str:
    return "</table></div>\n"


_markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
_markdown.core.ruler.push("identified", _add_heading_ids)
_markdown.core.ruler.push("linked", _rewrite_links)
for _rule in (heading_close, fence, table_open, table_close):
    _markdown.add_render_rule(_rule.__name__, _rule)


def tokens_of(text: str) -> list[Token]:
    return _markdown.parse(text)


def text_of(inline: Token) -> str:
    """The text of inline content, without markup."""
    parts = (" " if child.type in ("softbreak", "hardbreak") else child.content for child in inline.children or ())
    return "".join(parts).strip()


@cache
def document(name: str) -> HelpDocument:
    """The document of this name in DOCUMENT_NAMES. It is cached: files of docs/ change only with the program."""
    text = (DOCS_FOLDER / f"{name}.md").read_text(encoding="utf-8")
    tokens = tokens_of(OF_ANY_INSTALLATION.sub(PROGRAM, text))
    sections = tuple(sections_of(tokens))
    html = _markdown.renderer.render(tokens, _markdown.options, {})
    return HelpDocument(name, mark_safe(html), sections)  # safe, since Markdown with HTML in it is escaped


def documents() -> list[HelpDocument]:
    return [document(name) for name in DOCUMENT_NAMES]


def sections_of(tokens: Sequence[Token]) -> Iterator[Section]:
    """Yields a section for each heading. Text before the first heading belongs to none."""
    starts = [position for position, token in enumerate(tokens) if token.type == "heading_open"]
    for start, end in zip(starts, [*starts[1:], len(tokens)], strict=True):
        opening, title = tokens[start : start + 2]  # the third token closes the heading
        sentences = tuple(sentences_of(tokens[start + 3 : end]))
        yield Section(str(opening.attrGet("id")), int(opening.tag[1]), text_of(title), sentences)


def sentences_of(tokens: Sequence[Token]) -> Iterator[str]:
    """Yields the sentences of the text, the rows of its tables and the lines of its code blocks."""
    row: list[str] | None = None  # the cells of the row of a table that is open; None outside of rows
    for token in tokens:
        if token.type == "tr_open":
            row = []
        elif token.type == "tr_close":
            yield " · ".join(filter(None, row or ()))
            row = None
        elif token.type == "inline" and row is not None:
            row.append(text_of(token))
        elif token.type == "inline":
            yield from SENTENCE_END.split(text_of(token))
        elif token.type == "fence":
            yield from filter(None, token.content.splitlines())
