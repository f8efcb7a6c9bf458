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
MOST_TOKENS_OUT = 1_000  # of an answer, if no parameter limits them


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
        return self.cost_of(len(prompt.encode()), self._most_tokens_out(MOST_TOKENS_OUT))

    def _most_tokens_out(self, default: int) -> int:
        """The most tokens that an answer can have by the parameters, or `default` if none of them limits it."""
        limits = (self.version.sampling.get(name) for name in ("max_tokens", "max_completion_tokens"))
        return max((value for value in limits if type(value) is int), default=default)

    def with_true_counts(self, prompt: str, reply: wire.Reply) -> wire.Reply:
        """The reply, with None in place of a count of tokens that is too high to be true."""
        if reply.tokens_in is not None and reply.tokens_in > len(prompt.encode()):
            reply = reply._replace(tokens_in=None)
        # Where no parameter limits the tokens, the bytes of an answer do: a token has at least one byte.
        if reply.tokens_out is not None and reply.tokens_out > self._most_tokens_out(wire.MOST_ANSWER_BYTES):
            reply = reply._replace(tokens_out=None)
        return reply

    def cost(self, prompt: str, reply: wire.Reply) -> Decimal:
        """The cost by the tokens that the server counted, or else by an estimate from characters."""
        tokens_in = len(prompt) // CHARACTERS_A_TOKEN if reply.tokens_in is None else reply.tokens_in
        tokens_out = len(reply.content) // CHARACTERS_A_TOKEN if reply.tokens_out is None else reply.tokens_out
        return self.cost_of(tokens_in, tokens_out)

    def cost_of(self, tokens_in: int, tokens_out: int) -> Decimal:
        spent = tokens_in * self.version.price_in + tokens_out * self.version.price_out
        return round(min(Decimal(spent) / MILLION, MOST_MONEY), 6)


class Outcome(NamedTuple):
    """One try: its time, the fields to store in its row, and the failure of the call, if there was no answer."""

    seconds: float
    fields: dict
    failure: wire.Failed | None = None


def call_once(endpoint: wire.Endpoint, builder: CallBuilder, prompt: str) -> Outcome:
    """The outcome of one call. It uses no database, so that threads can run it."""
    begun = time.monotonic()
    try:
        reply = builder.with_true_counts(prompt, endpoint.ask(builder.body(prompt)))
    except wire.Failed as failed:
        return Outcome(time.monotonic() - begun, problem_fields(failed.problem, failed.detail), failed)
    seconds = time.monotonic() - begun
    fields = {
        # A refusal is the answer only of a model that says nothing else.
        "answer": prompts.storable(reply.content or reply.refusal)[: answers.LONGEST_ANSWER],
        "model": prompts.storable(reply.model),
        "cost": builder.cost(prompt, reply),
        "tokens_in": reply.tokens_in,
        "tokens_out": reply.tokens_out,
    }
    try:
        fields |= {"state": MachineGrade.State.GRADED, "value": grade_in(reply, builder.version.scale)}
    except Ungraded as error:
        fields |= problem_fields(error.problem, error.detail)
    return Outcome(seconds, fields)


def grade_in(reply: wire.Reply, grades: list[str]) -> Decimal:
    """The grade of an answer. Raises Ungraded."""
    if reply.refusal or reply.ended == "content_filter":
        raise Ungraded(Problem.REFUSAL, reply.refusal or "its filter")
    if reply.ended == "length":
        raise Ungraded(Problem.CUT, "it had no tokens left: raise max_tokens")
    return answers.grade_of(reply.content, grades)


def problem_fields(problem: str, detail: str) -> dict:
    """The fields of a row without a grade."""
    return {"state": MachineGrade.State.UNGRADED, "problem": problem, "detail": prompts.storable(detail)[:300]}
