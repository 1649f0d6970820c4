"""Fit the weights of the reference engine's evaluation to the results of games: `make fit ARGS="FILE..."`.

Each FILE contains games of build/teacher/15 (docs/training.md). For each quiet position in them, `counts.cpp` counts how often
each pattern occurs on the board, and a logistic regression predicts from these counts whether the side to move wins:

    log odds  =  a * (sum_p v_p * ((1 + t) * own_p - their_p)  +  r . ready  +  tempo)

The term in parentheses is the evaluation in evaluate.cpp, where v is PATTERN_VALUE, t is 1/6, r contains the four weights of
double threats that can be played, and tempo is TEMPO. The scale a is arbitrary; it is set to the scale of the weights in use,
so that scores keep their size. Every fifth game is held out and used to compare the fitted weights with those in use. The
output is rounded and entered into patterns.h and evaluate.cpp by hand.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

ENGINE = Path(__file__).resolve().parents[1] / "reference" / "Minimax"
PATTERNS = ("ONE", "TWO", "OPEN_TWO", "THREE", "OPEN_THREE", "FOUR")
READY = ("FOUR_THREE_NOW", "FOUR_THREE_LATER", "DOUBLE_THREE_NOW", "DOUBLE_THREE_LATER")
HELD_BACK = 5  # every fifth game


@dataclass(frozen=True)
class Weights:
    """The weights of the evaluation: `values` [6] in the order of PATTERNS, and `ready` [4] in the order of READY.

    All are positive, as in evaluate.cpp.
    """

    values: np.ndarray
    ready: np.ndarray
    tempo: float
    share: float = 1 / 6

    def scores(self, counts: np.ndarray) -> np.ndarray:
        """Return the scores [N] for the side to move, given counts [N, 16] as counts.cpp prints them."""
        own, theirs, ready = counts[:, :6] @ self.values, counts[:, 6:12] @ self.values, counts[:, 12:]
        return (1 + self.share) * own - theirs + ready @ (self.ready * [1, -1, 1, -1]) + self.tempo


def weights_in_use() -> Weights:
    """Read the weights from the engine's sources."""
    source = (ENGINE / "patterns.h").read_text() + (ENGINE / "evaluate.cpp").read_text()
    values = re.search(r"PATTERN_VALUE = \{([^}]*)\}", source)
    named = dict(re.findall(r"constexpr int (\w+) = (\d+);", source))
    assert values
    by_pattern = [int(value) for value in values[1].split(",")]
    fitted = by_pattern[1:7]  # the enum is NONE, then PATTERNS, then OPEN_FOUR and FIVE, which no quiet position has
    return Weights(np.array(fitted, dtype=float), np.array([float(named[name]) for name in READY]), float(named["TEMPO"]))


def fit(counts: np.ndarray, wins: np.ndarray, begin: Weights) -> Weights:
    """Return the weights with the largest likelihood, on the scale of `begin`.

    Args:
        counts: [N, 16], see counts.cpp.
        wins: [N], 1 where the side to move went on to win the game, else 0.
        begin: the weights to start from.
    """
    own, theirs, ready = (torch.tensor(counts[:, part], dtype=torch.double) for part in (slice(6), slice(6, 12), slice(12, 16)))
    won = torch.tensor(wins, dtype=torch.double)
    deviation = own.std(dim=0).clamp(min=1e-9)
    scale = scale_of(begin.scores(counts), wins)
    values = (torch.tensor(scale * begin.values) * deviation).requires_grad_()
    ready_now = torch.tensor(scale * begin.ready * [1, -1, 1, -1]).requires_grad_()
    others = torch.tensor([begin.share, scale * begin.tempo], dtype=torch.double).requires_grad_()
    optimiser = torch.optim.LBFGS([values, ready_now, others], max_iter=500, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimiser.zero_grad()
        line = values / deviation
        logits = (1 + others[0]) * (own @ line) - theirs @ line + ready @ ready_now + others[1]
        loss = binary_cross_entropy_with_logits(logits, won)
        loss.backward()
        return loss

    optimiser.step(closure)
    found = [tensor.detach().numpy() / scale for tensor in (values / deviation, ready_now)]
    share, tempo = others.detach().numpy()
    return Weights(found[0], found[1] * [1, -1, 1, -1], float(tempo) / scale, float(share))


def scale_of(scores: np.ndarray, wins: np.ndarray) -> float:
    """Return the log odds per point of score with the largest likelihood, a single number found by Newton's method."""
    scale = 1e-3
    for _ in range(50):
        odds = 1 / (1 + np.exp(-scale * scores))
        scale += ((wins - odds) @ scores) / ((odds * (1 - odds)) @ scores**2)
    return float(scale)


def judged(weights: Weights, counts: np.ndarray, wins: np.ndarray, scale: float) -> tuple[float, float]:
    """Return the mean log loss, and the share of positions in which the sign of the score predicts the winner."""
    scores = weights.scores(counts)
    loss = np.mean(np.logaddexp(0, scale * np.where(wins == 1, -scores, scores)))
    return float(loss), float(np.mean((scores > 0) == (wins == 1)))


def read_counts(program: Path, games: list[Path]) -> np.ndarray:
    """Return what counts.cpp prints for all games, [N, 18]; a game that is in two files counts twice."""
    lines = []
    for path in games:
        with open(path, encoding="utf-8") as file:
            heading = json.loads(next(file, "{}"))
            if heading.get("size") != 15:
                raise ValueError(f"expected games of build/teacher/15 in {path}; its first line is not their heading")
            played = [json.loads(line) for line in file if line.endswith("\n")]
            lines += [" ".join(map(str, [game["winner"], *game["moves"]])) for game in played]
    done = subprocess.run([program], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    return np.array([line.split() for line in done.stdout.splitlines()], dtype=float).reshape(-1, 18)


def main() -> int:
    """Fit the weights and print them beside those in use."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("program", type=Path, help="build/teacher/counts")
    parser.add_argument("games", type=Path, nargs="+", metavar="FILE", help="a file of games by build/teacher/15")
    options = parser.parse_args()
    torch.set_num_threads(1)
    try:
        rows = read_counts(options.program, options.games)
    except (OSError, ValueError) as error:
        print(f"fit_patterns.py: {error}", file=sys.stderr)
        return 2
    held_back = rows[:, 0] % HELD_BACK == 0
    if not held_back.any() or held_back.all():
        print(f"fit_patterns.py: expected quiet positions of at least {HELD_BACK} games; got {len(rows)}", file=sys.stderr)
        return 2
    wins, counts = rows[:, 1], rows[:, 2:]
    used = weights_in_use()
    fitted = fit(counts[~held_back], wins[~held_back], used)
    scale = scale_of(used.scores(counts[~held_back]), wins[~held_back])
    print(f"{len(rows)} quiet positions of {len(np.unique(rows[:, 0]))} games, {held_back.sum()} positions held out\n")
    seen = (counts > 0).sum(axis=0)
    rows_of = [*zip(PATTERNS, used.values, fitted.values, seen[:6] + seen[6:12], strict=True)]
    rows_of += [*zip(READY, used.ready, fitted.ready, seen[12:], strict=True), ("TEMPO", used.tempo, fitted.tempo, len(rows))]
    print(f"{'':20} {'in use':>8} {'fitted':>8} {'seen in':>8}")  # a weight that was rarely seen is uncertain
    for name, before, after, positions in rows_of:
        print(f"{name:20} {before:8.0f} {after:8.0f} {positions:8}")
    print(f"{'share of the move':20} {used.share:8.3f} {fitted.share:8.3f}")
    for name, column in (("log loss", 0), ("winner told", 1)):
        before, after = (judged(weights, counts[held_back], wins[held_back], scale)[column] for weights in (used, fitted))
        print(f"{name:20} {before:8.4f} {after:8.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
