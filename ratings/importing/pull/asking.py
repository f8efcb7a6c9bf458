"""Ask a search engine for the results of a query."""

from collections.abc import Mapping
from dataclasses import dataclass

from .dialects import Dialect, Hit, target
from .fetching import RETRIED, Limits, OverLimit, Refused, WrongStatus, fetched, without_key
from .places import Place


@dataclass(frozen=True)
class Connection:
    """A search engine: its place, the dialect of requests and answers, and further headers.

    `key`: one of the headers has it, and no answer and no message repeats it.
    """

    place: Place
    dialect: Dialect
    headers: Mapping[str, str]
    key: str = ""

    def answer(self, parameters: Mapping[str, str | int], limits: Limits) -> bytes:
        """The answer to a query, without the key. `parameters` fill the placeholders. Raises Refused."""
        try:
            answer = self._answer(parameters, limits)
        except Refused as error:
            raise Refused(without_key(str(error), self.key)) from error
        # Each byte is one character there and back, whatever the encoding is.
        return without_key(answer.decode("latin-1"), self.key).encode("latin-1", "replace") if self.key else answer

    def _answer(self, parameters: Mapping[str, str | int], limits: Limits) -> bytes:
        """The answer as it came: the engine may have repeated the secret `self.key` in it. Raises Refused."""
        body = self.dialect.content(parameters)
        headers = {"Accept": "application/json", **self.headers}
        if body is not None:
            headers["Content-Type"] = "application/json"
        address = target(self.place.path, self.place.query, parameters)
        try:
            return fetched(self.place, self.dialect.method, address, body, headers, limits)
        except OverLimit as error:
            raise Refused(f"{error}. Ask for less of each query") from error
        except WrongStatus as error:
            busy = error.status in RETRIED
            cure = "Try later, or with a longer pause" if busy else "Check the address, the request and the key"
            raise Refused(f"{error}. {cure}") from error

    def hits(self, parameters: Mapping[str, str | int], limits: Limits, *, keep_first: bool = False) -> list[Hit]:
        """The first results for a query; the parameter depth says how many. Raises Refused.

        A document that comes twice is refused or, with `keep_first`, keeps its better place.
        """
        answer = self.answer(parameters, limits)
        try:
            hits = self.dialect.read(answer, int(parameters["depth"]))
        except ValueError as error:
            raise Refused(str(error)) from error
        hits = _without_repeats(hits, keep_first=keep_first)
        _refuse_half_scored(hits)
        return hits


def _refuse_half_scored(hits: list[Hit]) -> None:
    """Raise Refused where some hits have a score and others have none."""
    ranks_without_score = [rank for rank, hit in enumerate(hits, 1) if hit.score is None]
    if 0 < len(ranks_without_score) < len(hits):
        raise Refused(f"hit {ranks_without_score[0]} has no score, though others have one")


def _without_repeats(hits: list[Hit], *, keep_first: bool) -> list[Hit]:
    """The first hit of each document. Raises Refused for a document that comes twice, without `keep_first`."""
    rank_of_document: dict[str, int] = {}
    first_hits = []
    for rank, hit in enumerate(hits, 1):
        first_rank = rank_of_document.setdefault(hit.document, rank)
        if first_rank == rank:
            first_hits.append(hit)
        elif not keep_first:
            twice = f"hits {first_rank} and {rank} are the same document {hit.document}"
            raise Refused(f"{twice}. Choose that it keeps its better rank")
    return first_hits
