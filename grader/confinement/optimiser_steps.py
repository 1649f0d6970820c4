"""Record with which settings and gradients the optimisers of a student's training step move the weights.

It is loaded beside `grader.confinement.worker` inside the sandbox. The trusted side compares what is recorded here with how the
weights moved (`grader.judge.support.optimiser_steps`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from grader.confinement.loading import load_module

SETTINGS = ("lr", "weight_decay", "eps")
Group = dict[str, Any]


@contextlib.contextmanager
def optimisers_watched(steps: list[list[Group]]) -> Iterator[None]:
    """Replace `steps` by the optimiser steps taken within this context, each as its parameter groups (`groups_of`).

    They are recorded as each step ends: a closure computes the gradients within the step, and a scheduler may change the
    learning rate after it.
    """
    steps.clear()
    # The student may keep an optimiser anywhere, under any name, so it is found by its steps.
    register = load_module("torch.optim.optimizer").register_optimizer_step_post_hook
    hook = register(lambda optimiser, *_: steps.append(groups_of(optimiser)))
    try:
        yield
    finally:
        hook.remove()


def groups_of(optimiser: Any) -> list[Group]:
    """Return an optimiser's parameter groups with their settings, and with copies of the gradients."""
    return [
        {
            **{name: _number(group.get(name)) for name in SETTINGS},
            "decoupled": bool(group.get("decoupled_weight_decay")),
            "gradients": [(each, each.grad.detach().double().clone()) for each in group["params"] if each.grad is not None],
        }
        for group in optimiser.param_groups
    ]


def _number(setting: Any) -> float:
    """Return a setting, which may be a tensor; NaN for anything but a number, as an optimiser of the student's may have."""
    try:
        return float(setting)
    except (TypeError, ValueError):
        return float("nan")


def with_names(steps: list[list[Group]], model: Any) -> list[list[Group]]:
    """Return recorded steps as plain values: the gradients are arrays under the names of the model's parameters."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}

    def named(gradients: list[tuple[Any, Any]]) -> dict[str, Any]:
        return {names[id(each)]: gradient.cpu().numpy() for each, gradient in gradients if id(each) in names}

    return [[{**group, "gradients": named(group["gradients"])} for group in groups] for groups in steps]
