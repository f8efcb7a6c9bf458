"""Second factors: asked for at sign-in, shown, added and removed. The views are allauth's, with our templates.

The addresses have allauth's names, by which its views find one another. `throttle` counts each try.
"""

from allauth.account.views import ReauthenticateView
from allauth.mfa.base import views as base
from allauth.mfa.recovery_codes import views as allauths
from allauth.mfa.totp import views as totp
from allauth.mfa.webauthn import views as webauthn
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from .. import throttle
from ..sign_in import recovery_codes, second_factor, tries


class Counted:
    """A view whose tries are counted, except successful ones."""

    is_check = False  # whether the view checks who somebody is, so that a wrong answer is recorded as refused
    was_right = False  # set by a successful view that answers with a page, such as new recovery codes

    def post(self, request: HttpRequest, *args, **kwargs) -> HttpResponse:
        attempt = throttle.begin_proof(self.person(), "code")
        response = super().post(request, *args, **kwargs)
        if response.status_code == 302 or self.was_right:
            attempt.uncount()
        elif self.is_check:
            tries.refused(request, "wrong second factor or password", self.person())
        return response

    def person(self):
        return self.request.user


class Reauthenticated:
    """A view only for people who authenticated just now. Others get a page that asks them to."""

    def dispatch(self, request: HttpRequest, *args, **kwargs) -> HttpResponse:
        if not second_factor.is_fresh(request) and not second_factor.can_reauthenticate(request):
            return render(request, "ratings/show_again.html", {"provider": settings.OIDC}, status=403)
        return super().dispatch(request, *args, **kwargs)


class WithCodes:
    """A view that sets up a factor. After the first one the answer is a page of recovery codes."""

    def get_success_url(self) -> str:
        return reverse("mfa_index")

    def form_valid(self, form) -> HttpResponse:
        with transaction.atomic():  # the row that allauth makes is never stored with its seed
            response = super().form_valid(form)
            if self.did_generate_recovery_codes:
                self.was_right = True
                return codes_page(self.request)
        return response


def codes_page(request: HttpRequest) -> HttpResponse:
    """New recovery codes, on the only page that ever shows them."""
    return render(request, "ratings/second_factor_codes.html", {"codes": recovery_codes.renew(request.user)})


class Index(base.IndexView):
    template_name = "ratings/second_factor.html"

    def get_context_data(self, **kwargs) -> dict:
        missing = second_factor.is_missing(self.request)
        left = recovery_codes.remaining(self.request.user)
        return super().get_context_data(missing=missing, codes_left=left, **kwargs)


@method_decorator(login_not_required, name="dispatch")
class Ask(Counted, base.AuthenticateView):
    """The second factor at sign-in."""

    template_name = "ratings/second_factor_ask.html"
    is_check = True

    def person(self):
        return self.stage.login.user

    def get_context_data(self, **kwargs) -> dict:
        kinds = second_factor.kinds_of(self.person())
        context = super().get_context_data(**kwargs)
        return context | {"has_app": "totp" in kinds, "has_passkey": "webauthn" in kinds}


class Again:
    """Authenticates somebody once more, before second factors are changed or sessions ended.

    The session gets a new key, so that whoever knew the former one gains nothing.
    """

    template_name = "ratings/second_factor_again.html"
    is_check = True

    def form_valid(self, form) -> HttpResponse:
        response = super().form_valid(form)  # this may be the answer to an act that waited for it
        self.was_right = True
        self.request.session.cycle_key()
        return response

    def form_invalid(self, form) -> HttpResponse:
        return self.render_to_response(self.get_context_data(form=form))


class AgainByPassword(Counted, Again, ReauthenticateView):
    pass


class AgainByCode(Counted, Again, base.ReauthenticateView):
    pass


class AgainByPasskey(Counted, Again, webauthn.ReauthenticateWebAuthnView):
    pass


class AddApp(Reauthenticated, Counted, WithCodes, totp.ActivateTOTPView):
    template_name = "ratings/second_factor_app.html"


@method_decorator(require_POST, name="dispatch")
class RemoveApp(Reauthenticated, totp.DeactivateTOTPView):
    def form_valid(self, form) -> HttpResponse:
        messages.success(self.request, gettext("The app is removed."))
        return super().form_valid(form)


class AddPasskey(Reauthenticated, Counted, WithCodes, webauthn.AddWebAuthnView):
    template_name = "ratings/second_factor_passkey.html"

    def get_context_data(self, **kwargs) -> dict:
        return {"form": self.get_form()} | super().get_context_data() | kwargs


@method_decorator(require_POST, name="dispatch")
class RemovePasskey(Reauthenticated, webauthn.RemoveWebAuthnView):
    success_url = reverse_lazy("mfa_index")

    def form_valid(self, form) -> HttpResponse:
        messages.success(self.request, gettext("%(name)s is removed.") % {"name": self.object})
        return super().form_valid(form)


@method_decorator(require_POST, name="dispatch")
class MakeCodes(Reauthenticated, allauths.GenerateRecoveryCodesView):
    success_url = reverse_lazy("mfa_index")

    @transaction.atomic
    def form_valid(self, form) -> HttpResponse:
        super().form_valid(form)
        return codes_page(self.request)

    def form_invalid(self, form) -> HttpResponse:
        needs_factor = gettext("Recovery codes need a second factor. Set up an app or a passkey first.")
        messages.error(self.request, needs_factor)
        return redirect("mfa_index")
