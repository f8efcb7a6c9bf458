"""The worked cases the way a user meets them: files, import commands, `evaluate`."""

import json
from collections import defaultdict

import pytest
from django.core.management import call_command

pytestmark = pytest.mark.django_db

MEASURES = {"cg": "CG", "dcg": "DCG", "idcg": "IDCG", "ndcg": "nDCG", "judged_at_k": "Judged"}
NOT_OPTIONS = {"k", "ties", "grade_range"}


@pytest.fixture(scope="module")
def cases(shared) -> list[dict]:
    return json.loads((shared / "conformance" / "cases.json").read_text())["cases"]


def queries_of(case: dict) -> dict[str, dict]:
    return case["queries"] if case["kind"] == "mean" else {"q": case}


def imported(folder, slug: str, cases: list[dict]) -> None:
    """One collection with the queries of all these cases."""
    queries = {f"{case['id']}/{key}": query for case in cases for key, query in queries_of(case).items()}
    grades = {grade for query in queries.values() for grade in query["judgements"].values()} | {0}
    grades |= {grade for case in cases for grade in case["options"].get("grade_range", ())}
    topics, run, qrels = (folder / f"{slug}.{kind}" for kind in ("tsv", "run", "qrels"))
    topics.write_text("".join(f"{key}\t{key}\n" for key in queries))
    qrels.write_text(
        "".join(
            f"{key} 0 {document} {grade}\n"
            for key, query in queries.items()
            for document, grade in query["judgements"].items()
        )
    )
    run.write_text("".join(line for key, query in queries.items() for line in run_lines(key, query)))
    scale = ",".join(f"{grade}:{grade}" for grade in sorted(grades))
    call_command("create_collection", slug, f"--grades={scale}")
    call_command("import_queries", slug, topics)
    call_command("import_run", slug, run, keep_first=True)
    call_command("import_qrels", slug, qrels)


def run_lines(key: str, query: dict) -> list[str]:
    if "scores" in query:
        ranked = sorted(query["scores"].items(), key=lambda scored: -scored[1])
    else:
        ranked = [(document, -place) for place, document in enumerate(query.get("ranking", ()))]
    return [
        f"{key} Q0 {document} {place} {score!r} s\n" for place, (document, score) in enumerate(ranked, start=1)
    ]


def evaluated(capsys, slug: str, cutoff: int | None, *arguments: str) -> dict[str, dict]:
    capsys.readouterr()
    measures = [f"--measure={name}@{cutoff}" if cutoff else f"--measure={name}" for name in MEASURES.values()]
    call_command("evaluate", slug, *measures, "--format=json", "--per-query", *arguments)
    results = json.loads(capsys.readouterr().out)["results"]
    return {entry["measure"].partition("@")[0]: entry for entry in results}


def close(expected: float | None):
    return expected if expected is None else pytest.approx(expected, abs=1e-12, rel=1e-11)


@pytest.mark.slow
def test_every_worked_query_and_mean_from_files(cases, tmp_path, capsys):
    groups = defaultdict(list)
    for case in cases:
        if case["kind"] != "bounds":
            given = {name: value for name, value in case["options"].items() if name not in NOT_OPTIONS}
            options = [f"--{name.replace('_', '-')}={value}" for name, value in sorted(given.items())]
            ties = "score" if "scores" in case else "rank"
            alone = case["id"] if case["kind"] == "mean" else ""
            groups[(*options, f"--ties={ties}"), case["options"].get("k"), alone].append(case)
    checked = 0
    for number, ((options, cutoff, _), members) in enumerate(groups.items()):
        imported(tmp_path, f"worked-{number}", members)
        entries = evaluated(capsys, f"worked-{number}", cutoff, *options)
        for case in members:
            expected = case["expected"]
            if case["kind"] == "mean":
                assert entries["nDCG"]["mean"] == close(expected["mean"]), case["id"]
                assert entries["nDCG"]["queries"] == expected["queries_counted"], case["id"]
                for key, value in expected["per_query"].items():
                    assert entries["nDCG"]["per_query"][f"{case['id']}/{key}"] == close(value), (case["id"], key)
                checked += 1
                continue
            for name, measure in MEASURES.items():
                value = entries[measure]["per_query"][f"{case['id']}/q"]
                assert value == close(expected[name]), (case["id"], measure)
            checked += 1
    assert checked == sum(case["kind"] != "bounds" for case in cases)


def test_every_worked_bound_from_files(cases, tmp_path, capsys):
    for number, case in enumerate(case for case in cases if case["kind"] == "bounds"):
        slug, key = f"bounds-{number}", f"{case['id']}/q"
        imported(tmp_path, slug, [case])
        # Another system returns what only the pool has.
        pool = tmp_path / f"{slug}.pool"
        pool.write_text("".join(run_lines(key, {"ranking": case["pool_unjudged"]})))
        call_command("import_run", slug, pool, system="other")
        entries = evaluated(capsys, slug, case["options"]["k"], "--bounds", "--system=s")
        for name, bound in (("lowest", "ndcg_min"), ("highest", "ndcg_max")):
            assert entries["nDCG"][name] == close(case["expected"][bound]), case["id"]
            assert entries["nDCG"][f"{name}_per_query"][key] == close(case["expected"][bound]), case["id"]
