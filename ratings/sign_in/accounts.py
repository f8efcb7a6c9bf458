"""The account of a person whom the provider knows: found, joined or made."""

import re
from itertools import count

from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from ..people import visits
from . import groups
from .person import Person, Refused

LONGEST_NAME = 140  # leaves room for a number


@transaction.atomic
def account_of(person: Person) -> AbstractBaseUser:
    """The account of the person, with the roles of their groups. Raises Refused for a closed one.

    By issuer and subject alone: names and addresses change, and are given to others.
    """
    ties = SocialAccount.objects.select_for_update(of=("self",))
    known = ties.filter(provider=person.provider, uid=person.uid).first()
    user = known.user if known else tied(person)
    if not user.is_active:
        raise Refused(f"the account {user} is closed")
    if known and person.address and user.email != person.address:
        user.email = person.address
        user.save(update_fields=["email"])
    groups.settle(user, person.groups)
    return user


def tied(person: Person) -> AbstractBaseUser:
    """An account that is tied to the person from now on: one with their address, or a new one."""
    user = with_address(person) or made(person)
    facts = {"iss": person.issuer, "sub": person.subject}
    SocialAccount.objects.create(user=user, provider=person.provider, uid=person.uid, extra_data=facts)
    return user


def with_address(person: Person) -> AbstractBaseUser | None:
    """The one account with the person's verified address, where the operator joins accounts by it.

    Never that of a superuser, whom a provider makes by a group alone; nor one that is tied to somebody, who had
    the address before.
    """
    if not person.address or not settings.JOIN_BY_ADDRESS:
        return None
    found = get_user_model().objects.filter(email__iexact=person.address, is_superuser=False)
    found = found.exclude(socialaccount__provider=person.provider)[:2]
    return found[0] if len(found) == 1 else None


def made(person: Person) -> AbstractBaseUser:
    """A new account without a password."""
    return get_user_model().objects.create_user(unused_name(person.name), email=person.address)


def unused_name(suggested: str) -> str:
    """The name that the provider suggests, or the same with a number where somebody has it."""
    accounts = get_user_model().objects
    wanted = re.sub(r"[^\w.@+-]", "", suggested)[:LONGEST_NAME] or "person"
    names = (wanted if number == 1 else f"{wanted}-{number}" for number in count(1))
    # The sample's accounts open to whoever looks around.
    return next(n for n in names if n not in visits.NAMES and not accounts.filter(username__iexact=n).exists())
