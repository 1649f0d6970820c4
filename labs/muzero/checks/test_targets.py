"""The targets of an unrolled position (handout 3)."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from grader.confinement.worker_client import Worker
from grader.errors import StudentFault
from grader.judge.support.ruling import Ruling
from labs.muzero.checks.calls import close, expect_numbers, part_of, probed, shown
from labs.support.boards import Values
from labs.support.cases import Case, Cases

POSITIONS = 40
NOBODY = -1
NAMES = ("moves", "policies", "values", "rewards")
KEPT = "is_kept"


def targets_of(worker: Worker, case: Case, rng: Random) -> Values:
    """Return the submission's targets for a case, all of the right shape."""
    game, steps = part_of(case, "game"), int(case["steps"])
    actions = game["legal"].shape[1]
    told = {"winner": int(case["winner"]), "start": int(case["start"]), "unroll_steps": steps, "seed": rng.randrange(2**31)}
    values = probed(worker, "Targeted", (*NAMES, KEPT), game=game, **told)
    shapes = ((steps,), (steps + 1, actions), (steps + 1,), (steps,))
    found = {n: expect_numbers(values, n, shape, f"Targets.{n}") for n, shape in zip(NAMES, shapes, strict=True)}
    return {**found, KEPT: values[KEPT]}


def targets_or_none(worker: Worker, case: Case, rng: Random) -> Values | None:
    """Return the submission's targets for a case that reaches the end; None for a fault, which targets.absorbing judges."""
    try:
        return targets_of(worker, case, rng)
    except StudentFault:
        return None


def where(case: Case, k: int) -> str:
    """Return which step of which game a message means."""
    length, start, winner = len(case["game moves"]), int(case["start"]), int(case["winner"])
    result = "a draw" if winner == NOBODY else f"winner {winner}"
    return f"In a game of {length} moves ({result}), unrolled from t = {start}, at step k = {k}"


def player_at(case: Case, k: int) -> int:
    """Return who is to move at step k, which is not after the end."""
    return int(case["game players"][int(case["start"]) + k])


@pytest.mark.points("targets.players")
def test_players(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Positions far enough from the end of drawn games; either player began them.

    Accepts:
        Results are read from `players`, or turned from step to step (reference, targets-by-turns)
    """
    ruling.expected = "At each step, moves and policies are those of the game, and the value is that of the side to move there."
    for _ in range(POSITIONS):
        case = cases.draw("within", rng)
        values = targets_of(worker, case, rng)
        if not values[KEPT]:
            raise StudentFault("make_targets changes the game that it is given; later targets are made from it, too.")
        _expect_players(case, values)
    for _ in range(POSITIONS // 2):
        case = cases.draw("beyond", rng)
        if (reaching := targets_or_none(worker, case, rng)) is not None:
            _expect_players(case, reaching)
    ruling.seen = f"The same targets for {POSITIONS + POSITIONS // 2} positions."


def _expect_players(case: Case, values: Values) -> None:
    """Raise StudentFault unless moves, policies and values before the end are right; the last move is for targets.absorbing."""
    expect_game(case, values)
    for k in range(int(case["within"])):
        got, right = values["values"][k], case["values"][k]
        if not close(got, right):
            side = f"player {player_at(case, k)} is to move"
            raise StudentFault(f"{where(case, k)}, {side}, so the value is {right:g}; got {got:g}.{_turned(got, right)}")


def _turned(got: float, right: float) -> str:
    return " It has the wrong sign: each step has another side to move." if close(np.array(-got), np.array(right)) else ""


def expect_game(case: Case, values: Values) -> None:
    """Raise StudentFault unless moves and policies before the end are those of the game."""
    start, within = int(case["start"]), int(case["within"])
    for k in range(within):
        if not close(values["policies"][k], case["policies"][k]):
            raise StudentFault(f"{where(case, k)}, the policy is that of the game before move {start + k}; got another.")
        is_last = start + k == len(case["game moves"]) - 1
        if k < len(values["moves"]) and not is_last and int(values["moves"][k]) != int(case["game moves"][start + k]):
            right = int(case["game moves"][start + k])
            raise StudentFault(f"{where(case, k)}, the game's move was {right}; got {int(values['moves'][k])}.")


@pytest.mark.points("targets.absorbing")
def test_absorbing(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Positions from which at least the last step lies after the end, and some whose steps do not reach it.

    Accepts:
        After the end, policies are zeros, or uniform (reference, targets-by-turns)
        After the end, moves are drawn, or always the same action (reference, targets-by-turns)
    """
    ruling.expected = (
        "The last move earns its result; after the end, values and rewards are 0, and there is no policy to learn."
    )
    drawn = [cases.draw("within", rng) for _ in range(POSITIONS // 2)]
    within_game = [targets_of(worker, case, rng) for case in drawn]
    are_right = all(close(values["values"], case["values"]) for case, values in zip(drawn, within_game, strict=True))
    for number in range(POSITIONS):
        case = cases.draw("beyond" if number % 2 or not are_right else "new values", rng)
        values, within = targets_of(worker, case, rng), int(case["within"])
        _expect_last_move(case, values, within - 1)
        is_right = are_right or close(values["rewards"], case["rewards"])
        _expect_rewards(case, values, within, case["rewards"] if is_right else _own_rewards(case, values))
        for k in range(within, len(values["values"])):
            _expect_nothing_to_learn(case, values, k)
    for case, values in zip(drawn, within_game, strict=True):
        rewards = values["rewards"]
        if rewards.any():
            wrong = int(np.flatnonzero(rewards)[0])
            move = int(case["start"]) + wrong
            raise StudentFault(f"{where(case, wrong)}, move {move} does not end the game, so its reward is 0; got another.")
    ruling.seen = f"The same targets for {POSITIONS + POSITIONS // 2} positions."


def _expect_last_move(case: Case, values: Values, k: int) -> None:
    got, right = values["moves"][k], int(case["game moves"][-1])
    if got != right:
        raise StudentFault(f"{where(case, k)}, the last move of the game was {right}; got {got:g}.")


def _own_rewards(case: Case, values: Values) -> np.ndarray:
    """Return the rewards by the submission's own value of the last position, whose player makes the last move.

    So a wrong result, which costs targets.players, costs no second check.
    """
    own = np.zeros(len(case["rewards"]))
    own[int(case["within"]) - 1] = values["values"][int(case["within"]) - 1]
    return own


def _expect_rewards(case: Case, values: Values, within: int, rewards: np.ndarray) -> None:
    for k, (got, right) in enumerate(zip(values["rewards"], rewards, strict=True)):
        if close(got, right):
            continue
        if k == within - 1:
            who = f"player {player_at(case, k)} makes the last move"
            turned = (
                " It has the wrong sign: a reward is for the player who makes the move."
                if close(np.array(-got), np.array(right))
                else ""
            )
            raise StudentFault(f"{where(case, k)}, {who}, so its reward is {right:g}; got {got:g}.{turned}")
        when = "after the end" if k >= within else "before the last move"
        raise StudentFault(f"{where(case, k)}, {when}, the reward is 0; got {got:g}.")


def _expect_nothing_to_learn(case: Case, values: Values, k: int) -> None:
    policy, actions = values["policies"][k], values["policies"].shape[1]
    if not close(values["values"][k], np.array(0.0)):
        raise StudentFault(f"{where(case, k)}, after the end, the value is 0; got {values['values'][k]:g}.")
    if not (close(policy, np.zeros(actions)) or close(policy, np.full(actions, 1 / actions))):
        raise StudentFault(f"{where(case, k)}, after the end, the policy is zero everywhere; got {shown(policy)}.")
    if k < len(values["moves"]) and not 0 <= values["moves"][k] < actions:
        raise StudentFault(
            f"{where(case, k)}, after the end, a move is an action from 0 to {actions - 1}; got {values['moves'][k]:g}."
        )


@pytest.mark.points("targets.reanalysed")
def test_reanalysed(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Games that have been reanalysed.

    Accepts:
        New values are read one by one, or with a slice (reference, targets-by-turns)
    """
    ruling.expected = "Before the end the values are those of the new searches; the reward of the last move stays the result."
    for _ in range(POSITIONS):
        case = cases.draw("new values", rng)
        if (values := targets_or_none(worker, case, rng)) is None:
            case = cases.draw("new values within", rng)
            values = targets_of(worker, case, rng)
        within = int(case["within"])
        got, right, result = values["values"], case["values"], case["results"][int(case["start"]) :]
        for k in range(within):
            if not close(got[k], right[k]):
                old = " That is the result of the game." if close(got[k], result[k]) else ""
                raise StudentFault(f"{where(case, k)}, game.values has {right[k]:.3f}; got {got[k]:.3f}.{old}")
    ruling.seen = f"The new values for {POSITIONS} positions."
