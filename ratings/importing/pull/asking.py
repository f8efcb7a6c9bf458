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
        """The answer as it came, in which the key may be repeated. Raises Refused."""
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
        try:
            hits = self.dialect.read(self.answer(parameters, limits), int(parameters["depth"]))
            return _checked(_once(hits) if keep_first else hits)
        except Refused:
            raise
        except ValueError as error:
            raise Refused(str(error)) from error


def _once(hits: list[Hit]) -> list[Hit]:
    """The first hit of each document, in their order."""
    first: dict[str, Hit] = {}
    for hit in hits:
        first.setdefault(hit.document, hit)
    return list(first.values())


def _checked(hits: list[Hit]) -> list[Hit]:
    """The hits. Raises Refused where only some have a score, or a document comes twice."""
    lacking = [rank for rank, hit in enumerate(hits, 1) if hit.score is None]
    if lacking and len(lacking) < len(hits):
        raise Refused(f"hit {lacking[0]} has no score, though others have one")
    ranks: dict[str, int] = {}
    for rank, hit in enumerate(hits, 1):
        if hit.document in ranks:
            twice = f"hits {ranks[hit.document]} and {rank} are the same document {hit.document}"
            raise Refused(f"{twice}. Choose that it keeps its better rank")
        ranks[hit.document] = rank
    return hits
