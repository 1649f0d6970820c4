"""The files in which a self-play run shows its progress: metrics.csv, elo.csv, curves.png, TensorBoard events, games as SGF.

matplotlib and tensorboardX are optional (requirements-runs.txt); the files of a package that is missing are not written.
"""

from __future__ import annotations

import csv
import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena.match.sgf import heading, stone
from common.files import replacing
from games.protocol import NOBODY, GameRules
from training.metrics import add_row, keep_rows

OPTIONAL = ("matplotlib", "tensorboardX")
GO_BOARD = "GM[1]"  # SGF has no number for NoGo; viewers of Go show it


def missing_packages() -> list[str]:
    """Return the packages in OPTIONAL that are not installed."""
    return [name for name in OPTIONAL if importlib.util.find_spec(name) is None]


@dataclass(frozen=True)
class SampleGame:
    """A game to be written as SGF.

    Attributes:
        number: the number of the game.
        moves: the actions in order; h * width + w for a point.
        winner: 1 for the player who moved first (shown as black), 2 for the other one, or -1 for a draw.
        names: the names of the player who moved first and of the other one.
        comment: a comment on the game.
    """

    number: int
    moves: Sequence[int]
    winner: int
    names: tuple[str, str]
    comment: str = ""


def sample_to_sgf(game: SampleGame, rules: GameRules) -> str:
    """Return one game as an SGF tree; an action beyond the points is a pass.

    Args:
        game: the game.
        rules: of the game.
    """
    width, height = rules.width, rules.height
    result = "0" if game.winner == NOBODY else "BW"[game.winner - 1] + "+"
    size = width if width == height else f"{width}:{height}"
    root = heading(size, game.number, *game.names, result, game.comment)
    nodes = [root if rules.name == "gomoku" else root.replace("GM[4]", GO_BOARD, 1)]
    for ply, move in enumerate(game.moves):
        h, w = divmod(move, width)
        nodes.append(stone("BW"[ply % 2], (w, h), height) if h < height else f"{'BW'[ply % 2]}[]")
    return "\n;".join(nodes) + ")\n"


class RunReport:
    """The files of a run that are meant for people to read.

    Args:
        folder: the run's folder.
        games, steps: their numbers at the checkpoint from which the run continues; rows with more of either are removed.
    """

    def __init__(self, folder: Path, games: int, steps: int) -> None:
        self._folder = folder
        self._metrics = folder / "metrics.csv"
        keep_rows(self._metrics, games=games, steps=steps)
        self._events: Any = None
        if "tensorboardX" not in missing_packages():
            from tensorboardX import SummaryWriter

            self._events = SummaryWriter(str(folder / "tensorboard"), purge_step=games + 1)

    def note(self, row: Mapping[str, float]) -> None:
        """Add a row to metrics.csv, whose first column is `games`."""
        add_row(self._metrics, row)
        self._show("run", row)

    def rate(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Rewrite elo.csv, since each match changes all ratings, and draw the curves."""
        path = self._folder / "elo.csv"
        with replacing(path) as unfinished, open(unfinished, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        self._show("evaluation", {name: rows[-1][name] for name in ("games", "elo")})
        if "matplotlib" not in missing_packages() and self._metrics.exists():
            self._draw(rows)

    def sgf(self, name: str, text: str) -> None:
        """Write a sample game."""
        folder = self._folder / "sgf"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.sgf").write_text(text, encoding="utf-8")

    def close(self) -> None:
        """Close the TensorBoard events."""
        if self._events is not None:
            self._events.close()

    def _show(self, group: str, row: Mapping[str, float]) -> None:
        if self._events is not None:
            for name, number in row.items():
                if name != "games":
                    self._events.add_scalar(f"{group}/{name}", number, int(row["games"]))

    def _draw(self, rows: Sequence[Mapping[str, Any]]) -> None:
        from matplotlib.figure import Figure

        with open(self._metrics, encoding="utf-8") as file:
            metrics = list(csv.DictReader(file))
        games = [int(row["games"]) for row in metrics]
        figure = Figure(figsize=(8, 10), layout="constrained")
        learning, strength, speed = figure.subplots(3, 1, sharex=True)
        for name in ("loss", "entropy"):
            learning.plot(games, [float(row[name]) for row in metrics], label=name)
        learning.legend()
        errors = [row["error_95"] for row in rows]
        strength.errorbar([row["games"] for row in rows], [row["elo"] for row in rows], errors, marker="o", capsize=3)
        strength.set_ylabel("Elo above pure MCTS")
        speed.plot(games, [float(row["evaluations_per_s"]) for row in metrics])
        speed.set_ylabel("evaluations per second")
        speed.set_xlabel("games of self-play")
        with replacing(self._folder / "curves.png") as unfinished:
            figure.savefig(unfinished, format="png")
