"""What version 1.0 made can be read by every later one, as docs/versions.md says.

With IDEALIST_RELEASED=write the archive of this version is written for the versions to come.
"""

import hashlib
import os
from pathlib import Path

import pytest
from django.conf import settings

from ratings.copies import archive, restoring
from ratings.copies.tests.test_copies import lived_in
from ratings.judges import sample, uses, versions
from ratings.models import Collection, JudgeRun, MachineGrade, Pair, Probe
from ratings.tests.cast import NOW

# SHA-256 of the released migrations. Others are only added: a release adds its own here.
RELEASED = {
    "ratings/migrations/0001_version_1.py": "ced47d12543efd162ef9959883452ee6f80574324a82aa4ddcb265e762cff413",
    "evaluation/migrations/0001_version_1.py": "806849f3c774046aac5f1c438fd1392d5a926ddc067330ffacc1dac9c7457bc9",
}
FOLDER = Path(__file__).parent / "released"  # an archive by each version with new tables or columns


@pytest.mark.parametrize("path", RELEASED)
def test_a_released_migration_stays_as_it_was(path):
    assert hashlib.sha256((settings.BASE_DIR / path).read_bytes()).hexdigest() == RELEASED[path]


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", sorted(FOLDER.iterdir()), ids=lambda path: path.stem)
def test_an_archive_of_each_release_is_read_whole(path):
    with restoring.opened(path) as opened:
        report = restoring.restore(opened, "released")
    assert report.refusals == []
    collection = Collection.objects.get(slug="released")
    rows = {table.member: archive.rows_of(table, collection).count() for table in opened.tables}
    assert rows == opened.counts


@pytest.mark.django_db(transaction=True)
def test_the_archive_to_release_has_rows_in_every_table(tmp_path):
    folder = FOLDER if os.environ.get("IDEALIST_RELEASED") == "write" else tmp_path
    path = folder / f"{settings.VERSION}.zip"
    with path.open("wb") as file:
        archive.write(with_judges(lived_in()), file, judges=True)
    with restoring.opened(path) as opened:
        assert [member for member, lines in opened.counts.items() if not lines] == []


def with_judges(collection: Collection) -> Collection:
    judge = versions.make_judge(collection, "llama")
    version, _ = versions.make_version(judge, versions.VersionSettings("llama3"))
    run = JudgeRun.objects.create(version=version, choice="pool", state="done", most_calls=1, pairs=1, graded=1)
    pair = Pair.objects.filter(query__collection=collection, ratings__isnull=False).first()
    answered = {"run": run, "version": version, "query": pair.query, "state": "graded", "at": NOW}
    MachineGrade.objects.create(**answered, document=pair.document, value=1)
    Probe.objects.create(**answered, kind="empty", value=0)
    sample.draw(judge, 2, 1)
    uses.switch_on(version, "expected")
    return collection
