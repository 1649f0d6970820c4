"""The search of the handout, independent of the reference: a recursion over a tree of dicts, in float64.

A `Reading` switches single rules. Two of them are right by the handout; all others are typical slips, whose results let a check
name the slip.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from labs.muzero.trusted.model import DrawnModel

NARROWEST = 1e-5


@dataclass(frozen=True)
class Reading:
    """How a search reads the handout.

    Attributes:
        current_bounds: q is scaled between the bounds of the tree as it is, and not between those of all times.
        turns: results change their sign from move to move.
        rewards: rewards count.
        scales: q is scaled to [0, 1].
        masks_root: illegal moves of the root are never taken.
        masks_below: below the root, too, only the root's legal moves are taken.
        counts_itself: the 1 under the square root.
    """

    current_bounds: bool = False
    turns: bool = True
    rewards: bool = True
    scales: bool = True
    masks_root: bool = True
    masks_below: bool = False
    counts_itself: bool = True


RIGHT = (Reading(), Reading(current_bounds=True))
SLIPS = {
    "turns": Reading(turns=False),
    "rewards": Reading(rewards=False),
    "scales": Reading(scales=False),
    "masks_root": Reading(masks_root=False),
    "masks_below": Reading(masks_below=True),
    "counts_itself": Reading(counts_itself=False),
}


class Outcome(NamedTuple):
    """Visits [A] of the root's actions, the root's value, and the smallest lead by which an action was ever selected."""

    visits: np.ndarray
    value: float
    lead: float


@dataclass
class _Place:
    latent: np.ndarray
    priors: dict[int, float]
    edges: dict[int, _Edge] = field(default_factory=dict)


@dataclass
class _Edge:
    reward: float
    below: _Place
    results: list[float] = field(default_factory=list)

    @property
    def q(self) -> float:
        return sum(self.results) / len(self.results)


class OwnSearch:
    """One search.

    Args:
        legal: the legal moves of the root.
    """

    def __init__(self, model: DrawnModel, planes: np.ndarray, legal: list[int], c_puct: float, reading: Reading) -> None:
        self._model, self._legal, self._c_puct, self._reading = model, legal, c_puct, reading
        self._seen = [np.inf, -np.inf]
        self._edges: list[_Edge] = []
        self._lead = np.inf
        self._root, _ = self._place(model.represent(planes[None]), legal if reading.masks_root else None)

    def run(self, simulations: int) -> Outcome:
        """Run all simulations."""
        results = [self._simulate(self._root) for _ in range(simulations)]
        visits = np.zeros(self._model.actions)
        for action, edge in self._root.edges.items():
            visits[action] = len(edge.results)
        return Outcome(visits, float(np.mean(results)), self._lead)

    def _place(self, latent: np.ndarray, allowed: list[int] | None) -> tuple[_Place, float]:
        logits, values = self._model.predict(latent)
        chosen = range(self._model.actions) if allowed is None else allowed
        weights = np.exp(logits[0] - logits[0].max())[list(chosen)]
        priors = dict(zip(chosen, (weights / weights.sum()).tolist(), strict=True))
        return _Place(latent, priors), float(values[0])

    def _simulate(self, place: _Place) -> float:
        action = self._selected(place)
        edge = place.edges.get(action)
        if edge is None:
            latent, reward = self._model.dynamics(place.latent, np.array([action]))
            below, result = self._place(latent, self._legal if self._reading.masks_below else None)
            edge = place.edges[action] = _Edge(float(reward[0]) if self._reading.rewards else 0.0, below)
            self._edges.append(edge)
        else:
            result = self._simulate(edge.below)
        result = edge.reward - result if self._reading.turns else edge.reward + result
        edge.results.append(result)
        self._seen = [min(self._seen[0], edge.q), max(self._seen[1], edge.q)]
        return result

    def _selected(self, place: _Place) -> int:
        total = int(self._reading.counts_itself) + sum(len(edge.results) for edge in place.edges.values())
        scores = []
        for action, prior in place.priors.items():
            edge = place.edges.get(action)
            count = len(edge.results) if edge else 0
            bonus = self._c_puct * prior * np.sqrt(total) / (1 + count)
            scores.append((bonus + (self._scaled(edge.q) if edge else 0.0), action))
        scores.sort(key=lambda pair: -pair[0])
        if len(scores) > 1:
            self._lead = min(self._lead, scores[0][0] - scores[1][0])
        return scores[0][1]

    def _scaled(self, q: float) -> float:
        if not self._reading.scales:
            return q
        now = [edge.q for edge in self._edges if edge.results]
        low, high = (min(now), max(now)) if self._reading.current_bounds else self._seen
        return float((q - low) / max(high - low, NARROWEST))
