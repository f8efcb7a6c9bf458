"""Expected values in frozen evaluations: kept with the rounds behind them, and computed again from a bundle."""

import io
import json
import zipfile

import pytest
from django.core.management import call_command

from evaluation import frozen
from evaluation.deciding.drawing import draw_next
from evaluation.deciding.report import expected_of
from evaluation.frozen import bundle, content
from evaluation.frozen.content import Broken
from evaluation.measures import parse_measure
from evaluation.page.numbers import decimals
from evaluation.scores import Asked
from ratings.desk import queue
from ratings.management.commands._collection_command import Refused
from ratings.models import Collection

from ...tests.hills import analyst, make_hills, text_of
from ...tests.judged_worlds import Judged, make_rater, unfinished

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

MEASURES = ["nDCG@5", "P@5", "nDCG@10"]
ASKED = Asked(parse_measure(MEASURES[0]))


@pytest.fixture
def judged() -> Judged:
    """With a greedy third, an unfinished round, a pair that nobody will judge, and judgments outside rounds."""
    found = unfinished()
    made = draw_next(found.collection, seed=7)
    rater = make_rater(found.collection, "second")
    found.rate(rater, made.drawn.count() // 2)
    queue.retire([made.drawn.filter(kind="random", pair__ratings=None).order_by("place").first().pair_id])
    return found


def made(judged: Judged, name: str = "first", **given):
    return frozen.freeze(judged.collection, name, ASKED, MEASURES[1:], expected=True, **given)[0]


def saved(found, tmp_path):
    path = tmp_path / "bundle.zip"
    path.write_bytes(b"".join(bundle.bundle(found)))
    return path


def test_they_are_those_of_the_collection(judged):
    evaluation = frozen.evaluation_of(made(judged))
    for text in ("nDCG@5", "nDCG@10"):
        measure = parse_measure(text)
        told = expected_of(judged.collection, Asked(measure))
        assert told.skipped == 1 and told.rounds == 3
        outlook = evaluation.expected[measure]
        counts = ("judged", "pairs", "drawn", "skipped", "rounds", "nothing_found", "outside", "est", "leader")
        assert {name: outlook.facts()[name] for name in counts} == {name: told.facts()[name] for name in counts}
        for row in told.means:
            mine = outlook.row(row.system)
            numbers = [mine[name] for name in ("expected", "expected_low", "expected_high")]
            assert numbers == pytest.approx([row.mean, row.low, row.high], abs=1e-9)
            assert evaluation.standing(row.system, text).expected == mine
    assert parse_measure("P@5") not in evaluation.expected


def test_rounds_from_the_top_of_the_lists_are_frozen_too(tmp_path):
    """Without an interval, as in the collection, and computed again from the bundle."""
    judged = unfinished(0)
    first = draw_next(judged.collection, seed=1, small=True)
    judged.rate(make_rater(judged.collection, "second"), first.drawn.count())
    found = made(judged)
    facts = frozen.evaluation_of(found).expected[parse_measure("nDCG@5")].facts()
    assert (facts["est"], facts["drawn"]) == ("model", first.drawn.count())
    assert "top of the lists" in facts["without"]
    assert bundle.check(saved(found, tmp_path)).is_equal


def test_they_stay_when_the_collection_goes_on(judged):
    found = made(judged)
    before = frozen.evaluation_of(found).expected[parse_measure("nDCG@5")].means
    judged.play(make_rater(judged.collection, "third"), 3)
    assert frozen.evaluation_of(found).expected[parse_measure("nDCG@5")].means == before
    now = expected_of(judged.collection, Asked(parse_measure("nDCG@5")))
    assert now.means != before


def test_a_bundle_gives_the_same_numbers_to_the_last_digit(judged, tmp_path):
    found = made(judged)
    result = bundle.check(saved(found, tmp_path))
    assert result.different == []
    plain = frozen.freeze(judged.collection, "plain", ASKED, MEASURES[1:])[0]
    assert result.numbers > bundle.check(saved(plain, tmp_path)).numbers


def changed(path, name: str, change) -> None:
    """Write the bundle anew with one file changed, and all sums as they must be."""
    import hashlib

    with zipfile.ZipFile(path) as archive:
        files = {each: archive.read(each) for each in archive.namelist()}
    files[name] = change(files[name])
    asked = content.Settings.parse(files["settings.json"].decode())
    sums = {each: hashlib.sha256(data).hexdigest() for each, data in files.items()}
    about = json.loads(files["about.json"])
    about["hash"] = content.hash_of(content.File(each, 0, 0, sums[each]) for each in asked.names)
    files["about.json"] = json.dumps(about).encode()
    sums["about.json"] = hashlib.sha256(files["about.json"]).hexdigest()
    files["SHA256SUMS"] = "".join(f"{sums[each]}  {each}\n" for each in files if each != "SHA256SUMS").encode()
    with zipfile.ZipFile(path, "w") as archive:
        for each, data in files.items():
            archive.writestr(each, data)


def test_a_bundle_whose_chances_were_changed_is_found_out(judged, tmp_path):
    """The twin: the estimate is made of the stored chances, and does not ignore them."""
    path = saved(made(judged), tmp_path)

    def other(data: bytes) -> bytes:
        lines = [json.loads(line) for line in data.decode().splitlines()]
        for unit in lines[0]["units"]:
            unit["rate"] *= 3
        return "".join(json.dumps(line) + "\n" for line in lines).encode()

    changed(path, "rounds.jsonl", other)
    result = bundle.check(path)
    assert not result.is_equal
    assert all("expected" in line or "best" in line or "facts" in line for line in result.different)


def test_a_bundle_with_a_pair_that_is_not_there_is_broken(judged, tmp_path):
    path = saved(made(judged), tmp_path)
    changed(path, "rounds.jsonl", lambda data: data.replace(b'"d0', b'"x0', 1))
    with pytest.raises(Broken, match="no whole bundle: 'x0"):
        bundle.check(path)


def test_files_and_texts_name_which_number_it_is(judged, tmp_path):
    found = made(judged)
    with zipfile.ZipFile(saved(found, tmp_path)) as archive:
        means, methods, readme = (
            archive.read(name).decode() for name in ("means.csv", "methods.txt", "README.md")
        )
        per_query = archive.read("per_query.csv").decode()
        assert "expected" not in json.loads(archive.read("about.json"))
        pairs = json.loads(archive.read("comparisons.json"))["results"]
    assert "expected,expected_low,expected_high,best,est" in means.splitlines()[0] and "est=design" in means
    assert "est=" not in per_query
    assert (
        "These means are plain." in methods
        and "with 90 % intervals for missing judgments alone (est=design)" in methods
    )
    assert "| rounds.jsonl |" in readme and "| pool.jsonl |" in readme
    told = expected_of(judged.collection, Asked(parse_measure("nDCG@5")))
    for row in pairs:
        apart = told.difference(row["baseline"], row["system"])
        assert row["expected"] == pytest.approx(apart.difference, abs=1e-9)


def test_what_is_frozen_without_them_has_the_same_hash_as_ever(judged):
    plain = frozen.freeze(judged.collection, "plain", ASKED, MEASURES[1:])[0]
    assert "expected" not in plain.settings
    assert [file.name for file in frozen.files_of(plain)][-1].startswith("runs/")
    assert made(judged).hash != plain.hash
    again, new = frozen.freeze(judged.collection, "again", ASKED, MEASURES[1:])
    assert not new and again == plain


def test_the_command_freezes_them_and_refuses_what_has_none(judged):
    out = io.StringIO()
    call_command("freeze", "world", "--name", "first", "--measure", "nDCG@5", "--expected", stdout=out)
    found = judged.collection.frozen_evaluations.get()
    assert out.getvalue().strip() == found.hash
    assert frozen.evaluation_of(found).expected
    with pytest.raises(Refused, match="there is no expected value of AP"):
        call_command("freeze", "world", "--name", "second", "--measure", "AP", "--expected")
    with pytest.raises(Refused, match="leave out --system"):
        call_command("freeze", "world", "--name", "second", "--system", "system0", "--expected")
    assert judged.collection.frozen_evaluations.count() == 1


def test_without_rounds_the_model_is_frozen_with_the_reason(tmp_path):
    judged = unfinished(rounds=0)
    judged.rate(make_rater(judged.collection, "first"), 30)
    found = made(judged)
    outlook = frozen.evaluation_of(found).expected[parse_measure("nDCG@5")]
    assert outlook.est == "model" and "no round was drawn" in outlook.facts()["without"]
    assert bundle.check(saved(found, tmp_path)).different == []


def test_only_the_systems_of_the_order_have_them(judged, tmp_path):
    Collection.objects.update(aim={"measure": "nDCG@5", "systems": ["system0", "system2"]})
    judged.collection.refresh_from_db()
    found = made(judged)
    expected = frozen.evaluation_of(found).expected[parse_measure("nDCG@5")]
    assert [expected.of(f"system{place}").mean is not None for place in range(3)] == [True, False, True]
    assert bundle.check(saved(found, tmp_path)).different == []


def test_the_form_offers_them_where_rounds_exist_and_the_page_shows_them(client, judged):
    analyst(client, judged.collection)
    address = "/collections/world/frozen/new/?measure=nDCG@5"
    offered = text_of(client.get(address))
    assert "Expected values, too" in offered and "has the highest expected mean nDCG@5" in offered
    response = client.post(address, {"name": "first", "expected": "on"}, follow=True)
    page = text_of(response)
    told = expected_of(judged.collection, Asked(parse_measure("nDCG@5")))
    first = told.means[0]
    assert f"{first.system} has the highest expected mean nDCG@5, {decimals(first.mean)}" in page
    assert "Plain, with unjudged documents as the options say:" in page
    assert "Expected once all is judged" in page and "90 % for missing judgments" in page
    assert f"{told.judged} of {told.pairs} pairs were judged" in page
    assert "nDCG@5 lin log2 ideal=judged unj=0 neg=minmax est=design" in page
    analyst(client, make_hills(), "bea")
    assert "Expected values, too" not in text_of(client.get("/collections/hills/frozen/new/"))
