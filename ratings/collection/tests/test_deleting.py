"""Deletion of a collection: hidden at once, restored for seven days, then removed in pieces by a worker."""

from collections import Counter
from datetime import timedelta
from functools import partial

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command

from evaluation import frozen, scores
from evaluation.models import FrozenLink
from evaluation.watching.tests.cast import make_night, make_watch
from ratings.collection import deleting, making, removing
from ratings.desk import queue
from ratings.importing import jobs, uploads
from ratings.management.commands._collection_command import Refused
from ratings.models import (
    AuditEvent,
    Check,
    Collection,
    Deletion,
    Job,
    JudgeSample,
    LostLease,
    Pair,
    Rater,
    Rating,
    RatingEvent,
    Receipt,
    Role,
)
from ratings.people import members, tokens
from ratings.pool import anchors
from ratings.pool.adjudication import adjudicate
from ratings.presentation.proposal import WEB_PAGE
from ratings.tests.cast import (
    NOW,
    grade,
    make_asked,
    make_collection,
    make_member,
    make_pair,
    make_ranking,
    make_rater,
    make_round,
    make_sample,
    make_user,
)
from ratings.tests.races import race

pytestmark = pytest.mark.django_db

DAYS = deleting.RESTORABLE_FOR


@pytest.fixture(autouse=True)
def own_folder(settings, tmp_path) -> None:
    settings.DATA_DIR = tmp_path


@pytest.fixture
def whole() -> Collection:
    """A collection with rows in every table, beside another one of the same kind."""
    return [make_whole("sea"), make_whole("hills")][1]


def make_whole(slug: str) -> Collection:
    collection = make_collection(slug)
    make_ranking(collection, "bm25", "q1", "abcd")
    pair, rater = make_pair(collection, "q1", "a", wanted=2), make_rater(collection, f"rater of {slug}")
    queue.claim(rater)
    queue.save(rater, pair, queue.Submission(grade=grade(collection, "2")))
    queue.undo(rater)
    queue.save(rater, pair, queue.Submission(grade=grade(collection, "1")))
    make_sample(collection, [("q1", 9, 1), ("q2", 2, 0.5)])
    admin = make_member(collection, f"admin of {slug}", Role.ADMIN)
    known = make_pair(collection, "q2", "a")
    anchors.set_anchor(known, use="gold", grade=grade(collection, "1"))
    adjudicate(pair, grade(collection, "3"), reason="clear", actor=admin)
    make_round(collection, [pair, known], greedy=1)
    Check.objects.create(rater=rater, pair=known, kind="repeat", created_at=NOW)
    LostLease.objects.get_or_create(rater=rater, pair=pair)
    rater.queries.add(collection.queries.first())
    members.invite(collection, ["anna"], role=Role.RATER, days=7, by=admin)
    tokens.make(admin, collection, name="build", scopes=["read"], days=7)
    Receipt.objects.create(user=admin, collection=collection, key="1", digest="1", created_at=NOW)
    collection.guidelines.create(version=1, text="## 3 Perfect")
    collection.presentations.create(version=1, content=WEB_PAGE.as_json())
    collection.pictures.create(digest="0" * 64, source="1.png")
    asked = make_asked(collection, pair)
    sample = JudgeSample.objects.create(judge=asked.version.judge, seed=1)
    asked.probes.create(version=asked.version, query=pair.query, kind="empty")
    asked.version.uses.create(judge=asked.version.judge, use="expected")
    sample.pairs.create(query=pair.query, document=pair.document, probability=0.5)
    file = uploads.keep(SimpleUploadedFile("queries.tsv", b"q9\tx\n"))
    job = Job.objects.create(collection=collection, kind="documents", files=[file], state="checked")
    collection.engines.create(name="shop", dialect="json", address="http://127.0.0.1:9/")
    job.answers.create(query=pair.query)
    job.former_texts.create(document=collection.documents.get(key="b"), title="", body="", url="", fields={})
    first, _ = frozen.freeze(collection, "first", scores.Asked.of(collection))
    FrozenLink.objects.create(frozen=first, created_at=NOW)
    collection.baselines.create(kind="fixed", system=collection.systems.get(), name="bm25", reason="First.")
    make_night(make_watch(collection))
    told = collection.receivers.create(user=admin, created_at=NOW)
    told.deliveries.create(notice=collection.notices.create(kind="test", key="1", text="x", path="/", at=NOW))
    return collection


def rows() -> Counter:
    """How many rows each table has, hidden ones too, without the audit, to which each act adds."""
    models = [*apps.get_app_config("ratings").get_models(), *apps.get_app_config("evaluation").get_models()]
    models.append(Rater.queries.through)
    return Counter({model.__name__: model._base_manager.count() for model in models if model is not AuditEvent})


def deleted(collection: Collection, *, now=NOW, by=None) -> Deletion:
    return deleting.delete(collection, by, now=now)


# Hidden


def test_a_deleted_collection_is_nowhere_and_all_of_it_is_still_there(whole):
    before = rows()
    deletion = deleted(whole)
    assert (deletion.slug, deletion.remove_at) == ("hills", NOW + timedelta(days=7))
    assert list(Collection.objects.values_list("slug", flat=True)) == ["sea"]
    assert rows() == before + Counter(Deletion=1)
    admin = get_user_model().objects.get(username="admin of hills")
    assert not Collection.objects.visible_to(admin).exists()
    with pytest.raises(Refused, match="There is no collection 'hills'"):
        call_command("pool", "hills")


def test_its_token_and_its_invitation_open_nothing():
    collection = make_collection()
    admin = make_member(collection, "admin", Role.ADMIN)
    _, key = tokens.make(admin, collection, name="build", scopes=["read"], days=7)
    ((_, invitation),) = members.invite(collection, ["anna"], role=Role.RATER, days=7, by=admin)
    assert tokens.valid_token(key) and members.invitation_of(invitation)
    deletion = deleted(collection)
    assert tokens.valid_token(key) is None and members.invitation_of(invitation) is None
    assert not tokens.tokens_of(admin).exists()
    deleting.restore(deletion)
    assert tokens.valid_token(key) and members.invitation_of(invitation) and tokens.tokens_of(admin).exists()


def test_imports_that_are_under_way_are_cancelled_and_only_theirs():
    collection, other = make_collection(), make_collection("sea")
    own, theirs = (
        jobs.check(each, "queries", [uploads.keep(SimpleUploadedFile("q.tsv", b"q9\tx\n"))], {}, None)
        for each in (collection, other)
    )
    deleted(collection)
    assert Job.objects.get(pk=own.pk).state == "cancelled"
    assert Job.objects.get(pk=theirs.pk).state == "queued"
    assert len(list(uploads.folder().iterdir())) == 1


# Restored


@pytest.mark.both_databases
def test_it_comes_back_as_it_was(whole):
    before, version = rows(), Collection.objects.get(slug="hills").version
    collection = deleting.restore(deleted(whole))
    assert rows() == before
    assert (collection.slug, collection.get_absolute_url()) == ("hills", "/collections/hills/")
    assert Collection.objects.get(slug="hills").version > version


def test_its_address_is_free_at_once_and_it_comes_back_beside_the_new_one():
    deletion = deleted(make_collection())
    making.make("hills", "New hills")
    assert deleting.restore(deletion).slug == "hills-2"
    assert list(Collection.objects.order_by("slug").values_list("slug", "name")) == [
        ("hills", "New hills"),
        ("hills-2", "Hills"),
    ]


def test_what_is_restored_or_being_removed_cannot_be_restored_again():
    deletion = deleted(make_collection())
    deleting.restore(deletion)
    with pytest.raises(deleting.Gone):
        deleting.restore(deletion)
    again = deleted(Collection.objects.get(slug="hills"))
    assert deleting.remove_now(again) and not deleting.remove_now(again)
    with pytest.raises(deleting.Gone):
        deleting.restore(again)
    assert not Collection.objects.exists()


def test_its_admins_and_superusers_may_restore_it_and_nobody_else():
    collection = make_collection()
    admin, other = (make_member(collection, name, Role.ADMIN) for name in ("admin", "other"))
    analyst, stranger = make_member(collection, "analyst", Role.ANALYST), make_user("stranger")
    root = get_user_model().objects.create_superuser("root")
    deletion = deleted(collection, by=admin)
    for user in (admin, other, root):
        assert list(Deletion.objects.of_admin(user)) == [deletion]
    for user in (analyst, stranger):
        assert not Deletion.objects.of_admin(user).exists()


# Removed


@pytest.mark.both_databases
def test_after_seven_days_and_not_before_every_row_and_file_goes_and_nothing_of_others(whole):
    both = rows()
    of_accounts = {"AccountLanguage", "Session", "SuperuserByGroup"}
    others = of_accounts | {"AllowedHost", "Deletion", "StagedRating"}
    assert not [name for name, count in both.items() if not count and name not in others]
    deletion = deleted(whole)
    deleting.remove_due(now=NOW + DAYS - timedelta(seconds=1))
    assert rows() == both + Counter(Deletion=1)
    deleting.remove_due(now=NOW + DAYS)
    assert rows() == Counter({name: count // 2 for name, count in both.items()})
    assert len(list(uploads.folder().iterdir())) == 1
    assert list(Collection.written.values_list("slug", flat=True)) == ["sea"]
    with pytest.raises(deleting.Gone):
        deleting.restore(deletion)


def test_a_collection_that_was_made_of_an_archive_goes_too_and_the_archive_stays_in_the_list():
    collection = make_collection()
    job = Job.objects.create(collection=collection, kind="archive", state="published", files=[{"name": "h.zip"}])
    deleted(collection)
    deleting.remove_due(now=NOW + DAYS)
    assert not Collection.written.exists()
    assert Job.objects.get(pk=job.pk).collection is None


class Killed(BaseException):
    """As kill -9 ends a process: nothing handles it."""


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_who_is_killed_after_any_piece_leaves_a_rest_that_the_next_worker_removes(whole, monkeypatch):
    both = rows()
    deleted(whole)
    kills, pieces = 0, 0
    pause = removing.give_way

    def killing(took: float) -> None:
        nonlocal pieces
        pause(took)
        pieces += 1
        if pieces > 1:  # each worker ends two pieces
            pieces = 0
            raise Killed

    monkeypatch.setattr(removing, "give_way", killing)
    for _ in range(100):
        try:
            deleting.remove_due(now=NOW + DAYS)
            break
        except Killed:
            kills += 1
            assert Deletion.objects.get().removing
            assert not Collection.objects.filter(slug=None).exists()
    assert kills > 5
    assert rows() == Counter({name: count // 2 for name, count in both.items()})


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_a_row_that_comes_while_it_is_removed_goes_at_the_next_look(whole, monkeypatch):
    """A save that began before the deletion ends between two pieces."""
    pair = Pair.objects.get(query__collection=whole, document__key="a", query__key="q1")
    deleted(whole)
    pause, late = removing.give_way, []

    def saving(took: float) -> None:
        pause(took)
        if (
            not late
            and not RatingEvent.objects.filter(pair=pair).exists()
            and Pair.objects.filter(pk=pair.pk).exists()
        ):
            facts = {"rater": Rater.objects.get(collection=whole), "kind": "grade", "value": 1}
            late.append(RatingEvent.objects.create(pair=pair, **facts, scale_version=1, created_at=NOW))

    monkeypatch.setattr(removing, "give_way", saving)
    deleting.remove_due(now=NOW + DAYS)
    assert late and Collection.written.filter(pk=whole.pk).exists()
    assert RatingEvent.objects.filter(pk=late[0].pk).exists()
    deleting.remove_due(now=NOW + DAYS)
    assert not Collection.written.filter(pk=whole.pk).exists() and not Deletion.objects.exists()


# Races


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_of_two_who_delete_at_once_one_does():
    collection = make_collection()
    found = race([None, None], lambda _: deleting.delete(Collection.objects.get(pk=collection.pk), None, now=NOW))
    assert sorted(type(each).__name__ for each in found) in (["Deletion", "Gone"], ["Deletion", "DoesNotExist"])
    assert Deletion.objects.count() == 1


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_of_a_restoring_and_a_removal_at_once_one_happens():
    for _ in range(5):
        deletion = deleted(make_collection())
        acts = [partial(deleting.restore, deletion), partial(deleting.remove_due, now=NOW + DAYS)]
        found = race(acts, lambda act: act())
        if isinstance(found[0], Exception):
            assert isinstance(found[0], deleting.Gone) and not Collection.written.exists()
        else:
            assert Collection.objects.get().documents.count() == 4
            Collection.objects.get().delete()
        assert not Deletion.objects.exists()


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_a_rating_that_is_saved_while_it_is_deleted_is_kept():
    collection = make_collection()
    pair, rater = make_pair(collection), make_rater(collection)
    queue.claim(rater)
    acts = [
        lambda: queue.save(rater, pair, queue.Submission(grade=grade(collection, "3"))),
        lambda: deleting.delete(collection, None, now=NOW),
    ]
    saved, deletion = race(acts, lambda act: act())
    assert not isinstance(saved, Exception), saved
    back = deleting.restore(deletion)
    assert Rating.objects.get(rater__collection=back).grade.value == 3


@pytest.mark.both_databases
def test_a_rating_whose_request_came_before_the_deletion_counts_after_the_restoring():
    collection = make_collection()
    make_ranking(collection, "bm25", "q1", "ab")
    one, other, rater = make_pair(collection), make_pair(collection, "q1", "b"), make_rater(collection)
    queue.save(rater, one, queue.Submission(grade=grade(collection, "3")))
    assert judged(collection) == [3]
    deletion = deleted(collection)
    queue.save(rater, other, queue.Submission(grade=grade(collection, "1")))
    assert judged(deleting.restore(deletion)) == [3, 1]


def judged(collection: Collection) -> list[float]:
    return scores.read(collection, scores.Asked.of(collection))[1].grade.tolist()
