"""The check of repeated training steps, on networks that begin alike and on a loss that it does not recognise."""

from itertools import combinations
from random import Random

import numpy as np
import pytest
from odd_workers import ROOT

from grader.errors import StudentFault
from grader.judge.checks import test_overfits as checks
from grader.judge.support.ruling import Ruling
from grader.judge.trusted.answers import TrustedOracle

PATH = "AlphaZero/policy_value_net_torch.py"
SOURCE = (ROOT / "instructor/reference" / PATH).read_text()
MADE = "        self.model = PolicyValueNetModel("


def test_a_network_that_seeds_itself_begins_each_training_with_its_entries_in_another_order(worker, monkeypatch):
    assert SOURCE.count(MADE) == 1
    asked = worker(more={PATH: SOURCE.replace(MADE, f"        torch.manual_seed(0)\n{MADE}").encode()})
    monkeypatch.setattr(checks, "STEPS", 1)
    rng, oracle, beginnings, told = Random(1), TrustedOracle(), [], []
    batch = checks.ask_for_batch(rng, oracle)
    for _ in range(3):
        assert all(np.isfinite(end.log_probs).all() for _, end in checks._learn(asked, batch, oracle, rng, beginnings, told))
    assert [[len(step) for step in returned] for returned in told] == [[2]] * 3
    for key in ("conv2d_1.weight", "flatten_layer_3.weight"):
        entries = [weights[key].reshape(-1) for weights in beginnings]
        for one, other in combinations(entries, 2):
            assert not np.array_equal(one, other) and np.array_equal(np.sort(one), np.sort(other))


TARGETS = "targets = torch.from_numpy(np.asarray(mcts_probs, dtype=np.float32)).to(self.device)"
FLIPPED = f"{TARGETS}.flip(1)"
# The weights only shrink, and the numbers that train_step returns fall from call to call.
SHRINKING = "sum(weights.square().sum() for weights in self.model.parameters())"
LIE = f"({SHRINKING}).backward(); self.told = loss = getattr(self, 'told', loss) * 0.95; loss"


def test_a_loss_that_is_not_recognised_costs_no_points_if_the_steps_lower_it(worker):
    """The policy learns the moves in reverse order, which train_step.loss reports."""
    for minimised, learns in (("loss.backward()", True), ("value_loss.backward()", False), (LIE, False)):
        source = SOURCE.replace(TARGETS, FLIPPED).replace(" loss.backward()", f" {minimised}")
        asked = worker(more={PATH: source.encode()}, limit_s=60)
        rng, oracle, ruling = Random(1), TrustedOracle(), Ruling()
        arguments = asked, ruling, rng, checks.ask_for_batch(rng, oracle), oracle
        if learns:
            checks.test_overfits(*arguments)
            assert "was not recognised" in ruling.seen
        else:
            with pytest.raises(StudentFault, match="do not learn"):
                checks.test_overfits(*arguments)


@pytest.mark.parametrize(
    ("losses", "falls"),
    [
        (np.linspace(4, 2, 60), True),
        (np.linspace(4, 3.5, 60), False),
        (np.linspace(-1, -2, 60), True),
        (np.linspace(2, 4, 60), False),
        ([4, *[2] * 58, np.nan], False),
        ([], False),
    ],
)
def test_a_loss_falls_if_it_loses_a_clear_share_of_itself(losses, falls):
    assert checks._falls([[loss, 1.0] for loss in losses]) == falls and not checks._falls([[loss] for loss in losses])
