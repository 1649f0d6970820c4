"""The search of the handout, independent of the reference: a recursion over a tree of dicts, in float64.

A `Reading` switches single rules. Two of them may be read in two ways; all others are typical slips, whose results let a check
name the slip.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from labs.muzero.trusted.model import DrawnModel

NARROWEST = 1e-5
C2 = 19652  # the paper's c2
C_PUCT = 1.25  # the default


@dataclass(frozen=True)
class Reading:
    """How a search reads the handout.

    Attributes:
        current_bounds: q is scaled between the bounds of the tree as it is, and not between those of all times.
        grows: c_puct grows with the visits of a state, as in the paper's pseudocode. In so few simulations this changes hardly
            any visit, so only luck would let a check notice it.
        turns: results change their sign from move to move.
        rewards: rewards count.
        scales: q is scaled to [0, 1].
        masks_root: illegal moves of the root are never taken.
        masks_below: below the root, too, only the root's legal moves are taken.
        counts_itself: the 1 under the square root.
        counts_root: the 1 under the square root, at the root.
        one_range: q is scaled between the bounds of the whole tree, and not of the actions of one state.
        scales_one: a single q is scaled, too, and not taken as it is.
        own_view: q is seen by the player who acts, and not by the player who is next.
        shares_out: the priors of the root's legal moves add up to 1.
        begins_at_0: an action that has not been taken has a scaled q of 0, and not of 1/2.
        bounds_begin_empty: the first q is both q_min and q_max, instead of being compared with a bound that begins at 0.
        bounds_of_actions: q_min and q_max are those of actions alone, and do not include the network's value of the root.
        passes_c_puct: c_puct is the one that the search was given, and not always its default.
        takes_root: the square root in the bonus.
        adds_rewards: a reward counts for the player who acts, and not against them.
        bounds_of_means: q_min and q_max are those of mean results, and not of single ones.
    """

    current_bounds: bool = False
    grows: bool = False
    turns: bool = True
    rewards: bool = True
    scales: bool = True
    masks_root: bool = True
    masks_below: bool = False
    counts_itself: bool = True
    counts_root: bool = True
    one_range: bool = True
    scales_one: bool = True
    own_view: bool = True
    shares_out: bool = True
    begins_at_0: bool = True
    bounds_begin_empty: bool = True
    bounds_of_actions: bool = True
    passes_c_puct: bool = True
    takes_root: bool = True
    adds_rewards: bool = True
    bounds_of_means: bool = True


RIGHT = tuple(Reading(current_bounds=now, grows=grows) for grows in (False, True) for now in (False, True))
SLIPS = {
    "turns": Reading(turns=False),
    "rewards": Reading(rewards=False),
    "scales": Reading(scales=False),
    "masks_root": Reading(masks_root=False),
    "masks_below": Reading(masks_below=True),
    "counts_itself": Reading(counts_itself=False),
    "counts_root": Reading(counts_root=False),
    "one_range": Reading(one_range=False),
    "scales_one": Reading(scales_one=False),
    "own_view": Reading(own_view=False),
    "shares_out": Reading(shares_out=False),
    "begins_at_0": Reading(begins_at_0=False),
    "bounds_begin_empty": Reading(bounds_begin_empty=False),
    "bounds_of_actions": Reading(bounds_of_actions=False),
    "passes_c_puct": Reading(passes_c_puct=False),
    "takes_root": Reading(takes_root=False),
    "adds_rewards": Reading(adds_rewards=False),
    "bounds_of_means": Reading(bounds_of_means=False),
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
        self._edges: list[_Edge] = []
        self._lead = np.inf
        allowed = legal if reading.masks_root else None
        self._root, value = self._place(model.represent(planes[None]), allowed, reading.shares_out)
        begin = [0.0] * (not reading.bounds_begin_empty) + [value] * (not reading.bounds_of_actions)
        self._seen = [min(begin, default=np.inf), max(begin, default=-np.inf)]

    def run(self, simulations: int) -> Outcome:
        """Run all simulations."""
        results = [self._simulate(self._root) for _ in range(simulations)]
        visits = np.zeros(self._model.actions)
        for action, edge in self._root.edges.items():
            visits[action] = len(edge.results)
        return Outcome(visits, float(np.mean(results)), self._lead)

    def _place(self, latent: np.ndarray, allowed: list[int] | None, shares_out: bool = True) -> tuple[_Place, float]:
        logits, values = self._model.predict(latent)
        chosen = range(self._model.actions) if allowed is None else allowed
        weights = np.exp(logits[0] - logits[0].max())
        whole = weights[list(chosen)].sum() if shares_out else weights.sum()
        priors = {action: float(weights[action] / whole) for action in chosen}
        return _Place(latent, priors), float(values[0])

    def _simulate(self, place: _Place) -> float:
        action = self._selected(place)
        edge = place.edges.get(action)
        if edge is None:
            latent, reward = self._model.dynamics(place.latent, np.array([action]))
            below, result = self._place(latent, self._legal if self._reading.masks_below else None)
            factor = self._reading.rewards * (1.0 if self._reading.adds_rewards else -1.0)
            edge = place.edges[action] = _Edge(factor * float(reward[0]), below)
            self._edges.append(edge)
        else:
            result = self._simulate(edge.below)
        result = edge.reward - result if self._reading.turns else edge.reward + result
        edge.results.append(result)
        new = edge.q if self._reading.bounds_of_means else result
        self._seen = [min(self._seen[0], new), max(self._seen[1], new)]
        return result

    def _selected(self, place: _Place) -> int:
        counts_one = self._reading.counts_itself and (self._reading.counts_root or place is not self._root)
        total = int(counts_one) + sum(len(edge.results) for edge in place.edges.values())
        unseen = 0.0 if self._reading.begins_at_0 else 0.5
        c_puct = (self._c_puct if self._reading.passes_c_puct else C_PUCT) + (
            np.log((total + C2 + 1) / C2) if self._reading.grows else 0.0
        )
        scores = []
        for action, prior in place.priors.items():
            edge = place.edges.get(action)
            count = len(edge.results) if edge else 0
            bonus = c_puct * prior * (np.sqrt(total) if self._reading.takes_root else total) / (1 + count)
            scores.append((bonus + (self._scaled(edge.q, place) if edge else unseen), action))
        scores.sort(key=lambda pair: -pair[0])
        if len(scores) > 1:
            self._lead = min(self._lead, scores[0][0] - scores[1][0])
        return scores[0][1]

    def _scaled(self, q: float, place: _Place) -> float:
        q = q if self._reading.own_view else -q
        edges = self._edges if self._reading.one_range else place.edges.values()
        now = [edge.q for edge in edges if edge.results]
        low, high = (min(now), max(now)) if self._reading.current_bounds or not self._reading.one_range else self._seen
        if not self._reading.scales or (low == high and not self._reading.scales_one):
            return q
        return float((q - low) / max(high - low, NARROWEST))
