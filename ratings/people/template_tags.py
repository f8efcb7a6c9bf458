"""The filter `account_key`, and the tag `other_collections` for the switcher in the head of a page."""

from django import template
from django.contrib.auth.models import User

from ..models import Collection, Role
from .access import account_key, memberships_of

SWITCHER_ENTRIES = 30  # the first page lists all

register = template.Library()
register.filter("account_key", account_key)


@register.simple_tag
def other_collections(user: User, collection: Collection | dict) -> list[dict]:
    """Name, slug and role of the user's other collections: the first SWITCHER_ENTRIES by name.

    `collection`: the one of the page; the desk gives it as a dict. Collections that are put away are left out. One
    query; none if access control has read the memberships already, as `collection.own_memberships`.
    """
    slug = collection["slug"] if isinstance(collection, dict) else collection.slug
    if user.is_superuser:
        others = Collection.objects.filter(put_away_at=None).exclude(slug=slug).order_by("name")
        return [row | {"role": Role.ADMIN} for row in others.values("name", "slug")[:SWITCHER_ENTRIES]]
    memberships = getattr(collection, "own_memberships", None) or memberships_of(user)
    return [row for row in memberships if row["slug"] != slug and not row["put_away_at"]][:SWITCHER_ENTRIES]
