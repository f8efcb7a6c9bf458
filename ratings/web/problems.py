"""Errors of the API: problem documents (RFC 9457)."""

from collections.abc import Callable, Sequence
from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse

from ..words import as_sentence

API_ADDRESS = "/api/"
MEDIA_TYPE = "application/problem+json"
ERRORS_LISTED = 100  # in a document; `detail` says how many there are

# Errors that Django answers by itself, in words for authors of programs.
DETAIL_BY_STATUS = {
    400: "The request cannot be read.",
    401: "This needs a token that works: send it as “Authorization: Bearer …”.",
    403: "This is not allowed.",
    404: "There is nothing here that you can see. Check the address.",
    405: "This address does not know the method. The header Allow says which it knows.",
    413: "The body is too large.",
    429: "Too many requests. The header Retry-After says how many seconds to wait.",
    500: "The server made a mistake. Its log has the details.",
    503: "The database is locked, or it or the store of files cannot be reached. Nothing was written; send the"
    " same again in some seconds.",
}

NO_TLS = "This call came without TLS, so others could read the token. Revoke the token, and use https://."


class Problem(Exception):
    """An error answer. `kind` is a name for programs; "" if the status is enough."""

    def __init__(
        self,
        status: int,
        detail: str = "",
        *,
        kind: str = "",
        errors: Sequence[dict] = (),
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail or DETAIL_BY_STATUS.get(status, "")
        self.kind = kind
        self.errors = list(errors)
        self.headers = headers or {}

    def response(self) -> HttpResponse:
        document = {
            "type": f"urn:idealist:problem:{self.kind}" if self.kind else "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        if self.errors:
            document["errors"] = self.errors[:ERRORS_LISTED]
        return JsonResponse(document, status=self.status, content_type=MEDIA_TYPE, headers=self.headers)


def refused(error: ValueError, outcome: str) -> Problem:
    """The answer to what an import or a fetch refuses. `outcome`: the sentence on what was not done."""
    return Problem(422, f"{as_sentence(error)} {outcome}", kind="refused")


def too_large() -> Problem:
    limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE / 2**20
    return Problem(413, f"A body has at most {limit:g} MB. Send smaller batches.", kind="too-large")


class ProblemDocuments:
    """Errors under /api/ that Django answers in HTML become problem documents.

    A call without TLS is refused: after a redirect to https, nobody would notice that tokens are sent openly.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if settings.SECURE_SSL_REDIRECT and request.path.startswith(API_ADDRESS) and not request.is_secure():
            return Problem(403, NO_TLS).response()
        response = self.get_response(request)
        if not request.path.startswith(API_ADDRESS) or response.status_code < 400:
            return response
        if response.headers.get("Content-Type") == MEDIA_TYPE:  # it is a problem document already
            return response
        problem = Problem(response.status_code).response()
        for name, value in response.headers.items():
            # All others that begin with Content-, such as its length, describe the page in HTML that is replaced.
            if not name.startswith("Content-") or name == "Content-Security-Policy":
                problem.headers.setdefault(name, value)
        return problem
