"""Start the session of a person who has shown who they are, after the second factor if they have one.

Passwords, invitations, links and the provider all end here. While a person has yet to give the second factor,
allauth keeps their name in an anonymous session. When they have given it, allauth calls the adapter below.
"""

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.utils import perform_login
from django.conf import settings
from django.contrib.auth import login, logout
from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, resolve_url
from django.utils.http import url_has_allowed_host_and_scheme

from ...web import language
from .. import throttle
from ..allauth_internals import clear_login, record_authentication
from . import tries

BACKEND = "django.contrib.auth.backends.ModelBackend"
PASSWORD, LINK, PROVIDER = "password", "link", "provider"  # how a person showed who they are


def enter(
    request: HttpRequest,
    user: User,
    how: str,
    next_page: str = "",
    *,
    second_factor: bool = False,
    fresh: bool = True,
) -> HttpResponse:
    """Sign the person in and redirect to the next page, or redirect to the page that asks for a second factor.

    `how` they showed who they are: PASSWORD, LINK or PROVIDER. `second_factor`: whether the provider asked for
    one. `fresh`: whether they showed it just now, so that they need not do it again to set up a second factor.
    """
    if request.user.is_authenticated:
        logout(request)
    clear_login(request)  # removes what an unfinished sign-in left in the session
    record_authentication(request, user, how, reauthenticated=fresh, second_factor=second_factor)
    return perform_login(request, user, redirect_url=local_address(request, next_page))


def local_address(request: HttpRequest, address: str) -> str:
    """The address if it is on this server, otherwise the first page."""
    is_safe = url_has_allowed_host_and_scheme(address, {request.get_host()}, require_https=request.is_secure())
    return address if is_safe else resolve_url(settings.LOGIN_REDIRECT_URL)


class Adapter(DefaultAccountAdapter):
    """allauth's hooks: no sign-up, no messages of allauth, and sessions of `people.sessions`."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def get_login_stages(self) -> list[str]:
        return ["ratings.people.sign_in.second_factor.Stage"]

    def respond_user_inactive(self, request: HttpRequest, user: User) -> HttpResponse:
        return redirect("sign_in")

    def login(self, request: HttpRequest, user: User) -> None:
        with transaction.atomic():
            login(request, user, backend=BACKEND)
            tries.succeeded(request, user)

    def post_login(self, request: HttpRequest, user: User, *, redirect_url: str, **more) -> HttpResponse:
        response = redirect(redirect_url)
        throttle.remember_device(request, response, user.get_username())
        language.take_along(request, response, user)
        return response

    def add_message(self, *args, **kwargs) -> None:
        """Add nothing: the pages say what was done."""

    def get_reauthentication_methods(self, user: User | AnonymousUser) -> list[dict]:
        methods = super().get_reauthentication_methods(user)
        return methods if settings.PASSWORDS else [each for each in methods if each["id"] != "reauthenticate"]
