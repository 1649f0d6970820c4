"""The training step on a batch of two positions of tic-tac-toe, term by term (handout 5.3).

The policy and the values come from the reference network in train mode with the given weights. The terms are added up here,
without the reference's loss. The same step with typical mistakes is that of the mutants in instructor/submissions/mutants/.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import ModuleType

import numpy as np
import torch

from docs.examples.text import Language, chosen, fenced, picture_of, signed, small_board, table
from grader.assignment import ROOT
from grader.instructor.trust import load_mutants

NETWORK = "AlphaZero/policy_value_net_torch.py"
WEIGHTS = ROOT / "model" / "3_3_3.model"
MOVES = ((4, 1, 0, 2), (4, 0, 2))
SHARES = ({8: 0.8, 6: 0.1, 3: 0.1}, {6: 0.9, 8: 0.1})
RESULTS = (1.0, 0.0)
L2_CONST = 1e-4
CHINESE = {
    "value-broadcast": "价值与胜负的形状不同，被广播成 [N, N]",
    "l2-doubled": "L2 项少了 1/2",
    "l2-on-biases": "L2 项也包括偏置",
    "l2-not-squared": "L2 项用的是范数而不是其平方",
    "cross-entropy-averaged-over-moves": "交叉熵对着法求了平均，而不是求和",
    "errors-summed-over-the-batch": "两项误差在批内求和，而不是求平均",
    "learns-the-negated-result": "价值学的是对手眼中的胜负",
    "softmax-applied-twice": "softmax 用了两次",
    "eval-mode-in-training": "训练步中批归一化仍处于评估模式",
}
"""Mutants whose loss on this batch is shown, and what is wrong in Chinese; their English comes from the mutants."""


@dataclass(frozen=True)
class Batch:
    """The batch as train_step takes it: states [2, 9, 3, 3], pi [2, 9], z [2]."""

    states: np.ndarray
    shares: np.ndarray
    results: np.ndarray


@dataclass(frozen=True)
class Terms:
    """The terms of the loss.

    Attributes:
        log_probs: [2, 9], of the network in train mode.
        values: [2], the same.
        squared_errors, cross_entropies: [2], one of each position.
        l2, l2_of_scales: the last term of the loss, and the part of it that comes from the scales of batch norm.
    """

    log_probs: np.ndarray
    values: np.ndarray
    squared_errors: np.ndarray
    cross_entropies: np.ndarray
    l2: float
    l2_of_scales: float

    @property
    def loss(self) -> float:
        """The whole loss."""
        return float(self.squared_errors.mean() + self.cross_entropies.mean()) + self.l2

    @property
    def entropy(self) -> float:
        """The mean entropy of the network's policy."""
        return float(-(np.exp(self.log_probs) * self.log_probs).sum(axis=1).mean())


def batch() -> Batch:
    """Return the two positions, with what the search and the games said about them."""
    shares = np.zeros((2, 9), dtype=np.float32)
    for row, given in zip(shares, SHARES, strict=True):
        for move, share in given.items():
            row[move] = share
    states = np.stack([small_board(moves).current_state() for moves in MOVES])
    return Batch(states.astype(np.float32), shares, np.array(RESULTS, dtype=np.float32))


def network_module(source: str) -> ModuleType:
    """Return a solution of handout 5.2 and 5.3 as a module."""
    module = ModuleType("policy_value_net_torch")
    exec(compile(source, NETWORK, "exec"), module.__dict__)
    return module


def _reference() -> str:
    return (ROOT / "instructor" / "reference" / NETWORK).read_text(encoding="utf-8")


def returned(source: str) -> tuple[float, float]:
    """Return the loss and the entropy that a solution's train_step returns for the batch."""
    net = network_module(source).PolicyValueNet(3, 3, 1, init_model=str(WEIGHTS))
    given = batch()
    loss, entropy = net.train_step(given.states, given.shares, given.results, 1e-3)
    return float(loss), float(entropy)


@cache
def terms() -> Terms:
    """Return the terms of the loss on the batch."""
    net = network_module(_reference()).PolicyValueNet(3, 3, 1, init_model=str(WEIGHTS))
    given = batch()
    net.model.train()
    with torch.no_grad():
        log_probs, values = (output.numpy() for output in net.model(torch.from_numpy(given.states)))
    squares = {name: float(w.detach().pow(2).sum()) for name, w in net.model.named_parameters() if not name.endswith("bias")}
    scales = {name: square for name, square in squares.items() if net.model.get_parameter(name).ndim == 1}
    return Terms(
        log_probs,
        values[:, 0],
        (given.results - values[:, 0]) ** 2,
        -(given.shares * log_probs).sum(axis=1),
        L2_CONST / 2 * sum(squares.values()),
        L2_CONST / 2 * sum(scales.values()),
    )


def positions(_: Language) -> str:
    """Return both positions, side by side, with pi and z."""
    boards = [picture_of(small_board(moves)) for moves in MOVES]
    played = [f"moves {' '.join(map(str, moves))}" for moves in MOVES]
    told = [", ".join(f"pi({move}) = {share:g}" for move, share in sorted(given.items())) for given in SHARES]
    results = [f"z = {result:g}" for result in RESULTS]
    heads = ["first, X to move", "second, O to move"]
    rows = [heads, *(list(pair) for pair in zip(*boards, strict=True)), played, told, results]
    return fenced(f"{first:<42}{second}".rstrip() for first, second in rows)


def by_numbers(_: Language) -> str:
    """Return every term of the loss."""
    found = terms()
    names = ("first", "second")
    lines = ["value:  (z - v)^2"]
    for name, result, value, error in zip(names, RESULTS, found.values, found.squared_errors, strict=True):
        lines.append(f"  {name:<7} ({result:g} - ({signed(value, 4)}))^2 = {error:.4f}")
    lines += [f"  mean    {found.squared_errors.mean():.4f}", "", "policy:  - sum_a pi(a) log p(a)"]
    for name, given, log_probs, entropy in zip(names, SHARES, found.log_probs, found.cross_entropies, strict=True):
        for move, share in sorted(given.items()):
            lines.append(f"  {name:<7} p({move}) = {np.exp(log_probs[move]):.4f}   - {share:g} * ({log_probs[move]:.4f})")
        lines.append(f"  {name:<7} sum    = {entropy:.4f}")
    lines += [
        f"  mean    {found.cross_entropies.mean():.4f}",
        "",
        f"L2:  1e-4 / 2 * ||w||^2 = {found.l2:.4f}   ({found.l2_of_scales:.4f} of it from the scales of batch norm)",
        "",
        f"loss    = {found.squared_errors.mean():.4f} + {found.cross_entropies.mean():.4f} + {found.l2:.4f} = {found.loss:.4f}",
        f"entropy = {found.entropy:.4f}",
    ]
    return fenced(lines)


def right(language: Language) -> list[tuple[float, str]]:
    """Return the losses that are right, and for which L2 term."""
    loss, l2, scales = terms().loss, terms().l2, terms().l2_of_scales
    return [
        (loss, chosen(language, "right: the L2 term includes the scales of batch norm", "正确：L2 项包括批归一化的缩放系数")),
        (loss - scales, chosen(language, "right: the L2 term leaves them out", "正确：L2 项不包括它们")),
        (
            loss - l2,
            chosen(
                language,
                "right with weight decay in the optimiser; otherwise the L2 term is missing",
                "用优化器的权重衰减时正确；否则是漏了 L2 项",
            ),
        ),
    ]


def mistaken(language: Language) -> list[tuple[float, str]]:
    """Return the losses that typical mistakes give, in ascending order, and the mistakes."""
    mutants = {mutant.name: mutant for mutant in load_mutants(ROOT)}
    sources = {name: mutants[name].files[NETWORK].decode() for name in CHINESE}
    return sorted((returned(sources[name])[0], chosen(language, mutants[name].why, CHINESE[name])) for name in CHINESE)


def readings(language: Language) -> str:
    """Return what a loss means: the right ones, then those of typical mistakes."""
    header = (chosen(language, "Loss", "损失"), chosen(language, "What it means", "含义"))
    return table(header, [(f"{loss:.4f}", text) for loss, text in right(language) + mistaken(language)], "rl")
