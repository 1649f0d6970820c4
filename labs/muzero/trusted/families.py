"""The cases of the checks of MuZero. They belong to no game, so that no rules of a game can help a submission."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np

from labs.muzero.trusted.loss import outside, slips, steps_and_gradients
from labs.muzero.trusted.model import DrawnModel, OwnModel, Sizes, draw_sizes, draw_weights, number_of_weights, weights_of
from labs.muzero.trusted.search import RIGHT, SLIPS, Outcome, OwnSearch, Reading
from labs.support.cases import Case, bank_of

LEAST_LEAD = 1e-4  # by which each selection of a drawn search is decided, far above what rounding can change
C_PUCT = (0.8, 1.25, 2.5)
NOBODY = -1
TRAINED = Sizes(9, 3, 3, 32, 64)


def numbers_from(rng: Random) -> np.random.Generator:
    """Return numpy's generator for what is drawn as arrays."""
    return np.random.default_rng(rng.getrandbits(64))


def _model(rng: Random) -> tuple[Sizes, dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Draw a model; return its sizes, its weights, and both as arrays of a case."""
    sizes = draw_sizes(rng)
    weights = draw_weights(sizes, numbers_from(rng))
    return sizes, weights, {"sizes": np.array(sizes), **{f"weight {name}": array for name, array in weights.items()}}


def _drawn(rng: Random) -> tuple[Sizes, DrawnModel, dict[str, np.ndarray]]:
    """Draw a SineModel; return its sizes, itself, and its sizes and weights as arrays of a case."""
    sizes = draw_sizes(rng)
    model = DrawnModel(sizes[:4], numbers_from(rng))
    return sizes, model, {"sizes": np.array(sizes[:4]), **{f"weight {name}": array for name, array in model.weights.items()}}


def _planes(sizes: Sizes, count: int, numbers: np.random.Generator) -> np.ndarray:
    return (numbers.random((count, sizes.planes, sizes.height, sizes.width)) < 0.5).astype(np.float32)


def scaling(rng: Random) -> Case:
    """Vectors of very different sizes, the last one constant."""
    numbers = numbers_from(rng)
    latents = numbers.normal(0, 1, (rng.randrange(3, 7), rng.randrange(4, 9))) * 10.0 ** numbers.uniform(0, 2, (1, 1))
    latents = latents * numbers.uniform(0.3, 3, (len(latents), 1)) + numbers.normal(0, 5, (len(latents), 1))
    latents[-1] = latents[-1, 0]
    return {"latents": latents.astype(np.float32)}


def unrolling(rng: Random) -> Case:
    """A model along random actions."""
    sizes, weights, arrays = _model(rng)
    numbers, count, steps = numbers_from(rng), rng.randrange(2, 6), rng.randrange(1, 5)
    planes, actions = _planes(sizes, count, numbers), numbers.integers(sizes.actions, size=(count, steps))
    return {**arrays, "planes": planes, "actions": actions, **OwnModel(weights).unroll(planes, actions)}


def _shares(rng: Random, legal: np.ndarray, numbers: np.random.Generator) -> np.ndarray:
    """Draw visit shares of legal moves, [T, A]."""
    weights = np.where(legal, numbers.integers(1, 30, size=legal.shape), 0)
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def _game(rng: Random, sizes: Sizes) -> tuple[dict[str, np.ndarray], int]:
    """Draw a game of no particular rules; return its arrays and its winner."""
    numbers, length = numbers_from(rng), rng.randrange(3, sizes.actions + 1)
    moves = numbers.permutation(sizes.actions)[:length]
    legal = np.array([~np.isin(np.arange(sizes.actions), moves[:t]) for t in range(length)])
    begins = rng.randrange(2)
    arrays = {
        "planes": _planes(sizes, length, numbers),
        "legal": legal,
        "moves": moves,
        "players": 1 + (np.arange(length) + begins) % 2,
        "policies": _shares(rng, legal, numbers),
    }
    winner = NOBODY if rng.random() < 0.2 else int(arrays["players"][-1])  # who moves last wins, as in most games
    if winner != NOBODY and rng.random() < 0.3:
        winner = 3 - winner  # or loses, as in some
    return arrays, winner


def targets(rng: Random, *, beyond: bool, reanalysed: bool) -> Case:
    """A position of a game; `beyond`: at least the last step lies after the end; `reanalysed`: the game has new values."""
    sizes = draw_sizes(rng)
    game, winner = _game(rng, sizes)
    length = len(game["moves"])
    if reanalysed:
        game["values"] = numbers_from(rng).uniform(-0.95, 0.95, length).astype(np.float32)
    start = rng.randrange(length) if beyond else rng.randrange(length - 1)
    left = length - start
    steps = rng.randrange(left, left + 4) if beyond else rng.randrange(1, left)
    values, rewards = np.zeros(steps + 1), np.zeros(steps)
    policies = np.zeros((steps + 1, sizes.actions))
    results = np.where(game["players"] == winner, 1.0, -1.0) if winner != NOBODY else np.zeros(length)
    within = min(left, steps + 1)
    values[:within] = (game["values"] if reanalysed else results)[start : start + within]
    policies[:within] = game["policies"][start : start + within]
    if left <= steps:
        rewards[left - 1] = results[-1]
    told = {"winner": np.array(winner), "start": np.array(start), "steps": np.array(steps), "within": np.array(within)}
    right = {"values": values, "rewards": rewards, "policies": policies, "results": results}
    return {**{f"game {name}": array for name, array in game.items()}, **told, **right}


def losing(rng: Random, *, otherwise: bool = False) -> Case:
    """A batch with its loss by steps and its gradients; `otherwise`: for losses that weight the terms in another way, too."""
    sizes, model, arrays = _drawn(rng)
    numbers, count, steps = numbers_from(rng), rng.randrange(3, 6), rng.randrange(2, 6)
    ends = numbers.integers(1, steps + 3, size=count)  # the first step after the end
    before = np.arange(steps + 1) < ends[:, None]
    everything = np.ones((count * (steps + 1), sizes.actions), dtype=bool)
    policies = _shares(rng, everything, numbers).reshape(count, steps + 1, sizes.actions) * before[:, :, None]
    batch = {
        "planes": _planes(sizes, count, numbers),
        "moves": numbers.integers(sizes.actions, size=(count, steps)),
        "policies": policies.astype(np.float32),
        "values": (numbers.choice([-1.0, 0.0, 1.0], size=(count, steps + 1)) * before).astype(np.float32),
        "rewards": np.where(np.arange(1, steps + 1) == ends[:, None], numbers.choice([-1.0, 1.0], (count, 1)), 0.0),
    }
    batch["rewards"] = batch["rewards"].astype(np.float32)
    terms, gradients = steps_and_gradients(model.model, batch)
    directions = outside(model.model, batch, numbers) if otherwise else {}
    told = {f"batch {name}": array for name, array in batch.items()}
    return {
        **arrays,
        **told,
        "terms": terms,
        **{f"gradient {way}": array.astype(np.float32) for way, array in gradients.items()},
        **{f"slip {name}": np.array(number) for name, number in slips(model.model, batch).items()},
        **{f"outside {way}": array.astype(np.float32) for way, array in directions.items()},
    }


def searching(rng: Random, rare: str = "") -> Case:
    """A root with its visits by each right reading, and by each slip; every selection is decided clearly.

    Args:
        rare: a slip that must change the visits of this search. Few searches show it, and short ones more often than long ones.
    """
    while True:
        sizes, model, arrays = _drawn(rng)
        planes = _planes(sizes, 1, numbers_from(rng))[0]
        legal = sorted(rng.sample(range(sizes.actions), rng.randrange(2, sizes.actions)))
        simulations, c_puct = rng.randrange(3, 10) if rare else rng.randrange(12, 40), rng.choice(C_PUCT)

        def outcome(reading: Reading) -> Outcome:
            return OwnSearch(model, planes, legal, c_puct, reading).run(simulations)  # noqa: B023

        if rare and np.array_equal(outcome(SLIPS[rare]).visits, outcome(RIGHT[0]).visits):
            continue
        right = [outcome(reading) for reading in RIGHT]
        if min(each.lead for each in right) < LEAST_LEAD:
            continue
        told = {"planes": planes, "legal": np.array(legal), "simulations": np.array(simulations), "c_puct": np.array(c_puct)}
        visits, values = np.stack([each.visits for each in right]), np.array([each.value for each in right])
        slips = {f"slip {name}": outcome(reading).visits for name, reading in SLIPS.items()}
        if not rare or not (slips[f"slip {rare}"] == visits).all(axis=1).any():
            return {**arrays, **told, "visits": visits, "values": values, **slips}


def reanalysing(rng: Random) -> Case:
    """A game and a model, with the visit shares and values of new searches by each right reading."""
    while True:
        sizes, model, arrays = _drawn(rng)
        game, winner = _game(rng, sizes)
        simulations, c_puct = rng.randrange(8, 16), rng.choice(C_PUCT)
        places = range(len(game["moves"]))
        results = [
            [
                OwnSearch(model, game["planes"][t], np.flatnonzero(game["legal"][t]).tolist(), c_puct, reading).run(simulations)
                for t in places
            ]
            for reading in RIGHT
        ]
        if min(each.lead for row in results for each in row) < LEAST_LEAD:
            continue
        told = {"winner": np.array(winner), "simulations": np.array(simulations), "c_puct": np.array(c_puct)}
        policies = np.array([[each.visits / simulations for each in row] for row in results])
        values = np.array([[each.value for each in row] for row in results])
        return {
            **arrays,
            **{f"game {name}": array for name, array in game.items()},
            **told,
            "policies": policies,
            "values": values,
        }


FAMILIES: dict[str, Callable[[Random], Case]] = {
    "scaling": scaling,
    "unrolling": unrolling,
    "within": lambda rng: targets(rng, beyond=False, reanalysed=False),
    "beyond": lambda rng: targets(rng, beyond=True, reanalysed=False),
    "new values": lambda rng: targets(rng, beyond=True, reanalysed=True),
    "new values within": lambda rng: targets(rng, beyond=False, reanalysed=True),
    "losing": losing,
    "losing otherwise": lambda rng: losing(rng, otherwise=True),
    "searching": searching,
    "one q": lambda rng: searching(rng, "scales_one"),
    "bounds from 0": lambda rng: searching(rng, "bounds_begin_empty"),
    "bounds with the root": lambda rng: searching(rng, "bounds_of_actions"),
    "reanalysing": reanalysing,
}


def trained_predictions(weights: np.ndarray, case: Case) -> dict[str, np.ndarray] | None:
    """Return what our own model predicts with the weights of a training; None if they are not weights of such a model."""
    if weights.shape != (number_of_weights(TRAINED),) or not np.isfinite(weights).all():
        return None
    return OwnModel(weights_of(weights, TRAINED)).unroll(case["planes"], case["actions"])


def make_bank(seed: int, cases: int, jobs: int) -> bytes:
    """Return the bank of a kit; it is made in a minute, so one process makes it."""
    return bank_of(FAMILIES, seed, cases)
