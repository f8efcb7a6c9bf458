"""What a form sent, to be shown or sent again on a page: without its secrets, and nothing of it is stored."""

from uuid import UUID

from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.text import capfirst

CSRF_FIELD = "csrfmiddlewaretoken"
# The values that a page gave to its form, and nobody wrote.
HIDDEN_FIELDS = {
    "back", "base", "base_revision", "by", "client_key", "document", "guidelines", "next", "pair", "panel",
    "rater", "seconds", "seen", "session", "shown", "version",
}  # fmt: skip


def uuid_of(text: str) -> UUID | None:
    """The UUID that was sent as this text; None for any other text."""
    try:
        return UUID(text)
    except ValueError:
        return None


def is_secret(field: str) -> bool:
    """Whether no page may repeat the field: passwords, codes and passkeys, and the CSRF token."""
    return field in {CSRF_FIELD, "code", "credential"} or "password" in field


def _is_hidden(field: str) -> bool:
    """Whether nobody wrote the value. Django's formsets add fields for the number of forms and initial values."""
    return field in HIDDEN_FIELDS or field.endswith("_FORMS") or field.startswith("initial-")


def fields(request: HttpRequest) -> list[tuple[str, str]]:
    """The names and values of the form, every value of a field with several, without secrets."""
    return [(name, value) for name, values in request.POST.lists() if not is_secret(name) for value in values]


def is_whole(request: HttpRequest) -> bool:
    """Whether `fields` has all that was sent: no secret is missing, and no file."""
    secret = any(is_secret(name) for name in request.POST if name != CSRF_FIELD)
    return not (secret or request.FILES or (request.content_type == "multipart/form-data" and not request.POST))


def written(request: HttpRequest) -> list[tuple[str, str]]:
    """What a person may have written, as (name of the field in words, value); [] where no value has a letter."""
    typed = [(name, value) for name, value in fields(request) if value.strip() and not _is_hidden(name)]
    if not any(character.isalpha() for _, value in typed for character in value):
        return []
    return [(capfirst(name.replace("-", " ").replace("_", " ")), value) for name, value in typed]


def is_ours(request: HttpRequest) -> bool:
    """Whether a page of this server sent the request, as its browser says. Another site cannot change that."""
    sender = request.headers.get("Origin") or request.headers.get("Referer", "")
    here = {request.get_host()}
    secure = request.is_secure()
    return "://" in sender and url_has_allowed_host_and_scheme(sender, here, require_https=secure)
