"""Fragments of pages, each rendered alone: a template shows a wrong name as nothing, so tests want every word."""

from django.template.loader import render_to_string


def fragment(name: str, **context) -> str:
    """The HTML of the fragment, blanks run together."""
    return " ".join(render_to_string(f"evaluation/{name}.html", context).split())
