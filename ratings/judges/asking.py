"""One call about one pair: its prompt, the request, and the fields to store."""

import time
from decimal import Decimal
from typing import NamedTuple

from django.utils.crypto import salted_hmac

from ..models import Document, JudgeVersion, MachineGrade, Query
from ..models.judge import MOST_MONEY
from ..presentation.content import source_of, source_of_query
from ..presentation.parts import Presented
from . import answers, prompts, wire
from .answers import Problem, Ungraded

MILLION = 1_000_000
CHARACTERS_A_TOKEN = 4
TOKENS_OUT = 1_000  # at most, if no parameter limits them


class CallBuilder:
    """Makes the calls of a version: prompts, bodies and costs."""

    def __init__(self, version: JudgeVersion) -> None:
        self.version = version
        self.parts = Presented.read(version.parts)

    def prompt(self, query: Query, document: Document) -> str:
        """The prompt of a pair. Its fence depends on the pair and the secret key, so nobody can foresee it."""
        query_text = prompts.text_of_query(query.text, query.need, self.parts.query, source_of_query(query))
        document_text = prompts.text_of_document(self.parts.document, source_of(document))
        named = f"{self.version.fingerprint} {query.key} {document.key}"
        fence = f"-----{salted_hmac('ratings.judges', named).hexdigest()[:24]}-----"
        return prompts.prompt(self.version.prompt, query_text, document_text, fence, self.version.scale)

    def body(self, prompt: str) -> dict:
        version = self.version
        schema = version.schema if version.structured else None
        return wire.body_of(version.model, prompt, version.sampling, version.seed, schema)

    def most_cost(self, prompt: str) -> Decimal:
        """An upper bound of the cost of a call: a token has at least one byte."""
        return self._cost(len(prompt.encode()), self._longest(TOKENS_OUT))

    def _longest(self, usual: int) -> int:
        """The limit of tokens of an answer, or `usual` if no parameter limits them."""
        named = (self.version.sampling.get(name) for name in ("max_tokens", "max_completion_tokens"))
        return max((value for value in named if type(value) is int), default=usual)

    def counted(self, prompt: str, reply: wire.Reply) -> wire.Reply:
        """The reply without counts of tokens that its call cannot have."""
        counts = (reply.tokens_in, len(prompt.encode())), (reply.tokens_out, self._longest(wire.LARGEST))
        known = [None if count is None or count > most else count for count, most in counts]
        return reply._replace(tokens_in=known[0], tokens_out=known[1])

    def cost(self, prompt: str, reply: wire.Reply) -> Decimal:
        """The cost by the tokens that the server counted, or else by an estimate from characters."""
        tokens_in = len(prompt) // CHARACTERS_A_TOKEN if reply.tokens_in is None else reply.tokens_in
        tokens_out = len(reply.content) // CHARACTERS_A_TOKEN if reply.tokens_out is None else reply.tokens_out
        return self._cost(tokens_in, tokens_out)

    def _cost(self, tokens_in: int, tokens_out: int) -> Decimal:
        spent = tokens_in * self.version.price_in + tokens_out * self.version.price_out
        return round(min(Decimal(spent) / MILLION, MOST_MONEY), 6)


class Outcome(NamedTuple):
    """One try: its time, the fields of its row, and its failure, if it failed."""

    seconds: float
    fields: dict
    failed: wire.Failed | None = None


def call_once(endpoint: wire.Endpoint, builder: CallBuilder, prompt: str) -> Outcome:
    """The outcome of one call. It uses no database, so that threads can run it."""
    begun = time.monotonic()
    try:
        reply = builder.counted(prompt, endpoint.ask(builder.body(prompt)))
    except wire.Failed as failed:
        return Outcome(time.monotonic() - begun, problem_fields(failed.problem, failed.detail), failed)
    seconds = time.monotonic() - begun
    answer = prompts.storable(reply.content or reply.refusal)[: answers.LONGEST]
    facts = {"answer": answer, "model": prompts.storable(reply.model), "cost": builder.cost(prompt, reply)}
    facts |= {"tokens_in": reply.tokens_in, "tokens_out": reply.tokens_out}
    try:
        value = grade_in(reply, builder.version.scale)
    except Ungraded as problem:
        return Outcome(seconds, facts | problem_fields(problem.problem, problem.detail))
    return Outcome(seconds, facts | {"state": MachineGrade.State.GRADED, "value": value})


def grade_in(reply: wire.Reply, grades: list[str]) -> Decimal:
    """The grade of an answer. Raises Ungraded."""
    if reply.refusal or reply.ended == "content_filter":
        raise Ungraded(Problem.REFUSAL, reply.refusal or "its filter")
    if reply.ended == "length":
        raise Ungraded(Problem.CUT, "it had no tokens left: raise max_tokens")
    return answers.grade_of(reply.content, grades)


def problem_fields(problem: str, detail: str) -> dict:
    return {"state": MachineGrade.State.UNGRADED, "problem": problem, "detail": prompts.storable(detail)[:300]}
