"""Fetch the pictures of a collection: list those that its documents name, fetch, decode and store them."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from django.db.models import QuerySet

from ...formats.values import quoted
from ...models import AllowedHost, Collection, Document, Pair, Picture, Query, digest_of, hosts_allowed_for
from ...models.picture import LONGEST_PROBLEM, LONGEST_SOURCE
from ...presentation.content import first_of, source_of, source_of_query
from ...presentation.parts import Part, pieces_of
from ...presentation.versions import latest_presented
from ...words import as_sentence
from ..intake.stage import Progress, batched, silent
from ..pull.places import hosts_at
from . import sources, store
from .decoder import Decoder

ROWS_AT_ONCE = 500  # documents, queries or pictures
MOST_COUNTED = 10_000  # pictures whose hosts are counted at most
CONNECTIONS_AT_ONCE = 8
SECONDS_PER_TURN = 20.0  # after which other jobs have their turn
DATA_ADDRESS_KEPT = 60  # characters of a data: address that are kept
# Not that none was sent: it may have come before a document named it, and Idealist keeps no ZIP.
NO_FILE = "Idealist has no file of this name. Send a ZIP that has it."

State = Picture.State
PICTURES = AllowedHost.Purpose.PICTURES


class Unfinished(Exception):
    """The time of this turn is over, and something remains. The next turn comes after `pause` seconds at least."""

    def __init__(self, pause: float = 0.0) -> None:
        self.pause = pause
        super().__init__()


class Fetching:
    """One turn, after whose time (`seconds`, or SECONDS_PER_TURN) other jobs get theirs.

    A step handles one picture. Each turn does at least one, so that repeated turns finish the work. A picture is
    wanted until it is ready, in two sizes, or refused, with a problem. The presentation says what raters see of a
    document or query, in parts; those of the kind "image" name the sources of pictures.

    `bring`: returns the bytes at an address, or raises ValueError; None: from the web, from allowed hosts.
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
        allowed = hosts_allowed_for(PICTURES)
        self.bring = bring or (lambda source: sources.from_web(source, allowed))
        self.end = time.monotonic() + (SECONDS_PER_TURN if seconds is None else seconds)
        self.worked = False  # whether this turn has done a step
        self.unpacked_up_to = 0  # the id of the last picture that was looked for in the ZIPs

    def list_sources(self) -> None:
        """Add a row, wanted at first, for each picture that the presentation shows and that has none yet.

        Pictures with a data: address are decoded at once. Raises Unfinished; the next turn continues.
        """
        presented = latest_presented(self.collection)
        with Decoder() as decoder:
            for parts, rows in ((presented.document, _documents), (presented.query, _queries)):
                picture_parts = [part for part in parts if part.kind == "image"]
                if picture_parts:
                    for batch in batched(rows(self.collection), ROWS_AT_ONCE):
                        self._add_missing(_named_pictures(picture_parts, batch), decoder)

    def _list_zipped(self, zipped: sources.Zipped, decoder: Decoder) -> None:
        """Add a row for each picture that a document names and of which the ZIPs have the file.

        Documents outside the pool count, too: they may come into it later, and the ZIPs are not kept.
        """
        parts = [part for part in latest_presented(self.collection).document if part.kind == "image"]
        if not parts:
            return
        for batch_number, batch in enumerate(_every_document(self.collection), 1):
            named = _named_pictures(parts, batch)
            pictures_of_key = Counter(key for _, key in named.values())  # key of a document -> how many
            fitting = {}
            for digest, (source, key) in named.items():
                # A file named by the id of the document is its picture only if the document has no other one.
                if zipped.fits(source, key if pictures_of_key[key] == 1 else ""):
                    fitting[digest] = (source, key)
            self._add_missing(fitting, decoder)
            self.progress("listing pictures", None, batch_number * ROWS_AT_ONCE)

    def _add_missing(self, named: dict[str, tuple[str, str]], decoder: Decoder) -> None:
        """Add rows for the pictures that have none yet. Decode those with a data: address, which holds the bytes.

        All other new pictures are wanted. `named`: digest of a source -> the source, and the key of a document or
        query that names it, as from `_named_pictures`. Raises Unfinished.
        """
        listed = set(self._all.filter(digest__in=named).values_list("digest", flat=True))
        wanted = []
        for digest in named.keys() - listed:
            source, key = named[digest]
            if not sources.is_inside(source):
                wanted.append(self._row(digest, source, key))
                continue
            self._end_turn_if_late()
            row = self._row(digest, source[:DATA_ADDRESS_KEPT], key)
            self._decode(decoder, row, content=partial(sources.from_inside, source))
            Picture.objects.bulk_create([row], ignore_conflicts=True)
            self.progress("decoding pictures", None, 0)
        Picture.objects.bulk_create(wanted, ignore_conflicts=True)

    def unpack(self, files: Iterable[tuple[str, Path | BinaryIO]], after: int = 0) -> str:
        """Decode the missing pictures that the ZIPs have, with ids above `after`. Returns what matched, in words.

        `after`: the last picture that an earlier turn looked for, or 0. With 0, pictures that the ZIPs have of
        documents outside the pool are added first. Raises ValueError for a file that is not a ZIP, and Unfinished.
        """
        missing = self._all.exclude(state=State.READY).order_by("pk")
        self.unpacked_up_to = after
        done = 0
        with Decoder() as decoder, sources.zipped(files) as zipped:
            if not after:
                self._list_zipped(zipped, decoder)
            # Path of a file in the ZIPs -> how many pictures it fits.
            uses = zipped.uses_of(self._all.values_list("source", "named_by").iterator(chunk_size=ROWS_AT_ONCE))
            while batch := list(missing.filter(pk__gt=self.unpacked_up_to)[:ROWS_AT_ONCE]):
                for row in batch:
                    self._end_turn_if_late()
                    if self._decode(decoder, row, partial(zipped.content, row.source, row.named_by, uses)):
                        self._save(row)
                    self.unpacked_up_to = row.pk
                    done += 1
                    self.progress("unpacking pictures", None, done)
            return self._match_summary(zipped, uses)

    def _match_summary(self, zipped: sources.Zipped, uses: Counter[str]) -> str:
        """How many files of the ZIPs are of a picture, and which names were looked for if some are of none.

        `uses`: path of a file -> how many pictures it fits, which is at least one.
        """
        unmatched = [path for path in zipped.entries if path not in uses]
        matched = f"{len(uses):,} of {len(zipped.entries):,} matched."
        missing = self._all.exclude(state=State.READY).order_by("pk").first()  # an example of the names
        if not unmatched or missing is None:
            return matched
        return (
            f"{matched} Idealist looked for the names that documents give, such as {quoted(missing.source)}, their"
            f" last parts, and ids of documents, such as {quoted(missing.named_by)}. None of them fits"
            f" {quoted(unmatched[0])}."
        )

    def fetch(self) -> None:
        """Fetch the wanted pictures. Raises Unfinished."""
        rows = self._all.filter(state=State.WANTED).order_by("pk")
        total = rows.count()
        done = 0
        with Decoder() as decoder, ThreadPoolExecutor(CONNECTIONS_AT_ONCE) as pool:
            while batch := list(rows[: 2 * CONNECTIONS_AT_ONCE]):  # those that are done are not wanted any more
                self._end_turn_if_late()
                requests = {pool.submit(self._bring, row.source): row for row in batch}
                for request in as_completed(requests):
                    row = requests[request]
                    self._decode(decoder, row, request.result)  # `result` raises what `_bring` raised
                    self._save(row)
                    done += 1
                    # More than `total` may be done, as others may become wanted meanwhile.
                    self.progress("fetching pictures", done / max(total, done), done)

    def _bring(self, source: str) -> bytes:
        if not sources.is_address(source):
            raise ValueError(NO_FILE)
        if len(source) >= LONGEST_SOURCE:
            raise ValueError(f"The address has more than {LONGEST_SOURCE:,} characters")
        return self.bring(source)

    def _decode(self, decoder: Decoder, row: Picture, content: Callable[[], bytes | None]) -> bool:
        """Make the row ready, or refused if its bytes are no picture. False if `content` returns None.

        `content` returns the bytes. If it raises ValueError, the row is refused, too.
        """
        try:
            data = content()
            if data is None:
                return False
            decoded = decoder.decode(data)
            row.small, row.large = store.keep(decoded.small), store.keep(decoded.large)
            row.width, row.height = decoded.width, decoded.height
            row.state, row.problem = State.READY, ""
        except ValueError as error:
            row.state, row.problem = State.REFUSED, as_sentence(error)[:LONGEST_PROBLEM]
        return True

    def _row(self, digest: str, source: str, key: str) -> Picture:
        source = source.replace("\0", "")[:LONGEST_SOURCE]
        return Picture(collection=self.collection, digest=digest, source=source, named_by=key)

    def _save(self, row: Picture) -> None:
        row.save(update_fields=["small", "large", "width", "height", "state", "problem"])

    def _end_turn_if_late(self) -> None:
        """Raises Unfinished if the time is over. The first step of a turn is always done."""
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
    rows = Document.objects.filter(pk__in=pooled).exclude(pk__in=[document.pk for document in first])
    for document in chain(first, rows.iterator(chunk_size=ROWS_AT_ONCE)):
        yield document.key, source_of(document)


def _every_document(collection: Collection) -> Iterator[list[tuple[str, dict]]]:
    """The key and source of all documents, ROWS_AT_ONCE at a time, by key: an index has that order."""
    rows = collection.documents.order_by("key")
    batch = list(rows[:ROWS_AT_ONCE])
    while batch:
        yield [(document.key, source_of(document)) for document in batch]
        batch = list(rows.filter(key__gt=batch[-1].key)[:ROWS_AT_ONCE])


def _named_pictures(parts: Sequence[Part], rows: list[tuple[str, dict]]) -> dict[str, tuple[str, str]]:
    """The pictures that the parts show: digest -> source, and the first key that names it. `rows`: with keys."""
    named: dict[str, tuple[str, str]] = {}
    for key, row in rows:
        for piece in pieces_of(parts, row):
            for source in piece.items:
                named.setdefault(digest_of(source), (source, key))
    return named


def _queries(collection: Collection) -> Iterator[tuple[str, dict]]:
    for query in Query.objects.filter(collection=collection).iterator(chunk_size=ROWS_AT_ONCE):
        yield query.key, source_of_query(query)


def unlisted_hosts(collection: Collection) -> Counter[str]:
    """The number of missing pictures by host, for the hosts that are not allowed."""
    rows = collection.pictures.exclude(state=State.READY).filter(source__istartswith="http")
    hosts = Counter(map(sources.host_of, rows.values_list("source", flat=True)[:MOST_COUNTED]))
    listed = {host.lower() for port in (80, 443) for host in hosts_at(port, hosts_allowed_for(PICTURES))}
    return Counter({host: n for host, n in hosts.most_common() if host and host not in listed})
