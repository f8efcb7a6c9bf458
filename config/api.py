"""The API of both apps under one address: its OpenAPI description, problem documents, and checks of every call."""

import re
from collections.abc import Callable
from functools import cache, wraps
from http import HTTPStatus

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import URLPattern, reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from ninja import NinjaAPI, Schema
from ninja.errors import HttpError, ValidationError
from ninja.openapi.docs import Swagger
from ninja.operation import Operation
from ninja.parser import Parser
from pydantic import Field

from evaluation.api import router as evaluation
from ratings.api import bringing, fetching, rating, reading  # noqa: F401  (each adds its calls to the router)
from ratings.api.access import Bearer
from ratings.api.routes import router as record
from ratings.formats import strict_json
from ratings.models import Scope
from ratings.web.problems import DETAIL_BY_STATUS, ERRORS_LISTED, MEDIA_TYPE, Problem, too_large
from ratings.words import as_sentence, nearest

# {status: description with all its causes}
STATUS_CAUSES = DETAIL_BY_STATUS | {
    503: "The database is locked, or it or the store of files cannot be reached or, with the type"
    " urn:idealist:problem:busy, documents are being computed for this"
    " account or for two others or, with the type urn:idealist:problem:no-room, there is no space for the body."
    " Nothing was written; send the same again after the seconds of Retry-After."
}
# The scope that the calls under a tag need, and the calls that need another scope or none.
SCOPES = {"evaluation": Scope.READ, "import": Scope.IMPORT, "record": Scope.READ, "rating": Scope.RATE}
OTHER_SCOPES = {
    "get_token": None,
    "list_collections": None,
    "get_collection": None,
    "make_collection": Scope.MANAGE,
}
JSON = "application/json"
PROBLEM_STATUSES = (400, 401, 403, 404, 409, 411, 413, 415, 422, 429, 503)
DESCRIPTION = """
Send a token with every call: `Authorization: Bearer idl_…`. Make one under *Your tokens*, or with the command
`create_token`. It can do what its scopes say, and never more than its owner may at that moment: analysts `read`,
admins `read` and `import`, raters `rate`. A superuser's token for all collections can also `manage`: make new
collections.

A body is JSON, or a run as plain text, of at most 2.5 MB. A batch is done whole or not at all. Lists come in
pages: send `next` back as `cursor`. A token makes at most 600 calls a minute, and an address without a valid token
60. What is wrong comes as a problem document (RFC 9457).
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
        """The body, parsed. Repeated names, NaN and NUL are refused."""
        try:
            text = request.body.decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"the body is not UTF-8, from byte {error.start + 1} on") from error
        return strict_json.loaded(text, what="body")


@cache
def openapi_schema(prefix: str) -> dict:
    """The OpenAPI description, with the scopes and problem documents of each call.

    `prefix`: the address of the API, such as /api/v1/.
    """
    schema = api.get_openapi_schema(path_prefix=prefix)
    problem_schema = ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}")
    referenced_schemas = problem_schema.pop("$defs")  # pydantic nests them; OpenAPI has all schemas side by side
    schema["components"]["schemas"] |= referenced_schemas | {"ProblemDocument": problem_schema}
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}}
    operations = [operation for methods in schema["paths"].values() for operation in methods.values()]
    for operation in operations:
        scope = OTHER_SCOPES.get(operation["operationId"], SCOPES[operation["tags"][0]])
        operation["security"] = [{Bearer.__name__: [str(scope)] if scope else []}]
        for status in PROBLEM_STATUSES:
            # What a call itself says about a status stays.
            response = {"description": STATUS_CAUSES.get(status, HTTPStatus(status).phrase), "content": content}
            operation["responses"].setdefault(status, response)
    return schema


class Api(NinjaAPI):
    def get_openapi_operation_id(self, operation: Operation) -> str:
        """The name of the view, which generators make the name of a method."""
        return operation.view_func.__name__


api = Api(
    title="Idealist",
    version="1",
    description=DESCRIPTION,
    openapi_extra={"tags": [{"name": name} for name in ("evaluation", "import", "record", "rating")]},
    auth=Bearer(),
    parser=StrictJson(),
    # `docs` and `openapi` below replace those of ninja, which are public and know no scopes.
    docs_url=None,
    openapi_url=None,
)
api.add_router("", record)
api.add_router("", evaluation, tags=["evaluation"])


@api.exception_handler(Problem)
def on_problem(request: HttpRequest, error: Problem) -> HttpResponse:
    return error.response()


@api.exception_handler(Http404)
def on_not_found(request: HttpRequest, error: Http404) -> HttpResponse:
    return Problem(404).response()


@api.exception_handler(HttpError)
def on_unreadable_body(request: HttpRequest, error: HttpError) -> HttpResponse:
    """400 for a body that cannot be parsed, the only cause for which ninja raises HttpError."""
    cause = str(error.__cause__ or error)
    return Problem(error.status_code, f"{cause[0].upper()}{cause[1:]}.", kind="unreadable").response()


@api.exception_handler(ValidationError)
def on_invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    errors = [error_entry(each) for each in error.errors[:ERRORS_LISTED]]
    return Problem(422, "What was sent is not as described.", kind="invalid", errors=errors).response()


def error_entry(error: dict) -> dict:
    """An entry of `errors` for an error of pydantic: its place and message, but never the value that was sent."""
    source, *location = error["loc"]  # such as "body", the name of an argument, "rows", 3, "text"
    message = error["msg"].removeprefix("Value error, ")
    detail = as_sentence(f"{message[0].upper()}{message[1:]}")
    if source != "body":
        # The last name is the parameter. Where that is a list, the number of its element follows.
        names = [part for part in location if isinstance(part, str)]
        return {"parameter": names[-1] if names else source, "detail": detail}
    in_body = location[1:]  # without the name of the argument
    pointer = "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in in_body)
    entry = {"pointer": pointer, "detail": detail}
    indexes = [part for part in in_body if isinstance(part, int)]  # the first is that of the row in the batch
    return entry | {"index": indexes[0]} if indexes else entry


# Checks of every call, before authentication

Allowed = dict[str, dict[str, bool]]  # by method, the parameters that it takes, and whether each is a list


def with_checks(view: Callable[..., HttpResponse], allowed: Allowed, body: str) -> Callable[..., HttpResponse]:
    """The view, called only if `refuse_malformed` accepts the request. A Problem becomes the response.

    `allowed`: by method, the parameters that it takes; `body`: the media type that a body must have.
    """

    @csrf_exempt
    @login_not_required
    @wraps(view)
    def wrapper(request: HttpRequest, *args, **kwargs) -> HttpResponse:
        method = request.method
        # A HEAD is answered as the GET, whose body the server leaves out.
        request.method = "GET" if method == "HEAD" else method
        try:
            refuse_malformed(request, allowed, body)
            return view(request, *args, **kwargs)
        except Problem as error:
            return error.response()
        finally:
            request.method = method

    return wrapper


def refuse_malformed(request: HttpRequest, allowed: Allowed, body: str) -> None:
    """Raises Problem for another method, an unknown or repeated parameter, or a body that is refused.

    request: a HEAD comes here as a GET.
    allowed: by method, the parameters that it takes, and whether each is a list.
    body: the media type that a body must have.
    """
    if request.method not in allowed:
        # HEAD is no key of `allowed`, but is answered wherever GET is.
        methods = {*allowed, "HEAD"} if "GET" in allowed else allowed
        raise Problem(405, headers={"Allow": ", ".join(sorted(methods))})
    parameters = allowed[request.method]  # name -> whether it is a list
    if unknown := sorted(request.GET.keys() - parameters.keys()):
        names = sorted(parameters)
        all_names = f"this call takes {', '.join(names) or 'none'}."
        errors = [
            {"parameter": name, "detail": f"There is no such parameter; {nearest(name, names) or all_names}"}
            for name in unknown[:ERRORS_LISTED]
        ]
        raise Problem(422, "The address has an unknown parameter.", kind="invalid", errors=errors)
    repeated = sorted(name for name, values in request.GET.lists() if len(values) > 1 and not parameters[name])
    if repeated:
        errors = [{"parameter": name, "detail": "It can occur only once."} for name in repeated]
        raise Problem(422, "The address has a parameter twice.", kind="invalid", errors=errors)
    if request.method in ("POST", "PATCH"):
        refuse_body(request, body)


def refuse_body(request: HttpRequest, media_type: str) -> None:
    """Raises Problem for a body that is not declared as of this type, or is too long."""
    if request.content_type != media_type or "Content-Encoding" in request.headers:
        what = "JSON" if media_type == JSON else "plain text"
        raise Problem(415, f"Send {what}, with the header Content-Type: {media_type}, and not compressed.")
    if not request.headers.get("Content-Length"):
        raise Problem(411, "Send the header Content-Length: the body must not come in chunks.")
    if int(request.headers["Content-Length"]) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        raise too_large()


@csrf_exempt
@login_not_required
def not_found(request: HttpRequest, rest: str = "") -> HttpResponse:
    """404 as a problem document, for every other address under /api/."""
    return Problem(404).response()


ROOT = "/api/v1/"


class Page(Swagger):
    def get_openapi_url(self, api: NinjaAPI, path_params: dict) -> str:
        return reverse("api_description")


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """ninja's page of the API."""
    return Page().render_page(request, api)


@csrf_exempt  # so that a POST without a session is answered as such
@login_not_required
@require_safe
def openapi(request: HttpRequest) -> HttpResponse:
    """The OpenAPI description, for signed-in people and for programs with a valid token."""
    if not request.user.is_authenticated:
        try:
            Bearer()(request)  # raises Problem without a valid token
        except Problem as error:
            return error.response()
    # Absolute, so that a generator that reads the saved description knows where to send its calls.
    server = {"url": request.build_absolute_uri("/").rstrip("/")}
    return JsonResponse(openapi_schema(ROOT) | {"servers": [server]})


def url_patterns() -> tuple[list[URLPattern], str, str]:
    """The URL patterns of the API, each wrapped by `with_checks`, with the names of its app and namespace."""
    patterns, app, namespace = api.urls
    paths = openapi_schema("/")["paths"]
    for pattern in patterns:
        path = re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", f"/{pattern.pattern}")  # {slug} for <slug:slug>
        operations = paths.get(path, {"get": {"parameters": []}})  # ninja's root is not described
        allowed = {method.upper(): query_parameters(operation) for method, operation in operations.items()}
        # Only a POST may take something else than JSON: a run comes as plain text. A PATCH takes JSON.
        content_by_type = operations.get("post", {}).get("requestBody", {}).get("content", {JSON: {}})
        [body_type] = content_by_type  # its only key, as no call takes bodies of several types
        pattern.callback = with_checks(pattern.callback, allowed, body_type)
    return patterns, app, namespace


def query_parameters(operation: dict) -> dict[str, bool]:
    """{parameter of the address: whether it is a list}"""
    parameters = [parameter for parameter in operation["parameters"] if parameter["in"] == "query"]
    return {parameter["name"]: parameter["schema"].get("type") == "array" for parameter in parameters}
