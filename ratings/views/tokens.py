"""One's own tokens for programs: those there are, a new one, and the end of one."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from .. import tokens
from ..forms import TokenForm

SHOWN = 100


@require_safe
@never_cache
def tokens_page(request: HttpRequest) -> HttpResponse:
    return listed(request, TokenForm(user=request.user))


@require_POST
@never_cache
def make_token(request: HttpRequest) -> HttpResponse:
    """Make a token and show its key, this once: a page that is loaded again cannot have it, for it is not kept."""
    form = TokenForm(request.POST, user=request.user)
    if not form.is_valid():
        return listed(request, form, status=400)
    token, key = tokens.make(request.user, **form.cleaned_data)
    return render(request, "ratings/token.html", {"token": token, "key": key})


@require_POST
def revoke_token(request: HttpRequest, pk: int) -> HttpResponse:
    token = get_object_or_404(request.user.api_tokens, pk=pk)
    tokens.revoke(token)
    messages.success(request, f"{token}: the token works no more.")
    return redirect("tokens")


def listed(request: HttpRequest, form: TokenForm, *, status: int = 200) -> HttpResponse:
    now, found = timezone.now(), request.user.api_tokens.select_related("user", "collection")[:SHOWN]
    context = {"tokens": [(token, tokens.state_of(token, now=now)) for token in found], "form": form}
    return render(request, "ratings/tokens.html", context, status=status)
