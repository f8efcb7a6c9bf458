"""The page of one's own tokens: list, make, revoke."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from .. import tokens
from ..access import SignedInRequest
from ..forms import TokenForm

TOKENS_SHOWN = 100


@require_safe
def tokens_page(request: SignedInRequest) -> HttpResponse:
    return tokens_list(request, TokenForm(user=request.user))


@require_POST
def make_token(request: SignedInRequest) -> HttpResponse:
    """Make a token and show its key once. It is not stored, so a reload cannot show it."""
    form = TokenForm(request.POST, user=request.user)
    if not form.is_valid():
        return tokens_list(request, form, status=400)
    token, key = tokens.make(request.user, **form.cleaned_data)
    return render(request, "ratings/token.html", {"token": token, "key": key})


@require_POST
def revoke_token(request: SignedInRequest, pk: int) -> HttpResponse:
    token = get_object_or_404(request.user.api_tokens, pk=pk)
    tokens.revoke(token)
    messages.success(request, f"{token}: the token no longer works.")
    return redirect("tokens")


def tokens_list(request: SignedInRequest, form: TokenForm, *, status: int = 200) -> HttpResponse:
    of_person = tokens.tokens_of(request.user)[:TOKENS_SHOWN]
    context = {"tokens": [(token, tokens.state_of(token)) for token in of_person], "form": form}
    return render(request, "ratings/tokens.html", context, status=status)
