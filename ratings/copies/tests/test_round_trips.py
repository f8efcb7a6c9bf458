"""Any record: out in a format that holds all of it, in again elsewhere, and out once more, to the byte."""

import io
from datetime import UTC

import pytest
from django.db import transaction
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ratings.copies import rows as record_rows
from ratings.formats.registry import BY_NAME
from ratings.formats.source import Source
from ratings.importing import intake
from ratings.models import Collection, Grade, Rater
from ratings.tests.cast import Imported, make_collection, record_imported
from ratings.tests.thorough import examples

pytestmark = pytest.mark.slow

EXAMPLES = examples(8)
RATINGS = ["csv", "jsonl", "parquet"]
RUNS = ["trec-run", "csv", "jsonl", "parquet"]

# Signs of formulas, quotes and separators come often, and any other character now and then.
signs = st.sampled_from("=+-@'\",;|1ab＝é")
keys = st.text(signs | st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=5)
# A line that begins with # is a comment of TREC files.
ids = keys.filter(lambda text: text.split() == [text] and not text.startswith("#"))
names = st.text(signs | st.just(" "), min_size=1, max_size=6).filter(lambda text: text == text.strip())
comments = st.text(signs | st.sampled_from(" \n\r\t"), max_size=6)
grades = st.decimals("-99", "99", places=2)
moments = st.datetimes(timezones=st.just(UTC)).filter(lambda moment: moment.year > 1900)
seconds = st.none() | st.floats(0, 1e6).map(lambda value: value + 0.0)
scores = st.floats(-1e6, 1e6)
ratings = st.tuples(grades.map(str) | st.sampled_from(["broken", "other"]), comments, seconds, moments)
records = st.fixed_dictionaries(
    {
        "queries": st.lists(ids, unique=True, min_size=2, max_size=3),
        "documents": st.lists(ids, unique=True, min_size=1, max_size=4),
        "ratings": st.dictionaries(
            st.tuples(st.integers(0, 1), st.integers(0, 3), names), ratings, min_size=1, max_size=5
        ),
        "runs": st.dictionaries(st.integers(0, 1), st.lists(scores, min_size=4, max_size=4), min_size=1),
        "system": ids,
    }
)


def source(format: str, content: bytes) -> Source:
    return Source(f"file.{format}", io.BytesIO(content))


def out(format: str, kind: str, rows) -> bytes:
    parts = BY_NAME[format].written(kind, rows)
    return b"".join(part if isinstance(part, bytes) else part.encode() for part in parts)


def taken_in(report) -> None:
    assert [str(refusal) for refusal in report.refusals] == []


def built(record: dict) -> Collection:
    collection = make_collection("first", queries=record["queries"], documents=record["documents"], scale={})
    queries, documents = list(collection.queries.order_by("pk")), list(collection.documents.order_by("pk"))
    steps: dict[str, Grade] = {}
    for (query, document, name), (said, comment, took, at) in record["ratings"].items():
        grade = None
        if said[-1].isdigit():
            value = Grade._meta.get_field("value").to_python(said) + 0
            grade = steps.get(value) or Grade.objects.create(collection=collection, value=value)
            steps[value] = grade
        rater, _ = Rater.objects.get_or_create(collection=collection, name=name, kind="imported")
        pair = queries[query].pk, documents[document % len(documents)].pk
        row = Imported(*pair, grade, "" if grade else said, comment, took, at)
        record_imported(rater, [row])
    lines = [
        f"{queries[query].key} Q0 {document.key} {rank} {score!r} {record['system']}\n"
        for query, found in record["runs"].items()
        for rank, (document, score) in enumerate(zip(documents, sorted(found, reverse=True), strict=False), 1)
    ]
    taken_in(intake.import_run(collection, [source("run", "".join(lines).encode())], format="trec-run"))
    return collection


def elsewhere(first: Collection, number: int) -> Collection:
    """A collection with the same queries, in another order, and nothing else."""
    other = list(first.queries.order_by("-pk").values_list("key", flat=True))
    return make_collection(f"other-{number}", queries=other, documents="", scale={})


@pytest.mark.django_db
@hypothesis_settings(max_examples=EXAMPLES)
@given(records)
def test_any_record_comes_back_in_every_format_that_holds_it(record):
    """Many more with --thorough."""
    try:
        with transaction.atomic():
            first = built(record)
            for number, format in enumerate(RATINGS):
                text = out(format, "ratings", record_rows.ratings(first, BY_NAME[format]))
                other = elsewhere(first, number)
                taken_in(intake.import_ratings(other, [source(format, text)], format=format, queries_by="key"))
                assert out(format, "ratings", record_rows.ratings(other, BY_NAME[format])) == text, format
            system = first.systems.get()
            for number, format in enumerate(RUNS, len(RATINGS)):
                text = out(format, "results", record_rows.run(system))
                other = make_collection(f"other-{number}", queries=record["queries"], documents="")
                taken_in(intake.import_run(other, [source(format, text)], format=format, queries_by="key"))
                assert out(format, "results", record_rows.run(other.systems.get())) == text, format
            raise Rolled
    except Rolled:
        pass


class Rolled(Exception):
    pass
