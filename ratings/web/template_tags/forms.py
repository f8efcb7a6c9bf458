"""What pages say and load because of their forms: the tags `error_first` and `with_forms`."""

from django import template
from django.template import Context
from django.template.base import NodeList, Parser, Token
from django.templatetags.static import static
from django.utils.html import format_html

register = template.Library()

# What static/forms.js has to do with: forms that write, and errors to open.
SIGNS = ('method="post"', "errorlist")


@register.simple_tag(takes_context=True)
def error_first(context: Context) -> str:
    """ "Error: " on a page with a refused form, for the beginning of its title, which is read first."""
    values = (value for layer in context.dicts for value in layer.values())
    # By its type: to ask a lazy user for its class would take a query.
    forms = (value for value in values if hasattr(type(value), "is_valid"))
    return "Error: " if any(getattr(form, "is_bound", True) and form.errors for form in forms) else ""


@register.tag
def with_forms(parser: Parser, token: Token) -> "WithForms":
    """The content, and the script of forms after it where it has one."""
    nodelist = parser.parse(("endwith_forms",))
    parser.delete_first_token()
    return WithForms(nodelist)


class WithForms(template.Node):
    def __init__(self, nodelist: NodeList) -> None:
        self.nodelist = nodelist

    def render(self, context: Context) -> str:
        html = self.nodelist.render(context)
        if not any(sign in html for sign in SIGNS):
            return html
        return html + format_html('<script src="{}" defer></script>\n', static("forms.js"))
