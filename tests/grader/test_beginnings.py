"""The check of repeated training steps, on a network whose constructor seeds its initialisation."""

from itertools import combinations
from random import Random

import numpy as np
from odd_workers import ROOT

from grader.judge.checks import test_overfits as checks
from grader.judge.trusted.answers import TrustedOracle

PATH = "AlphaZero/policy_value_net_torch.py"
SOURCE = (ROOT / "instructor/reference" / PATH).read_text()
MADE = "        self.model = PolicyValueNetModel("


def test_a_network_that_seeds_itself_begins_each_training_with_its_entries_in_another_order(worker, monkeypatch):
    assert SOURCE.count(MADE) == 1
    asked = worker(more={PATH: SOURCE.replace(MADE, f"        torch.manual_seed(0)\n{MADE}").encode()})
    monkeypatch.setattr(checks, "STEPS", 1)
    rng, oracle, beginnings = Random(1), TrustedOracle(), []
    batch = checks.ask_for_batch(rng, oracle)
    for _ in range(3):
        assert all(np.isfinite(end.log_probs).all() for _, end in checks._learn(asked, batch, oracle, rng, beginnings))
    for key in ("conv2d_1.weight", "flatten_layer_3.weight"):
        entries = [weights[key].reshape(-1) for weights in beginnings]
        for one, other in combinations(entries, 2):
            assert not np.array_equal(one, other) and np.array_equal(np.sort(one), np.sort(other))
