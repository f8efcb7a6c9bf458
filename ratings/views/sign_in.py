"""Sign in. A name and a password are tried here and on the page of an invitation, and nowhere else."""

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from .. import throttle

TOO_MANY = "Too many tries. Wait a minute, then try again."


class SignIn(LoginView):
    template_name = "ratings/sign_in.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args, **kwargs) -> HttpResponse:
        """Known and unknown names get the same answer after the same work: Django hashes for both."""
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


@login_not_required
@require_safe
def admin_sign_in(request: HttpRequest) -> HttpResponse:
    """Django's admin would try passwords on a page of its own, uncounted: it sends people to ours."""
    if request.user.is_authenticated:
        raise Http404("Not an admin.")
    return redirect(reverse("sign_in") + "?" + urlencode({"next": request.GET.get("next", "/admin/")}))


def too_many(response: HttpResponse) -> HttpResponse:
    response.status_code = 429
    response["Retry-After"] = str(throttle.WINDOW)
    return response
