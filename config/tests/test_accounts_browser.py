"""The pages of accounts and the audit in a real browser, as axe sees them."""

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth import get_user_model

from ratings.models import Role
from ratings.people import members
from ratings.tests.cast import make_collection, make_user

from .looks import examine
from .pages import follow

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def vera():
    get_user_model().objects.create_superuser("root", password="a pass phrase")
    vera = make_user("vera")
    members.add(make_collection("hills"), vera, Role.ANALYST)
    return vera


def test_axe_finds_nothing(visit, vera):
    Authenticator.objects.create(user=vera, type="totp", data={})
    page = visit.sign_in(visit.page(), "root")
    for address in ("/audit/", "/all-accounts/"):
        page.goto(address)
        examine(page, address)
    page.goto(f"/all-accounts/{vera.pk}/")
    follow(page.get_by_role("button", name="Make a link"))
    examine(page, "an account with a link")
    page.goto(f"/all-accounts/{make_user('boris').pk}/")
    page.get_by_text("Delete now").click()
    examine(page, "an account to delete")
