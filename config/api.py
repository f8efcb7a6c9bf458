"""The API: what both apps can do, at one address, its description, and what holds for every call."""

import re
from collections.abc import Callable
from functools import cache, wraps
from http import HTTPStatus

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from ninja import NinjaAPI, Schema, Swagger
from ninja.errors import HttpError, ValidationError
from ninja.parser import Parser
from pydantic import Field

from evaluation.api import router as evaluation
from ratings.api import router as record
from ratings.api.access import Bearer
from ratings.api.problems import MEDIA_TYPE, PLAIN, Problem
from ratings.formats import strict_json

# Where a status has more than one cause, all of them.
TOLD = PLAIN | {
    503: "The database is locked or away or, with the type urn:idealist:problem:busy, another import is under way."
    " Nothing was written; send the same again after the seconds of Retry-After."
}
# What pydantic says, in words for people where its own are of its insides.
SAID = {
    "extra_forbidden": "There is no such member here.",
    "missing": "It is missing.",
    "string_pattern_mismatch": "It has characters that cannot stand here.",
}
PROBLEMS = (400, 401, 403, 404, 409, 411, 413, 415, 422, 429, 503)
DESCRIPTION = """
Send a token with every call: `Authorization: Bearer idl_…`. Make one under *Your tokens*, or with the command
`create_token`. It can do what its scopes say, and never more than its owner may at that moment: analysts `read`,
admins `read` and `import`, raters `rate`. With a superuser's token for all collections it can `manage`: make new
ones.

A body is JSON of at most 2.5 MB. A batch is done whole or not at all. Lists come in pages: send `next` back as
`cursor`. A token makes at most 600 calls a minute. What is wrong comes as a problem document (RFC 9457).
"""


class Error(Schema):
    detail: str
    pointer: str | None = Field(None, description="Where in the body: a JSON pointer.")
    index: int | None = Field(None, description="Which row of the batch, from 0.")
    parameter: str | None = Field(None, description="Which parameter of the address.")
    cure: str | None = None


class ProblemDocument(Schema):
    type: str
    title: str
    status: int
    detail: str
    errors: list[Error] | None = Field(None, description="The first hundred.")


class StrictJson(Parser):
    def parse_body(self, request: HttpRequest) -> dict:
        """No repeated names, no NaN, no NUL: what is stored is what was meant."""
        return strict_json.loaded(request.body.decode())


class Api(NinjaAPI):
    def get_openapi_schema(self, *, path_prefix: str | None = None, path_params: dict | None = None) -> dict:
        return described(path_prefix or self.get_root_path({}))


@cache
def described(prefix: str) -> dict:
    """The description of the API, in which each call tells that it may answer with a problem document."""
    schema = NinjaAPI.get_openapi_schema(api, path_prefix=prefix)
    shapes = ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}")
    schema["components"]["schemas"] |= shapes.pop("$defs") | {"ProblemDocument": shapes}
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}}
    for operation in (each for methods in schema["paths"].values() for each in methods.values()):
        for status in PROBLEMS:
            told = {"description": TOLD.get(status, HTTPStatus(status).phrase), "content": content}
            operation["responses"].setdefault(status, told)
    return schema


api = Api(
    title="Idealist",
    version="1",
    description=DESCRIPTION,
    openapi_extra={"tags": [{"name": name} for name in ("evaluation", "import", "record", "rating")]},
    auth=Bearer(),
    parser=StrictJson(),
    docs=Swagger({"validatorUrl": None, "persistAuthorization": False, "docExpansion": "list"}),
)
api.add_router("", record)
api.add_router("", evaluation, tags=["evaluation"])


@api.exception_handler(Problem)
def problem(request: HttpRequest, error: Problem) -> HttpResponse:
    return error.response()


@api.exception_handler(Http404)
def missing(request: HttpRequest, error: Http404) -> HttpResponse:
    return Problem(404).response()


@api.exception_handler(HttpError)
def unreadable(request: HttpRequest, error: HttpError) -> HttpResponse:
    """Of those, ninja raises one: for a body that cannot be parsed."""
    cause = str(error.__cause__ or error).replace("the line", "the body")
    return Problem(error.status_code, f"{cause[0].upper()}{cause[1:]}.", kind="unreadable").response()


@api.exception_handler(ValidationError)
def invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    errors = [entry(each) for each in error.errors]
    return Problem(422, "What was sent is not as described.", kind="invalid", errors=errors).response()


def entry(error: dict) -> dict:
    """Where it is and what is wrong, without what was sent."""
    source, *place = error["loc"]
    said = error["msg"].removeprefix("Value error, ").rstrip(".")
    detail = SAID.get(error["type"]) or f"{said[0].upper()}{said[1:]}."
    if source != "body":
        return {"parameter": str(place[-1] if place else source), "detail": detail}
    # The first is the name of the argument that takes the body.
    place = place[1:]
    pointer = "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in place)
    index = next((part for part in place if isinstance(part, int)), None)
    return {"pointer": pointer, "detail": detail} | ({} if index is None else {"index": index})


# What holds for every call, before it is looked at who calls


def checked(view: Callable[..., HttpResponse], known: dict[str, dict[str, bool]]) -> Callable[..., HttpResponse]:
    """The view for calls that are well formed.

    `known`: of each method, the parameters that it takes, and whether they are lists.
    """

    @csrf_exempt
    @login_not_required
    @never_cache
    @wraps(view)
    def answered(request: HttpRequest, *args, **kwargs) -> HttpResponse:
        try:
            refuse_malformed(request, known)
        except Problem as error:
            return error.response()
        return view(request, *args, **kwargs)

    return answered


def refuse_malformed(request: HttpRequest, known: dict[str, dict[str, bool]]) -> None:
    if request.method not in known:
        raise Problem(405, headers={"Allow": ", ".join(sorted(known))})
    if unknown := sorted(request.GET.keys() - known[request.method].keys()):
        takes = ", ".join(sorted(known[request.method])) or "none"
        detail = f"There is no such parameter; this takes {takes}."
        errors = [{"parameter": name, "detail": detail} for name in unknown]
        raise Problem(422, "The address has a parameter that is not known.", kind="invalid", errors=errors)
    if twice := sorted(
        n for n, many in known[request.method].items() if not many and len(request.GET.getlist(n)) > 1
    ):
        errors = [{"parameter": name, "detail": "It can stand there once."} for name in twice]
        raise Problem(422, "The address has a parameter twice.", kind="invalid", errors=errors)
    if request.method == "POST":
        refuse_body(request)


def refuse_body(request: HttpRequest) -> None:
    """A body that is no JSON by its own account, or longer than the server reads."""
    if request.content_type != "application/json" or "Content-Encoding" in request.headers:
        raise Problem(415, "Send JSON, with the header Content-Type: application/json, and not compressed.")
    if not request.headers.get("Content-Length"):
        raise Problem(411, "Send the header Content-Length: the body must not come in chunks.")
    if int(request.headers["Content-Length"]) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE / 2**20
        raise Problem(413, f"A body has at most {limit:g} MB. Send smaller batches.", kind="too-large")


def nothing(request: HttpRequest, rest: str = "") -> HttpResponse:
    """Whatever lies under the address of the API and is no call."""
    return Problem(404).response()


def addresses() -> tuple[list[URLPattern], str, str]:
    """The calls of the API by name, each with its checks, and its description."""
    patterns, app, namespace = api.urls
    paths = described("/")["paths"]
    for pattern in patterns:
        path = re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", f"/{pattern.pattern}")
        known = {
            method.upper(): {
                each["name"]: each["schema"].get("type") == "array"
                for each in told["parameters"]
                if each["in"] == "query"
            }
            for method, told in paths.get(path, {"get": {"parameters": []}}).items()
        }
        pattern.callback = checked(pattern.callback, known)
    return patterns, app, namespace
