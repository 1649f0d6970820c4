"""The search in the latent space (handout 5)."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from grader.confinement.worker_client import Worker
from grader.errors import StudentFault
from grader.judge.support.ruling import Ruling
from labs.muzero.checks.calls import close, expect_numbers, model_in, part_of, probed, shown
from labs.support.boards import Values
from labs.support.cases import Case, Cases

SEARCHES = 8 * ["searching"] + 2 * ["one q", "bounds from 0", "bounds with the root"]
REPEATED = 3  # wrong searches that are made again
VALUES = 12
ROOTS = 4
SLIPS = {
    "turns": "Results keep their sign from move to move; what is good for one player is bad for the other.",
    "rewards": "The rewards of the moves are left out of the results.",
    "scales": "q is not scaled to [0, 1] between the smallest and the largest q of the tree.",
    "masks_root": "Illegal moves of the root are searched.",
    "masks_below": "Below the root, too, only the root's legal moves are searched; what is legal there is not known.",
    "counts_itself": "The 1 under the square root is missing.",
    "counts_root": "At the root, the 1 under the square root is missing.",
    "one_range": "q is scaled among the actions of one state; q_min and q_max belong to the whole tree.",
    "scales_one": "While q_min = q_max, q is taken as it is; scaled it is 0.",
    "own_view": "The selection sees q for the other player; it is for the player who is to move at the state.",
    "shares_out": "The priors of the root's legal moves do not add up to 1.",
    "begins_at_0": "An action that has not been taken yet has the scaled q 1/2; it is 0.",
    "bounds_begin_empty": "q_min or q_max begins at 0; the first q must become both.",
    "passes_c_puct": "c_puct is always 1.25; it must be the one that search was given.",
    "takes_root": "The square root is missing in the bonus.",
    "adds_rewards": "The rewards are subtracted; the result of an action is its reward minus the result behind it.",
    "bounds_of_means": "q_min and q_max are those of single results; they are those of q, the mean results.",
    "bounds_of_actions": "q_min and q_max include the network's value of the root; they cover the q of actions only.",
}


def searched(worker: Worker, case: Case, watch: tuple[str, ...], *, is_strict: bool = False) -> Values:
    """Return what the submission's search of a case gives; `is_strict`: the board refuses what MuZero may not ask."""
    settings: dict[str, Any] = {
        "n_simulations": int(case["simulations"]),
        "c_puct": float(case["c_puct"]),
        "is_strict": is_strict,
    }
    return probed(worker, "Searched", watch, **model_in(case), planes=case["planes"], availables=case["legal"], **settings)


@pytest.mark.points("search.visits")
def test_visits(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Searches in drawn models, in which every selection is decided clearly.

    Accepts:
        q is scaled between the bounds of all times, or of the tree as it is (reference, search-by-recursion)
        c_puct is constant, or grows with the visits as in the paper (reference, growing-c-puct)
        The tree is made of nodes, or of arrays; visits are an array, a tensor or a list (tree-as-arrays, searched-in-lockstep)
    """
    ruling.expected = "The visits of the root's actions are those of PUCT with scaled q, and the move is a most visited one."
    drawn = [cases.draw(family, rng) for family in SEARCHES]
    results = []
    for case in drawn:
        values = searched(worker, case, ("visits", "move"))
        results.append(expect_numbers(values, "visits", case["visits"].shape[1:], "SearchResult.visits"))
        move = int(expect_numbers(values, "move", (), "SearchResult.move"))
        if move < 0 or move >= len(results[-1]) or results[-1][move] < results[-1].max():
            raise StudentFault(f"The move must be a most visited action; got {move} with the visits {shown(results[-1])}.")
    right = [any(np.array_equal(got, each) for each in case["visits"]) for got, case in zip(results, drawn, strict=True)]
    if not all(right):
        _explain(worker, results, drawn, right)
    ruling.seen = f"The same visits in {len(SEARCHES)} searches."


def _explain(worker: Worker, results: list[np.ndarray], drawn: list[Case], right: list[bool]) -> None:
    number = right.index(False)
    got, case = results[number], drawn[number]
    told = (
        f"A search of {int(case['simulations'])} simulations (c_puct {float(case['c_puct']):g}, legal {case['legal'].tolist()})"
    )
    if (total := int(got.sum())) != int(case["simulations"]):
        raise StudentFault(f"{told} must give the root's actions that many visits in all; got {total}.")
    named = [
        words
        for name, words in SLIPS.items()
        if all(np.array_equal(one, part_of(each, "slip")[name]) for one, each in zip(results, drawn, strict=True))
    ]
    reason = named[0] if len(named) == 1 else f"{sum(right)} of {len(right)} searches were right."
    if not named and (
        told_apart := _apart(worker, [case for case, is_right in zip(drawn, right, strict=True) if not is_right])
    ):
        reason = told_apart
    raise StudentFault(f"{told} gives the visits {shown(case['visits'][0])}; got {shown(got)}. {reason}")


def _apart(worker: Worker, wrong: list[Case]) -> str:
    """Return what searches tell in words that are made again, each in a new process; empty if they give the same visits."""
    alone = []
    for case in wrong[:REPEATED]:
        found = []
        for _ in range(2):
            worker.close()
            found.append(searched(worker, case, ("visits",))["visits"])
        if not np.array_equal(found[0], found[1]):
            return "When it is repeated, it gives other visits, so something is drawn at random; this search has no noise."
        alone.append(any(np.array_equal(found[0], each) for each in case["visits"]))
    return "In a new process it is right: a search keeps nothing of those before it, but this one does." if all(alone) else ""


@pytest.mark.points("search.value")
def test_value(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """The value of the root, by the nodes that the search has added; a slip in the selection or in the visits does not cost it.

    Where these nodes do not tell the simulations, as if some were added ahead of them, the visits must be right.

    Accepts:
        The value is the mean over all simulations, or that of q weighted by visits (reference, search-by-recursion)
        The value is a number, or a tensor with or without dimensions (reference, tree-as-arrays, one-entry-tensors)
    """
    ruling.expected = "The root's value is the mean result of all simulations for the side to move."
    compared = 0
    for _ in range(VALUES):
        case = cases.draw("searching", rng)
        values = searched(worker, case, ("visits", "value", "nodes"))
        got = expect_numbers(values, "value", (), "SearchResult.value")
        right = zip(case["visits"], case["values"], strict=True)
        means = [mean for each, mean in right if np.array_equal(values["visits"], each)]
        if (tree := tree_of(case, values)) is not None:
            means.insert(0, _mean_result(case, *tree))
        compared += bool(means)
        if means and not any(close(got, np.array(mean)) for mean in means):
            turned = " It has the wrong sign." if close(-got, np.array(means[0])) else ""
            raise StudentFault(
                f"The mean result of all simulations for the side to move is {means[0]:.4f}; got {got:.4f}.{turned}"
            )
    if compared < VALUES / 2:
        raise StudentFault(
            f"The visits were wrong in {VALUES - compared} of {VALUES} searches, too many to judge values; see search.visits."
        )
    ruling.seen = f"The same values in {compared} searches."


def tree_of(case: Case, values: Values) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the parent and the action of the node that each simulation added; None if the nodes are others (one may lack)."""
    nodes = values["nodes"].astype(int)
    parents, actions = nodes.T
    known = (parents >= 0).all() and (parents <= np.arange(len(nodes))).all()
    is_one_each = int(case["simulations"]) - len(nodes) in (0, 1)
    return (parents, actions) if is_one_each and known and np.isin(actions, np.arange(case["visits"].shape[1])).all() else None


def _mean_result(case: Case, parents: np.ndarray, actions: np.ndarray) -> float:
    """Return the mean result of the simulations that added these nodes."""
    import torch

    from labs.muzero.given.probe import sine_model

    model, results = sine_model(**model_in(case)), list[float]()
    latents, rewards = [model.represent(torch.as_tensor(case["planes"])[None])], [0.0]
    for number, (parent, action) in enumerate(zip(parents.tolist(), actions.tolist(), strict=True), 1):
        latent, reward = model.dynamics(latents[parent], torch.tensor([action]))
        latents.append(latent)
        rewards.append(float(reward.detach()))
        result, node = float(model.predict(latent)[1].detach()), number
        while node:
            result, node = rewards[node] - result, int(parents[node - 1])
        results.append(result)
    return float(np.mean(results))


@pytest.mark.points("search.board")
def test_board(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """A board that refuses to be played on, copied, or asked who has won.

    Accepts:
        The planes are read once, and the legal moves once or several times (reference, search-by-recursion)
    """
    ruling.expected = "The search asks the board for current_state() and availables, and for nothing else."
    for _ in range(ROOTS):
        case = cases.draw("searching", rng)
        values = searched(worker, case, ("visits", "nodes"), is_strict=True)
        visits, tree = values["visits"], tree_of(case, values)
        if visits.shape != case["visits"].shape[1:] and tree is not None:  # search.visits judges the shape
            visits = np.bincount(tree[1][tree[0] == 0], minlength=case["visits"].shape[1])
        if visits.shape != case["visits"].shape[1:] or not visits.any():
            raise StudentFault("The search took no action of the root, so nothing was searched; see search.visits.")
        illegal = [action for action in np.flatnonzero(visits).tolist() if action not in case["legal"]]
        if illegal:
            raise StudentFault(f"The legal moves of the root are {case['legal'].tolist()}; the search also took {illegal}.")
    ruling.seen = f"The board was asked for nothing else in {ROOTS} searches."
