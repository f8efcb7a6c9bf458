"""The signed-in account, which the script of a long open page asks for."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, JsonResponse
from django.middleware.csrf import get_token
from django.views.decorators.http import require_safe

from ...people.access import account_key


@login_not_required
@require_safe
def session(request: HttpRequest) -> JsonResponse:
    """The account, None for nobody, and a CSRF token. Other sites cannot read the answer."""
    user = request.user
    account = account_key(user) if user.is_authenticated else None
    return JsonResponse({"account": account, "name": user.get_username(), "csrf": get_token(request)})
