"""Random collections for tests, by the thousand queries, as `pack` takes them."""

from random import Random

# d10 sorts before d2, so that the order of keys is not that of numbers.
KEYS = [f"d{number}" for number in range(40)]

GRADES = {
    "whole": lambda random: random.choice((0, 0, 0, 1, 2, 3, 4)),
    "decimal": lambda random: random.choice((0.0, round(random.uniform(0, 5), 2))),
    "signed": lambda random: random.choice((0.0, round(random.gauss(0.5, 2), 1))),
    "wide": lambda random: random.uniform(-1, 1) * 10 ** random.randint(-6, 6),
    "labels": lambda random: random.randint(-2, 3),
}


def collection(
    random: Random, queries: int, grades: str = "whole", scored: bool = True
) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float] | list[str]]]:
    """Judgments and rankings: some queries unjudged or without a ranking, rankings shorter and longer than the
    judgments, unjudged documents at any rank; with `scored` few different scores, alike at times in 32 bits only.
    `grades` is a kind of GRADES, or "any" for another kind each query.
    """
    judgments, rankings = {}, {}
    for number in range(queries):
        keys = random.sample(KEYS, random.choice((3, 8, 20, 40)))
        judged = random.sample(keys, random.randint(0, min(len(keys), 15)))
        kind = random.choice(list(GRADES)) if grades == "any" else grades
        judgments[f"q{number}"] = {key: GRADES[kind](random) for key in judged}
        if random.random() < 0.05:
            continue
        listed = keys[: random.randint(0, len(keys))]
        rankings[f"q{number}"] = {key: score(random) for key in listed} if scored else listed
    return judgments, rankings


def score(random: Random) -> float:
    return random.choice((random.uniform(-10, 10), 0.5, 0.50000000001, 16777216.0, 16777217.0))
