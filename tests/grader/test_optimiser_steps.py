"""What is recorded of the steps of an optimiser, and when the weights bear it out: nobody is accused by a setting alone."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from odd_workers import ROOT

from grader.confinement.optimiser_steps import groups_of, optimisers_watched, with_names
from grader.errors import StudentFault
from grader.judge.checks import test_train_step as checks
from grader.judge.support.optimiser_steps import Update, other_rate, updates_of, weight_decay_borne_out
from grader.judge.support.ruling import Ruling
from grader.judge.support.training_steps import ask_for_batch
from grader.judge.trusted.answers import TrustedOracle

LR = 1e-2
PATH = "AlphaZero/policy_value_net_torch.py"
REFERENCE = (ROOT / "instructor/reference" / PATH).read_text()
MADE = "optim.Adam(self.model.parameters(), lr=1e-3)"
ALL_L2 = "value_loss + policy_loss + l2_penalty"


def one_step(make, l2=0.0, lr=LR):
    """Weights before and after one step, and its updates; a twentieth of the gradients are as small as a weight decay."""
    torch.manual_seed(1)
    model = torch.nn.Linear(50, 40)
    numbers = torch.randn(40, 50) * torch.where(torch.rand(40, 50) < 0.05, 1e-5, 1e-2)
    optimiser, steps = make(model), []
    for group in optimiser.param_groups:
        group["lr"] = lr
    before = {name: w.detach().numpy().copy() for name, w in model.named_parameters()}
    with optimisers_watched(steps):
        ((model.weight * numbers).sum() + model.bias.sum() + l2 / 2 * model.weight.pow(2).sum()).backward()
        optimiser.step()
        optimiser.zero_grad()
    after = {name: w.detach().numpy().copy() for name, w in model.named_parameters()}
    return before, after, updates_of(SimpleNamespace(call=lambda _: with_names(steps, model)))


def distances(before, after):
    return {key: np.abs(after[key].astype(float) - before[key]) for key in before}


OPTIMISERS = {
    name: lambda model, kind=kind, more=more: kind(model.parameters(), lr=1e-3, **more)
    for name, kind, more in (
        ("Adam", torch.optim.Adam, {}),
        ("Adam with amsgrad", torch.optim.Adam, {"amsgrad": True}),
        ("Adam for each parameter", torch.optim.Adam, {"foreach": False}),
        ("AdamW", torch.optim.AdamW, {}),
        ("NAdam", torch.optim.NAdam, {}),
        ("RMSprop", torch.optim.RMSprop, {}),  # whose first step moves each weight by ten times its learning rate
        ("SGD", torch.optim.SGD, {}),
        ("Adagrad", torch.optim.Adagrad, {}),
    )
}


@pytest.mark.parametrize("name", OPTIMISERS)
def test_no_optimiser_with_the_given_learning_rate_has_another_one(name):
    before, after, updates = one_step(OPTIMISERS[name])
    assert {len(each) for each in updates.values()} == {1} and updates["weight"][0].lr == LR
    assert other_rate(updates, LR, distances(before, after)) is None


@pytest.mark.parametrize("name", [name for name in OPTIMISERS if name.startswith("Adam")])
def test_another_learning_rate_is_one_if_the_weights_moved_by_it(name):
    before, after, updates = one_step(OPTIMISERS[name])
    assert other_rate(updates, LR / 3, distances(before, after)) == (LR, 1)
    assert other_rate(updates, LR / 3, distances(before, {key: w / 2 for key, w in after.items()})) is None
    other = {key: [Update(LR / 2, 0.0, 1e-8, False, each.gradient) for each in found] for key, found in updates.items()}
    assert other_rate(other, LR, distances(before, after)) is None, "the setting alone is another one"


@pytest.mark.parametrize("l2", [0.0, 1e-4], ids=["in place of the term", "beside it"])
@pytest.mark.parametrize("weight_decay", [1e-4, 1e-2])
@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.AdamW])
def test_a_weight_decay_is_borne_out_by_the_weights_that_it_moves(kind, weight_decay, l2):
    before, after, updates = one_step(lambda model: kind(model.parameters(), weight_decay=weight_decay), l2)
    assert weight_decay_borne_out(updates, before, after)
    without = one_step(lambda model: kind(model.parameters(), weight_decay=0.0), l2)[1]
    assert not weight_decay_borne_out(updates, before, without), "the setting alone says so"


def test_settings_and_gradients_of_an_unusual_optimiser_are_recorded_as_far_as_they_are_numbers():
    parameter, without = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(2))
    parameter.grad = torch.full((2,), 3.0, dtype=torch.bfloat16).to(torch.float32)
    groups = [{"params": [parameter, without], "lr": torch.tensor(0.5), "weight_decay": "none"}]
    model = SimpleNamespace(named_parameters=lambda: [("w", parameter), ("other", without)])
    (((found,),),) = [with_names([groups_of(SimpleNamespace(param_groups=groups))], model)]
    assert (found["lr"], found["decoupled"]) == (0.5, False) and np.isnan([found["weight_decay"], found["eps"]]).all()
    assert list(found["gradients"]) == ["w"] and found["gradients"]["w"].tolist() == [3.0, 3.0]


def judged(check, worker, assignment):
    """The share of the points that a check gives, and its message."""
    name = f"train_step.{check.__name__.removeprefix('test_')}"
    ruling = Ruling(shares=assignment.shares.get(name, {}))
    try:
        check(worker, ruling, ask_for_batch(checks.Random(1), TrustedOracle()))
    except StudentFault as fault:
        return 0.0, str(fault)
    return ruling.share, ruling.message


ADAM_BY_HAND = """self.count = getattr(self, "count", 0) + 1
        for weight in self.model.parameters():
            mean, square = getattr(weight, "moments", (0.0, 0.0))
            mean, square = 0.9 * mean + 0.1 * weight.grad, 0.999 * square + 0.001 * weight.grad**2
            weight.moments = mean, square
            step = mean / (1 - 0.9**self.count) / ((square / (1 - 0.999**self.count)).sqrt() + 1e-8)
            weight.data -= lr * step"""
# Changes of the reference that leave it right.
RIGHT = {
    "the L2 term in the returned loss beside weight decay": [
        (MADE, MADE.replace("lr=1e-3", "weight_decay=L2_CONST")),
        ("w.pow(2).sum() for w", "w.data.pow(2).sum() for w"),
    ],
    "Adam by hand": [("self.optimizer.step()", ADAM_BY_HAND)],
    "another optimiser than Adam, at its rate": [(MADE, "optim.RMSprop(self.model.parameters(), lr=1e-3)")],
    "AdamW in place of the L2 term": [(MADE, "optim.AdamW(self.model.parameters())"), (ALL_L2, "value_loss + policy_loss")],
    "a scheduler that starts again from lr": [
        ("self.optimizer.step()", "self.optimizer.step()\n        self.optimizer.param_groups[0]['lr'] = 0.1")
    ],
    "two optimisers": [
        (MADE, "optim.Adam([w for w in self.model.parameters() if w.dim() > 1])\n        self.others = " + MADE),
        (
            "self.optimizer.step()",
            "self.optimizer.step()\n        self.others.param_groups[0]['lr'] = lr\n"
            "        self.others.param_groups[0]['params'] = [w for w in self.model.parameters() if w.dim() < 2]\n"
            "        self.others.step()",
        ),
    ],
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_step_loses_no_points_for_its_optimiser(name, worker, assignment):
    text = REFERENCE
    for old, new in RIGHT[name]:
        assert text.count(old) == 1
        text = text.replace(old, new)
    asked = worker(more={PATH: text.encode()}, limit_s=60)
    for check in (checks.test_learning_rate, checks.test_l2):
        assert judged(check, asked, assignment) == (1.0, ""), check.__name__


def test_a_new_optimiser_for_each_new_rate_forgets_its_moments_like_one_in_every_step(worker, assignment):
    """train.py lowers the rate after every game, so that a step which compares it with the last one forgets as often."""
    kept = 'for group in self.optimizer.param_groups:\n            group["lr"] = lr'
    new = f'if lr != self.optimizer.param_groups[0]["lr"]:\n            self.optimizer = {MADE.replace("1e-3", "lr")}'
    assert REFERENCE.count(kept) == 1
    asked = worker(more={PATH: REFERENCE.replace(kept, new).encode()}, limit_s=60)
    share, message = judged(checks.test_learning_rate, asked, assignment)
    assert share == 0.5 and "whenever lr changes" in message


def test_an_l2_term_over_the_state_dict_costs_the_points_of_the_loss_alone(worker, assignment):
    """The statistics in it are those that forward has just updated."""
    named = REFERENCE.replace("self.model.named_parameters() if not", "self.model.state_dict().items() if not")
    assert named != REFERENCE
    asked = worker(more={PATH: named.encode()}, limit_s=60)
    share, message = judged(checks.test_loss, asked, assignment)
    assert share == 0.0 and "a sum over state_dict()" in message
    assert judged(checks.test_l2, asked, assignment) == (1.0, "")
