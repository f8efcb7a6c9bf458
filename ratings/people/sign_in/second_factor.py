"""Second factors: an app that shows codes (TOTP), passkeys (WebAuthn) and recovery codes. allauth checks them."""

from allauth.account.adapter import get_adapter as account_adapter
from allauth.account.app_settings import REAUTHENTICATION_TIMEOUT
from allauth.account.authentication import get_authentication_records
from allauth.mfa import signals
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.models import Authenticator
from allauth.mfa.stages import AuthenticateStage
from allauth.mfa.utils import is_mfa_enabled
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib.auth.models import User
from django.dispatch import Signal
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy

from .. import members
from ..audit import Act, note
from . import recovery_codes, secrets_at_rest

FACTORS = [Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN]


def kinds_of(user: User) -> set[str]:
    """The kinds of what the person set up: totp, webauthn, recovery_codes."""
    return set(Authenticator.objects.filter(user=user).values_list("type", flat=True))


def is_missing(request: HttpRequest) -> bool:
    """Whether the person has a role that needs a second factor, but no second factor."""
    return lacks(request.user) and not given_at_provider(request, request.user)


def is_missing_for_programs(user: User) -> bool:
    """Whether API tokens of the person do not work: they have a role that needs a second factor, and have none.

    Nothing says what a provider asked for when a token was made, so a person who comes from one that asks for a
    second factor keeps their tokens.
    """
    from_provider = SocialAccount.objects.filter(user=user)
    return lacks(user) and not (settings.PROVIDER_SECOND_FACTOR and from_provider.exists())


def lacks(user: User) -> bool:
    needed = settings.SECOND_FACTOR and members.roles_of(user) & settings.SECOND_FACTOR
    return bool(needed) and not is_mfa_enabled(user, FACTORS)


def given_at_provider(request: HttpRequest, user: User) -> bool:
    """Whether the person signed in at a provider that says that it asked for a second factor."""
    return any(each.get("second_factor") for each in get_authentication_records(request, user))


def is_fresh(request: HttpRequest) -> bool:
    """Whether the person has recently shown who they are."""
    records = [r for r in get_authentication_records(request, request.user) if r.get("reauthenticated")]
    return bool(records) and timezone.now().timestamp() - records[-1]["at"] < REAUTHENTICATION_TIMEOUT


def can_reauthenticate(request: HttpRequest) -> bool:
    """Whether the person has a password or a factor to show who they are. Others must sign in again."""
    return bool(account_adapter().get_reauthentication_methods(request.user))


def remove_all(user: User) -> int:
    """Remove all second factors and recovery codes of a person, and return their number."""
    removed = Authenticator.objects.filter(user=user).delete()[0]
    if removed:
        note(Act.SIGN_IN, about=user, removed="all second factors")
    return removed


def unreadable() -> int:
    """The number of factors whose secret cannot be decrypted with the present keys. One database query."""
    every = Authenticator.objects.values_list("data", flat=True).iterator()
    return sum(not secrets_at_rest.is_readable(data) for data in every)


def note_change(signal: Signal, user: User, authenticator: Authenticator, **more) -> None:
    """Note a change in the audit. A receiver of allauth's signals."""
    did = {signals.authenticator_added: "added", signals.authenticator_removed: "removed"}.get(signal, "made anew")
    note(Act.SIGN_IN, about=user, **{did: authenticator.type})


class Stage(AuthenticateStage):
    """The step between password and session."""

    def _should_handle(self, request: HttpRequest) -> bool:
        return super()._should_handle(request) and not given_at_provider(request, self.login.user)


class Adapter(DefaultMFAAdapter):
    error_messages = DefaultMFAAdapter.error_messages | {
        "incorrect_code": gettext_lazy("This code is wrong, used or too old. Wait for the next one and type it.")
    }

    def generate_authenticator_name(self, user: User, type: Authenticator.Type) -> str:
        number = Authenticator.objects.filter(user=user, type=type).count() + 1
        return gettext("Passkey %(number)d") % {"number": number}

    encrypt = staticmethod(secrets_at_rest.encrypt)
    decrypt = staticmethod(secrets_at_rest.decrypt)

    def get_totp_label(self, user: User) -> str:
        return user.get_username()

    _get_user_identifier = get_totp_label


class WithRecoveryCodes:
    """A form of allauth whose field also takes our recovery codes."""

    def clean_code(self) -> str:
        """The typed code, if it is an unused recovery code or the present code of the person's app.

        Sets `authenticator`, the row of the factor, which allauth reads. The secret of an app is encrypted anew
        with the present key, so that a former key of the server becomes needless. Raises ValidationError.
        """
        typed = self.cleaned_data["code"]
        row_of_codes = recovery_codes.use(self.user, typed)
        if row_of_codes is not None:
            self.authenticator = row_of_codes
            return typed
        try:
            code = super().clean_code()
        except secrets_at_rest.Unreadable as error:  # an operator finds the cause and the cure in the log
            raise Adapter().validation_error("incorrect_code") from error
        secrets_at_rest.renew(self.authenticator.data)
        self.authenticator.save(update_fields=["data"])
        return code


class CodeForm(WithRecoveryCodes, AuthenticateForm):
    pass


class CodeAgainForm(WithRecoveryCodes, ReauthenticateForm):
    pass
