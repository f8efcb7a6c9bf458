"""The tags of the set-up of a collection, for its admins: `unfinished` for the navigation, and `next_stage`."""

from django import template

from .stages import next_stage, unfinished

register = template.Library()
register.simple_tag(unfinished)
register.simple_tag(next_stage)
