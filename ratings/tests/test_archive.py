"""A collection as one file: what is in it, that it comes back to the byte, and what is refused."""

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
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ratings import archive, intake, queue
from ratings.archive import aims as aims_of
from ratings.archive.members import BY_NAME, FILES, MANIFEST, MEMBERS
from ratings.archive.shape import TOKEN
from ratings.formats.source import Source
from ratings.management.commands._collection_command import Refused
from ratings.models import (
    UNDRAWN,
    Assignment,
    Check,
    Collection,
    Document,
    Pair,
    Rater,
    Rating,
    RatingEvent,
    Round,
)
from ratings.people import members as people
from ratings.people import privacy
from ratings.pictures import store
from ratings.pool import adjudication, anchors
from ratings.presentation.presets import PRESETS

from .cast import NOW, grade, make_collection, make_pair, make_ranking, make_rater, make_round, next_pair
from .thorough import examples

SHOWN = [preset.as_json() for preset in PRESETS.values()]
EXAMPLES = examples(8)

KEY = '"00000000-0000-4000-8000-00000000000a"'
WEBP = b"RIFF\x24\0\0\0WEBPVP8 \x18\0\0\0\x30\x01\0\x9d\x01*\x01\0\x01\0\x02\0\x34%\xa4\0\x03p\0\xfe\xfb\x94\0\0"
PICTURE = sha256(WEBP).hexdigest()
READY = {"state": "ready", "small": PICTURE, "large": PICTURE, "width": 1, "height": 1}
NOT_READY = {"state": "wanted", "small": "", "large": "", "width": 0, "height": 0}
CHOSEN = [
    {"kind": "greedy", "unit": None, "key": None, "rate": None, "within": None},
    {"kind": "random", "unit": 1, "key": 0.0, "rate": 1e-300, "within": 1.0},
    {"kind": "random", "unit": 7, "key": 0.1, "rate": 1e300, "within": 0.30000000000000004},
]
# The whole of a small collection, in the form that it must have on every server and database.
ABOUT = {"measure": "nDCG@10", "profile": "default", "options": {}, "rule": "mean", "adjudications": "use"}
HILLS = {
    "collection": '{"name":"Hills","description":"Walks","relevant_from":"0.5","order":"depth","gold_share":"0.1",'
    '"repeat_share":"0","break_after":50,"aim":{"adjudications":"use","measure":"nDCG@10","options":{},'
    '"profile":"default","rule":"mean","systems":["my system"]},'
    '"scale_version":2,"created_at":"2026-03-01T08:00:00+00:00"}\n',
    "grades": '{"value":"-1","label":"Harmful","meaning":""}\n{"value":"0.5","label":"","meaning":"a\\nb"}\n',
    "guidelines": '{"version":1,"text":"## 1","created_at":"2026-03-01T08:00:00.000001+00:00"}\n',
    "presentations": '{"version":2,"content":{"document":[{"kind":"title","path":"title"},{"kind":"number",'
    '"label":"Price","path":"price.amount","unit":"€"}],"query":[]},"created_at":"2026-03-01T08:00:00+00:00"}\n',
    "queries": '{"key":"q10","text":"größe","need":"","tags":["b","a"],"fields":{"locale":"de"},"weight":1.0}\n'
    '{"key":"=q2","text":"t","need":"n","tags":[],"fields":{},"weight":0.1}\n',
    "documents": '{"key":"d1","title":"T","body":"=1","url":"","fields":{"a":[1,1.5,null],"b":{"c":1e-07}}}\n'
    '{"key":"-d2","title":"","body":"","url":"","fields":{}}\n',
    "pictures": f'{{"digest":"{"a" * 64}","source":"https://cdn.example.org/1.png","named_by":"d1",'
    f'"token":"00000000-0000-4000-8000-00000000000b","state":"ready","problem":"","small":"{PICTURE}",'
    f'"large":"{PICTURE}","width":1,"height":1}}\n'
    f'{{"digest":"{"b" * 64}","source":"2.png","named_by":"","token":"00000000-0000-4000-8000-00000000000c",'
    '"state":"refused","problem":"No file.","small":"","large":"","width":0,"height":0}\n',
    "systems": '{"name":"my system","description":"","created_at":"2026-03-01T08:00:00+00:00"}\n',
    "rankings": '{"system":"my system","query":"q10","documents":["-d2","d1"],'
    '"scores":[0.30000000000000004,-0.0]}\n'
    '{"system":"my system","query":"=q2","documents":[],"scores":null}\n',
    "raters": '{"name":"rater 1f","kind":"person","weight":"0.125","active":false,"limit":7,'
    '"guidelines_read":1,"warmed_up_at":"2026-03-01T08:00:00+00:00"}\n'
    '{"name":"gpt","kind":"imported","weight":"1","active":true,"limit":null,"guidelines_read":0,'
    '"warmed_up_at":null}\n',
    "queries_of_raters": '{"rater":"rater 1f","query":"q10"}\n{"rater":"rater 1f","query":"=q2"}\n',
    "pairs": '{"query":"=q2","document":"d1","token":"00000000-0000-4000-8000-000000000001","wanted":2,"depth":3,'
    '"born":0,"known":null,"retired_at":null}\n'
    '{"query":"q10","document":"-d2","token":"00000000-0000-4000-8000-000000000002","wanted":1,"depth":2147483647,'
    '"born":1,"known":1,"retired_at":"2026-03-02T08:00:00+00:00"}\n',
    "rounds": '{"number":1,"method":"1","seed":-9223372036854775808,"aim":{"adjudications":"use","gains":[0,0.5],'
    '"measure":"nDCG@10","options":{"gain":"linear"},"profile":"default","rule":"mean","systems":["bm25"]},'
    '"seen":{"best":[null],"high":[1],"low":[0.25],"mean":[0.5],"wrong":null},'
    '"threshold":null,"precision":100000000000000.0,"frame":1,"judged":0,"version":9223372036854775807,'
    '"created_at":"2026-03-01T08:00:00+00:00"}\n'
    '{"number":2,"method":"1","seed":7,"aim":{"adjudications":"use","gains":[],"measure":"nDCG@10","options":{},'
    '"profile":"default","rule":"mean","systems":[]},"seen":{"best":[],"high":[],"low":[],"mean":[],"wrong":0.1},'
    '"threshold":0.30000000000000004,"precision":0.0,"frame":2,'
    '"judged":1,"version":8,"created_at":"2026-03-02T08:00:00.000001+00:00"}\n',
    "drawn": '{"round":1,"query":"=q2","document":"d1","place":1,"kind":"greedy","unit":null,"key":null,'
    '"rate":null,"within":null,"born":0,"chances":[0.25]}\n'
    '{"round":2,"query":"q10","document":"-d2","place":1,"kind":"random","unit":1,"key":1e-07,'
    '"rate":0.1,"within":1.0,"born":1,"chances":[1e-07,0.0]}\n',
    "anchors": '{"query":"=q2","document":"d1","use":"gold","grade":"0.5","explanation":"",'
    '"created_at":"2026-03-01T08:00:00+00:00"}\n',
    "assignments": '{"query":"=q2","document":"d1","rater":"rater 1f","state":"done",'
    '"extra":true,"depth":3,"lot":11}\n'
    '{"query":"=q2","document":"d1","rater":null,"state":"open","extra":false,"depth":3,"lot":12}\n',
    "ratings": '{"query":"=q2","document":"d1","rater":"rater 1f","grade":"0.5","reason":"",'
    '"comment":"so\\r\\nso","revision":2,"created_at":"2026-03-02T08:00:00+00:00","changed_at":"2026-03-02T08:00:01.500000+00:00"}\n'
    '{"query":"=q2","document":"d1","rater":"gpt","grade":null,"reason":"other","comment":"","revision":1,'
    '"created_at":"2026-03-02T08:00:00+00:00","changed_at":"2026-03-02T08:00:00+00:00"}\n',
    "adjudications": '{"query":"=q2","document":"d1","grade":"-1","reason":"clear","created_at":'
    '"2026-03-03T08:00:00+00:00"}\n',
    "imports": '{"number":1,"files":["qrels.txt"],"state":"undone","created_at":"2026-03-01T08:00:00+00:00",'
    '"ended_at":"2026-03-01T08:00:01+00:00"}\n',
    "events": "".join(
        f'{{"number":{number},"query":"=q2","document":"d1","rater":{rater},"kind":"{kind}","value":{value},'
        f'"reason":"","comment":"","undoes":{undoes},"import":{brought},'
        f'"scale_version":2,"guidelines_version":1,"presentation_version":{number},'
        f'"opened":{str(shown == "list").lower()},"seconds":{seconds},'
        f'"shown":"{shown}","client_key":{key},"created_at":"2026-03-02T08:00:00+00:00"}}\n'
        for number, rater, kind, value, undoes, brought, seconds, shown, key in (
            (1, '"rater 1f"', "grade", '"-1"', "null", "null", "1.5", "one", KEY),
            (2, '"rater 1f"', "undo", "null", "1", "null", "null", "", "null"),
            (3, '"rater 1f"', "grade", '"0.5"', "null", "null", "0.0", "list", "null"),
            (4, "null", "adjudicate", '"-1"', "null", "null", "null", "", "null"),
            (5, '"rater 1f"', "repeat", '"7"', "null", "null", "2.0", "one", "null"),
            (6, '"gpt"', "import", '"7"', "null", "1", "null", "", "null"),
            (7, '"gpt"', "undo", "null", "6", "null", "null", "", "null"),
        )
    ),
    "checks": '{"query":"=q2","document":"d1","rater":"rater 1f","kind":"repeat",'
    '"token":"00000000-0000-4000-8000-000000000003","event":5,"created_at":"2026-03-02T08:00:00+00:00"}\n',
}


def packed(contents_of: dict[str, str], **changed) -> bytes:
    """An archive of these members, made without the code under test. `changed`: of the manifest."""
    contents = {f"{name}.jsonl": text.encode(errors="surrogateescape") for name, text in contents_of.items()}
    sums = {name: sha256(content).hexdigest() for name, content in contents.items()}
    manifest = {
        "format": "idealist collection",
        "version": 1,
        "snapshot": sha256("".join(f"{sums[name]}  {name}\n" for name in sums).encode()).hexdigest(),
        "members": [
            {"file": name, "lines": content.count(b"\n"), "sha256": sums[name]}
            for name, content in contents.items()
        ],
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in contents.items():
            made.writestr(name, content)
        if PICTURE in contents_of.get("pictures", ""):
            made.writestr(f"pictures/{PICTURE}.webp", WEBP)
        made.writestr(MANIFEST, json.dumps(manifest | changed))
    return out.getvalue()


def restored(tmp_path, content: bytes, slug: str = "there") -> list[str]:
    """Import the archive; what was refused."""
    path = tmp_path / "a.zip"
    path.write_bytes(content)
    with archive.opened(path) as opened:
        return [str(refusal) for refusal in archive.restore(opened, slug).refusals]


def written(slug: str = "there") -> bytes:
    out = io.BytesIO()
    archive.write(Collection.objects.get(slug=slug), out)
    return out.getvalue()


def members_of(content: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(content)) as found:
        return {
            name.removesuffix(".jsonl"): found.read(name).decode() for name in found.namelist() if name in FILES
        }


def forget_everything() -> None:
    """As on another server."""
    with connection.cursor() as cursor:
        tables = [t for t in connection.introspection.table_names(cursor) if t.startswith("ratings_")]
        for table in tables:
            cursor.execute(f"DELETE FROM {table}")


@pytest.mark.django_db
def test_what_is_written_by_hand_comes_back_the_same_on_every_database(tmp_path):
    assert list(HILLS) == [member.name for member in MEMBERS]
    assert restored(tmp_path, packed(HILLS)) == []
    assert members_of(written()) == HILLS
    rater = Rater.objects.get(name="rater 1f")
    assert (rater.user, [query.key for query in rater.queries.order_by("key")]) == (None, ["=q2", "q10"])
    assert [event.undoes and event.undoes.value for event in RatingEvent.objects.order_by("pk")[:2]] == [None, -1]
    assert Assignment.objects.filter(state="done", rater=rater).count() == 1
    assert set(Assignment.objects.values_list("round", flat=True)) == {1}  # that of their pair
    assert Collection.objects.get().aim == ABOUT | {"systems": ["my system"]}
    assert [drawn.pair.document.key for drawn in Round.objects.get(number=2).drawn.all()] == ["-d2"]
    assert Check.objects.get().event.kind == "repeat"


def with_picture(content: bytes, name: str) -> bytes:
    """An archive of HILLS with this file in place of its picture, under its own name or another one."""
    digest = sha256(content).hexdigest()
    pictures = HILLS["pictures"].replace(PICTURE, digest)
    out = io.BytesIO(packed(HILLS | {"pictures": pictures}))
    with zipfile.ZipFile(out, "a") as made:
        made.writestr(f"pictures/{name or digest}.webp", content)
    return out.getvalue()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        (b"<script>alert(1)</script>", "", "it is not WebP"),
        (WEBP[:40], "", "it is not WebP"),
        (WEBP, "d" * 64, "its name is not the SHA-256"),
        (WEBP, "../" + PICTURE, "which no archive has"),
    ],
)
def test_a_picture_of_an_archive_is_one_that_idealist_makes(tmp_path, content, name, said):
    try:
        refusals = restored(tmp_path, with_picture(content, name))
    except archive.Unreadable as unreadable:
        refusals = [str(unreadable)]
    assert said in refusals[0] and not Collection.objects.exists()


@pytest.mark.django_db
def test_a_picture_whose_file_is_gone_is_to_be_fetched_again(tmp_path):
    restored(tmp_path, packed(HILLS))
    storages["pictures"].delete(store.name_of(PICTURE))
    (first, _) = members_of(written())["pictures"].splitlines()
    assert json.loads(first) | NOT_READY == json.loads(first)
    assert restored(tmp_path, written(), "again") == []


@pytest.mark.django_db
def test_the_snapshot_id_is_what_sha256sum_says_of_the_files(tmp_path):
    restored(tmp_path, packed(HILLS))
    out = io.BytesIO()
    snapshot = archive.write(Collection.objects.get(), out)
    with zipfile.ZipFile(out) as found:
        told = json.loads(found.read(MANIFEST))
    sums = [sha256(HILLS[member.name].encode()).hexdigest() for member in MEMBERS]
    listed = "".join(f"{digest}  {file}\n" for digest, file in zip(sums, FILES, strict=True))
    assert snapshot == told["snapshot"] == sha256(listed.encode()).hexdigest()
    assert [each["lines"] for each in told["members"]] == [HILLS[m.name].count("\n") for m in MEMBERS]


def lived_in() -> Collection:
    """A collection in which something of every kind has happened."""
    collection = make_collection()
    Collection.objects.update(order="decisive", aim=ABOUT | {"systems": ["bm25", "dense"]})
    collection.refresh_from_db()
    make_ranking(collection, "bm25", "q1", "abcd")
    make_ranking(collection, "dense", "q2", "dc")
    alice, bob = make_rater(collection, "alice"), make_rater(collection, "bob")
    for document in "abc":
        make_pair(collection, "q1", document, wanted=2)
    make_round(collection, [make_pair(collection, "q1", document) for document in "ba"])
    gold = make_pair(collection, "q2", "d")
    anchors.set_anchor(gold, use="gold", grade=grade(collection, "2"))
    warm = make_pair(collection, "q2", "c")
    anchors.set_anchor(warm, use="warm_up", grade=grade(collection, "1"), explanation="because")
    for rater in (alice, bob):
        for _ in ("warm-up", "pair", "pair"):
            task = queue.claim(rater, now=NOW)[0]
            queue.save(
                rater, task, queue.Submission(grade=grade(collection, "2"), comment="=1+1", seconds=2.5), now=NOW
            )
        queue.claim(rater, now=NOW)
    pair = make_pair(collection, "q1", "a")
    queue.undo(alice, now=NOW)
    adjudication.adjudicate(pair, grade(collection, "3"), reason="clear", actor=alice.user)
    queue.retire([make_pair(collection, "q1", "b").pk], now=NOW)
    people.invite(collection, ["carla@example.org"], role="rater", days=7, by=alice.user)
    return collection


@pytest.mark.django_db
def test_a_collection_that_was_lived_in_comes_back_to_the_byte_on_another_server(tmp_path):
    lived_in()
    before = written("hills")
    pairs, events = set(Pair.objects.values_list("token", flat=True)), RatingEvent.objects.count()
    forget_everything()
    assert restored(tmp_path, before) == []
    assert written() == before
    assert set(Pair.objects.values_list("token", flat=True)) == pairs
    assert RatingEvent.objects.count() == events > 5
    assert not Assignment.objects.filter(state="leased").exists()
    assert set(Pair.objects.values_list("drawn__place", "born")) == {(1, 0), (2, 0), (None, 0), (None, 1)}
    facts = Assignment.objects.values_list("round", "pair__drawn__round__number")
    assert {(number, of_pair or UNDRAWN) for number, of_pair in facts} == {(1, 1), (UNDRAWN, UNDRAWN)}


@pytest.mark.django_db
def test_the_deepest_document_that_an_import_takes_comes_back(tmp_path):
    collection = make_collection("hills", documents="")
    line = '{"id": "a", "x": ' + "[" * 99 + "1" + "]" * 99 + "}"
    assert not intake.import_documents(collection, [Source("file", io.BytesIO(line.encode()))]).refused
    assert restored(tmp_path, written("hills"), "copy") == []
    assert Document.objects.get(collection__slug="copy").fields == collection.documents.get().fields


@pytest.mark.django_db
def test_no_account_no_address_and_no_invitation_is_told():
    lived_in()
    get_user_model().objects.filter(username="alice").update(email="alice@example.org", first_name="Alicia")
    text = "".join(members_of(written("hills")).values())
    assert "alice" in text  # the rater's name
    for secret in ("example.org", "Alicia", "carla", "a pass phrase", "md5"):
        assert secret not in text


@pytest.mark.django_db
def test_who_was_erased_stays_under_their_pseudonym(tmp_path):
    lived_in()
    pseudonym = privacy.erase(Rater.objects.get(name="alice"))
    before = written("hills")
    forget_everything()
    assert restored(tmp_path, before) == []
    assert Rating.objects.filter(rater__name=pseudonym).exists()
    assert b"alice" not in "".join(members_of(before).values()).encode()


@pytest.mark.django_db
def test_the_rating_goes_on_where_it_stood(tmp_path):
    lived_in()
    before = written("hills")
    forget_everything()
    restored(tmp_path, before)
    collection = Collection.objects.get()
    carla = make_rater(collection, "carla")
    Check.objects.all().delete()
    anchors.Anchor.objects.all().delete()
    given_out = next_pair(carla)
    assert given_out is not None
    queue.save(carla, given_out, queue.Submission(grade=grade(collection, "1")))
    assert collection.raters.get(name="carla").ratings.count() == 1


@pytest.mark.django_db
def test_a_copy_beside_its_original_gets_addresses_of_its_own(tmp_path):
    collection = lived_in()
    path = tmp_path / "a.zip"
    path.write_bytes(written("hills"))
    with archive.opened(path) as opened:
        report = archive.restore(opened, "copy")
    assert report.refusals == []
    assert "is in use here" in report.warnings[0]
    tokens = list(Pair.objects.values_list("token", flat=True))
    assert len(set(tokens)) == len(tokens) == 2 * Pair.objects.filter(query__collection=collection).count()


# Refusals


def test_a_token_is_a_uuid():
    assert TOKEN.read("0" * 32) == "0" * 32
    with pytest.raises(ValueError, match="'nonsense' is not a UUID"):
        TOKEN.read("nonsense")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("member", "before", "after", "said"),
    [
        (
            "grades",
            '"value":"0.5"',
            '"value":"-1"',
            "grades.jsonl, line 2: the entry -1 already appears on line 1",
        ),
        ("grades", '"value":"0.5"', '"value":"1e9"', "line 2: the field value: the grade '1e9' has more than 6"),
        ("queries", '"weight":0.1', '"weight":-1', "line 2: the field weight: -1 is not a number from 0 on"),
        ("queries", '"weight":0.1', '"weight":NaN', "queries.jsonl, line 2: NaN is not a JSON number"),
        ("queries", '"key":"=q2"', '"key":"q 2"', "line 2: the field key: the key 'q 2' has a blank"),
        (
            "queries",
            '"need":"n",',
            "",
            "line 2: the line must have exactly key, text, need, tags, fields, weight: 'need'",
        ),
        (
            "pictures",
            '"state":"ready"',
            '"state":"wanted"',
            "line 1: a picture must have a small",
        ),
        (
            "pictures",
            f'"small":"{PICTURE}"',
            f'"small":"{"c" * 64}"',
            f"the archive has no pictures/{'c' * 64}.webp",
        ),
        ("pictures", f'"digest":"{"a" * 64}"', '"digest":"a/../b"', "the field digest: 'a/../b' is not a SHA-256"),
        ("rankings", '"d1"]', '"d9"]', "rankings.jsonl, line 1: the file documents.jsonl has no d9"),
        ("rankings", ",-0.0]", "]", "line 1: there are not as many scores as documents"),
        ("raters", '"imported"', '"robot"', "line 2: the field kind: 'robot' is none of person, imported"),
        ("raters", '"imported"', '"machine"', "line 2: the field kind: a machine is not a rater"),
        ("queries_of_raters", '"query":"q10"', '"query":"q11"', "line 1: the file queries.jsonl has no q11"),
        ("pairs", "0000000002", "0000000001", "000-000000000001 already appears on line 1"),
        ("rounds", '"number":2', '"number":3', "rounds.jsonl, line 2: the number is 3"),
        ("rounds", '"systems":["bm25"]', '"systems":null', "line 1: the field aim: the systems are missing"),
        ("rounds", '"gains":[0,0.5]', '"gains":["0"]', "line 1: the field aim: ['0'] is not a list of gains"),
        ("rounds", '"gain":"linear"', '"gain":1', "line 1: the field aim:"),
        ("rounds", '"measure":"nDCG@10",', "", "line 1: the field aim:"),
        ("rounds", '"low":[0.25]', '"low":["0"]', "line 1: the field seen: ['0'] is not a list of numbers"),
        ("rounds", '"wrong":null', '"wrong":"no"', "line 1: the field seen: 'no' is not a chance"),
        (
            "rounds",
            '"wrong":null',
            '"triage":[1],"wrong":null',
            "line 1: the field seen: [1] is not a list of texts",
        ),
        ("rounds", '"wrong":null', '"others":[],"wrong":null', "may have machines or triage, and nothing else"),
        ("rounds", '"mean":[0.5]', '"mean":[]', "line 1: seen must have a number for each system of the aim"),
        (
            "rounds",
            '"precision":0.0',
            '"precision":-0.5',
            "line 2: the field precision: -0.5 is not a number from 0",
        ),
        ("drawn", '"round":2', '"round":3', "drawn.jsonl, line 2: the file rounds.jsonl has no 3"),
        (
            "drawn",
            '"query":"q10"',
            '"query":"=q2"',
            "drawn.jsonl, line 2: the file pairs.jsonl has no =q2 and -d2",
        ),
        ("drawn", '"round":2', '"round":1', "line 2: the entry 1 and 1 already appears on line 1"),
        ("drawn", '"unit":null', '"unit":1', "line 1: a pair must have a unit, a key"),
        ("drawn", '"key":1e-07', '"key":null', "line 2: a pair must have a unit, a key"),
        ("drawn", '"rate":0.1', '"rate":0.0', "line 2: a pair must have a unit, a key"),
        ("drawn", '"within":1.0', '"within":1.5', "line 2: a pair must have a unit, a key"),
        ("drawn", "[0.25]", "[25]", "line 1: the field chances: [25] is not a list of numbers from 0 to 1"),
        ("anchors", '"grade":"0.5"', '"grade":"2"', "anchors.jsonl, line 1: the file grades.jsonl has no 2"),
        ("anchors", '"gold"', '"warm_up"', "line 1: a warm-up has no explanation"),
        (
            "documents",
            '"fields":{}',
            '"fields":[]',
            "documents.jsonl, line 2: the field fields: [] is not an object",
        ),
        ("rankings", '["-d2","d1"]', '["d1","d1"]', "line 1: the field documents: 'd1' is in the list twice"),
        ("rankings", ",-0.0]", ",1" + "0" * 400 + "]", "line 1: the field scores: "),
        ("queries", '"weight":0.1', '"weight":1' + "0" * 400, "line 2: the field weight: 1000"),
        ("assignments", '"rater":"rater 1f"', '"rater":null', "line 1: an assignment must have a rater"),
        (
            "assignments",
            '"rater":null,"state":"open","extra":false',
            '"rater":null,"state":"open","extra":true',
            "line 2: an extra assignment needs a rater",
        ),
        ("ratings", '"reason":"other"', '"reason":""', "line 2: a rating needs either a grade or a reason"),
        ("ratings", '"rater":"gpt"', '"rater":"nobody"', "line 2: the file raters.jsonl has no nobody"),
        ("adjudications", '"document":"d1"', '"document":"-d2"', "the file pairs.jsonl has no =q2 and -d2"),
        ("events", '"undoes":1', '"undoes":3', "events.jsonl, line 2: the file events.jsonl has no 3"),
        ("events", '"undoes":1', '"undoes":2', "events.jsonl, line 2: the file events.jsonl has no 2"),
        ("events", '"number":5', '"number":6', "events.jsonl, line 5: the number is 6"),
        ("events", '"undoes":1', '"undoes":null', "line 2: an event must name the event"),
        ("events", '"import":1', '"import":null', "imports.jsonl, line 1: no event belongs to this import"),
        ("checks", '"event":5', '"event":9', "checks.jsonl, line 1: the file events.jsonl has no 9"),
        (
            "collection",
            '"gold_share":"0.1"',
            '"gold_share":"0.6"',
            "line 1: the field gold_share: '0.6' is not from 0 to 0.5",
        ),
        ("guidelines", "2026-03-01T", "2026-13-01T", "line 1: the field created_at: '2026-13-01T08"),
        ("guidelines", '{"version"', '[{"version"', "guidelines.jsonl, line 1: the line is not JSON"),
    ],
)
def test_a_line_that_is_wrong_is_named_and_nothing_is_written(tmp_path, member, before, after, said):
    assert before in HILLS[member]
    refused = restored(tmp_path, packed(HILLS | {member: HILLS[member].replace(before, after)}))
    assert said in refused[0]
    assert "export it again" in refused[0]
    assert not Collection.objects.exists()


def entry_added(content: bytes, name: str) -> bytes:
    out = io.BytesIO(content)
    with zipfile.ZipFile(out, "a") as made:
        made.writestr(name, "x")
    return out.getvalue()


def manifest_of(content: bytes) -> dict:
    with zipfile.ZipFile(io.BytesIO(content)) as found:
        return json.loads(found.read(MANIFEST))


GOOD = packed(HILLS)
OTHER_SUMS = manifest_of(packed(HILLS | {"checks": ""}))
BOMB = packed(HILLS | {"documents": " " * 150_000_000})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"PK no zip", "it is not a complete ZIP"),
        (GOOD[:-400], "it is not a complete ZIP"),
        (entry_added(GOOD, "../../evil.py"), "it has the file '../../evil.py', which no archive has"),
        (entry_added(GOOD, "/etc/passwd"), "it has the file '/etc/passwd'"),
        (entry_added(b"", "notes.txt"), "it has no manifest.json"),
        (packed({name: HILLS[name] for name in list(HILLS)[:-1]}), "checks.jsonl: the file is missing"),
        (packed(HILLS, version=2), "the archive has version 2, and this Idealist reads 1"),
        (packed(HILLS, format="zoo"), "the format is 'zoo'"),
        (packed(HILLS, members=[1]), "it has no list of files"),
        (packed(HILLS, members=OTHER_SUMS["members"]), "checks.jsonl: its SHA-256 is"),
        (packed(HILLS, snapshot="0"), "the snapshot id is not that of the files"),
        (BOMB, "it unpacks to more than 200 times"),
        (GOOD.replace(b"PK\x03\x04", b"PK\x03\x05", 3), "jsonl: it is damaged"),
    ],
    ids=lambda value: value[:30].replace("/", "_") if isinstance(value, str) else "",
)
def test_what_is_no_whole_archive_is_refused_with_place_and_cure(tmp_path, content, said):
    path = tmp_path / "a.zip"
    path.write_bytes(content)
    with pytest.raises(ValueError) as refused, archive.opened(path):
        pass
    assert said in str(refused.value)
    assert str(refused.value).startswith(str(path))
    assert str(refused.value).rstrip().endswith((".", "archives."))


@pytest.mark.django_db
def test_a_manifest_that_tells_of_other_lines_is_refused_before_room_is_made_for_them(tmp_path):
    told = manifest_of(GOOD)["members"]
    told[4]["lines"] = 10**15
    assert (
        "queries.jsonl: it has 2 lines, and must have 1,000,0"
        in restored(tmp_path, packed(HILLS, members=told))[0]
    )
    refused = restored(tmp_path, packed(HILLS | {"collection": HILLS["collection"] * 2}))
    assert "collection.jsonl: it has 2 lines, and must have 1" in refused[0]
    assert not Collection.objects.exists()


@pytest.mark.django_db
def test_a_line_without_an_end_is_refused_and_of_a_long_one_no_more_is_read(tmp_path, monkeypatch):
    cut = packed(HILLS | {"checks": HILLS["checks"][:-1]})
    assert "checks.jsonl, line 1: the line is cut off" in restored(tmp_path, cut)[0]
    monkeypatch.setattr(archive.reading, "LONGEST", 1 << 20)
    long = HILLS["grades"].replace('"a\\nb"', f'"{"x" * (1 << 20)}"')
    assert len(long) > 1 << 20
    assert (
        "grades.jsonl, line 2: the line is longer than 1 MB"
        in restored(tmp_path, packed(HILLS | {"grades": long}))[0]
    )
    assert not Collection.written.exists()


@pytest.mark.django_db
def test_what_is_no_text_is_refused(tmp_path):
    odd = packed(HILLS | {"guidelines": HILLS["guidelines"].replace("## 1", "\udcff")})
    assert "guidelines.jsonl, line 1: the line is not UTF-8" in restored(tmp_path, odd)[0]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_file_that_is_in_it_twice_is_refused(tmp_path):
    path = tmp_path / "a.zip"
    path.write_bytes(entry_added(GOOD, "checks.jsonl"))
    with pytest.raises(ValueError, match=r"checks.jsonl: the file is in it twice"), archive.opened(path):
        pass


@pytest.mark.django_db
def test_commands_take_a_collection_out_and_in_and_refuse_a_name_that_is_taken(tmp_path):
    lived_in()
    path, out = tmp_path / "hills.zip", io.StringIO()
    call_command("export_collection", "hills", output=str(path), stdout=out)
    assert manifest_of(path.read_bytes())["snapshot"] in out.getvalue()
    with pytest.raises(Refused, match=r"There is a collection 'hills' already.*--slug. Nothing was written"):
        call_command("import_collection", str(path), slug="hills")
    with pytest.raises(Refused, match="'a b' cannot be part of an address"):
        call_command("import_collection", str(path), slug="a b")
    with pytest.raises(Refused, match="No such file or directory. Nothing was written"):
        call_command("import_collection", str(tmp_path / "none.zip"), slug="new")
    path.write_bytes(packed(HILLS | {"checks": HILLS["checks"] * 2}))
    err = io.StringIO()
    with pytest.raises(Refused, match="Nothing was written"):
        call_command("import_collection", str(path), slug="new", stderr=err)
    assert "line 2: the entry =q2 and d1 and rater 1f and repeat already appears on line 1" in err.getvalue()
    path.write_bytes(packed(HILLS))
    call_command("import_collection", str(path), slug="new", stdout=out, stderr=err)
    assert "Collection new made, with 2 queries, 2 documents, 1 system, 2 raters, 2 ratings." in out.getvalue()
    assert "add_member new NAME admin" in err.getvalue()


# Any collection

texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
keys = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=8).filter(
    lambda text: text.split() == [text]
)
names = texts.filter(bool)
moments = st.datetimes(timezones=st.just(NOW.tzinfo))
numbers = st.floats(allow_nan=False, allow_infinity=False)
grades = st.decimals("-999999", "999999", places=3)
jsons = st.recursive(
    st.none() | st.booleans() | st.integers() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
uuids = st.uuids(version=4)


@st.composite
def collections(draw) -> dict[str, list[dict]]:
    """The lines of an archive, in the one form that they can have."""
    scale = sorted(draw(st.sets(grades, min_size=1, max_size=4)))
    queries = draw(st.lists(keys, unique=True, min_size=1, max_size=4))
    documents = draw(st.lists(keys, unique=True, min_size=1, max_size=5))
    systems = draw(st.lists(names, unique=True, max_size=2))
    raters = draw(st.lists(names, unique=True, min_size=1, max_size=3))
    one_of = {name: st.sampled_from(found) for name, found in (("q", queries), ("d", documents), ("r", raters))}
    pairs = draw(st.lists(st.tuples(one_of["q"], one_of["d"]), unique=True, max_size=5))
    some = st.sampled_from(pairs) if pairs else None
    by_rater = draw(st.lists(st.tuples(some, one_of["r"]), unique=True, max_size=6)) if pairs else []
    tokens = draw(st.lists(uuids, unique=True, min_size=40, max_size=40))
    weight = st.floats(0, 1e6).map(lambda value: value + 0.0)
    chance = st.floats(0, 1).map(lambda value: value + 0.0)
    about = dict.fromkeys(("measure", "profile", "rule", "adjudications"), names)
    about |= {"options": st.dictionaries(names, names, max_size=2)}
    aims = st.just("{}") | st.fixed_dictionaries(about | {"systems": st.none() | st.lists(names, max_size=2)}).map(
        json.dumps
    )
    maybe = st.none() | chance
    of_rounds = st.fixed_dictionaries(
        about | {"systems": st.just(systems), "gains": st.lists(weight, max_size=2)}
    ).map(json.dumps)
    columns = {name: st.lists(maybe, min_size=len(systems), max_size=len(systems)) for name in aims_of.COLUMNS}
    machines = dict.fromkeys(aims_of.MACHINES, st.lists(names, max_size=2))
    seen = st.fixed_dictionaries(columns | {"wrong": maybe}, optional=machines).map(json.dumps)
    rounds = draw(st.integers(0, 3))

    def row(**facts) -> dict:
        return {
            name: draw(value) if isinstance(value, st.SearchStrategy) else value for name, value in facts.items()
        }

    def of(pair) -> dict:
        return {"query": pair[0], "document": pair[1]}

    def said() -> dict:
        """A grade, or why there is none."""
        return draw(
            st.sampled_from(scale).map(lambda value: {"grade": value, "reason": ""})
            | st.sampled_from(["broken", "other"]).map(lambda reason: {"grade": None, "reason": reason})
        )

    events, imports = [], []
    for number, (pair, rater) in enumerate(by_rater * 2, 1):
        undone = {event["undoes"] for event in events}
        open_to = [event["number"] for event in events if event["number"] not in undone]
        undoes = draw(st.none() | st.sampled_from(open_to)) if open_to else None
        brought = draw(st.none() | st.integers(1, len(imports) + 1)) if not undoes else None
        if brought and brought > len(imports):
            state = st.sampled_from(["published", "undone"])
            files = st.lists(names.map(lambda name: {"name": name}), max_size=2).map(json.dumps)
            imports.append(row(number=brought, files=files, state=state, created_at=moments, ended_at=moments))
        events.append(
            {
                "number": number,
                **of(pair),
                "rater": rater,
                "kind": "undo"
                if undoes
                else "import"
                if brought
                else draw(st.sampled_from(["grade", "skip", "repeat", "warm_up"])),
                "value": draw(st.none() | grades),
                **row(reason=st.sampled_from(["", "unclear"]), comment=texts),
                "undoes": undoes,
                "import": brought,
                **row(
                    scale_version=st.integers(0, 9),
                    guidelines_version=st.integers(0, 9),
                    presentation_version=st.integers(0, 9),
                    opened=st.booleans(),
                    seconds=st.none() | weight,
                    shown=st.sampled_from(["", "one", "list"]),
                    client_key=st.none() | st.just(tokens.pop()),
                    created_at=moments,
                ),
            }
        )
    share = st.sampled_from(["0", "0.25", "0.5"])
    return {
        "collection": [
            row(
                name=names,
                description=texts,
                relevant_from=grades,
                order=st.sampled_from(["query", "depth", "random", "decisive"]),
                gold_share=share,
                repeat_share=share,
                break_after=st.integers(0, 32767),
                aim=aims,
                scale_version=st.integers(0, 9),
                created_at=moments,
            )
        ],
        "grades": [row(value=value, label=texts, meaning=texts) for value in scale],
        "guidelines": [row(version=n, text=texts, created_at=moments) for n in range(1, draw(st.integers(1, 3)))],
        "presentations": [
            row(version=n, content=st.sampled_from(SHOWN).map(json.dumps), created_at=moments)
            for n in range(draw(st.integers(0, 2)))
        ],
        "queries": [
            row(
                key=key,
                text=texts,
                need=texts,
                tags=st.lists(texts, max_size=2).map(json.dumps),
                fields=st.dictionaries(texts, jsons, max_size=2).map(json.dumps),
                weight=weight,
            )
            for key in queries
        ],
        "documents": [
            row(
                key=key,
                title=texts,
                body=texts,
                url=texts,
                fields=st.dictionaries(texts, jsons, max_size=3).map(json.dumps),
            )
            for key in documents
        ],
        "pictures": [
            row(digest=st.just(f"{number:064x}"), source=texts, named_by=texts, token=st.just(tokens.pop()))
            | {"state": "", "problem": draw(texts)}
            | (READY if ready else NOT_READY)
            for number, ready in enumerate(draw(st.lists(st.booleans(), max_size=2)))
        ],
        "systems": [row(name=name, description=texts, created_at=moments) for name in systems],
        "rankings": [
            {"system": system, "query": query, "documents": listed, "scores": draw(st.none() | st.just(scores))}
            for system in systems
            for query in queries
            for listed in [draw(st.lists(one_of["d"], unique=True))]
            for scores in [draw(st.lists(numbers, min_size=len(listed), max_size=len(listed)))]
        ],
        "raters": [
            row(
                name=name,
                kind=st.sampled_from(["person", "imported"]),
                weight=st.decimals("0", "9999.999", places=3),
                active=st.booleans(),
                limit=st.none() | st.integers(0, 99),
                guidelines_read=st.integers(0, 9),
                warmed_up_at=st.none() | moments,
            )
            for name in raters
        ],
        "queries_of_raters": [
            {"rater": rater, "query": query} for rater in raters for query in queries if draw(st.booleans())
        ],
        "pairs": [
            of(pair)
            | row(
                token=tokens.pop(),
                wanted=st.integers(0, 9),
                depth=st.integers(0, 2**31 - 1),
                born=st.integers(0, 9),
                known=st.none() | st.integers(0, 9),
                retired_at=st.none() | moments,
            )
            for pair in pairs
        ],
        "rounds": [
            row(
                number=number,
                method=texts,
                seed=st.integers(-(2**63), 2**63 - 1),
                aim=of_rounds,
                seen=seen,
                threshold=st.none() | weight,
                precision=weight,
                frame=st.integers(0, 99),
                judged=st.integers(0, 99),
                version=st.integers(0, 2**63 - 1),
                created_at=moments,
            )
            for number in range(1, rounds + 1)
        ],
        "drawn": [
            {"round": draw(st.integers(1, rounds))}
            | of(pair)
            | {"place": place}
            | draw(st.sampled_from(CHOSEN))
            | row(born=st.integers(0, 9), chances=st.lists(chance, max_size=3).map(json.dumps))
            for place, pair in enumerate(pairs, 1)
            if rounds and draw(st.booleans())
        ],
        "anchors": [
            of(pair)
            | row(use=st.sampled_from(["gold", "warm_up"]), grade=st.sampled_from(scale))
            | row(explanation=names, created_at=moments)
            for pair in pairs
            if draw(st.booleans())
        ],
        "assignments": [
            of(pair)
            | row(
                rater=rater,
                state="done",
                extra=st.booleans(),
                depth=st.integers(0, 9),
                lot=st.integers(0, 2**31 - 2),
            )
            for pair, rater in by_rater
        ],
        "ratings": [
            of(pair)
            | {"rater": rater}
            | said()
            | row(comment=texts, revision=st.integers(1, 9), created_at=moments, changed_at=moments)
            for pair, rater in by_rater
        ],
        "adjudications": [
            of(pair) | row(grade=st.sampled_from(scale), reason=names, created_at=moments) for pair in pairs[:2]
        ],
        "imports": imports,
        "events": events,
        "checks": [
            of(pair)
            | {"rater": rater, "kind": draw(st.sampled_from(["repeat", "warm_up"])), "token": tokens.pop()}
            | {"event": event}
            | row(created_at=moments)
            for event, (pair, rater) in zip([None, *range(1, len(events) + 1)], by_rater, strict=False)
        ],
    }


@pytest.mark.django_db
@hypothesis_settings(max_examples=EXAMPLES)
@given(collections())
@pytest.mark.slow
def test_any_collection_comes_back_to_the_byte(tmp_path_factory, members):
    """Many more with --thorough."""
    lines = {name: "".join(BY_NAME[name].line(row.values()) for row in rows) for name, rows in members.items()}
    folder = tmp_path_factory.getbasetemp()
    try:
        with transaction.atomic():
            assert restored(folder, packed(lines)) == []
            first = written()
            forget_everything()
            assert restored(folder, first, "again") == []
            second = written("again")
            raise Rolled
    except Rolled:
        pass
    assert members_of(first) == lines
    assert second == first


class Rolled(Exception):
    pass


# While raters write


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("guarded", [True, False])
def test_an_archive_is_of_one_moment_while_raters_write(monkeypatch, guarded):
    """Every rating has its event; without the snapshot the events that were read later tell of more."""
    collection = make_collection(documents="abcdefgh")
    alice = make_rater(collection)
    pairs = [make_pair(collection, "q1", document) for document in "abcdefgh"]
    queue.save(alice, pairs[0], queue.Submission(grade=grade(collection, "2")))

    def write_meanwhile() -> None:
        try:
            for pair in pairs[1:]:
                queue.save(alice, pair, queue.Submission(grade=grade(collection, "1")))
        finally:
            connection.close()

    ratings = archive.writing.WRITERS["ratings"]

    def ratings_and_then_raters_write(collection):
        yield from ratings(collection)
        writer = threading.Thread(target=write_meanwhile)
        writer.start()
        writer.join(30)
        assert not writer.is_alive(), "raters wait for the export"

    monkeypatch.setitem(archive.writing.WRITERS, "ratings", ratings_and_then_raters_write)
    if not guarded:
        monkeypatch.setattr(archive.writing, "snapshot", nullcontext)
    found = members_of(written("hills"))
    assert Rating.objects.count() == 8
    assert found["ratings"].count("\n") == 1
    assert found["events"].count("\n") == (1 if guarded else 8)
