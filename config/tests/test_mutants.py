"""The faults that bench/mutants.py makes: known ones of a few lines, and that all that are drawn are Python."""

from pathlib import Path
from random import Random

import pytest

from bench.mutants import draw, faults_in, whole

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("x = a == b", {"x = (a != b)"}),
        ("x = a in b", {"x = (a not in b)"}),
        ("x = a and b", {"x = (a or b)"}),
        ("x = a - b", {"x = (a + b)"}),
        ("x = 10", {"x = 11"}),
        ("x = True", {"x = False"}),
        ("if a: b", {"if (not (a)): b"}),
        ("x = a if b else c", {"x = a if (not (b)) else c"}),
        ("x.save()", {"pass"}),
        ("x += y", {"pass"}),
        ("def f(): return a", {"def f(): return None"}),
        ("é = 'ü'; x = 1", {"é = 'ü'; x = 2"}),  # places are counted in bytes
        ("x: 'list[1]' = a", set()),
        ("x = f'{a + b}'", set()),
        ("'words'", set()),
        ("def f(): return None", set()),
    ],
)
def test_the_faults_of_a_line_are_known(line, instead):
    source = line.encode()
    assert {fault.made(source).decode() for fault in faults_in("a.py", source)} == instead


def test_the_same_seed_draws_the_same_faults_of_both_apps_and_all_are_python():
    drawn = draw(ROOT, "", Random(1), 200)
    assert draw(ROOT, "", Random(1), 20) == drawn[:20]
    assert len(drawn) == len(set(drawn)) == 200
    assert {fault.file.partition("/")[0] for fault in drawn} == {"ratings", "evaluation"}
    for fault in drawn:
        source = (ROOT / fault.file).read_bytes()
        assert "tests" not in fault.file.split("/")
        assert fault.made(source) != source and whole(fault.made(source))
