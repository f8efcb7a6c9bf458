"""Links to the files of a page."""

from django import template
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
def downloads(name: str, *args, keep: str = "", of: str = "", json: str | None = None) -> SafeString:
    """Links to a table as CSV and for Excel, and to its JSON.

    name, args: of their addresses, without the ending; keep: the query string; of: what the table holds, where the
    heading beside the links does not say it; json: the name for JSON where it differs, "" for none.
    """
    # (name of the address without the ending, ending, label)
    files = [(name, "csv", f"CSV {of}".strip()), (name, "xlsx", "Excel")]
    if json != "":
        files.append((json or name, "json", "JSON"))
    return format_html_join(
        "",
        '<a href="{}{}">{}</a>',
        ((reverse(f"{address}_{ending}", args=args), keep, label) for address, ending, label in files),
    )
