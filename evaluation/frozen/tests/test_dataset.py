"""A collection as a data set, read by others and by Idealist; and what is known of a run."""

import csv
import io
import json
import zipfile

import pyarrow.parquet
import pytest
import pytrec_eval
import yaml
from django.core.management import CommandError, call_command
from django.urls import reverse

from ratings.copies import run_metadata
from ratings.formats import ir_metadata
from ratings.models import Collection, Engine, Job, Rating, Role, System
from ratings.people.names import pseudonym
from ratings.tests.cast import (
    make_collection,
    make_member,
    make_pair,
    make_ranking,
    make_round,
    make_user,
    signed_in,
)

from ...tests.worked import rate

pytestmark = pytest.mark.django_db


@pytest.fixture
def collection() -> Collection:
    collection = make_collection(queries=("fog", "sea", "sky"))
    collection.queries.filter(key="fog").update(tags=["dev", "test", "weather"], need="What it is.", weight=2.5)
    collection.queries.filter(key="sea").update(fields={"market": "é,\u2028"})
    collection.documents.filter(key="a").update(title="=A", url="https://a.example.org", fields={"price": 3})
    rate(collection, "fog", rater="ann", a="3", b="0")
    rate(collection, "fog", rater="bob", a="3")
    rate(collection, "sea", rater="ann", a="1")
    return collection


def exported(tmp_path, *options: str) -> zipfile.ZipFile:
    path = tmp_path / "set.zip"
    call_command("export_beir", "hills", "--output", str(path), *options)
    return zipfile.ZipFile(path)


def imported(tmp_path, *options: str) -> Collection:
    """Another collection, with the same scale, into which the data set was imported."""
    other = make_collection("other", queries=(), documents=())
    call_command("import_beir", "other", str(tmp_path / "set.zip"), *options, stdout=io.StringIO())
    return other


def json_lines(archive: zipfile.ZipFile, name: str) -> list[dict]:
    return [json.loads(line) for line in archive.read(name).splitlines()]


def tsv(archive: zipfile.ZipFile, name: str) -> list[list[str]]:
    """As the loader of BEIR reads it."""
    return list(csv.reader(io.StringIO(archive.read(name).decode()), delimiter="\t"))


def grades_of(collection: Collection) -> list[tuple]:
    ratings = Rating.objects.filter(pair__query__collection=collection)
    return sorted(ratings.values_list("query__key", "document__key", "grade__value"))


def test_a_data_set_has_the_layout_of_beir_and_comes_back_as_it_was(collection, tmp_path):
    archive = exported(tmp_path)
    corpus, queries = json_lines(archive, "corpus.jsonl"), json_lines(archive, "queries.jsonl")
    assert corpus[0] == {
        "_id": "a", "title": "=A", "text": corpus[0]["text"], "url": "https://a.example.org", "price": 3,
    }  # fmt: skip
    assert [query["_id"] for query in queries] == ["fog", "sea", "sky"]
    head, fog = ["query-id", "corpus-id", "score"], [["fog", "a", "3"], ["fog", "b", "0"]]
    assert tsv(archive, "qrels/dev.tsv") == [head, *fog]
    assert tsv(archive, "qrels/test.tsv") == [head, *fog, ["sea", "a", "1"]]
    assert "qrels/train.tsv" not in archive.namelist(), "a split without judgments has no file"
    other = imported(tmp_path)
    assert grades_of(other) == [("fog", "a", 3), ("fog", "b", 0), ("sea", "a", 1)]
    facts = ("key", "text", "need", "weight", "fields")
    assert list(other.queries.values(*facts)) == list(collection.queries.values(*facts))
    tags = {"fog": ["dev", "test", "weather"], "sea": ["test"], "sky": []}
    assert dict(other.queries.values_list("key", "tags")) == tags
    parts = ("key", "title", "body", "url", "fields")
    assert list(other.documents.values(*parts)) == list(collection.documents.values(*parts))


def test_only_one_split_is_imported_again(collection, tmp_path):
    exported(tmp_path)
    other = imported(tmp_path, "--splits", "dev")
    assert list(other.queries.values_list("key", flat=True)) == ["fog"]
    assert grades_of(other) == [("fog", "a", 3), ("fog", "b", 0)]


def test_a_data_set_has_the_layout_of_hugging_face_and_comes_back(collection, tmp_path):
    archive = exported(tmp_path, "--layout", "huggingface")

    def table(name: str) -> list[dict]:
        return pyarrow.parquet.read_table(io.BytesIO(archive.read(name))).to_pylist()

    assert table("corpus/corpus.parquet")[0] | {"text": ""} == {
        "_id": "a", "title": "=A", "text": "", "url": "https://a.example.org",
    }  # fmt: skip
    fog = table("queries/queries.parquet")[0]
    assert fog["tags"] == ["dev", "test", "weather"] and (fog["need"], fog["weight"]) == ("What it is.", 2.5)
    assert table("default/dev.parquet") == [
        {"query-id": "fog", "corpus-id": "a", "score": 3},
        {"query-id": "fog", "corpus-id": "b", "score": 0},
    ]
    configs = yaml.safe_load(archive.read("README.md").decode().split("---\n")[1])["configs"]
    assert [config["config_name"] for config in configs] == ["corpus", "queries", "default"]
    assert configs[2]["data_files"] == [
        {"split": "dev", "path": "default/dev.parquet"},
        {"split": "test", "path": "default/test.parquet"},
    ]
    assert grades_of(imported(tmp_path)) == [("fog", "a", 3), ("fog", "b", 0), ("sea", "a", 1)]


def test_who_graded_and_with_what_chance_goes_along(collection, tmp_path):
    assert "rounds.csv" not in exported(tmp_path).namelist()
    make_round(collection, [make_pair(collection, "sky", "c")])
    archive = exported(tmp_path)
    ratings = list(csv.DictReader(io.StringIO(archive.read("ratings.csv").decode())))
    assert [(row["query"], row["document"], row["rater"], row["grade"]) for row in ratings] == [
        ("fog", "a", "ann", "3"), ("fog", "a", "bob", "3"), ("fog", "b", "ann", "0"), ("sea", "a", "ann", "1"),
    ]  # fmt: skip
    (drawn,) = csv.DictReader(io.StringIO(archive.read("rounds.csv").decode()))
    assert (drawn["query"], drawn["document"]) == ("sky", "c") and 0 < float(drawn["chance"]) <= 1
    assert "rounds.csv" in archive.read("README.md").decode()


def test_grades_that_are_not_whole_are_refused_until_they_are_mapped(collection, tmp_path):
    rate(collection, "sea", rater="bob", a="2")
    with pytest.raises(CommandError, match=r"decimal or negative: 1\.5"):
        exported(tmp_path)
    assert tsv(exported(tmp_path, "--map", "1.5=2"), "qrels/test.tsv")[-1] == ["sea", "a", "2"]
    assert tsv(exported(tmp_path, "--rule", "max"), "qrels/test.tsv")[-1] == ["sea", "a", "2"]
    with pytest.raises(CommandError, match="Give --output FILE"):
        call_command("export_beir", "hills")


def test_the_page_gives_the_data_set_with_the_names_that_its_reader_sees(collection):
    names = {}
    for role in (Role.ANALYST, Role.ADMIN):
        client = signed_in(make_member(collection, role, role))
        answer = client.get(reverse("export_dataset", args=["hills"]), {"format": "beir"})
        assert answer.status_code == 200 and "hills-dataset-beir-v" in answer["Content-Disposition"]
        archive = zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content)))
        rows = csv.DictReader(io.StringIO(archive.read("ratings.csv").decode()))
        names[role] = {row["rater"] for row in rows}
    assert names[Role.ADMIN] == {"ann", "bob"}
    assert names[Role.ANALYST] == {pseudonym(pk) for pk in collection.raters.values_list("pk", flat=True)}
    refused = client.get(reverse("export_dataset", args=["hills"]), {"format": "csv"})
    assert refused.status_code == 400


# What is known of a run


def facts_in(text: str) -> dict:
    """The YAML in the comments of a run, as repro_eval finds it."""
    lines = text.splitlines()
    begin, end = lines.index("# ir_metadata.start"), lines.index("# ir_metadata.end")
    assert begin == 0 and all(line.startswith("# ") for line in lines[:end])
    return yaml.safe_load("\n".join(line.removeprefix("# ") for line in lines[begin + 1 : end]))


def run(*options: str) -> str:
    out = io.StringIO()
    call_command("export_run", "hills", "bm 25", *options, stdout=out)
    return out.getvalue()


@pytest.fixture
def system(collection) -> System:
    make_ranking(collection, "bm 25", "fog", "ab")
    return collection.systems.get()


def test_a_run_tells_what_is_known_of_it_and_is_read_again(collection, system, tmp_path):
    system.description = "Okapi: k1=1.2\n# b=.75 \u2028\x85😀"
    system.save()
    commented = run("--ir-metadata", "comments")
    facts = facts_in(commented)
    assert facts["tag"] == "bm%2025" and facts["method"] == {"description": system.description}
    assert facts["data"] == {"test collection": {"name": "Hills", "topics": 3}}
    assert not facts.keys() & {"platform", "actor", "implementation", "research goal"}, "nobody told it"
    assert yaml.safe_load(run("--ir-metadata", "file")) == facts
    assert commented.endswith(run()) and not run().startswith("#")
    # trec_eval skips comments since version 10. This reader does not, so that they are left out by default.
    with pytest.raises(ValueError):
        pytrec_eval.parse_run(io.StringIO(commented))
    assert pytrec_eval.parse_run(io.StringIO(run())).keys() == {"fog"}
    path = tmp_path / "bm25.run"
    path.write_text(commented)
    other = make_collection("other", queries=("fog",))
    call_command("import_run", "other", str(path), stdout=io.StringIO(), stderr=io.StringIO())
    assert other.systems.get().name == "bm 25"
    with pytest.raises(CommandError, match="Give --ir-metadata file"):
        run("--ir-metadata", "comments", "--format", "csv")


def test_of_a_run_that_idealist_fetched_it_tells_the_engine_and_who_fetched_it_when(collection, system):
    engine = Engine.objects.create(collection=collection, name="Shop", dialect="solr", address="https://s")
    options = {"engine": engine.pk, "of": "Shop", "depth": 20}
    ada = make_user("ada")
    job = Job.objects.create(
        collection=collection, kind="engine", by=ada, options=options, ended_at=system.created_at
    )
    system.rankings.update(job=job)
    facts = run_metadata.facts_of(system)
    assert facts["implementation"] == {"engine": {"name": "Shop", "software": "Solr", "depth": 20}}
    assert facts["actor"] == {"name": "ada"}
    assert facts["idealist"]["fetched"] == system.created_at.isoformat(timespec="seconds")
    engine.delete()
    assert run_metadata.facts_of(system)["implementation"] == {"engine": {"name": "Shop", "depth": 20}}


def test_the_page_gives_a_run_with_comments_or_the_yaml_alone(collection, system):
    client = signed_in(make_member(collection, "ada", Role.ANALYST))
    address, asked = reverse("export_run", args=["hills"]), {"system": system.pk}
    answer = client.get(address, asked | {"metadata": "comments"})
    assert facts_in(b"".join(answer.streaming_content).decode())["tag"] == "bm%2025"
    answer = client.get(address, asked | {"metadata": "file"})
    assert answer["Content-Disposition"].rstrip('"').endswith(".yml")
    assert yaml.safe_load(b"".join(answer.streaming_content))["tag"] == "bm%2025"
    refused = client.get(address, asked | {"metadata": "comments", "format": "csv"})
    assert refused.status_code == 400 and "Only a TREC run can have comments." in refused.content.decode()


def test_yaml_keeps_texts_that_look_like_something_else():
    facts = {"tag": "yes", "a": {"b": "1.0", "c d": ["no", 3, "é: #"]}}
    assert yaml.safe_load("".join(ir_metadata.as_yaml(facts))) == {"schema version": "0.1", **facts}


def test_judgments_come_as_a_body_for_rank_eval_and_are_read_again(collection, tmp_path):
    path = tmp_path / "body.json"
    call_command("export_qrels", "hills", "--format", "elasticsearch", "--output", str(path))
    body = json.loads(path.read_text())
    text = collection.queries.get(key="fog").text
    assert body.keys() == {"metric", "requests"}
    assert body["requests"][0] == {
        "id": text,
        "template_id": "search",
        "params": {"query": text},
        "ratings": [
            {"_index": "INDEX", "_id": "a", "rating": 3},
            {"_index": "INDEX", "_id": "b", "rating": 0},
        ],
    }
    other = make_collection("other", queries=("fog", "sea"))
    call_command("import_ratings", "other", str(path), "--rater", "es", stdout=io.StringIO(), stderr=io.StringIO())
    assert grades_of(other) == [("fog", "a", 3), ("fog", "b", 0), ("sea", "a", 1)]
