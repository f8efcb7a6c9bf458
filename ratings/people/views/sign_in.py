"""Sign-in, sign-out and the account. Passwords are checked here and in second_factor.py."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.views import LoginView, LogoutView, PasswordChangeView
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse_lazy
from django.utils.translation import gettext

from ...web.preferences import AppearanceForm, preferences
from .. import sessions, throttle
from ..sign_in import entering, oidc
from ..sign_in.answers import TOO_MANY, onward, too_many


class SignIn(LoginView):
    template_name = "ratings/sign_in.html"
    redirect_authenticated_user = True

    def get_context_data(self, **kwargs) -> dict:
        return super().get_context_data(
            provider=settings.OIDC, passwords=settings.PASSWORDS, mail=bool(settings.MAIL), **kwargs
        )

    def post(self, request: HttpRequest, *args, **kwargs) -> HttpResponse:
        """Sign in, unless there were too many tries.

        An unknown name takes as long as a known one, because Django hashes the password for both.
        """
        if not settings.PASSWORDS:
            raise Http404("Nobody signs in by password here.")
        username = request.POST.get("username", "")
        try:
            self.attempt = throttle.begin(request, username)  # `form_valid` takes it back
        except throttle.TooMany:
            # An empty form: a filled one would check the password, and its page would tell whether it is right.
            form = self.get_form_class()(request, initial={"username": username})
            return too_many(request, self.render_to_response(self.get_context_data(form=form, too_many=TOO_MANY)))
        return super().post(request, *args, **kwargs)

    def form_valid(self, form) -> HttpResponse:
        self.attempt.uncount()
        return entering.enter(self.request, form.get_user(), entering.PASSWORD, self.get_redirect_url())


class SignOut(LogoutView):
    """Sign-out. A person who came from the provider goes there, too, if it has an address for sign-out."""

    def post(self, request: HttpRequest, *args, **kwargs) -> HttpResponse:
        kept = request.session.get(sessions.PROVIDER_KEY)  # see `Person.to_sign_out`
        response = super().post(request, *args, **kwargs)
        end = oidc.address_to_sign_out(request, id_token=kept[2]) if kept and settings.OIDC else ""
        return onward(request, end) if end else response


class ChangePassword(PasswordChangeView):
    """A change ends all other sessions and tokens, by `people.sessions.EndsWhatIsOpen`."""

    template_name = "ratings/password_change.html"
    success_url = reverse_lazy("password_change")

    def get_context_data(self, **kwargs) -> dict:
        appearance = AppearanceForm(preferences(self.request))
        return super().get_context_data(has_password=self.has_password(), appearance=appearance, **kwargs)

    def has_password(self) -> bool:
        return settings.PASSWORDS and self.request.user.has_usable_password()

    def post(self, request: HttpRequest, *args, **kwargs) -> HttpResponse:
        if not self.has_password():
            raise Http404("This account has no password.")
        try:
            self.attempt = throttle.begin_proof(request.user, "change")
        except throttle.TooMany:
            form = self.get_form_class()(request.user)  # an empty one, as at the sign-in
            return too_many(request, self.render_to_response(self.get_context_data(form=form, too_many=TOO_MANY)))
        return super().post(request, *args, **kwargs)

    def form_valid(self, form) -> HttpResponse:
        self.attempt.uncount()
        with transaction.atomic():
            response = super().form_valid(form)
        changed = gettext("The password is changed. Other browsers are signed out, tokens revoked.")
        messages.success(self.request, changed)
        return response

    def form_invalid(self, form) -> HttpResponse:
        if "old_password" not in form.errors:  # it was right, so that nobody was guessing
            self.attempt.uncount()
        return super().form_invalid(form)
