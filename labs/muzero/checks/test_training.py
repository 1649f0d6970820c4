"""A training of tic-tac-toe with all parts of the submission (handout 7)."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import pytest

from grader.confinement.worker_client import Worker
from grader.errors import StudentFault
from grader.judge.support.ruling import Ruling
from labs.muzero.checks.calls import close, expect_numbers, probed
from labs.muzero.checks.tictactoe import STARTS, STEPS, draw_lines, legal_share, reward_gap
from labs.support.cases import Case

LIMIT_S = 120.0  # CPU seconds; the reference takes about 10
LEAST_LEGAL = 0.72  # 24 trainings of the reference: 0.84 or more; untrained: 0.54 or less; actions ignored: about 0.62
LEAST_GAP = 0.03  # 24 trainings of the reference: 0.10 or more; untrained: 0.01 or less
ACTIONS = 9


@pytest.mark.points("training.learns")
def test_learns(
    worker: Worker,
    ruling: Ruling,
    rng: Random,
    own_predictions: Callable[[np.ndarray, Case], dict[str, np.ndarray] | None] | None,
) -> None:
    """Train once, then unroll the model along random games.

    Accepts:
        Any right parts (reference, search-by-recursion, gradient-by-hook, targets-by-turns, one-hot-rows, unit-as-buffer)
        They return tensors or lists in place of arrays (tree-as-arrays, searched-in-lockstep)
    """
    ruling.expected = "After a short training, the model knows without a board which moves are legal and which end the game."
    lines = draw_lines(rng)
    told = {"seed": rng.randrange(2**31), "planes": lines["planes"], "actions": lines["actions"]}
    values = probed(worker, "Trained", ("logits", "rewards", "weights"), limit_s=LIMIT_S, **told)
    logits = expect_numbers(values, "logits", (STEPS + 1, STARTS, ACTIONS), "The logits")
    rewards = expect_numbers(values, "rewards", (STEPS, STARTS), "The rewards")
    own = own_predictions(values["weights"], lines) if own_predictions else None
    if own_predictions and own is None:
        raise StudentFault("The trained model must have the weights of the layers in the stub; it has others.")
    if own and not (close(logits, own["logits"], scale=10) and close(rewards, own["rewards"])):
        raise StudentFault("The predictions of the trained model are not those of its weights; see model.dynamics.")
    legal, gap = legal_share(logits, lines), reward_gap(rewards, lines)
    shares = ", ".join(f"{share:.0%}" for share in legal)
    ruling.seen = f"Legal moves at steps 0 to {STEPS}: {shares} of the policy. Winning moves: reward {gap:+.2f} above others."
    imagined = float(legal[1:].mean())  # without a board
    if imagined < LEAST_LEGAL:
        raise StudentFault(
            f"After the training, legal moves have {imagined:.0%} of the policy at the steps 1 to {STEPS} on average "
            f"(steps 0 to {STEPS}: {shares}); expected {LEAST_LEGAL:.0%}. An untrained model has about 50%."
        )
    if gap < LEAST_GAP:
        raise StudentFault(
            f"After the training, winning moves have a reward {gap:+.3f} above that of others; expected {LEAST_GAP}."
        )
