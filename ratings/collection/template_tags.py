"""The tag `unfinished`: whether the set-up of a collection is unfinished, for the navigation of its admins."""

from django import template

from .stages import unfinished

register = template.Library()
register.simple_tag(unfinished)
