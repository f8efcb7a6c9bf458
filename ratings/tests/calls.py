"""Calls of the API in tests: who calls is the token that they send."""

import json

from django.test import Client

from ratings.models import Collection
from ratings.people import tokens

ROOT = "/api/v1"


class Caller:
    """A program with a key."""

    def __init__(self, key: str | None) -> None:
        self.key, self.client = key, Client()

    def get(self, path: str, **params):
        return self.client.get(ROOT + path, params, headers=self.headers())

    def post(self, path: str, body, key: str | None = None):
        """Send JSON, or bytes as they are, or text as plain text; `key` is the one of the batch."""
        sent = body if isinstance(body, bytes | str) else json.dumps(body)
        content_type = "text/plain" if isinstance(body, str) else "application/json"
        headers = self.headers() | ({"Idempotency-Key": key} if key else {})
        return self.client.post(ROOT + path, sent, content_type=content_type, headers=headers)

    def patch(self, path: str, body):
        sent = json.dumps(body)
        return self.client.patch(ROOT + path, sent, content_type="application/json", headers=self.headers())

    def delete(self, path: str):
        return self.client.delete(ROOT + path, headers=self.headers())

    def headers(self) -> dict:
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}


def make_caller(user, collection: Collection | None, *scopes: str, days: int = 7, **facts) -> Caller:
    _, key = tokens.make(user, collection, name="build", scopes=scopes, days=days, **facts)
    return Caller(key)


def items(answer) -> list[dict]:
    assert answer.status_code == 200, answer.content
    return answer.json()["items"]


def pointers(answer) -> list[str]:
    """The places that a problem names."""
    assert answer["Content-Type"] == "application/problem+json", answer.content
    return [error.get("pointer", error.get("parameter")) for error in answer.json()["errors"]]
