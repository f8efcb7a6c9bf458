"""Judges in an archive: they come back to the byte, and go on."""

import pytest

from ratings.copies import tables
from ratings.copies.tests.test_copies import members_of, packed, restored, written
from ratings.judges import runs, uses, versions
from ratings.judges import sample as samples
from ratings.models import Judge, JudgeRun, JudgeVersion, MachineGrade
from ratings.tests.cast import NOW, make_rated_pair

pytestmark = pytest.mark.django_db


@pytest.mark.both_databases
def test_judges_come_along_where_they_are_asked_for_and_go_on(tmp_path, settings):
    settings.PULL_HOSTS = ["127.0.0.1/32"]
    pair, _ = make_rated_pair()
    collection = pair.query.collection
    asked, _ = versions.make_version(versions.make_judge(collection, "llama"), versions.VersionSettings("llama3"))
    run = JudgeRun.objects.create(version=asked, choice="pool", state="done", most_calls=1, pairs=1, graded=1)
    of_pair = {"query": pair.query, "document": pair.document, "at": NOW}
    MachineGrade.objects.create(run=run, version=asked, state="graded", value=3, **of_pair)
    samples.draw(asked.judge, 2, 1)
    uses.switch_on(asked, "expected")
    odd = {"x": -0.0, "y": 1e22, "z": 1e-7, "s": "ü"}
    wish = versions.VersionSettings("m", "http://127.0.0.1:9/v1", sampling=odd)
    version, _ = versions.make_version(versions.make_judge(collection, "other"), wish)
    runs.start(version, "rated", {}, {"most_calls": 5})
    first = written(collection.slug, judges=True)
    assert restored(tmp_path, first, "again") == []
    same, again = members_of(first), members_of(written("again", judges=True))
    of_judges = [table.member for table in tables.TABLES.values() if table.judges]
    assert [again[name] for name in of_judges] == [same[name] for name in of_judges]
    known = JudgeVersion.objects.get(judge__collection__slug="again", judge__name="other")
    assert versions.make_version(known.judge, wish) == (known, False)
    paused = JudgeRun.objects.get(version=known)
    assert paused.state == "paused" and runs.resume(paused)
    assert set(of_judges).isdisjoint(members_of(written(collection.slug)))
    judged = {name: text.replace('"model":"llama3"', '"model":"gpt"') for name, text in same.items()}
    assert "the fingerprint is not" in restored(tmp_path, packed(judged), "third")[0]
    assert Judge.objects.count() == 4
