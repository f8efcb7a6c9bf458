"""Expected values against the study's own code, on random small worlds."""

import copy
import importlib.util

import numpy as np
import pytest

from evaluation.expected import (
    design,
    draw_round,
    estimate,
    expect,
    fit,
    order_chances,
    rates,
    scores,
)
from evaluation.expected.estimate import corrected, means
from ratings.tests.thorough import examples

from ...tests.worlds import certain, play, world

WORLDS = range(examples(40))
NEAR = {"rtol": 1e-9, "atol": 1e-9}


@pytest.fixture(scope="module")
def study(shared):
    path = shared / "research" / "next" / "reference.py"
    if not path.is_file():
        pytest.skip(f"the study's code not found at {path}")
    spec = importlib.util.spec_from_file_location("study", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def theirs(study, pool):
    return study.Pool(pool.query, pool.rank, pool.gains, pool.cutoff, pool.depth)


def fitted(study, pool, level):
    model = study.Ordinal(pool)
    model.fit(level, em=2)
    return model


def equal(ours, other) -> None:
    np.testing.assert_allclose(ours, other, **NEAR)


@pytest.mark.parametrize("seed", WORLDS)
def test_every_number_is_that_of_the_study(study, seed, monkeypatch):
    generator = np.random.default_rng(seed)
    found = world(generator)
    pool, old = found.pool, theirs(study, found.pool)
    level, rounds = play(
        found, [int(generator.integers(4, 12)) for _ in range(generator.integers(1, 4))], generator
    )

    equal(pool.features.values, old.X)
    counts = generator.integers(0, 20, (5, pool.queries, pool.steps))
    counts = np.minimum(np.sort(counts, axis=-1)[..., ::-1], pool.size[:, np.newaxis])
    for ours, other in zip(pool.extremes(counts), old.ideal(counts), strict=True):
        equal(ours, other)
    (exact,) = means(pool, found.truth, np.zeros((0, 1), np.int8))
    equal(exact, np.nanmean(old.ndcg(found.truth), axis=0))

    model, other = fit(pool, level), fitted(study, old, level)
    for place, step in enumerate(model.steps):
        equal(step.fixed, other.b[place])
        equal(step.effect, other.u[place][:, 0])
        equal(step.variance, other.t2[place][0])
    chances, left_out = model.chances(), model.chances(left_out=True)
    equal(chances, other.probs())
    equal(left_out, other.probs(loo=True))
    equal(model.effect_variance, other.vu)

    expectation, state = (
        expect(pool, level, chances, model.effect_variance),
        study.State(old, level, chances, other.vu),
    )
    equal(expectation.value, state.M)
    equal(expectation.influence, np.array(state.u))
    unjudged = np.flatnonzero(level < 0)
    equal(expectation.covariance(unjudged, chances), state.quad(chances, unjudged))
    judged = np.flatnonzero(level >= 0)
    equal(expectation.realised_changes(judged, level, left_out), state.h(judged, level, left_out))
    score = scores(expectation, chances, unjudged)
    _, rate, _, old_score = study.intensities(state, chances, level, 0.5, 0.3, 0.1, 1.0)
    equal(score, old_score)
    equal(rates(score, pool.above_cutoff[unjudged]), rate)

    log = study.Design(pool.pairs)
    for each in rounds:
        certain = np.ones(len(each.greedy))
        log.add(
            np.concatenate([each.greedy, each.drawn]), np.concatenate([certain, each.chance()]), each.precision
        )
    ours = design(rounds, level >= 0, np.zeros(pool.pairs, bool), np.zeros(pool.pairs, int))
    for mine, other_one in zip((ours.rows, ours.weight), log.weights()[:2], strict=True):
        equal(mine, other_one)

    # The study's own draws are the same, but their values are rounded to 32 bits. Where nothing is found in any
    # query it takes the mean for 0, and we leave the draw out.
    levels = model.draw(unjudged, 120, np.random.default_rng(seed))
    np.testing.assert_array_equal(levels, other.draw(unjudged, 120, np.random.default_rng(seed)))
    drawn = means(pool, level, levels)
    rounded = study.ndcg_draws(old, level, other, 120, np.random.default_rng(seed))
    np.testing.assert_allclose(np.nan_to_num(drawn), rounded, atol=1e-5)
    drawn = drawn[~np.isnan(drawn).any(axis=1)]
    monkeypatch.setattr(study, "ndcg_draws", lambda *_: drawn)
    answer = study.estimate(old, level, other, log, None)
    mine = estimate(pool, level, ours, seed=seed)
    equal(mine.mean, answer["eb"][0])
    equal(mine.covariance, answer["eb"][1])
    equal(mine.calibration, answer["info"]["kl"])
    equal(estimate(pool, level, seed=seed).mean, answer["model"][0])
    equal(corrected(model, drawn.mean(axis=0), np.cov(drawn.T), ours, draws=120, seed=seed).mean, answer["eb"][0])

    for part, other in zip(
        order_chances(mine.mean, mine.covariance, seed=0),
        study.settled(mine.mean, mine.covariance, seed=0),
        strict=True,
    ):
        equal(part, other)


@pytest.mark.parametrize("seed", WORLDS)
def test_rounds_and_weights_are_those_of_its_queue(study, seed):
    """With answers out of order, pairs that nobody can judge, judgments outside the rounds, and a growing pool."""
    generator = np.random.default_rng(seed)
    found = world(generator)
    pool = found.pool
    queue = study.Session(theirs(study, pool), seed=seed, refit=9.0)
    queue.birth = np.where(generator.random(pool.pairs) < 0.2, generator.integers(0, 3, pool.pairs), 0)
    rounds = []
    for _ in range(3):
        before = copy.deepcopy(queue.rng)
        queue.draw()
        entry = queue.log[-1]
        chances = queue.model.probs()
        unjudged = np.flatnonzero(queue.y < 0)
        state = expect(pool, queue.y, chances, queue.model.vu)
        score = scores(state, chances, unjudged)
        eligible = ~queue.cant[unjudged] & ~np.isin(
            unjudged, queue.open[: -len(entry["rows"]) - len(entry["greedy"])]
        )
        rate = rates(score, pool.above_cutoff[unjudged])[eligible]
        size = len(entry["rows"]) + len(entry["greedy"])
        ours = draw_round(unjudged[eligible], score[eligible], rate, size, before)
        assert ours.drawn.tolist() == list(entry["rows"])
        assert ours.greedy.tolist() == list(entry["greedy"])
        equal(ours.keys, entry["keys"])
        equal(ours.rate, entry["lam"])
        equal(ours.precision, entry["w"])
        rounds.append(ours)
        for row in generator.permutation(np.concatenate([ours.greedy, ours.drawn]))[
            : generator.integers(1, size + 1)
        ]:
            unrateable = generator.random() < 0.1
            queue.answer(int(row), None if unrateable else int(found.truth[row]))
        waiting = np.setdiff1d(np.flatnonzero(queue.y < 0), [*queue.open, *np.flatnonzero(queue.cant)])
        if generator.random() < 0.5 and len(waiting):
            queue.manual(int(waiting[0]), int(found.truth[waiting[0]]))
            rounds.append(certain(int(waiting[0])))
    ours = design(rounds, queue.y >= 0, queue.cant, queue.birth)
    for mine, other in zip((ours.rows, ours.weight), queue.design().weights()[:2], strict=True):
        equal(mine, other)
