"""The tag `page_address`."""

from django import template

register = template.Library()


@register.simple_tag(takes_context=True)
def page_address(context: template.Context, number: int, by: str) -> str:
    """The query string of this address with another page number under the name `by`; "page" if that is empty."""
    query = context["request"].GET.copy()
    query[by or "page"] = number
    return f"?{query.urlencode()}"
