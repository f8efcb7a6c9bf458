"""Calls of the API: the token, retries that do nothing twice, and problems as exceptions."""

import time
from typing import Any

import httpx

RETRY_STATUSES = {429, 502, 503, 504}
LONGEST_PAUSE = 120.0  # seconds; who is told to wait longer gets the problem
NOT_SENT_ERRORS = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
LOST_ERRORS = (httpx.NetworkError, httpx.TimeoutException, httpx.RemoteProtocolError)  # perhaps after it was done


class Problem(Exception):
    """What the server says against a call: its problem document (RFC 9457).

    `kind` is a name for programs, such as "refused"; "" where the status is enough. `errors` has for each thing to
    correct its `detail`, often a `cure`, and the `pointer` and `index` in the batch, or the `parameter`. During an
    import, `rows_before` is the number of rows that earlier batches imported; they stay, and indexes begin behind
    them.
    """

    rows_before = 0

    def __init__(self, document: dict[str, Any]) -> None:
        super().__init__(document)
        self.document = document
        self.status: int = document.get("status", 0)
        self.detail: str = document.get("detail", "")
        self.errors: list[dict[str, Any]] = document.get("errors", [])
        kind = str(document.get("type", "")).removeprefix("urn:idealist:problem:")
        self.kind: str = "" if kind == "about:blank" else kind

    def __str__(self) -> str:
        lines = [f"{self.status}: {self.detail}"]
        for error in self.errors:
            parts = (error.get("pointer") or error.get("parameter"), error["detail"], error.get("cure"))
            lines.append("  " + " ".join(part for part in parts if part))
        return "\n".join(lines)


class Wire:
    """The connection to one server with one token."""

    def __init__(
        self, server: str, token: str, timeout: float, tries: int, transport: httpx.BaseTransport | None
    ) -> None:
        self.tries = tries
        self.http = httpx.Client(
            base_url=server.rstrip("/") + "/api/v1/",
            headers={"Authorization": f"Bearer {token}"},
            timeout=httpx.Timeout(timeout, connect=10.0),
            transport=transport,
        )

    def get(self, path: str, **parameters: Any) -> httpx.Response:
        """The answer. Parameters that are None are left out, and a list is a parameter for each of its values."""
        given = {name: value for name, value in parameters.items() if value is not None}
        return self._call(self.http.build_request("GET", path, params=given), repeatable=True)

    def post(self, path: str, body: dict[str, Any], repeatable: bool = True) -> Any:
        """The answer, parsed. repeatable: sent twice, it is done once."""
        return self._call(self.http.build_request("POST", path, json=body), repeatable).json()

    def post_batch(self, path: str, body: bytes, key: str) -> Any:
        """The answer, parsed. body: JSON. key: the Idempotency-Key of the batch."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        return self._call(self.http.build_request("POST", path, content=body, headers=headers), True).json()

    def _call(self, request: httpx.Request, repeatable: bool) -> httpx.Response:
        """The answer to a call, which is sent again while that may help. Raises Problem and errors of httpx.

        repeatable: sent twice, the call is done once. A call that is not repeatable is sent again only if it never
        arrived, or if the server itself says that nothing was written.
        """
        for number in range(1, self.tries + 1):
            is_last = number == self.tries
            pause = 2.0 ** (number - 2)  # half a second at first, doubled each time
            try:
                response = self.http.send(request)
            except LOST_ERRORS as error:
                may_repeat = repeatable or isinstance(error, NOT_SENT_ERRORS)
                if is_last or not may_repeat:
                    raise
            else:
                if response.is_success:
                    return response
                pause = pause_of(response, pause)
                # A problem document with such a status says that nothing was written.
                may_repeat = response.status_code in RETRY_STATUSES and (repeatable or is_problem(response))
                if is_last or not may_repeat or pause > LONGEST_PAUSE:
                    raise problem_of(response)
            time.sleep(pause)
        raise AssertionError("a client needs at least one try")


def pause_of(response: httpx.Response, otherwise: float) -> float:
    """The seconds of Retry-After, else `otherwise`; a date, which depends on clocks, counts as none."""
    seconds = response.headers.get("Retry-After", "")
    return float(seconds) if seconds.isdecimal() else otherwise


def is_problem(response: httpx.Response) -> bool:
    return response.headers.get("Content-Type", "").startswith("application/problem+json")


def problem_of(response: httpx.Response) -> Problem:
    """The problem document, or one from the status where something else answered, such as a proxy."""
    if is_problem(response):
        return Problem(response.json())
    detail = response.headers.get("Location") or response.text[:200]
    title = response.reason_phrase
    return Problem({"status": response.status_code, "title": title, "detail": f"{title} {detail}".strip()})
