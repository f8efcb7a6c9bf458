"""PostgreSQL under an account that may only read and write rows: what serves and works needs no more."""

import io
import json
import re

import pytest
from django.core.management import call_command
from django.db import ProgrammingError, connection, transaction
from django.test import Client
from django.urls import reverse

from config.health import checks
from config.help.documents import DOCS_FOLDER
from ratings.copies import backup
from ratings.models import Collection, Rating, Role
from ratings.tests.cast import make_collection, make_member, make_pair, make_rater

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.postgresql,
]
# What the document tells operators to give.
GRANTS = "".join(
    re.findall(
        r"^(?:GRANT|ALTER DEFAULT) .* TO idealist_serves;\n",
        (DOCS_FOLDER / "operating.md").read_text(),
        re.MULTILINE,
    )
)


@pytest.fixture
def few_rights() -> None:
    """The account that serves. All of it ends with the transaction of the test."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE idealist_serves NOINHERIT")
        cursor.execute(GRANTS)
        cursor.execute("SET LOCAL ROLE idealist_serves")


def test_it_has_the_same_rights_for_tables_that_a_restore_puts_in_place(few_rights):
    with connection.cursor() as cursor:
        cursor.execute("RESET ROLE; CREATE SCHEMA restoring; CREATE TABLE restoring.restored (n int)")
        cursor.execute("ALTER TABLE restoring.restored SET SCHEMA public; SET LOCAL ROLE idealist_serves")
        cursor.execute("INSERT INTO restored VALUES (1) RETURNING n")
        assert cursor.fetchone() == (1,)


def test_it_can_change_no_table(few_rights):
    for statement in (
        "CREATE TABLE public.own (n int)",
        "DROP TABLE ratings_rating",
        "TRUNCATE ratings_auditevent",
    ):
        with pytest.raises(ProgrammingError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)


def test_people_rate_import_and_read_numbers_with_it(few_rights, tmp_path):
    collection = make_collection()
    make_pair(collection)
    client = Client(headers={"accept": "application/json"})
    sent = {"username": make_rater(collection, "anna").user.username, "password": "a pass phrase"}
    assert client.post(reverse("sign_in"), sent).status_code == 302
    (task,) = client.post(reverse("claim", args=["hills"]), {"count": 1}).json()["tasks"]
    save = {"grade": "2", "base_revision": "0", "client_key": "0" * 32}
    assert client.post(reverse("save_rating", args=["hills", task["token"]]), save).status_code == 200
    assert Rating.objects.count() == 1

    (tmp_path / "queries.tsv").write_text("q7\tblue shoes\n")
    (tmp_path / "bm25.run").write_text("q1 Q0 a 1 2.0 bm25\nq1 Q0 b 2 1.0 bm25\n")
    call_command("import_queries", "hills", tmp_path / "queries.tsv", verbosity=0)
    call_command("import_run", "hills", tmp_path / "bm25.run", verbosity=0)
    told = io.StringIO()
    call_command("evaluate", "hills", measure=["nDCG@10"], format="json", stdout=told)
    assert json.loads(told.getvalue())["results"][0]["system"] == "bm25"

    client.force_login(make_member(collection, "ada", Role.ADMIN))
    for page in ("progress", "people", "pool"):
        assert client.get(reverse(page, args=["hills"])).status_code == 200
    Collection.objects.get(slug="hills").delete()


def test_a_backup_is_written_and_the_tables_are_prepared_with_it(few_rights, tmp_path):
    make_collection()
    backup.write(tmp_path / "idealist.zip")
    call_command("prepare", verbosity=0)


def test_the_doctor_names_a_table_that_is_closed_to_the_account(few_rights):
    assert list(checks.rights()) == []
    with connection.cursor() as cursor:
        cursor.execute("RESET ROLE; REVOKE INSERT ON ratings_rating FROM idealist_serves")
        cursor.execute("SET LOCAL ROLE idealist_serves")
    (problem,) = checks.rights()
    assert "1 table, such as ratings_rating" in problem.wrong and "Two accounts" in problem.cure
