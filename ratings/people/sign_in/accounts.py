"""The account of a person whom the provider knows: find it, tie an existing one to the person, or create one."""

import re

from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import transaction

from .. import names, sessions, tokens, visits
from ..audit import Act, note
from . import groups, oidc, second_factor
from .person import Person, Refused

LONGEST_NAME = 140  # leaves room for a number


@transaction.atomic
def account_of(person: Person) -> User:
    """The account of the person, after it got the roles of their groups. Raises Refused for a closed account.

    A tie, which is a row of SocialAccount, says whose account it is, by issuer and subject alone: names and
    addresses can change and pass to others. Without a tie an existing account is tied to the person, or a new one.
    """
    ties = SocialAccount.objects.select_for_update(of=("self",))
    tie = ties.filter(provider=oidc.PROVIDER_ID, uid=person.uid).first()
    user = tie.user if tie else tie_account(person)
    if not user.is_active:
        raise Refused(f"the account {user} is closed")
    if tie and person.address and user.email != person.address:
        user.email = person.address
        user.save(update_fields=["email"])
    groups.apply(user, person.groups)
    return user


def tie_account(person: Person) -> User:
    """Tie an account to the person and return it: the one with their address, or a new one."""
    user = with_address(person)
    if user:
        end_former_ways(user)
    else:  # a new one, without a password
        user = get_user_model().objects.create_user(unused_name(person.name), email=person.address)
    claims = {"iss": person.issuer, "sub": person.subject}
    SocialAccount.objects.create(user=user, provider=oidc.PROVIDER_ID, uid=person.uid, extra_data=claims)
    return user


def with_address(person: Person) -> User | None:
    """The only account with the person's verified address, if the operator allows that; None otherwise.

    It is never the account of a superuser, since a provider makes superusers by a group alone. Nor is it one that
    is tied to another person, who may have had the address before.
    """
    if not person.address or not settings.JOIN_BY_ADDRESS:
        return None
    users = get_user_model().objects.filter(email__iexact=person.address, is_superuser=False)
    users = users.exclude(socialaccount__provider=oidc.PROVIDER_ID)
    # The database also takes different letters as equal, such as ı without a dot and i on PostgreSQL.
    matching = [user for user in users if lowered(user.email) == lowered(person.address)]
    return matching[0] if len(matching) == 1 else None


def end_former_ways(user: User) -> None:
    """End all ways into an account that the provider's person takes over: nobody verified who made it before."""
    user.set_unusable_password()
    user.save(update_fields=["password"])
    sessions.end_all(user)
    tokens.revoke_all(user)
    second_factor.remove_all(user)
    note(Act.SIGN_IN, about=user, by=user, joined="at the provider")


def lowered(address: str) -> bytes:
    """The address with the letters of ASCII lowered, and no others."""
    return address.encode().lower()


def unused_name(suggested: str) -> str:
    """The name that the provider suggests, with a number if it is taken."""
    wanted = re.sub(r"[^\w.@+-]", "", names.stored(suggested))[:LONGEST_NAME] or "person"
    name = wanted
    number = 1
    # Visitors sign in to the sample's accounts without a password, so their names are not given out.
    while name in visits.SAMPLE_USERNAMES or names.is_taken(name):
        number += 1
        name = f"{wanted}-{number}"
    return name
