"""The tag `unfinished`: whether a collection still lacks something, for the navigation of its admins."""

from django import template

from ..set_up.stages import unfinished

register = template.Library()
register.simple_tag(unfinished)
