"""Links by which people set a password: by mail where mail is set, or printed by a command."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import PasswordResetForm
from django.contrib.auth.views import PasswordResetConfirmView, PasswordResetView
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.translation import get_language, gettext

from .. import mail, throttle
from ..sign_in.answers import without_referrer


class Counted:
    """A page that exists only where people sign in by password. Its tries are counted."""

    success_url = reverse_lazy("sign_in")

    def dispatch(self, request: HttpRequest, *args, **kwargs) -> HttpResponse:
        if not settings.PASSWORDS:
            raise Http404("Nobody signs in by password here.")
        if request.method == "POST":
            self.attempt = self.begin(request)
        return super().dispatch(request, *args, **kwargs)

    def begin(self, request: HttpRequest) -> throttle.Try:
        """Count the try. Raises TooMany."""
        raise NotImplementedError


class ForgottenForm(PasswordResetForm):
    def save(self, **more) -> None:
        mail.send_reset.enqueue(self.cleaned_data["email"], get_language())


@method_decorator(login_not_required, name="dispatch")
class ForgottenPassword(Counted, PasswordResetView):
    template_name = "ratings/forgotten_password.html"
    form_class = ForgottenForm

    def dispatch(self, request: HttpRequest, *args, **kwargs) -> HttpResponse:
        if not settings.MAIL:
            raise Http404("Nobody gets a new password by mail here.")
        return super().dispatch(request, *args, **kwargs)

    def begin(self, request: HttpRequest) -> throttle.Try:
        return throttle.begin_mail(request, request.POST.get("email", ""))

    def form_valid(self, form: ForgottenForm) -> HttpResponse:
        messages.success(self.request, gettext("If an account has this address, a link is on its way to it."))
        return super().form_valid(form)


@method_decorator([login_not_required, without_referrer], name="dispatch")
class NewPassword(Counted, PasswordResetConfirmView):
    """The page on which a person sets a password. `config.logs` keeps the key in its address out of the log.

    It signs nobody in, because only the sign-in asks for a second factor.
    """

    template_name = "ratings/new_password.html"

    def get_context_data(self, **kwargs) -> dict:
        return super().get_context_data(mail=bool(settings.MAIL), **kwargs)

    def begin(self, request: HttpRequest) -> throttle.Try:
        return throttle.begin_visit(request, "new_password")

    def form_valid(self, form) -> HttpResponse:
        self.attempt.uncount()  # a room full of people sets passwords from one address
        messages.success(self.request, gettext("The password is set. Sign in with it."))
        return super().form_valid(form)
