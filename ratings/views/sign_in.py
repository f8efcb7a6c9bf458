"""Sign-in and change of the password. Only these pages and that of an invitation check passwords."""

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView, PasswordChangeView
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse, reverse_lazy
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from ..people import throttle

TOO_MANY = "Too many tries. Wait a minute, then try again."


class SignIn(LoginView):
    template_name = "ratings/sign_in.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args, **kwargs) -> HttpResponse:
        """Unknown names take as long as known ones: Django hashes the password for both."""
        username = request.POST.get("username", "")
        try:
            self.tried = throttle.begin(request, username)
        except throttle.TooMany:
            return too_many(self.render_to_response(self.get_context_data(too_many=TOO_MANY)))
        return super().post(request, *args, **kwargs)

    def form_valid(self, form) -> HttpResponse:
        self.tried.succeeded()
        response = super().form_valid(form)
        throttle.remember_device(self.request, response, form.get_user().get_username())
        return response


class ChangePassword(PasswordChangeView):
    """A change ends all other sessions and tokens, by `people.sessions.EndsWhatIsOpen`."""

    template_name = "ratings/password_change.html"
    success_url = reverse_lazy("password_change")

    def post(self, request: HttpRequest, *args, **kwargs) -> HttpResponse:
        try:
            self.tried = throttle.begin_change(request.user)
        except throttle.TooMany:
            return too_many(self.render_to_response(self.get_context_data(too_many=TOO_MANY)))
        return super().post(request, *args, **kwargs)

    def form_valid(self, form) -> HttpResponse:
        self.tried.succeeded()
        with transaction.atomic():
            response = super().form_valid(form)
        messages.success(self.request, "The password is changed. Other browsers are signed out, tokens revoked.")
        return response

    def form_invalid(self, form) -> HttpResponse:
        if "old_password" not in form.errors:
            self.tried.succeeded()
        return super().form_invalid(form)


@login_not_required
@require_safe
def admin_sign_in(request: HttpRequest) -> HttpResponse:
    """In place of the page of Django's admin, which would check passwords without a rate limit."""
    if request.user.is_authenticated:
        raise Http404("Not an admin.")
    return redirect(reverse("sign_in") + "?" + urlencode({"next": request.GET.get("next", "/admin/")}))


@require_safe
def admin_password_change(request: HttpRequest) -> HttpResponse:
    """In place of the page of Django's admin, which would check passwords without a rate limit."""
    return redirect("password_change")


def too_many(response: HttpResponse) -> HttpResponse:
    response.status_code = 429
    response["Retry-After"] = str(throttle.WINDOW)
    return response
