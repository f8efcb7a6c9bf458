"""The stages of setting up a collection until people can rate, and the state of each in a sentence.

Nothing of it is stored. A stage is done as soon as it has anything; `look` says what is still wrong with it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import BooleanField, Exists, ExpressionWrapper, OuterRef, Q, QuerySet
from django.utils import timezone

from ..database.prepared import Blank, Prepared
from ..models import (
    Assignment,
    Collection,
    Document,
    Grade,
    Guidelines,
    Invitation,
    Picture,
    Presentation,
    Query,
    Ranking,
    Rater,
    Rating,
    System,
    short_value,
)
from ..people.members import OPEN
from ..pool.progress.counts import pace, ratings_left
from ..presentation.guidelines.template import first_text
from ..web.template_tags.figures import hours
from ..words import counted

NAMES = ("scale", "queries", "documents", "presentation", "runs", "pool", "guidelines", "people")
MOST_CHECKED = 1_000  # documents that are checked for a text
DEPTH = 10


@dataclass(frozen=True)
class Stage:
    """One stage. `act` is done on `page`, whose address gets the query string `parameters`."""

    name: str
    title: str
    done: bool
    state: str
    act: str
    page: str
    parameters: str = ""
    look: str = ""  # what is done but still wrong


def done(collection: Collection) -> dict[str, bool]:
    """Stage → whether it has anything. One query, answered by indexes."""
    row = _done(collection=collection.pk, now=timezone.now())[0]
    return {name: bool(getattr(row, f"has_{name}")) for name in NAMES}


def _collections() -> QuerySet:
    """A collection with a flag for each stage."""
    of = {"collection": OuterRef("pk")}
    invited = Invitation.objects.filter(OPEN, **of, expires_at__gt=Blank("now", Invitation, "expires_at"))
    rated = Exists(Rating.objects.filter(rater__collection=OuterRef("pk")))
    conditions = {
        "scale": Exists(Grade.objects.filter(**of)),
        "queries": Exists(Query.objects.filter(**of)),
        "documents": Exists(Document.objects.filter(**of)),
        # Ratings show that somebody has seen how documents look.
        "presentation": Exists(Presentation.objects.filter(**of)) | rated,
        "runs": Exists(System.objects.filter(**of)),
        # A collection with imported judgments needs no pool.
        "pool": Exists(Assignment.objects.filter(**of).waiting()) | rated,
        "guidelines": Exists(Guidelines.objects.filter(**of)),
        "people": Exists(Rater.objects.filter(**of)) | Exists(invited),
    }
    flags = {f"has_{name}": ExpressionWrapper(Q(found), BooleanField()) for name, found in conditions.items()}
    collections = Collection.written.filter(pk=Blank("collection", Collection, "id")).order_by()
    return collections.only("pk").annotate(**flags)


_done = Prepared(_collections)


def unfinished(collection: Collection) -> bool:
    """Whether a stage is not done. One query."""
    return not all(done(collection).values())


def stages(collection: Collection) -> list[Stage]:
    """All stages, in the order in which they are done. The number of queries does not depend on the data."""
    found = done(collection)
    scale = list(collection.grades.all())
    systems = list(collection.systems.all())
    texts = {
        "scale": _scale(collection, scale),
        "queries": _queries(collection),
        "documents": _documents(collection),
        "presentation": _presentation(collection),
        "runs": _runs(collection, systems),
        "pool": _pool(collection, systems, rated=found["pool"]),
        "guidelines": _guidelines(collection, scale),
        "people": _people(collection),
    }
    return [Stage(name=name, done=found[name], **texts[name]) for name in NAMES]


def _scale(collection: Collection, scale: list[Grade]) -> dict:
    state = "Without one it comes with the first judgments that are imported."
    if scale:
        ends = f"{scale[0]} to {scale[-1]}" if len(scale) > 1 else str(scale[0])
        relevant = short_value(collection.relevant_from)
        state = f"{counted(len(scale), 'grade')}, {ends}; relevant from {relevant} on."
    act = "Change the scale" if scale else "Add grades"
    return {"title": "Scale", "state": state, "act": act, "page": "scale"}


def _queries(collection: Collection) -> dict:
    n = collection.queries.count()
    state = f"{counted(n, 'query', 'queries')}." if n else "What people search for, and what they want."
    act = "Bring more queries" if n else "Bring queries"
    return {"title": "Queries", "state": state, "act": act, "page": "imports", "parameters": "?kind=queries"}


def _documents(collection: Collection) -> dict:
    n = collection.documents.count()
    bare = ExpressionWrapper(Q(title="", body="", fields={}), BooleanField())
    rows = collection.documents.annotate(bare=bare).order_by("key").values_list("bare", flat=True)[:MOST_CHECKED]
    textless = sum(map(bool, rows))
    state = f"{counted(n, 'document')}." if n else "What can be found: an id, a title and a text."
    look = ""
    if textless and textless == min(n, MOST_CHECKED):
        look = "They have no text, so raters would see nothing."
    elif textless:
        look = "Some have no text."
    act = "Bring their texts" if look else "Bring more documents" if n else "Bring documents"
    texts = {"title": "Documents", "state": state, "look": look, "act": act}
    return texts | {"page": "imports", "parameters": "?kind=documents"}


def _presentation(collection: Collection) -> dict:
    latest = collection.latest_presentation()
    shown = (
        f"Raters see version {latest.version}."
        if latest
        else "Raters see title, address and text, as of a web page."
    )
    missing = collection.pictures.filter(state=Picture.State.REFUSED).count() if latest else 0
    act = "Change what is shown" if latest else "Choose what is shown"
    texts = {"title": "Presentation", "state": shown, "act": act, "page": "presentation"}
    if missing:
        look = f"{counted(missing, 'picture')} {'is' if missing == 1 else 'are'} missing."
        return texts | {"look": look, "act": "See which", "page": "pictures"}
    return texts


def _runs(collection: Collection, systems: list[System]) -> dict:
    n = Ranking.objects.filter(system__in=systems).count()
    state = "What your systems returned for each query, best first."
    if systems:
        state = f"{counted(len(systems), 'system')} with {counted(n, 'ranking')}."
    act = "Bring more runs" if systems else "Bring runs"
    return {"title": "Runs", "state": state, "act": act, "page": "imports", "parameters": "?kind=results"}


def _pool(collection: Collection, systems: list[System], *, rated: bool) -> dict:
    texts = {"title": "Pool", "act": "Choose what is rated", "page": "pool"}
    waiting, speed = ratings_left(collection), pace(collection)
    if waiting:
        cost = f", about {hours(speed.hours(waiting))}" if speed else "; the hours are known after some grades"
        return texts | {"state": f"{counted(waiting, 'rating')} wanted{cost}.", "act": "Change the pool"}
    if rated:
        return texts | {"state": "Nothing waits to be rated. Ratings are here.", "act": "Change the pool"}
    if not systems:
        return texts | {"state": "What raters are asked: the top of what the systems return. It needs runs."}
    parameters = "&".join([f"?depth={DEPTH}&wanted=1", *(f"systems={system.pk}" for system in systems)])
    return texts | {"state": "No rating is wanted yet.", "parameters": f"{parameters}#plan"}


def _guidelines(collection: Collection, scale: list[Grade]) -> dict:
    latest = collection.latest_guidelines()
    if not latest:
        state, act = "What tells raters what each grade means, with examples.", "Write guidelines"
    elif latest.text == first_text(scale):
        state, act = "A heading for each grade, as made at first. Add your own examples.", "Edit the guidelines"
    else:
        state, act = f"Version {latest.version}.", "Write a new version"
    return {"title": "Guidelines", "state": state, "act": act, "page": "edit_guidelines"}


def _people(collection: Collection) -> dict:
    raters = collection.raters.able().count()
    invited = Invitation.objects.filter(OPEN, collection=collection, expires_at__gt=timezone.now()).count()
    parts = [*_some(raters, "rater"), *_some(invited, "invitation")]
    state = f"{' and '.join(parts)}{' open' if invited else ''}." if parts else "Nobody rates here yet."
    act = "Invite more people" if parts else "Invite raters"
    return {"title": "People", "state": state, "act": act, "page": "people"}


def _some(n: int, one: str) -> Iterator[str]:
    if n:
        yield counted(n, one)
