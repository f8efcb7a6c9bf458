"""Links that sign a person in once, made by a command: for the day on which the provider is away."""

from datetime import timedelta

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.core import signing

LONGEST = timedelta(minutes=10)


def key_for(user: AbstractBaseUser) -> str:
    """The key of a link. Any sign-in makes it void, the one by it, too."""
    return signing.dumps([user.pk, str(user.last_login)], salt=__name__).replace(":", "~")


def opened_by(key: str) -> AbstractBaseUser | None:
    """The person of the link, locked until the end of the transaction; None where it is void."""
    try:
        pk, last_login = signing.loads(key.replace("~", ":"), salt=__name__, max_age=LONGEST)
    except signing.BadSignature:
        return None
    user = get_user_model().objects.select_for_update().filter(pk=pk, is_active=True).first()
    return user if user and str(user.last_login) == last_login else None
