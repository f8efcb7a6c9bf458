"""Who is signed in: what a page that stays open for hours asks before it goes on."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, JsonResponse
from django.middleware.csrf import get_token
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from ..access import account_key


@login_not_required
@require_safe
@never_cache
def session(request: HttpRequest) -> JsonResponse:
    """The account, if any, and a token for its forms. No other site can read this answer."""
    user = request.user
    account = account_key(user) if user.is_authenticated else None
    return JsonResponse({"account": account, "name": user.get_username(), "csrf": get_token(request)})
