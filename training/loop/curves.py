"""The learning curves of a run: a table (CSV) with a row for each round of updates, and a picture of it (SVG)."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from html import escape
from math import inf
from pathlib import Path

from common.files import write_whole
from training.loop.verifying import Measurement

COLUMNS = ("games", "loss", "entropy", "opponent_playouts", "win_ratio", "losing_lines", "exact_playouts")
CurveRow = tuple[str, ...]
"""A row of the table as text, in the order of COLUMNS; a network that was not measured has empty cells."""
WIDTH, LEFT, RIGHT = 760, 60, 740
PANELS = {"loss": (50, 210), "entropy": (250, 370), "losing lines": (410, 490)}  # title -> top and bottom
COLOURS = {"loss": "#b03a2e", "entropy": "#1f618d", "losing lines": "#1e8449"}
SMOOTHED_OVER = 15  # rounds


class LearningCurves:
    """The rows of a run; each row is on disk as soon as it is added.

    Args:
        table: the CSV file to write; an existing file is replaced.
        picture: the SVG file to write.
        rows: the rows of a run that is continued.
    """

    def __init__(self, table: Path, picture: Path, rows: Sequence[CurveRow] = ()) -> None:
        self.rows = [tuple(row) for row in rows]
        self._table, self._picture = table, picture
        write_whole(table, _as_csv([COLUMNS, *self.rows]))

    def add(self, games: int, learnt: tuple[float, float] | None, opponent_playouts: int, measured: Measurement | None) -> None:
        """Add a row, unless nothing was learnt.

        Args:
            games: the number of games played so far.
            learnt: (loss, entropy), or None if there was no update.
            opponent_playouts: the number of playouts of the pure MCTS opponent, whether or not there was an evaluation.
            measured: the measurement of the network, or None if it was not measured.
        """
        if learnt is None:
            return
        strength = ["" if value is None else str(value) for value in measured or ("", "", "")]
        self.rows.append((str(games), f"{learnt[0]:.4f}", f"{learnt[1]:.4f}", str(opponent_playouts), *strength))
        with open(self._table, "a", newline="", encoding="utf-8") as file:
            file.write(_as_csv(self.rows[-1:]))

    def draw(self, title: str) -> None:
        """Draw the rows so far; without any, there is no picture."""
        if self.rows:
            write_whole(self._picture, picture_of(self.rows, title))


def _as_csv(rows: Sequence[Sequence[str]]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue()


def picture_of(rows: Sequence[CurveRow], title: str) -> str:
    """Return an SVG picture: the loss, the entropy, and the losing lines wherever they were counted.

    Values that are negative, infinite or nan are left out, and so is a curve that has no others.

    Args:
        rows: at least one row.
        title: text above the picture.
    """

    def curve(column: int) -> list[tuple[int, float]]:
        points = [(int(row[0]), float(row[column])) for row in rows if row[column]]
        return [(game, value) for game, value in points if 0 <= value < inf]  # a wrong entropy may be nan or negative

    panels = {"loss": curve(1), "entropy": curve(2), "losing lines": curve(5)}
    last_game = max(int(rows[-1][0]), 1)
    shown = {name: points for name, points in panels.items() if points}
    height = max((PANELS[name][1] for name in shown), default=PANELS["loss"][1]) + 45
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" font-family="sans-serif" '
        f'font-size="12"><title>{escape(title)}</title><rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="24" font-size="15">{escape(title)}</text>',
    ]
    for name, points in shown.items():
        parts += _panel(name, points, last_game)
    bottom = height - 45
    ticks = _ticks(last_game)
    parts += [
        f'<text x="{_x(game, last_game):.1f}" y="{bottom + 18}" text-anchor="middle" fill="#555">{game:g}</text>'
        for game in ticks
    ]
    parts.append(f'<text x="{RIGHT}" y="{bottom + 36}" text-anchor="end" fill="#555">games</text></svg>\n')
    return "\n".join(parts)


def _panel(name: str, points: Sequence[tuple[int, float]], last_game: int) -> list[str]:
    """Draw one curve in its panel, from 0 to a round number above its largest value."""
    top, bottom = PANELS[name]
    ticks = _ticks(max(value for _, value in points) or 1, most=3)
    highest = max(ticks[-1], max(value for _, value in points))

    def y(value: float) -> float:
        return bottom - (bottom - top) * value / highest

    parts = [f'<text x="{LEFT}" y="{top - 8}" fill="{COLOURS[name]}">{name}: {points[-1][1]:g}</text>']
    for value in ticks:
        parts.append(f'<line x1="{LEFT}" y1="{y(value):.1f}" x2="{RIGHT}" y2="{y(value):.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end" fill="#555">{value:g}</text>')
    if name == "losing lines":
        for game, value in points:
            at = f'cx="{_x(game, last_game):.1f}" cy="{y(value):.1f}"'
            parts.append(f'<circle {at} r="4" fill="{COLOURS[name]}"><title>{game} games: {value:g}</title></circle>')
        return parts
    for line, look in ((points, 'opacity="0.25"'), (_smoothed(points), 'stroke-width="2"')):
        path = " ".join(f"{_x(game, last_game):.1f},{y(value):.1f}" for game, value in line)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[name]}" {look}/>')
    return parts


def _x(game: float, last_game: int) -> float:
    return LEFT + (RIGHT - LEFT) * game / last_game


def _smoothed(points: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return the mean of the latest values at each point."""
    smooth = []
    for at, (game, _) in enumerate(points):
        latest = [value for _, value in points[max(0, at + 1 - SMOOTHED_OVER) : at + 1]]
        smooth.append((game, sum(latest) / len(latest)))
    return smooth


def _ticks(highest: float, most: int = 5) -> list[float]:
    """Return round numbers from 0 on, at most `most` steps, of which the last is not far above or below `highest`."""
    step = 10.0**-6
    while highest / step > most:
        step *= 2 if str(f"{step:e}")[0] != "2" else 2.5
    return [round(step * number, 9) for number in range(int(highest / step) + 1)]
