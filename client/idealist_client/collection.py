"""The server and its collections: what the API has, a method each."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from uuid import uuid4

import httpx

from .importing import Imported, Progress, rankings_of, rows_of, send
from .tables import Answer, Rows
from .wire import Wire

Task = dict[str, Any]
Said = float | str  # a grade, or the reason why it cannot be judged: broken, language, knowledge, unclear, …


class Idealist:
    """A server, as the owner of the token sees it. With `with`, its connections are closed at the end.

    timeout: seconds that the server may be silent. tries: of each call, where the connection breaks or the server
    asks to come again. transport: another way to it than by HTTP, such as httpx.WSGITransport.
    """

    def __init__(
        self,
        server: str,
        token: str,
        *,
        timeout: float = 120.0,
        tries: int = 5,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._wire = Wire(server, token, timeout, tries, transport)

    def token(self) -> dict[str, Any]:
        """The scopes of the token, its owner, and when it expires."""
        return self._wire.get("token").json()

    def collections(self) -> Rows:
        return Rows(self._wire, "collections")

    def collection(self, slug: str) -> "Collection":
        """Nothing is asked yet: whether it is there, the first call says."""
        return Collection(self._wire, slug)

    def make_collection(
        self, slug: str, name: str = "", grades: Mapping[float, str] | None = None
    ) -> "Collection":
        """A new collection. grades: the label of each; without any, the scale comes with the first ratings."""
        scale = [{"value": value, "label": label} for value, label in (grades or {}).items()]
        self._wire.post("collections", {"slug": slug, "name": name, "grades": scale}, repeatable=False)
        return self.collection(slug)

    def close(self) -> None:
        self._wire.http.close()

    def __enter__(self) -> "Idealist":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class Collection:
    """A collection. Every method is a call or several, and raises Problem for what the server refuses."""

    def __init__(self, wire: Wire, slug: str) -> None:
        self.slug, self._wire, self._path = slug, wire, f"collections/{slug}"

    def facts(self) -> dict[str, Any]:
        """Its name, its scale, and the role of the token's owner."""
        return self._wire.get(self._path).json()

    def rows(self, kind: str, **parameters: Any) -> Rows:
        """A list of the API by its name, such as drawn, samples and sampled."""
        return Rows(self._wire, f"{self._path}/{kind}", **parameters)

    def _answer(self, kind: str, **parameters: Any) -> Answer:
        return Answer(self._wire.get(f"{self._path}/{kind}", **parameters).json())

    # Import: rows are dicts with the members of the API, or a frame with such columns

    def import_queries(self, rows: Any, *, key: str | None = None, progress: Progress | None = None) -> Imported:
        """Rows with key and text, and if you like need, tags and weight. key, progress: see `importing.send`."""
        return send(self._wire, self._path, "queries", rows_of(rows), members={}, key=key, progress=progress)

    def import_documents(self, rows: Any, *, key: str | None = None, progress: Progress | None = None) -> Imported:
        """Rows with key, and if you like title, body, url and fields."""
        return send(self._wire, self._path, "documents", rows_of(rows), members={}, key=key, progress=progress)

    def import_rankings(
        self,
        system: str,
        run: Any,
        *,
        keep_first: bool = False,
        key: str | None = None,
        progress: Progress | None = None,
    ) -> Imported:
        """The rankings of a system: {query: [documents, best first]}, {query: {document: score}}, or a frame with
        the columns query_id, doc_id and score. keep_first: a document that is there twice keeps its better place.
        key: the same run sent again with it is imported once. progress: called after each batch.
        """
        members = {"system": system, "keep_first": keep_first}
        return send(self._wire, self._path, "rankings", rankings_of(run), members, key=key, progress=progress)

    def import_ratings(self, rows: Any, *, key: str | None = None, progress: Progress | None = None) -> Imported:
        """Ratings made elsewhere: rows with query, document, rater, and grade or reason."""
        return send(self._wire, self._path, "ratings", rows_of(rows), members={}, key=key, progress=progress)

    # Read

    def queries(self) -> Rows:
        return self.rows("queries")

    def documents(self) -> Rows:
        return self.rows("documents", limit=200)

    def systems(self) -> Rows:
        return self.rows("systems")

    def ratings(self, query: str | None = None) -> Rows:
        return self.rows("ratings", query=query)

    def judgments(self, **how: str) -> Rows:
        """The one grade of each pair. how: rule, adjudications."""
        return self.rows("judgments", **how)

    def qrels(self, **how: str) -> dict[str, dict[str, float]]:
        """The judgments as {query: {document: grade}}, as `idealist_measures.calc` takes them."""
        qrels: dict[str, dict[str, float]] = {}
        for row in self.judgments(**how):
            qrels.setdefault(row["query"], {})[row["document"]] = row["grade"]
        return qrels

    def unjudged(self, system: str, k: int = 10) -> Rows:
        return self.rows("unjudged", system=system, k=k)

    # Numbers: options are those of the command `evaluate`, such as gain="exponential"

    def evaluate(
        self, *measures: str, systems: Iterable[str] = (), per_query: bool = False, **options: Any
    ) -> Answer:
        """What systems score. options also: bounds, expected, rule, profile."""
        asked = {"measure": list(measures), "system": list(systems), "per_query": per_query}
        return self._answer("evaluation", **asked, **options)

    def compare(self, baseline: str, *others: str, per_query: bool = False, **options: Any) -> Answer:
        """Whether differences are significant. options also: measure (a list), all_pairs, draws, expected."""
        return self._answer("comparison", baseline=baseline, other=list(others), per_query=per_query, **options)

    def gate(self, release: str, *against: str, **options: Any) -> Answer:
        """Whether a release is worse: `verdict`. options also: measure, margin, alpha."""
        return self._answer("gate", release=release, against=list(against), **options)

    def gate_report(self, release: str, *against: str, format: str = "markdown", **options: Any) -> str:
        """The same as text: markdown for a pull request, or junit."""
        asked = {"release": release, "against": list(against), "format": format}
        return self._wire.get(f"{self._path}/gate", **asked, **options).text

    def watches(self) -> list[dict[str, Any]]:
        return self._wire.get(f"{self._path}/watches").json()

    def watch(self, watch: int, nights: int = 31) -> Answer:
        """A watch and its last nights."""
        return self._answer(f"watches/{watch}", limit=nights)

    def add_night(self, watch: int, system: str) -> dict[str, Any]:
        """A night of a watch, from the rankings of a system that was imported."""
        path = f"{self._path}/watches/{watch}/nights"
        return self._wire.post(path, {"system": system}, repeatable=False)

    # Rate, in the name of the token's owner

    def tasks(self, count: int = 1) -> list[Task]:
        """What to rate next: with those that are held already, as many as `count`."""
        return self._wire.post(f"{self._path}/tasks", {"count": count})["tasks"]

    def save(self, ratings: Iterable[tuple[Task, Said]]) -> list[dict[str, Any]]:
        """Saves at most a hundred, each once. For each: whether it is `saved`, and if not why, as `said`."""
        rows = []
        for task, said in ratings:
            rating = {"reason": said} if isinstance(said, str) else {"grade": said}
            held = {"token": task["token"], "base_revision": task["base_revision"]}
            rows.append({**held, **rating, "key": str(uuid4())})
        return self._wire.post(f"{self._path}/my-ratings", {"ratings": rows})["results"]

    def rate(self, judge: Callable[[Task], Said], at_once: int = 5) -> list[dict[str, Any]]:
        """Lets `judge` rate all that there is, and returns what `save` says. Ends where nothing is saved."""
        results: list[dict[str, Any]] = []
        while tasks := self.tasks(at_once):
            saved = self.save([(task, judge(task)) for task in tasks])
            results += saved
            if not any(result["saved"] for result in saved):
                break
        return results

    def my_ratings(self) -> Rows:
        return self.rows("my-ratings")
