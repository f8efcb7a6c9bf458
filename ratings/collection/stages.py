"""The stages of setting up a collection until people can rate, and the state of each in a sentence.

Nothing of it is stored. A stage is done as soon as it has anything; its `look` says what is still wrong with it.
"""

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
from ..people.members import UNUSED
from ..pool.progress.counts import pace, ratings_left
from ..presentation.guidelines.template import first_text
from ..web.template_tags.figures import hours
from ..words import counted

STAGE_NAMES = ("scale", "queries", "documents", "presentation", "runs", "pool", "guidelines", "people")
MOST_DOCUMENTS_CHECKED = 1_000  # documents that are checked for a text
PROPOSED_DEPTH = 10


def done(collection: Collection) -> dict[str, bool]:
    """Stage → whether it has anything. One query, answered by indexes."""
    row = _done(collection=collection.pk, now=timezone.now())[0]
    return {name: bool(getattr(row, f"has_{name}")) for name in STAGE_NAMES}


def _collection_with_flags() -> QuerySet:
    """A collection with a flag for each stage, such as has_scale: whether the stage has anything.

    `_done` compiles the query once. Each Blank stands for a value that a call of `_done` gives.
    """
    in_collection = Q(collection=OuterRef("pk"))
    now = Blank("now", Invitation, "expires_at")
    has_rating = Exists(Rating.objects.filter(rater__collection=OuterRef("pk")))
    has_invitation = Exists(Invitation.objects.filter(UNUSED, in_collection, expires_at__gt=now))
    conditions = {
        "scale": Exists(Grade.objects.filter(in_collection)),
        "queries": Exists(Query.objects.filter(in_collection)),
        "documents": Exists(Document.objects.filter(in_collection)),
        # Ratings show that somebody has seen how documents look.
        "presentation": Exists(Presentation.objects.filter(in_collection)) | has_rating,
        "runs": Exists(System.objects.filter(in_collection)),
        # A collection with imported judgments needs no pool.
        "pool": Exists(Assignment.objects.filter(in_collection).waiting()) | has_rating,
        "guidelines": Exists(Guidelines.objects.filter(in_collection)),
        "people": Exists(Rater.objects.filter(in_collection)) | has_invitation,
    }
    # Wrapped, so that `Exists(…) | Exists(…)` becomes a column, too.
    flags = {f"has_{name}": ExpressionWrapper(Q(has), BooleanField()) for name, has in conditions.items()}
    collections = Collection.written.filter(pk=Blank("collection", Collection, "id")).order_by()
    return collections.only("pk").annotate(**flags)


_done = Prepared(_collection_with_flags)


def unfinished(collection: Collection) -> bool:
    """Whether a stage is not done. One query."""
    return not all(done(collection).values())


def stages(collection: Collection) -> list[dict]:
    """All stages, in the order in which they are done. The number of queries does not grow with the data.

    Each has a `name`, a `title`, whether it is `done`, and its `state` in a sentence. The next `act` is done on
    the `page` of this name, whose address gets the query string `parameters`, if there are some. `look` says what
    is done but still wrong, if anything is.
    """
    is_done = done(collection)
    scale = list(collection.grades.all())
    systems = list(collection.systems.all())
    texts = {
        "scale": _scale(collection, scale),
        "queries": _queries(collection),
        "documents": _documents(collection),
        "presentation": _presentation(collection),
        "runs": _runs(collection, systems),
        "pool": _pool(collection, systems, is_done=is_done["pool"]),
        "guidelines": _guidelines(collection, scale),
        "people": _people(collection),
    }
    return [{"name": name, "done": is_done[name], **texts[name]} for name in STAGE_NAMES]


def next_stage(collection: Collection) -> dict | None:
    """The first stage that is not done; None where all are."""
    return next((stage for stage in stages(collection) if not stage["done"]), None)


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
    act = "Import more queries" if n else "Import queries"
    return {"title": "Queries", "state": state, "act": act, "page": "imports", "parameters": "?kind=queries"}


def _documents(collection: Collection) -> dict:
    """What the page says of the documents, and the act that comes next. A bare document has only a key."""
    n = collection.documents.count()
    texts = {"title": "Documents", "page": "imports", "parameters": "?kind=documents"}
    if not n:
        return texts | {"state": "What can be found: an id, a title and a text.", "act": "Import documents"}
    texts["state"] = f"{counted(n, 'document')}."
    bare = ExpressionWrapper(Q(title="", body="", fields={}), BooleanField())
    documents = collection.documents.annotate(bare=bare).order_by("key")
    are_bare = list(documents.values_list("bare", flat=True)[:MOST_DOCUMENTS_CHECKED])
    if not any(are_bare):
        return texts | {"act": "Import more documents"}
    look = "They have no text, so raters would see nothing." if all(are_bare) else "Some have no text."
    return texts | {"look": look, "act": "Import their texts"}


def _presentation(collection: Collection) -> dict:
    """What the page says of the presentation, and the act that comes next.

    The presentation says how raters see documents. A refused picture could not be fetched or read: it is missing.
    """
    texts = {"title": "Presentation", "page": "presentation"}
    latest = collection.latest_presentation()
    if not latest:
        state = "Raters see title, address and text, as of a web page."
        return texts | {"state": state, "act": "Choose what is shown"}
    texts["state"] = f"Raters see version {latest.version}."
    missing = collection.pictures.filter(state=Picture.State.REFUSED).count()
    if missing:
        look = f"{counted(missing, 'picture is', 'pictures are')} missing."
        return texts | {"look": look, "act": "See which", "page": "pictures"}
    return texts | {"act": "Change what is shown"}


def _runs(collection: Collection, systems: list[System]) -> dict:
    texts = {"title": "Runs", "page": "imports", "parameters": "?kind=results"}
    if not systems:
        return texts | {"state": "What your systems returned for each query, best first.", "act": "Import runs"}
    rankings = Ranking.objects.filter(system__in=systems).count()
    state = f"{counted(len(systems), 'system')} with {counted(rankings, 'ranking')}."
    return texts | {"state": state, "act": "Import more runs"}


def _pool(collection: Collection, systems: list[System], *, is_done: bool) -> dict:
    """What the page says of the pool, and the act that comes next, if the collection is ready for one.

    `is_done`: whether the collection has assignments that wait for a grade, or ratings.
    """
    texts = {"title": "Pool", "act": "Choose what is rated", "page": "pool"}
    if waiting := ratings_left(collection):
        if present_pace := pace(collection):  # None as long as no grade was timed
            cost = f", about {hours(present_pace.hours(waiting))}"
        else:
            cost = "; the hours are known after some grades"
        return texts | {"state": f"{counted(waiting, 'rating')} requested{cost}.", "act": "Change the pool"}
    if is_done:  # nothing waits, so there are ratings
        return texts | {"state": "Nothing waits to be rated. Ratings are here.", "act": "Change the pool"}
    if not systems:
        return texts | {"state": "What raters are asked: the top of what the systems return. It needs runs."}
    # The address proposes a pool: the first documents of all systems, and one rating of each.
    parameters = "&".join([f"?depth={PROPOSED_DEPTH}&wanted=1", *(f"systems={system.pk}" for system in systems)])
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
    invited = Invitation.objects.filter(UNUSED, collection=collection, expires_at__gt=timezone.now()).count()
    texts = {"title": "People", "page": "people"}
    parts = [counted(raters, "rater")] if raters else []
    if invited:
        parts.append(f"{counted(invited, 'invitation')} open")
    if not parts:
        return texts | {"state": "Nobody rates here yet.", "act": "Invite raters"}
    return texts | {"state": f"{' and '.join(parts)}.", "act": "Invite more people"}
