"""The oracle of the instructor's tree: it computes the correct answers to a case with the grader's own search and network.

`answers_of` returns the answers to any case that the checks draw, or None if the case shows nothing: the network checks need
weights with which a fault would show in the outputs. `grader.instructor.bank` writes the same answers to a file for the
student kit.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from functools import partial, singledispatch
from random import Random
from typing import Any

import numpy as np

from Board.game_board import Board
from grader.judge.support.agreement import RIGHT, slip_name
from grader.judge.support.board_position import BoardPosition
from grader.judge.support.first_difference import LAYERS
from grader.judge.support.network_cases import Batch, LayersCase, OutputsCase, SymmetryCase
from grader.judge.support.objectives import Outputs, tells_objectives_apart
from grader.judge.support.oracle import Answers, Case, Heads, case_of
from grader.judge.support.searches import SearchCase
from grader.judge.trusted.network import forward, layer_outputs
from grader.judge.trusted.search import Evaluation, Node, Reading, SelectionRule, playouts
from grader.judge.trusted.slips import rules
from training.exact import Line, RememberedBoard

READINGS = (
    Reading(),
    Reading(count_this_playout=True),
    Reading(count_parent_itself=False),
    Reading(count_parent_itself=False, last_of_equals=True),
    Reading(count_parent_itself=False, least=1e-8),
)
TOLD_APART = 0.1  # the smallest share of the visits by which a case that tells a slip apart must show it


class TrustedOracle:
    """An oracle that computes each answer when it is needed."""

    def ask(self, family: str, draw: Callable[[Random], Case], rng: Random) -> tuple[Case, Answers]:
        """Return a new case and its answers; see `grader.judge.support.oracle.Oracle`."""
        while True:
            case = case_of(draw, rng.randrange(2**31))
            if (answers := answers_of(case)) is not None:
                return case, answers

    def outputs(self, weights: Mapping[str, np.ndarray], states: np.ndarray, **mode: Any) -> Heads:
        """`grader.judge.trusted.network.forward`."""
        return forward(weights, states, **mode)


class _Worked(Mapping[str, np.ndarray]):
    """Answers that are computed when they are first looked up."""

    def __init__(self, ways: dict[str, Callable[[], np.ndarray]]) -> None:
        self._ways, self._known = ways, dict[str, np.ndarray]()

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._known:
            self._known[name] = self._ways[name]()
        return self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._ways

    def __iter__(self) -> Iterator[str]:
        return iter(self._ways)

    def __len__(self) -> int:
        return len(self._ways)


@singledispatch
def answers_of(case: Any) -> Answers | None:
    """Return the correct answers to a case, or None if the case shows nothing."""
    raise TypeError(f"expected a case of the checks; got {type(case).__name__}")


@answers_of.register
def _(case: SearchCase) -> Answers | None:
    answers = search_answers(case.position, case.evaluate, case.n_playout, case.c_puct)
    if case.tells_apart:
        right, slip = answers[RIGHT].astype(int), answers[slip_name(case.tells_apart)].astype(int)
        # Where the readings agree, the order of equal moves does not matter either.
        if (right != right[0]).any() or np.abs(slip - right[0])[0].sum() <= 2 * TOLD_APART * right[0, 0].sum():
            return None
    return answers


def search_answers(position: BoardPosition, evaluate: Callable[[Board], Evaluation], n_playout: int, c_puct: float) -> Answers:
    """Return the visits of correct and of faulty searches, for `grader.judge.support.agreement.SearchComparison`.

    Args:
        evaluate: evaluates a position of an unfinished game; called once for each position.
    """
    beginning = RememberedBoard(position.width, position.height, position.n_in_row)
    beginning.init_board()
    board, known = beginning.after(position.moves), dict[Line, Evaluation]()

    def recall(leaf: Board) -> Evaluation:
        line = tuple(leaf.states)  # a board keeps its stones in the order of play
        if line not in known:
            priors, value = evaluate(leaf)
            known[line] = list(priors), value
        return known[line]

    def visits(reading: Reading = READINGS[0], rule: SelectionRule | None = None) -> np.ndarray:
        """Return the visits [2, W*H]: after `n_playout` playouts, and after one more."""
        rows, root = np.zeros((2, position.width * position.height), dtype=np.uint16), None
        for row, more in zip(rows, (n_playout, 1), strict=True):
            root = _searched(playouts(board, more, c_puct, reading, rule, root), recall)
            for move, child in root.children.items():
                row[move] = child.visits
        return rows

    slips = {slip_name(slip): partial(visits, rule=rule) for slip, rule in rules(c_puct).items()}
    return _Worked({RIGHT: lambda: np.stack([visits(reading) for reading in READINGS]), **slips})


def _searched(dialogue: Generator[Board, Evaluation, Node], evaluate: Callable[[Board], Evaluation]) -> Node:
    answer: Any = None
    while True:
        try:
            answer = evaluate(dialogue.send(answer))
        except StopIteration as stop:
            return stop.value


@answers_of.register
def _(case: LayersCase) -> Answers | None:
    before = np.hstack(forward(case.weights, case.states))
    for key, other in case.changed.items():
        if np.abs(np.hstack(forward({**case.weights, key: other}, case.states)) - before).max() <= 1e-3:
            return None
    return {}


@answers_of.register
def _(case: OutputsCase) -> Answers:
    log_probs, value = forward(case.weights, case.states, width=case.width, height=case.height)
    layers = layer_outputs(case.weights, case.states, case.width, case.height)
    return {"log_probs": log_probs, "value": value, LAYERS: layers}


@answers_of.register
def _(case: SymmetryCase) -> Answers | None:
    log_probs, values = forward(case.weights, case.turned)
    return {} if case.tells_apart(np.exp(log_probs), values) else None


@answers_of.register
def _(case: Batch) -> Answers | None:
    answers: dict[str, np.ndarray] = {}
    for mode in ("train", "eval"):
        log_probs, value = forward(case.weights, case.states, train_mode=mode == "train")
        if not tells_objectives_apart(Outputs(log_probs, value[:, 0]), case.targets, case.weights):
            return None
        answers |= {f"{mode} log_probs": log_probs, f"{mode} value": value}
    return answers
