"""Every file of the real collections, sent to the import desk as it is: imported, or refused with its line.

pytest -s ratings/importing/tests/test_data_files.py  # the table, with what is said of each
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.test import Client
from django_tasks_db.management.commands import db_worker

from ratings.formats import trec
from ratings.formats.refusal import Refusal
from ratings.formats.source import opened
from ratings.importing import intake
from ratings.management.commands.work import work
from ratings.models import Collection, Job, Query, Role
from ratings.tests.cast import make_member

# What is seen in a file, and what is refused. How each database takes it in, other tests show.
pytestmark = pytest.mark.django_db

# Each file, what is seen in it, and how many rows it brings or which line is refused first; 0 is the whole file.
# Files that are like others are not listed and not sent.
EXPECTED = """
codec/topics.json: queries, as was said, 42
cranfield/cran.all.1400.gz: documents, as was said, refused 1
cranfield/cran.qry: queries, as was said, refused 1
cranfield/cran.qry.xml: queries, 225
cranfield/cranqrel: ratings, as was said, refused 1
cranfield/documents.jsonl.gz: documents, 1400
cranfield/expected.graded.json: results, as was said, refused 1
cranfield/qrels.cran.binary.txt: ratings, 1837
cranfield/runs/bm25-k0.9-b0.4-stem.run.gz: results, 225
cranfield/runs/lsi-200.run.gz: results, 225
cranfield/topics.tsv: queries, 225
crowd/nyt/experts_3x120.csv.gz: ratings, refused 0
crowd/trec2011/Details.txt: results, as was said, refused 0
ir_measures/compat.qrels: ratings, 311
ir_measures/compat.run: results, 2
ir_measures/ranx.qrels.trec.gz: ratings, 5541
judgment-lists/ltr_title_judgments.txt: ratings, as was said, 1390
judgment-lists/opensearch_CreateQuerySet.json: queries, 8
judgment-lists/opensearch_ImportJudgments.json: ratings, as was said, 40
judgment-lists/opensearch_data_esci_ImportJudgment.json: ratings, as was said, 10
judgment-lists/opensearch_esci_us_judgments.json.gz: ratings, as was said, 6678
judgment-lists/opensearch_esci_us_queryset.json: queries, 150
judgment-lists/rankquest_movie-quotes-test-cases.json: results, as was said, refused 1
judgment-lists/rankquest_moviequotes.json: results, as was said, refused 2
judgment-lists/rre_ratings_example.json: ratings, as was said, 9
machine/qrels.rag25.test.txt.gz: ratings, 10284
machine/topics.rag25.test.jsonl.gz: queries, as was said, 105
qrels-zoo/qrels.ciral-v1.0-ha-test-a-pools.tsv.gz: ratings, 7288
qrels-zoo/qrels.dl19-passage.txt.gz: ratings, 9260
qrels-zoo/topics.dl19-passage.txt: queries, 43
qrels-zoo/tripjudge_qrels_4class.txt.gz: ratings, 12590
quepid/book_wide.csv: ratings, 1900
quepid/chorus_Broad_Query_Set_rated.csv: ratings, 3668
quepid/chorus_Broad_Query_Set_unrated.csv: ratings, 6
quepid/documents.jsonl.gz: documents, as was said, 1558
quepid/expected.json: results, as was said, refused 1
quepid/haystack_book.json.gz: ratings, as was said, 1922
quepid/haystack_case.json.gz: ratings, as was said, 1659
quepid/judgements_long.csv: ratings, 1922
quepid/qrels.case.txt: ratings, 1659
quepid/runs/no-vector.run: results, 135
quepid/runs/with-vector.run: results, refused 221
quepid/snapshot_no-vector.json.gz: ratings, as was said, 1659
quepid/topics.tsv: queries, 135
robust03/topics.robust04.txt: queries, 250
trec-covid/round1/expected.dev.json: results, as was said, refused 1
trec-covid/round1/leaderboard.csv: results, as was said, refused 1
trec-covid/round1/qrels.covid-round1.txt.gz: ratings, 8691
trec-covid/round1/runs/BM25R2.run.gz: results, 30
trec-covid/round1/runs/ERST_NARRATIVE.run.gz: results, refused 999
trec-covid/round1/runs/UB_NLP_RUN_1.run.gz: results, refused 141
trec-covid/round1/topics.covid-round1.xml: queries, 30
trec_eval/expected.rel_level.json: results, as was said, refused 1
trec_eval/out.comment.test: results, as was said, refused 1
trec_eval/out.test: results, as was said, refused 1
trec_eval/out.test.aql: results, as was said, refused 1
trec_eval/out.test.meas_params: results, as was said, refused 1
trec_eval/out.test.prefs: ratings, as was said, refused 1
trec_eval/out.test.qrels_jg: ratings, as was said, refused 1
trec_eval/out.test.qrels_prefs: ratings, as was said, refused 1
trec_eval/prefs.comment.test: ratings, as was said, refused 2
trec_eval/prefs.rank20: ratings, as was said, refused 1
trec_eval/prefs.results.test: results, 24
trec_eval/prefs.test: ratings, as was said, refused 1
trec_eval/qrels-302.test: ratings, 1061
trec_eval/qrels.123.gz: ratings, refused 3686
trec_eval/qrels.comment.test.gz: ratings, 5890
trec_eval/qrels.rel_level: ratings, 3681
trec_eval/qrels.test: ratings, 3681
trec_eval/results-302.test: results, 1
trec_eval/results.comment.test.gz: results, 301
trec_eval/results.test: results, 3
trec_eval/results.trunc: results, 7
trec_eval/zscores_file: results, as was said, refused 1
"""


LINES = EXPECTED.strip().splitlines()
NAMES = {line.partition(":")[0] for line in LINES}


def files_in(folder: Path) -> list[Path]:
    """The files that are sent, in order."""
    return [path for path in sorted(folder.rglob("*")) if str(path.relative_to(folder.parent)) in NAMES]


@pytest.fixture
def admin(settings, tmp_path, monkeypatch) -> Client:
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(db_worker, "close_old_connections", lambda: None)
    return Client()


def made(folder: Path, admin: Client) -> Collection:
    """A collection without a scale that has the queries of a folder: its topics, or else the bare names."""
    slug = folder.name.replace("_", "-")
    collection = Collection.objects.create(slug=slug, name=folder.name)
    admin.force_login(make_member(collection, f"ada-{slug}", Role.ADMIN))
    files = files_in(folder)
    for path in (each for each in files if each.name.startswith("topics") or folder.name == "judgment-lists"):
        with opened(str(path)) as source:
            intake.import_queries(collection, [source])
    known = set(collection.queries.values_list("key", flat=True))
    named = {key for path in files for key in queries_named(path)}
    Query.objects.bulk_create(
        Query(collection=collection, key=key, text=f"query {key}") for key in sorted(named - known)
    )
    return collection


def queries_named(path: Path) -> Iterator[str]:
    for read in (trec.read_qrels, trec.read_run):
        with opened(str(path)) as source:
            for row in read(source):
                if isinstance(row, Refusal):
                    break
                yield row.query


def kind_by_name(path: Path) -> str:
    """What a person would say of a file that does not show it."""
    names = {"qr": "queries", "topic": "queries", "all": "documents", "qrel": "ratings", "prefs": "ratings"}
    names |= {"documents": "documents"} | dict.fromkeys(("udgment", "ratings_", "haystack", "snapshot"), "ratings")
    return next((kind for part, kind in reversed(names.items()) if part in path.name), "results")


def sent(admin: Client, collection: Collection, path: Path) -> tuple[str, str, str]:
    """What was seen in the file or said of it, what came of it, and what is said."""
    for kind in ("", kind_by_name(path)):
        file = SimpleUploadedFile(path.name, path.read_bytes())
        response = admin.post(f"/collections/{collection.slug}/import/send/", {"kind": kind, "files": [file]})
        if response.status_code == 302 and Job.objects.first().kind:
            break
    else:
        return "nothing", "refused 0", " ".join(sum(response.context["form"].errors.values(), []))
    work()
    admin.post(f"{response.url}start/")
    work()
    job = Job.objects.get(pk=response.url.rstrip("/").rpartition("/")[2])
    assert admin.get(response.url).status_code == 200
    kind = f"{job.kind}, as was said" if kind else job.kind
    if job.state == Job.State.PUBLISHED:
        counts = job.report["counts"]
        brought = counts.get("new", 0) + counts.get("changed", 0) + counts.get("unchanged", 0)
        return kind, f"{brought}", " ".join(job.report["facts"])
    first = job.report["refusals"][0]
    return kind, f"refused {first['line']}", f"{first['problem']}. {first['cure']}"


@pytest.mark.slow
def test_every_file_is_imported_or_refused_with_its_line(shared, admin):
    data, found = shared / "data", []
    for folder in sorted(path for path in data.iterdir() if path.is_dir()):
        with transaction.atomic():
            collection = made(folder, admin)
            for path in files_in(folder):
                with transaction.atomic():
                    kind, end, said = sent(admin, collection, path)
                    transaction.set_rollback(True)
                found.append(f"{path.relative_to(data)}: {kind}, {end}")
                print(f"| {path.relative_to(data)} | {kind} | {end} | {said} |")
            transaction.set_rollback(True)
    assert found == LINES
