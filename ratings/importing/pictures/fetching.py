"""Fetch the pictures of a collection: list those that its documents name, fetch, decode and store them."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from django.conf import settings
from django.db.models import QuerySet

from ...models import Collection, Document, Pair, Picture, Query, digest_of
from ...models.picture import LONGEST, PROBLEM
from ...presentation.content import first_of, source_of, source_of_query
from ...presentation.parts import Part, pieces_of
from ...presentation.versions import latest_of
from ...words import as_sentence
from ..intake.stage import Progress, batched, silent
from ..pull.places import hosts_at
from . import sources, store
from .decoder import Decoder

AT_ONCE = 500  # documents
MOST_COUNTED = 10_000  # pictures whose hosts are counted at most
CONNECTIONS = 8  # at a time
SLICE = 20.0  # seconds, after which other jobs have their turn
SHOWN = 60  # characters of a data: address that are kept
# Not that none was sent: it may have come before a document named it, and Idealist keeps no ZIP.
NO_FILE = "Idealist has no file of this name. Send a ZIP that has it."

State = Picture.State


class Unfinished(Exception):
    """The time of this turn is over, and pictures remain."""


class Fetching:
    """One turn of SLICE seconds. `bring` returns the bytes at an address and raises ValueError.

    Each turn does at least one step, so that repeated turns finish the work.
    """

    def __init__(
        self,
        collection: Collection,
        *,
        progress: Progress = silent,
        seconds: float | None = None,
        bring: Callable[[str], bytes] | None = None,
    ) -> None:
        self.collection, self.progress = collection, progress
        self.bring = bring or (lambda source: sources.from_web(source, settings.PULL_HOSTS))
        self.end = time.monotonic() + (SLICE if seconds is None else seconds)
        self.worked = False  # whether this turn has done a step
        self.unpacked = 0  # the id of the last picture that was looked for in the ZIPs

    def list_sources(self) -> None:
        """Add the pictures that the presentation shows and that are not listed yet.

        Pictures with a data: address are decoded at once. Raises Unfinished; the next turn continues.
        """
        presented = latest_of(self.collection)
        with Decoder() as decoder:
            for parts, rows in ((presented.document, _documents), (presented.query, _queries)):
                parts = [part for part in parts if part.kind == "image"]
                for some in batched(rows(self.collection), AT_ONCE) if parts else ():
                    self._list(_named(parts, some), decoder)

    def _list_zipped(self, zipped: sources.Zipped, decoder: Decoder) -> None:
        """Add the pictures that any document names and the ZIPs have: later its document may be in the pool."""
        parts = [part for part in latest_of(self.collection).document if part.kind == "image"]
        for done, some in enumerate(_every_document(self.collection) if parts else (), 1):
            named = _named(parts, some)
            self._list({digest: of for digest, of in named.items() if zipped.paths(of[0])}, decoder)
            self.progress("listing pictures", None, done * AT_ONCE)

    def _list(self, named: dict[str, tuple[str, str]], decoder: Decoder) -> None:
        if not named:
            return
        known = set(self._all.filter(digest__in=named).values_list("digest", flat=True))
        rows = []
        for digest in named.keys() - known:
            source, key = named[digest]
            if not sources.is_inside(source):
                rows.append(self._row(digest, source, key))
                continue
            self._hurry()
            row = self._row(digest, source[:SHOWN], key)
            self._decode(decoder, row, lambda source=source: sources.from_inside(source))
            Picture.objects.bulk_create([row], ignore_conflicts=True)
            self.progress("decoding pictures", None, 0)
        Picture.objects.bulk_create(rows, ignore_conflicts=True)

    def unpack(self, files: Iterable[tuple[str, Path | BinaryIO]], after: int = 0) -> None:
        """Decode the missing pictures that the ZIPs have, from the one behind the id `after` on.

        Before the first one, pictures of documents outside the pool are listed too, if the ZIPs have them. Raises
        ValueError for a file that is not a ZIP, and Unfinished.
        """
        missing = self._all.exclude(state=State.READY).order_by("pk")
        self.unpacked, done = after, 0
        with Decoder() as decoder, sources.zipped(files) as zipped:
            if not after:
                self._list_zipped(zipped, decoder)
            while some := list(missing.filter(pk__gt=self.unpacked)[:AT_ONCE]):
                for row in some:
                    self._hurry()
                    if self._decode(decoder, row, lambda row=row: zipped.content(row.source)):
                        self._save(row)
                    self.unpacked, done = row.pk, done + 1
                    self.progress("unpacking pictures", None, done)

    def fetch(self) -> None:
        """Fetch the wanted pictures. Raises Unfinished."""
        rows = self._all.filter(state=State.WANTED).order_by("pk")
        whole, done = rows.count(), 0
        with Decoder() as decoder, ThreadPoolExecutor(CONNECTIONS) as pool:
            while some := list(rows[: 2 * CONNECTIONS]):
                self._hurry()
                requests = {pool.submit(self._bring, row.source): row for row in some}
                for request in as_completed(requests):
                    row = requests[request]
                    self._decode(decoder, row, request.result)
                    self._save(row)
                    done += 1
                    self.progress("fetching pictures", done / max(whole, done), done)

    def _bring(self, source: str) -> bytes:
        if not sources.is_address(source):
            raise ValueError(NO_FILE)
        if len(source) >= LONGEST:
            raise ValueError(f"The address has more than {LONGEST:,} characters")
        return self.bring(source)

    def _decode(self, decoder: Decoder, row: Picture, content: Callable[[], bytes | None]) -> bool:
        """Make the row ready, or refused if its bytes are no picture. False if `content` returns None."""
        try:
            data = content()
            if data is None:
                return False
            decoded = decoder.decode(data)
            row.small, row.large = store.keep(decoded.small), store.keep(decoded.large)
            row.width, row.height = decoded.width, decoded.height
            row.state, row.problem = State.READY, ""
        except ValueError as error:
            row.state, row.problem = State.REFUSED, as_sentence(error)[:PROBLEM]
        return True

    def _row(self, digest: str, source: str, key: str) -> Picture:
        source = source.replace("\0", "")[:LONGEST]
        return Picture(collection=self.collection, digest=digest, source=source, named_by=key)

    def _save(self, row: Picture) -> None:
        row.save(update_fields=["small", "large", "width", "height", "state", "problem"])

    def _hurry(self) -> None:
        if self.worked and time.monotonic() > self.end:
            raise Unfinished
        self.worked = True

    @property
    def _all(self) -> QuerySet[Picture]:
        return Picture.objects.filter(collection=self.collection)


def try_again(collection: Collection) -> int:
    """Mark refused pictures as wanted, and return their number. Those with a data: address stay refused."""
    refused = collection.pictures.filter(state=State.REFUSED).exclude(source__istartswith="data:")
    return refused.update(state=State.WANTED, problem="")


def _documents(collection: Collection) -> Iterator[tuple[str, dict]]:
    """The key and source of the first documents, which the preview shows, and of those in the pool."""
    first = list(first_of(collection))
    pooled = Pair.objects.filter(query__collection=collection).order_by().values("document")
    rows = Document.objects.filter(pk__in=pooled).exclude(pk__in=[each.pk for each in first])
    for document in chain(first, rows.iterator(chunk_size=AT_ONCE)):
        yield document.key, source_of(document)


def _every_document(collection: Collection) -> Iterator[list[tuple[str, dict]]]:
    """The key and source of all documents, AT_ONCE at a time. By key, since an index has them in that order."""
    rows = collection.documents.order_by("key")
    some = list(rows[:AT_ONCE])
    while some:
        yield [(document.key, source_of(document)) for document in some]
        some = list(rows.filter(key__gt=some[-1].key)[:AT_ONCE])


def _named(parts: Sequence[Part], some: list[tuple[str, dict]]) -> dict[str, tuple[str, str]]:
    """The pictures that the parts show: their digest -> their source and the first key that names them."""
    named: dict[str, tuple[str, str]] = {}
    for key, row in some:
        for source in (each for piece in pieces_of(parts, row) for each in piece.items):
            named.setdefault(digest_of(source), (source, key))
    return named


def _queries(collection: Collection) -> Iterator[tuple[str, dict]]:
    for query in Query.objects.filter(collection=collection).iterator(chunk_size=AT_ONCE):
        yield query.key, source_of_query(query)


def unlisted_hosts(collection: Collection) -> Counter[str]:
    """The number of missing pictures by host, for the hosts that the operator has not listed."""
    rows = collection.pictures.exclude(state=State.READY).filter(source__istartswith="http")
    hosts = Counter(map(sources.host_of, rows.values_list("source", flat=True)[:MOST_COUNTED]))
    listed = {host.lower() for port in (80, 443) for host in hosts_at(port, settings.PULL_HOSTS)}
    return Counter({host: n for host, n in hosts.most_common() if host and host not in listed})
