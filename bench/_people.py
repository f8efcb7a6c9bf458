"""People who rate: an account, its membership and its rater for each, written at once."""

from collections.abc import Iterable

from django.contrib.auth import get_user_model

from ratings.models import Collection, Membership, Rater, Role


def made_raters(collection: Collection, names: Iterable[str], password: str = "!", **facts) -> list[Rater]:
    """New raters, who can rate at once. password: hashed, or "!" where nobody signs in."""
    User = get_user_model()
    users = User.objects.bulk_create(User(username=name, password=password) for name in names)
    Membership.objects.bulk_create(Membership(collection=collection, user=user, role=Role.RATER) for user in users)
    return Rater.objects.bulk_create(
        Rater(collection=collection, user=user, name=user.username, **facts) for user in users
    )
