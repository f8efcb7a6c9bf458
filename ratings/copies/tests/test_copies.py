"""What leaves of each table, and archives: they come back to the byte, and what is refused."""

import io
import json
import threading
import zipfile
from contextlib import nullcontext
from hashlib import sha256

import pytest
from django.contrib.auth import get_user_model
from django.core.files.storage import storages
from django.core.management import call_command
from django.db import connection, transaction

from evaluation.measures import Options
from evaluation.tests.worked import evaluated
from ratings.copies import archive, package, restoring, tables
from ratings.desk import queue
from ratings.formats.source import Source
from ratings.importing import intake
from ratings.importing.pictures import store
from ratings.importing.pictures.decoding import MOST_BYTES
from ratings.management.commands._collection_command import Refused
from ratings.models import (
    UNDRAWN,
    Assignment,
    Collection,
    Document,
    Job,
    Pair,
    Picture,
    Rater,
    Rating,
    RatingEvent,
)
from ratings.people import erasure, members
from ratings.pool import adjudication, anchors
from ratings.presentation.proposal import WEB_PAGE
from ratings.tests.cast import (
    NOW,
    grade,
    make_collection,
    make_pair,
    make_ranking,
    make_rater,
    make_round,
    make_sample,
    next_pair,
)

pytestmark = [pytest.mark.django_db]
SECRET = {"password", "key_hash", "secret", "token_secret", "session_data", "email", "user", "actor", "by"}
WEBP = b"RIFF\x24\0\0\0WEBPVP8 \x18\0\0\0\x30\x01\0\x9d\x01*\x01\0\x01\0\x02\0\x34%\xa4\0\x03p\0\xfe\xfb\x94\0\0"


# What leaves


def test_no_archive_has_a_secret_or_an_account():
    leaving = {name for table in tables.in_archive(judges=True, samples=True) for name in table.archive}
    assert leaving.isdisjoint(SECRET)


# Out and in


def written(slug: str = "there", **options) -> bytes:
    out = io.BytesIO()
    archive.write(Collection.objects.get(slug=slug), out, **options)
    return out.getvalue()


def restored(tmp_path, content: bytes, slug: str = "there") -> list[str]:
    """Import the archive; what was refused."""
    path = tmp_path / "a.zip"
    path.write_bytes(content)
    with restoring.opened(path) as opened:
        return [str(refusal) for refusal in restoring.restore(opened, slug).refusals]


def members_of(content: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(content)) as found:
        return {name: found.read(name).decode() for name in found.namelist() if name.endswith(".jsonl")}


def packed(texts: dict[str, str], files: dict[str, bytes] | None = None, **changed) -> bytes:
    """An archive of these texts, made without the code under test. `changed`: of the manifest."""
    contents = {name: text.encode(errors="surrogateescape") for name, text in texts.items()}
    sums = {name: sha256(content).hexdigest() for name, content in contents.items()}
    listed = [
        {"file": name, "lines": content.count(b"\n"), "sha256": sums[name]} for name, content in contents.items()
    ]
    snapshot = sha256("".join(f"{sums[name]}  {name}\n" for name in sums).encode()).hexdigest()
    manifest = {"format": archive.FORMAT, "version": archive.VERSION, "snapshot": snapshot, "members": listed}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in {**contents, **(files or {})}.items():
            made.writestr(name, content)
        made.writestr(package.MANIFEST, json.dumps(manifest | changed))
    return out.getvalue()


def forget_everything() -> None:
    """As on another server."""
    # Foreign keys are checked at the end.
    with transaction.atomic(), connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            if table.startswith("ratings_"):
                cursor.execute(f"DELETE FROM {table}")


def lived_in() -> Collection:
    """A collection in which something of every kind has happened."""
    about = {"measure": "nDCG@10", "profile": "default", "options": {}, "rule": "mean", "adjudications": "use"}
    collection = make_collection()
    Collection.objects.update(order="decisive", aim=about | {"systems": ["bm25", "dense"]})
    Collection.objects.update(default_options={"measure": "AP", "profile": "trec_eval", "gain": "linear"})
    collection.refresh_from_db()
    collection.documents.filter(key="a").update(
        fields={"a": [1, 1.5, None], "b": {"c": 1e-07, "n": -0.0, "m": 1e23}}
    )
    collection.guidelines.create(version=1, text="Read *all* of it.")
    collection.presentations.create(version=1, content=WEB_PAGE.as_json())
    make_ranking(collection, "bm25", "q1", "abcd")
    make_ranking(collection, "dense", "q2", "dc")
    alice, bob = make_rater(collection, "alice"), make_rater(collection, "bob")
    for query in collection.queries.order_by("key"):
        alice.queries.add(query)
    for document in "abc":
        make_pair(collection, "q1", document, wanted=2)
    make_round(collection, [make_pair(collection, "q1", document) for document in "ba"])
    anchors.set_anchor(make_pair(collection, "q2", "d"), use="gold", grade=grade(collection, "2"))
    warm = make_pair(collection, "q2", "c")
    anchors.set_anchor(warm, use="warm_up", grade=grade(collection, "1"), explanation="because")
    for rater in (alice, bob):
        for _ in ("warm-up", "pair", "pair"):
            said = queue.Submission(grade=grade(collection, "2"), comment="=1+1\r\n", seconds=2.5)
            queue.save(rater, queue.claim(rater, now=NOW)[0], said, now=NOW)
        queue.claim(rater, now=NOW)
    queue.undo(alice, now=NOW)
    pair = make_pair(collection, "q1", "a")
    adjudication.adjudicate(pair, grade(collection, "3"), reason="clear", actor=alice.user)
    queue.retire([make_pair(collection, "q1", "b").pk], now=NOW)
    sources = [Source("qrels", io.BytesIO(b"q2 0 a 3\nq2 0 b 0\n"))]
    assert not intake.import_ratings(collection, sources, rater="imported").refused
    digest = store.keep(WEBP)
    shown = {"state": "ready", "small": digest, "large": digest, "width": 1, "height": 1}
    Picture.objects.create(collection=collection, digest="a" * 64, source="data:", **shown)
    members.invite(collection, ["carla@example.org"], role="rater", days=7, by=alice.user)
    return collection


def from_elsewhere() -> bytes:
    """The archive of such a collection, which is not here."""
    lived_in()
    content = written("hills")
    forget_everything()
    get_user_model().objects.all().delete()
    return content


@pytest.mark.both_databases
def test_a_collection_that_was_lived_in_comes_back_to_the_byte_with_its_numbers(tmp_path):
    collection = lived_in()
    before, numbers = written("hills"), evaluated(collection, ["nDCG@10", "P@5"], Options()).per_query
    pairs, events = set(Pair.objects.values_list("token", flat=True)), RatingEvent.objects.count()
    assert [name for name, text in members_of(before).items() if not text] == []
    forget_everything()
    assert restored(tmp_path, before, "hills") == []
    assert written("hills") == before
    collection = Collection.objects.get()
    assert evaluated(collection, ["nDCG@10", "P@5"], Options()).per_query.equals(numbers)
    assert set(Pair.objects.values_list("token", flat=True)) == pairs
    assert RatingEvent.objects.count() == events > 5
    assert not Assignment.objects.filter(state="leased").exists()
    facts = Assignment.objects.values_list("round", "pair__drawn__round__number", "collection", "query")
    assert {(number, of_pair or UNDRAWN) for number, of_pair, *_ in facts} == {(1, 1), (UNDRAWN, UNDRAWN)}
    assert {tuple(rest) for _, _, *rest in facts} == {(collection.pk, q.pk) for q in collection.queries.all()}
    for rating in Rating.objects.select_related("pair"):
        assert (rating.query_id, rating.document_id) == (rating.pair.query_id, rating.pair.document_id)
    # The rating goes on where it stood, and a number of a job tells who made it.
    assert next_pair(collection.raters.get(name="bob")) is None
    assert Job.objects.get(kind="archive").collection == collection


def test_a_copy_beside_its_original_has_addresses_of_its_own(tmp_path):
    lived_in()
    assert restored(tmp_path, written("hills"), "there") == []
    assert Pair.objects.values("token").distinct().count() == Pair.objects.count() == 14
    assert "got a new one" in Job.objects.get(kind="archive").report["warnings"][0]


def test_the_deepest_document_that_an_import_takes_comes_back(tmp_path):
    collection = make_collection("hills", documents="")
    line = '{"id": "a", "x": ' + "[" * 99 + "1" + "]" * 99 + "}"
    assert not intake.import_documents(collection, [Source("file", io.BytesIO(line.encode()))]).refused
    assert restored(tmp_path, written("hills"), "copy") == []
    assert Document.objects.get(collection__slug="copy").fields == collection.documents.get().fields


def test_nobody_is_told_of_accounts_addresses_and_invitations_or_of_who_was_erased():
    lived_in()
    get_user_model().objects.filter(username="alice").update(email="alice@example.org", first_name="Alicia")
    text = "".join(members_of(written("hills")).values())
    assert "alice" in text  # the rater's name
    assert not [secret for secret in ("example.org", "Alicia", "carla", "a pass phrase", "md5") if secret in text]
    pseudonym = erasure.erase(Rater.objects.get(name="alice"))
    text = "".join(members_of(written("hills")).values())
    assert "alice" not in text and pseudonym in text


def test_a_picture_whose_file_is_gone_is_to_be_fetched_again(tmp_path):
    lived_in()
    storages["pictures"].delete(store.name_of(Picture.objects.get().small))
    assert '"state":"wanted"' in members_of(written("hills"))["picture.jsonl"]
    assert restored(tmp_path, written("hills"), "again") == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("guarded", [True, False])
def test_an_archive_is_of_one_moment_while_raters_write(monkeypatch, guarded):
    """Every rating has its event. The twin without the snapshot tells of more events."""
    collection = make_collection(documents="abcdefgh")
    alice = make_rater(collection)
    pairs = [make_pair(collection, "q1", document) for document in "abcdefgh"]
    queue.save(alice, pairs[0], queue.Submission(grade=grade(collection, "2")))
    lines = archive.lines

    def write_meanwhile() -> None:
        for pair in pairs[1:]:
            queue.save(alice, pair, queue.Submission(grade=grade(collection, "1")))
        connection.close()

    def ratings_and_then_raters_write(table, ids):
        yield from lines(table, ids)
        if table.model is Rating:
            writer = threading.Thread(target=write_meanwhile)
            writer.start()
            writer.join(30)
            assert not writer.is_alive(), "raters wait for the export"

    monkeypatch.setattr(archive, "lines", ratings_and_then_raters_write)
    if not guarded:
        monkeypatch.setattr(archive, "snapshot", nullcontext)
    found = members_of(written("hills"))
    assert (found["rating.jsonl"].count("\n"), Rating.objects.count()) == (1, 8)
    assert found["ratingevent.jsonl"].count("\n") == (1 if guarded else 8)


# Refused


@pytest.mark.parametrize(
    ("member", "before", "after", "said"),
    [
        ("grade", '"value":"0"', '"value":"-1"', 'grade.jsonl, line 2: "-1" already appears on line 1'),
        ("grade", '"value":"0"', '"value":"1e9"', "line 2: the field value: '1e9'"),
        ("grade", '"meaning"', '"means"', "line 1: it must have exactly value, label, meaning"),
        ("query", '"weight":1.0', '"weight":-1', "query.jsonl, line 1: the field weight: -1: Ensure"),
        ("query", '"weight":1.0', '"weight":NaN', "query.jsonl, line 1: NaN is not a JSON number"),
        ("query", '"weight":1.0', '"weight":1' + "0" * 400, "line 1: the field weight"),
        ("query", '"weight":1.0', '"weight":true', "line 1: the field weight: True is not a number"),
        ("query", '"key":"q1"', '"key":"q 1"', "line 1: the key 'q 1' has a blank"),
        ("query", '"tags":[]', '"tags":7', "line 1: the field tags: 7 is not an object or a list"),
        ("picture", '"width":1', '"width":-1', "line 1: the field width: -1"),
        ("picture", '"state":"ready"', '"state":"wanted"', "line 1: a picture must have a small"),
        ("picture", '"digest":"aaa', '"digest":"../', "line 1: a digest is no SHA-256"),
        ("ranking", '"d"]', '"z"]', "ranking.jsonl, line 1: document.jsonl has no line 'z'"),
        ("ranking", '"d"]', '"a"]', "line 1: the documents are no list of different keys"),
        ("ranking", '"scores":[', '"scores":[7,', "line 1: there are not as many scores"),
        ("rater", '"person"', '"machine"', "line 1: the field kind: 'machine' is none of person, imported"),
        ("rater_queries", '"q1"', '"q9"', 'line 1: query.jsonl has no line "q9"'),
        ("drawn", '"kind":"random"', '"kind":"greedy"', "drawn.jsonl, line 1: a line from here to line"),
        ("anchor", '"grade":"2"', '"grade":"7"', 'anchor.jsonl, line 1: grade.jsonl has no line "7"'),
        ("assignment", '"rater":"alice"', '"rater":null', "breaks a rule of the database"),
        ("rating", '"rater":"alice"', '"rater":"nobody"', 'line 1: rater.jsonl has no line "nobody"'),
        ("rating", '"reason":""', '"reason":"shy"', "line 1: the field reason: 'shy' is none of broken"),
        ("adjudication", '["q1","a"]', '["q9","a"]', 'line 1: pair.jsonl has no line ["q9","a"]'),
        ("ratingevent", '"undoes":3', '"undoes":99', "ratingevent.jsonl has no line 99"),
        ("check", '"event":1', '"event":"1"', 'line 1: ratingevent.jsonl has no line "1"'),
        ("collection", '"gold_share":"0.1"', '"gold_share":"0.6"', "line 1: the field gold_share: '0.6': Ensure"),
        ("collection", "T", "t13", "line 1: the field created_at"),
        ("job", '"published"', '"queued"', "line 1: 'queued' is neither published nor undone"),
        ("grade", '{"label"', '[{"label"', "grade.jsonl, line 1: the line is not JSON"),
        ("grade", "Harmful", "\udcff", "grade.jsonl, line 1: "),
    ],
)
def test_a_line_that_is_wrong_is_named_and_nothing_is_written(tmp_path, member, before, after, said):
    Collection.objects.filter(pk=lived_in().pk).update(gold_share="0.1")
    good = written("hills")
    members, name = members_of(good), f"{member}.jsonl"
    assert before in members[name], members[name]
    forget_everything()
    with zipfile.ZipFile(io.BytesIO(good)) as found:
        files = {each: found.read(each) for each in found.namelist() if each.startswith("pictures/")}
    refused = restored(tmp_path, packed(members | {name: members[name].replace(before, after, 1)}, files))
    assert said in refused[0]
    assert not Collection.objects.exists() and not Job.objects.exists()


def added(content: bytes, name: str, text: bytes = b"x") -> bytes:
    out = io.BytesIO(content)
    with zipfile.ZipFile(out, "a") as made:
        made.writestr(name, text)
    return out.getvalue()


def small() -> dict[str, str]:
    make_collection()
    return members_of(written("hills"))


BOMB = {"document.jsonl": " " * 150_000_000}
SCRIPT = b"<script>alert(1)</script>"
WRONG = {
    "it is not a complete ZIP (": lambda good: good[:-400],
    "it is not a complete ZIP": lambda good: b"PK no zip",
    "it has the file '../../evil.py', which no archive has": lambda good: added(good, "../../evil.py"),
    "it has no manifest.json": lambda good: added(b"", "notes.txt"),
    "query.jsonl is in it twice": lambda good: added(good, "query.jsonl"),
    "its manifest names other files": lambda good: packed({"grade.jsonl": ""}),
    "it has version 2 of the format": lambda good: packed(members_of(good), version=2),
    "its format is 'zoo'": lambda good: packed(members_of(good), format="zoo"),
    "manifest.json: it cannot be read": lambda good: packed(members_of(good), members=[1]),
    "the snapshot id is of other files": lambda good: packed(members_of(good), snapshot="0"),
    "it is damaged": lambda good: good.replace(b"PK\x03\x04", b"PK\x03\x05", 3),
    "it unpacks to more than 200 times": lambda good: packed(
        members_of(good) | {"document.jsonl": " " * 150_000_000}
    ),
    "a picture has at most": lambda good: added(good, f"pictures/{'d' * 64}.webp", bytes(MOST_BYTES + 1)),
    "its name is not the SHA-256": lambda good: added(good, f"pictures/{'d' * 64}.webp", WEBP),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("said", WRONG)
def test_what_is_no_whole_archive_is_refused_with_place_and_cure(tmp_path, said):
    path = tmp_path / "a.zip"
    small()
    path.write_bytes(WRONG[said](written("hills")))
    with pytest.raises(package.Unreadable) as refused, restoring.opened(path):
        pass
    assert said in str(refused.value) and str(refused.value).startswith(str(path))
    assert refused.value.refusal.cure_text()


def test_a_picture_of_an_archive_is_one_that_idealist_makes(tmp_path):
    members, digest = small(), sha256(SCRIPT).hexdigest()
    line = {"digest": "a" * 64, "source": "1.png", "named_by": "", "state": "ready", "problem": "", "width": 1}
    line |= {"token": "00000000-0000-4000-8000-00000000000b", "small": digest, "large": digest, "height": 1}
    members |= {"picture.jsonl": json.dumps(line) + "\n"}
    file = {f"pictures/{digest}.webp": SCRIPT}
    assert "it is not WebP" in restored(tmp_path, packed(members, file))[0]
    assert f"the archive has no pictures/{digest}.webp" in restored(tmp_path, packed(members))[0]
    members |= {"picture.jsonl": ""}
    assert (
        "no line names"
        in restored(tmp_path, packed(members, {archive.picture_file(sha256(WEBP).hexdigest()): WEBP}))[0]
    )


def test_lines_that_are_too_many_too_long_or_cut_off_are_refused(tmp_path, monkeypatch):
    members = small()
    told = json.loads(zipfile.ZipFile(io.BytesIO(packed(members))).read(package.MANIFEST))["members"]
    more = [each | {"lines": 10**15} if each["file"] == "query.jsonl" else each for each in told]
    assert "it has 2 lines, and must have 1,000,0" in restored(tmp_path, packed(members, members=more))[0]
    twice = members | {"collection.jsonl": members["collection.jsonl"] * 2}
    assert "it has 2 lines, and must have 1" in restored(tmp_path, packed(twice))[0]
    cut = members | {"grade.jsonl": members["grade.jsonl"][:-1]}
    assert "line 5: the line is cut off" in restored(tmp_path, packed(cut))[0]
    monkeypatch.setattr(restoring, "LONGEST_LINE", 20)
    assert "the line is longer than 0 MB" in restored(tmp_path, packed(members))[0]
    assert Collection.objects.count() == 1


def test_a_slug_that_somebody_takes_meanwhile_is_refused_and_nothing_stays(monkeypatch, tmp_path):
    lived_in()
    content, taken = written("hills"), restoring.store.keep
    pairs = Pair.objects.count()

    def somebody_is_faster(picture: bytes) -> str:
        Collection.objects.get_or_create(slug="there", name="Another")
        return taken(picture)

    monkeypatch.setattr(restoring.store, "keep", somebody_is_faster)
    refused = restored(tmp_path, content)
    assert "somebody made a collection 'there' meanwhile. Choose another name." in refused[0]
    assert Pair.objects.count() == pairs and not Job.objects.filter(kind="archive").exists()


def test_commands_take_a_collection_out_and_in_and_refuse_a_name_that_is_taken(tmp_path):
    lived_in()
    path, out, err = tmp_path / "hills.zip", io.StringIO(), io.StringIO()
    call_command("export_collection", "hills", output=str(path), stdout=out)
    assert json.loads(zipfile.ZipFile(path).read(package.MANIFEST))["snapshot"] in out.getvalue()
    with pytest.raises(Refused, match=r"There is a collection 'hills' already.*--slug. Nothing was written"):
        call_command("import_collection", str(path), slug="hills")
    with pytest.raises(Refused, match="'a b' cannot be part of an address"):
        call_command("import_collection", str(path), slug="a b")
    with pytest.raises(Refused, match="No such file or directory. Nothing was written"):
        call_command("import_collection", str(tmp_path / "none.zip"), slug="new")
    call_command("import_collection", str(path), slug="new", stdout=out, stderr=err)
    assert "Collection new made, with 2 queries, 4 documents, 2 systems, 3 raters" in out.getvalue()
    assert "add_member new NAME admin" in err.getvalue()


# Samples from a log


def test_a_sample_comes_back_to_the_byte_and_without_one_an_archive_has_no_file_of_samples(tmp_path):
    there = make_collection("there")
    assert not any("sample" in name for name in members_of(written()))
    first = make_sample(there, [("q1", 9, 1.0), ("q2", 2, 0.1 + 0.2)])
    second = make_sample(there, [("q1", 9, 1.0), ("q2", 2, 0.5), ("", 1, 0.25)], searches=99, queries=50)
    second.former = first
    second.save()
    content = written()
    assert restored(tmp_path, content, "again") == []
    again = Collection.objects.get(slug="again")
    assert written("again") == content
    assert [(one.number, one.former and one.former.number) for one in again.samples.all()] == [(1, None), (2, 1)]
    rows = again.samples.get(number=2).drawn.values_list("query__key", "count", "chance", "left_out")
    assert list(rows) == [("q1", 9, 1, ""), ("q2", 2, 0.5, ""), (None, 1, 0.25, "held")]
