"""Links that sign a person in once. A command makes them, for when the provider does not answer."""

from datetime import timedelta

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.core import signing

VALID_FOR = timedelta(minutes=10)


def key_for(user: User) -> str:
    """The key of a link, which is valid until the next sign-in of the person, by the link or otherwise."""
    return signing.dumps([user.pk, str(user.last_login)], salt=__name__).replace(":", "~")


def person_of(key: str) -> User | None:
    """The person of the link, locked until the end of the transaction; None if the link is invalid."""
    try:
        pk, last_login = signing.loads(key.replace("~", ":"), salt=__name__, max_age=VALID_FOR)
    except signing.BadSignature:
        return None
    user = get_user_model().objects.select_for_update().filter(pk=pk, is_active=True).first()
    return user if user and str(user.last_login) == last_login else None
