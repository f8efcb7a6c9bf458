"""One pair asked: its prompt, the call, and what is stored of the answer."""

import time
from decimal import Decimal
from typing import NamedTuple

from django.utils.crypto import salted_hmac

from ..models import Document, JudgeVersion, MachineGrade, Query
from ..presentation.content import source_of, source_of_query
from ..presentation.parts import Presented
from . import answers, prompts, wire
from .answers import Problem, Ungraded

MILLION = 1_000_000
CHARACTERS_A_TOKEN = 4
TOKENS_OUT = 1_000  # at most, where no parameter says it


class Telling:
    """What a version tells a model of pairs."""

    def __init__(self, version: JudgeVersion) -> None:
        self.version = version
        self.parts = Presented.read(version.parts)

    def prompt(self, query: Query, document: Document) -> str:
        """The fence depends on the pair and the secret key: the same each time, and nobody can foresee it."""
        asked = prompts.text_of_query(query.text, query.need, self.parts.query, source_of_query(query))
        shown = prompts.text_of_document(self.parts.document, source_of(document))
        named = f"{self.version.fingerprint} {query.key} {document.key}"
        fence = f"-----{salted_hmac('ratings.judges', named).hexdigest()[:24]}-----"
        return prompts.prompt(self.version.prompt, asked, shown, fence, self.version.scale)

    def body(self, prompt: str) -> dict:
        version = self.version
        schema = version.schema if version.structured else None
        return wire.body_of(version.model, prompt, version.sampling, version.seed, schema)

    def most_cost(self, prompt: str) -> Decimal:
        """More than a call can cost: a token has at least one byte."""
        named = (self.version.sampling.get(name) for name in ("max_tokens", "max_completion_tokens"))
        longest = max((value for value in named if type(value) is int), default=TOKENS_OUT)
        return self._cost(len(prompt.encode()), longest)

    def cost(self, prompt: str, said: wire.Said) -> Decimal:
        """By the tokens that the server counted, or else by an estimate from characters."""
        tokens_in = len(prompt) // CHARACTERS_A_TOKEN if said.tokens_in is None else said.tokens_in
        tokens_out = len(said.content) // CHARACTERS_A_TOKEN if said.tokens_out is None else said.tokens_out
        return self._cost(tokens_in, tokens_out)

    def _cost(self, tokens_in: int, tokens_out: int) -> Decimal:
        spent = tokens_in * self.version.price_in + tokens_out * self.version.price_out
        return round(Decimal(spent) / MILLION, 6)


class Outcome(NamedTuple):
    """One try: the fields of its row, or `failed`."""

    seconds: float
    fields: dict
    failed: wire.Failed | None = None


def asked(endpoint: wire.Endpoint, telling: Telling, prompt: str) -> Outcome:
    """One call and what came of it. Without the database, so that threads can do it."""
    begun = time.monotonic()
    try:
        said = endpoint.ask(telling.body(prompt))
    except wire.Failed as failed:
        return Outcome(time.monotonic() - begun, failed_fields(failed.problem, failed.detail), failed)
    seconds = time.monotonic() - begun
    facts = {
        "answer": _storable(said.content or said.refusal)[: answers.LONGEST],
        "model": _storable(said.model),
        "tokens_in": said.tokens_in,
        "tokens_out": said.tokens_out,
        "cost": telling.cost(prompt, said),
    }
    try:
        value = judged(said, telling.version.scale)
    except Ungraded as problem:
        return Outcome(seconds, facts | failed_fields(problem.problem, problem.detail))
    return Outcome(seconds, facts | {"state": MachineGrade.State.GRADED, "value": value})


def judged(said: wire.Said, grades: list[str]) -> Decimal:
    """The grade of an answer. Raises Ungraded."""
    if said.refusal or said.ended == "content_filter":
        raise Ungraded(Problem.REFUSAL, said.refusal or "its filter")
    if said.ended == "length":
        raise Ungraded(Problem.CUT, "it had no tokens left: raise max_tokens")
    return answers.grade_of(said.content, grades)


def failed_fields(problem: str, detail: str) -> dict:
    return {"state": MachineGrade.State.UNGRADED, "problem": problem, "detail": _storable(detail)[:300]}


def _storable(text: str) -> str:
    return text.replace("\0", "").encode(errors="replace").decode()
