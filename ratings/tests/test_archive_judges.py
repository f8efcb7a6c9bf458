"""Judges in archives: only where they are asked for, back to the byte, and refused where they do not hold."""

import io
import json
import zipfile
from decimal import Decimal

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ratings import archive
from ratings.archive.judge_members import NOTHING, OF_JUDGES
from ratings.archive.members import BY_NAME, FILES_OF_JUDGES
from ratings.judges import runs, uses, versions
from ratings.judges import sample as samples
from ratings.judges.versions import CONTENT, sha_of
from ratings.judges.wire import NOT_SENT, checked_sampling
from ratings.models import Collection, Judge, JudgeRun, JudgeVersion, MachineGrade, Rating, Role

from .cast import make_asked, make_member, make_rated_pair
from .test_archive import (
    EXAMPLES,
    HILLS,
    Rolled,
    collections,
    forget_everything,
    grades,
    jsons,
    members_of,
    moments,
    names,
    packed,
    restored,
    texts,
)
from .test_archive import written as without_judges

pytestmark = pytest.mark.django_db

SHA = "5" * 64
AT = "2026-03-01T08:00:00+00:00"
VERSION = {
    "judge": "llama",
    "version": 1,
    "created_at": AT,
    "template": "own",
    "prompt": "{query} größe {document}",
    "parts": {},
    "scale": ["-1", "0.5"],
    "scale_version": 2,
    "guidelines_version": 1,
    "presentation_version": 0,
    "prompt_sha256": SHA,
    "guidelines_sha256": SHA,
    "presentation_sha256": SHA,
    "endpoint": "http://127.0.0.1:9/v1",
    "model": "llama3",
    "sampling": {"temperature": 0.30000000000000004, "top_p": 1},
    "schema": {"type": "object"},
    "structured": True,
    "parser": 1,
    "seed": -9223372036854775808,
    "price_in": "0.1",
    "price_out": "99999999.999999",
}


def line(row: dict) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n"


def fingerprint(row: dict) -> str:
    content = {name: row[name] for name in CONTENT}
    return sha_of(content | {name: Decimal(row[name]) for name in ("price_in", "price_out")})


RUN = (
    '"judge":"llama","version":1,"choice":"pool","options":{"repeats":2},"concurrency":4,"per_minute":0,'
    '"most_calls":9,"most_cost":"0.5","state":"paused","message":"","pairs":3,"graded":1,"ungraded":1,"calls":4,'
    '"tokens_in":9223372036854775807,"tokens_out":10,"cost":"0.000001",'
    f'"created_at":"{AT}","started_at":"{AT}","ended_at":null}}\n'
)
ASKED = '"judge":"llama","version":1,"query":"q10","document":"-d2"'
JUDGES = {
    "judges": f'{{"name":"llama","created_at":"{AT}"}}\n{{"name":"=gpt 4","created_at":"{AT}"}}\n',
    "judge_versions": line(VERSION | {"fingerprint": fingerprint(VERSION)})
    + line(VERSION | {"judge": "=gpt 4", "version": 7, "parser": 0, "endpoint": "", "fingerprint": NOTHING}),
    "judge_uses": f'{{"judge":"llama","version":1,"use":"expected","created_at":"{AT}"}}\n',
    "judge_runs": f'{{"number":1,{RUN}{{"number":2,{RUN}',
    "machine_grades": f'{{"run":1,{ASKED},"repeat":1,"state":"graded","value":"0.5","problem":"","detail":"",'
    '"answer":"{\\"grade\\": 0.5}","model":"llama3:8b","tokens_in":100,"tokens_out":null,"cost":"0.00001",'
    f'"seconds":0.30000000000000004,"tries":2,"at":"{AT}"}}\n'
    f'{{"run":1,{ASKED},"repeat":2,"state":"ungraded","value":null,"problem":"refusal","detail":"no\\nway",'
    '"answer":"=1+1","model":"","tokens_in":null,"tokens_out":null,"cost":null,"seconds":null,"tries":1,"at":null}\n'
    f'{{"run":2,{ASKED},"repeat":3,"state":"waiting","value":null,"problem":"","detail":"","answer":"","model":"",'
    '"tokens_in":null,"tokens_out":null,"cost":null,"seconds":null,"tries":0,"at":null}\n',
    "judge_probes": f'{{"run":2,"judge":"llama","version":1,"query":"q10","kind":"injection","state":"graded",'
    '"value":"0.5","problem":"","detail":"","answer":"{}","model":"","tokens_in":1,"tokens_out":2,"cost":"1",'
    f'"seconds":1.5,"tries":1,"at":"{AT}"}}\n',
    "judge_samples": f'{{"number":1,"judge":"llama","drawn":true,"seed":3,"options":{{"size":2}},'
    f'"created_at":"{AT}"}}\n'
    f'{{"number":2,"judge":"llama","drawn":false,"seed":null,"options":{{}},"created_at":"{AT}"}}\n',
    "sampled_pairs": '{"sample":1,"query":"q10","document":"-d2","stratum":"q10","probability":0.1}\n'
    '{"sample":2,"query":"=q2","document":"d1","stratum":"","probability":null}\n',
}
ALL = HILLS | JUDGES


def written(slug: str = "there") -> bytes:
    out = io.BytesIO()
    archive.write(Collection.objects.get(slug=slug), out, judges=True)
    return out.getvalue()


def judges_of(content: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(content)) as found:
        return {
            name.removesuffix(".jsonl"): found.read(name).decode()
            for name in found.namelist()
            if name in FILES_OF_JUDGES
        }


def test_what_is_written_by_hand_comes_back_the_same_on_every_database(tmp_path):
    assert list(JUDGES) == [member.name for member in OF_JUDGES]
    assert restored(tmp_path, packed(ALL)) == []
    assert members_of(written()) == HILLS and judges_of(written()) == JUDGES
    version = JudgeVersion.objects.get(judge__name="llama")
    assert (version.number, version.by, version.structured) == (1, None, True)
    assert Judge.objects.get(name="llama").uses.get().version == version
    row = MachineGrade.objects.get(state="graded")
    assert (row.version, row.run.version, row.value, row.cost) == (
        version,
        version,
        Decimal("0.5"),
        Decimal("0.00001"),
    )
    assert JudgeRun.objects.filter(attempt=0, beat_at=None).count() == 2


def test_without_the_option_the_archive_is_as_before(tmp_path):
    assert restored(tmp_path, packed(ALL)) == []
    assert judges_of(without_judges()) == {}
    before = without_judges()
    with transaction.atomic():
        forget_everything()
        assert restored(tmp_path, packed(HILLS)) == []
        assert without_judges() == before
        transaction.set_rollback(True)


def test_a_copy_has_no_judges(tmp_path):
    assert restored(tmp_path, packed(ALL)) == []
    out = io.BytesIO()
    archive.write(Collection.objects.get(), out, members=archive.copying.COPIED)
    assert judges_of(out.getvalue()) == {}


@pytest.mark.both_databases
def test_what_was_made_and_asked_here_comes_back_and_goes_on(tmp_path, settings):
    settings.PULL_HOSTS = ["127.0.0.1/32"]
    pair, _ = make_rated_pair()
    collection = pair.query.collection
    run = make_asked(collection, pair)
    samples.draw(run.version.judge, 2, 1)
    samples.take_rated(run.version.judge)
    uses.switch_on(run.version, "expected")
    other = versions.make_judge(collection, "other")
    wish = versions.VersionSettings(
        "m", "http://127.0.0.1:9/v1", sampling={"x": -0.0, "y": 1e22, "z": 1e-7, "s": "ü"}
    )
    version, _ = versions.make_version(other, wish)
    waiting = runs.start(version, "rated", {}, runs.Limits(5))
    first = written(collection.slug)
    assert waiting.state == "queued" and '"state":"queued"' not in judges_of(first)["judge_runs"]
    ratings = Rating.objects.count()
    assert restored(tmp_path, first, "again") == []
    assert judges_of(written("again")) == judges_of(first)
    again = JudgeVersion.objects.get(judge__collection__slug="again", judge__name="other")
    assert versions.make_version(again.judge, wish) == (again, False)
    paused = JudgeRun.objects.get(version=again)
    assert paused.state == "paused" and runs.resume(paused)
    assert Rating.objects.count() == 2 * ratings


def refused(tmp_path, **members: str) -> list[str]:
    said = restored(tmp_path, packed(ALL | members))
    assert not Collection.objects.exists() and not Judge.objects.exists()
    return said


@pytest.mark.parametrize(
    ("member", "before", "after", "said"),
    [
        ("judges", "=gpt 4", "llama", "judges.jsonl, line 2: the entry llama already appears on line 1"),
        (
            "judge_versions",
            '"llama","version"',
            '"nobody","version"',
            "the file judges.jsonl has no nobody",
        ),
        (
            "judge_versions",
            '"model":"llama3"',
            '"model":"gpt"',
            "line 1: the fingerprint is not",
        ),
        ("judge_versions", "größe", "Größe", "line 1: the fingerprint is not"),
        ("judge_versions", '"0.1"', '"0.2"', "line 1: the fingerprint is not"),
        ("judge_versions", SHA, "x", "line 1: the field prompt_sha256: 'x' is not a SHA-256"),
        ("judge_versions", '"top_p":1', '"messages":1', "the field sampling: The parameter 'messages' is set"),
        (
            "judge_versions",
            "http://",
            "file://",
            "line 1: the address 'file://127.0.0.1:9/v1' does not begin with http",
        ),
        ("judge_versions", '["-1","0.5"]', '["-1","x"]', "line 1: the field scale: the grade 'x'"),
        ("judge_uses", '"version":1', '"version":2', "line 1: the file judge_versions.jsonl has no llama and 2"),
        ("judge_uses", '"expected"', '"gold"', "line 1: the field use: 'gold' is none of expected"),
        ("judge_runs", '"paused"', '"running"', "line 1: the field state: 'running' is none of"),
        ("judge_runs", '"calls":4', '"calls":10', "line 1: it made more calls than it may"),
        ("judge_runs", '"number":2', '"number":3', "judge_runs.jsonl, line 2: the number is 3"),
        ("machine_grades", '"run":2', '"run":3', "line 3: the file judge_runs.jsonl has no 3 and llama and 1"),
        ("machine_grades", '"repeat":2', '"repeat":1', "-d2 and 1 already appears on line 1"),
        ("machine_grades", '"value":"0.5"', '"value":null', "line 1: a graded pair needs a value"),
        ("machine_grades", '"refusal"', '""', "line 2: a graded pair needs a value"),
        ("machine_grades", '"refusal"', '"shy"', "line 2: the field problem: 'shy' is none of"),
        ("machine_grades", '"-d2"', '"d9"', "line 1: the file documents.jsonl has no d9"),
        (
            "machine_grades",
            '"llama","version":1',
            '"=gpt 4","version":7',
            "has no 1 and =gpt 4 and 7",
        ),
        ("judge_probes", '"injection"', '"bribe"', "line 1: the field kind: 'bribe' is none of"),
        ("judge_samples", '"seed":3', '"seed":null', "line 1: a sample that was drawn needs a seed"),
        ("sampled_pairs", "0.1", "0", "line 1: the field probability: 0 is not a chance above 0"),
        ("sampled_pairs", '"sample":2', '"sample":3', "line 2: the file judge_samples.jsonl has no 3"),
    ],
)
def test_a_line_that_is_wrong_is_named_and_nothing_is_written(tmp_path, member, before, after, said):
    assert before in JUDGES[member]
    (first, *_) = refused(tmp_path, **{member: JUDGES[member].replace(before, after)})
    assert said in first and "export it again" in first


def test_an_archive_with_some_of_the_files_of_judges_is_refused(tmp_path):
    some = {name: text for name, text in ALL.items() if name != "machine_grades"}
    with pytest.raises(archive.Unreadable, match="machine_grades.jsonl.*the file is missing"):
        restored(tmp_path, packed(some))


@pytest.mark.both_databases
def test_the_command_and_the_page_take_judges_along_where_they_are_asked_to(tmp_path):
    assert restored(tmp_path, packed(ALL), "hills") == []
    path, plain, out = tmp_path / "b.zip", tmp_path / "c.zip", io.StringIO()
    call_command("export_collection", "hills", output=str(path), judges=True, stdout=out)
    call_command("export_collection", "hills", output=str(plain), stdout=out)
    client = Client()
    client.force_login(make_member(Collection.objects.get(), "root", Role.ADMIN))
    assert 'name="judges"' in client.get(reverse("exports", args=["hills"])).content.decode()
    address = reverse("export_archive", args=["hills"])
    assert b"".join(client.get(address + "?judges=1")) == path.read_bytes()
    assert b"".join(client.get(address)) == plain.read_bytes()
    assert judges_of(plain.read_bytes()) == {}
    call_command("import_collection", str(path), slug="new", stdout=out, stderr=io.StringIO())
    assert "2 ratings, 2 judges, 3 pairs asked." in out.getvalue()
    Judge.objects.all()  # of either collection
    assert Judge.objects.filter(collection__slug="new").count() == 2


# Any judges


@st.composite
def with_judges(draw) -> dict[str, list[dict]]:
    """The lines of an archive with judges, in the one form that they can have."""
    members = draw(collections())
    queries, documents = ([row["key"] for row in members[name]] for name in ("queries", "documents"))
    money = st.decimals("0", "99999999.999999", places=6)
    seeds = st.none() | st.integers(-(2**63), 2**63 - 1)
    counts, long = st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1)
    scales = st.lists(grades.map(lambda value: f"{value:f}"), max_size=3)
    parameters = st.dictionaries(
        names.filter(lambda name: name.islower() and len(name) < 4 and name not in NOT_SENT),
        texts | st.integers(-9, 9) | st.booleans() | st.floats(allow_nan=False, allow_infinity=False),
        max_size=3,
    ).map(checked_sampling)

    def row(**facts) -> dict:
        return {
            name: draw(value) if isinstance(value, st.SearchStrategy) else value for name, value in facts.items()
        }

    judges = draw(st.lists(names, unique=True, max_size=2))
    made, asked, graded, sampled, drawn, used = [], [], [], [], [], []
    for judge in judges:
        for number in range(1, draw(st.integers(1, 3))):
            version = row(
                judge=judge, version=number, created_at=moments, template=texts,
                prompt=f"{number}", parts="{}", scale=scales.map(json.dumps), scale_version=counts,
                guidelines_version=counts, presentation_version=counts,
                prompt_sha256=SHA, guidelines_sha256=SHA, presentation_sha256=SHA,
                endpoint=st.sampled_from(["", "https://x"]), model=texts, sampling=parameters.map(json.dumps),
                schema=st.dictionaries(texts, st.integers(-9, 9) | texts, max_size=2).map(json.dumps),
                structured=st.booleans(), parser=st.integers(0, 9), seed=seeds, price_in=money, price_out=money,
            )  # fmt: skip
            content = {name: version[name] for name in CONTENT}
            content |= {name: json.loads(version[name]) for name in ("parts", "scale", "sampling", "schema")}
            made.append(version | {"fingerprint": sha_of(content)})
            of = {"judge": judge, "version": number}
            if draw(st.booleans()) and judge not in [each["judge"] for each in used]:
                used.append(of | row(use="expected", created_at=moments))
            for _ in range(draw(st.integers(0, 2))):
                calls = draw(counts)
                asked.append(
                    {"number": len(asked) + 1} | of | row(
                        choice=st.sampled_from(["pool", "imported"]),
                        options=st.dictionaries(texts, jsons, max_size=2).map(json.dumps),
                        concurrency=st.integers(1, 64), per_minute=counts, most_calls=calls,
                        most_cost=st.none() | money, state=st.sampled_from(["paused", "done", "failed", "capped"]),
                        message=texts, pairs=counts, graded=counts, ungraded=counts, calls=st.integers(0, calls),
                        tokens_in=long, tokens_out=long, cost=money, created_at=moments,
                        started_at=st.none() | moments, ended_at=st.none() | moments,
                    )
                )  # fmt: skip
    said = [
        {"state": "graded", "value": draw(grades), "problem": ""},
        {"state": "ungraded", "value": None, "problem": "not_json"},
        {"state": "waiting", "value": None, "problem": ""},
    ]
    probed = []
    for run in asked:
        of = {"run": run["number"], "judge": run["judge"], "version": run["version"]}

        def said_of() -> dict:
            return draw(st.sampled_from(said)) | row(
                detail=texts, answer=texts, model=texts, tokens_in=st.none() | counts,
                tokens_out=st.none() | counts, cost=st.none() | money,
                seconds=st.none() | st.floats(0, 1e9).map(lambda value: value + 0.0),
                tries=st.integers(0, 9), at=st.none() | moments,
            )  # fmt: skip

        some = st.tuples(st.sampled_from(queries), st.sampled_from(documents))
        for query, document in draw(st.lists(some, unique=True, max_size=2)):
            # Another repeat for each run: a pair is asked once by a version.
            facts = {"query": query, "document": document, "repeat": run["number"]}
            graded.append(of | facts | said_of())
        if draw(st.booleans()) and of["judge"] not in [each["judge"] for each in probed]:
            probed.append(of | {"query": queries[0], "kind": "stuffed"} | said_of())
    for judge in judges:
        for _ in range(draw(st.integers(0, 2))):
            seed = draw(seeds)
            number, facts = len(sampled) + 1, {"drawn": seed is not None, "seed": seed}
            options = st.dictionaries(texts, jsons, max_size=2).map(json.dumps)
            sampled.append({"number": number, "judge": judge} | facts | row(options=options, created_at=moments))
            chance = st.none() | st.floats(0, 1, exclude_min=True)
            drawn += [
                {"sample": number, "query": query, "document": draw(st.sampled_from(documents))}
                | row(stratum=texts, probability=chance)
                for query in queries
            ]
    return members | {
        "judges": [row(name=name, created_at=moments) for name in judges],
        "judge_versions": made,
        "judge_uses": used,
        "judge_runs": asked,
        "machine_grades": graded,
        "judge_probes": probed,
        "judge_samples": sampled,
        "sampled_pairs": drawn,
    }


@hypothesis_settings(max_examples=EXAMPLES)
@given(with_judges())
@pytest.mark.slow
def test_any_collection_with_judges_comes_back_to_the_byte(tmp_path_factory, members):
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
    assert members_of(first) | judges_of(first) == lines
    assert second == first
    assert connection.in_atomic_block
