"""How the optimisers of a training step were set, and whether the weights moved accordingly (handout 5.3).

The settings come from the process that runs the student's code, and an optimiser may treat its settings as it likes. So nobody
is accused because of a setting alone: the weights must have moved as Adam moves them with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from grader.confinement.worker_client import Worker

EXACTLY = 0.02  # the largest relative difference of distances, or of learning rates, that count as equal
NEW_OPTIMISER = 0.75  # the smallest share of the weights that Adam's first step moves by exactly its learning rate
BORNE_OUT = 0.1  # the largest error of a prediction, as a share of that of the other one, for the weights to bear it out
Weights = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Update:
    """The settings and the gradient with which an optimiser updated a parameter.

    Attributes:
        decoupled: whether the decay is subtracted from the weights, as by AdamW, and not added to the gradient.
    """

    lr: float
    weight_decay: float
    eps: float
    decoupled: bool
    gradient: np.ndarray

    def first_step(self, weights: np.ndarray, weight_decay: float) -> np.ndarray:
        """Return by how much Adam's first step moves the weights with another weight decay."""
        added, subtracted = (0.0, weight_decay) if self.decoupled else (weight_decay, 0.0)
        gradient = self.gradient + added * weights
        return -self.lr * (gradient / (np.abs(gradient) + self.eps) + subtracted * weights)


def updates_of(worker: Worker) -> dict[str, list[Update]]:
    """Return for each parameter its updates in the last train_step, in order."""
    found: dict[str, list[Update]] = {}
    for groups in worker.call("net_optimiser_steps"):
        for group in groups:
            for name, gradient in group["gradients"].items():
                settings = group["lr"], group["weight_decay"], group["eps"], group["decoupled"]
                found.setdefault(name, []).append(Update(*settings, gradient.astype(float)))
    return found


def share_moved_by(rate: float, distances: Iterable[np.ndarray]) -> float:
    """Return the share of the weights that moved by exactly this rate, given how far each one moved."""
    moved = np.concatenate([each.reshape(-1) for each in distances])
    return float(np.mean(np.abs(moved / rate - 1) < EXACTLY))


def other_rate(updates: Mapping[str, list[Update]], lr: float, distances: Weights) -> tuple[float, int] | None:
    """Return a rate other than lr by which a first step moved parameters, and in how many optimiser steps; None if it is lr.

    Args:
        updates: of one train_step, which was told to use lr.
        distances: how far each weight moved in it, for the parameters that the data affects.
    """
    of_rates: dict[tuple[float, int], list[np.ndarray]] = {}
    for key in distances.keys() & updates.keys():
        rate = sum(update.lr for update in updates[key])
        if 0 < rate < np.inf and abs(rate / lr - 1) >= EXACTLY:
            of_rates.setdefault((rate, len(updates[key])), []).append(distances[key])
    found = [each for each, moved in of_rates.items() if share_moved_by(each[0], moved) > NEW_OPTIMISER]
    return max(found, default=None)


def weight_decay_borne_out(updates: Mapping[str, list[Update]], before: Weights, after: Weights) -> bool:
    """Return whether a first step moved the weights as it does with the weight decay of these updates, not as without one."""
    errors = {True: 0.0, False: 0.0}
    for key in updates.keys() & before.keys() & after.keys():
        update, *more = updates[key]
        if more or not update.gradient.shape == before[key].shape == after[key].shape:
            return False
        weights, moved = before[key].astype(float), after[key].astype(float) - before[key]
        for decayed in errors:
            predicted = update.first_step(weights, update.weight_decay * decayed)
            errors[decayed] += float(np.sum((moved - predicted) ** 2))
    return errors[True] < BORNE_OUT * errors[False]
