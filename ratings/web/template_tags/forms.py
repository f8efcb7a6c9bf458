"""What the title of a page says because of its forms: the tag `error_first`."""

from django import template
from django.template import Context

register = template.Library()


@register.simple_tag(takes_context=True)
def error_first(context: Context) -> str:
    """ "Error: " on a page with a refused form, for the beginning of its title, which is read first."""
    values = (value for layer in context.dicts for value in layer.values())
    # By its type: to ask a lazy user for its class would take a query.
    forms = (value for value in values if hasattr(type(value), "is_valid"))
    return "Error: " if any(getattr(form, "is_bound", True) and form.errors for form in forms) else ""
