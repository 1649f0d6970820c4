"""What a report draws from the evidence of a verdict: boards, games and the curve of a training run.

Evidence is plain values that a check recorded. Evidence of another form, such as that of an older check, is not drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from arena.match.referee import GameRecord
from arena.view.drawn_boards import BLACK, WHITE, DrawnBoard, Mark, Stone, numbered_stones, point_of, winning_line
from arena.view.games import LOST, Loss, ShownGame, Step, shown_game
from arena.view.losses import find_loss
from grader.pipeline.go_on import TIC_TAC_TOE, go_on, has_ended
from grader.pipeline.results import MALFORMED, PASSED, Verdict

MOST_BOARDS = 6
LARGEST_BOARD = 30
OPENING_SIZE = 15


@dataclass(frozen=True)
class Curve:
    """Losing lines over the games of a training run; each part is one attempt: (games played, losing lines)."""

    parts: tuple[tuple[tuple[int, int], ...], ...]

    @property
    def most_games(self) -> int:
        return max(games for part in self.parts for games, _ in part)

    @property
    def most_lines(self) -> int:
        return max(1, *(lines for part in self.parts for _, lines in part))

    @property
    def label(self) -> str:
        """The curve in words."""
        return "; ".join(", ".join(f"{lines} after {games} games" for games, lines in part) for part in self.parts)


@dataclass(frozen=True)
class Pictures:
    """What is drawn for a check.

    Attributes:
        games: the games that the check played; `first` is the place of the one to show first.
    """

    boards: tuple[DrawnBoard, ...] = ()
    games: tuple[ShownGame, ...] = ()
    first: int = 0
    curve: Curve | None = None


def pictures_of(verdict: Verdict, *, with_commands: bool = False) -> Pictures:
    """Return what can be drawn from a verdict's evidence.

    Args:
        with_commands: whether each position comes with the commands that go on from there, which only some kits can carry out.
    """
    evidence, part = verdict.evidence, verdict.id.partition(".")[0] if with_commands else ""
    games = _read(evidence, "match", _match_games) or ()
    losses = _read(evidence, "losses", _losses) or {}
    games = tuple(replace(game, loss=losses.get(game.title)) for game in games)
    boards = _read(evidence, "boards", partial(_boards, part=part)) or ()
    boards += _read(evidence, "examples", partial(_losing_lines, part=part)) or ()
    if verdict.status != PASSED:
        games = games or _read(evidence, "games", partial(_protocol_games, seats=evidence.get("seats"))) or ()
        boards += _read(evidence, "stones", _first_stones) or ()
    first = next((place for place, game in enumerate(games) if game.outcome == LOST), 0)
    return Pictures(boards[:MOST_BOARDS], games, first, _read(evidence, "curve", _curve))


def _read(evidence: Mapping[str, Any], name: str, reader: Any) -> Any:
    if not evidence.get(name):
        return None
    try:
        return reader(evidence[name])
    except (*MALFORMED, IndexError):
        return None


def _match_games(match: Any) -> tuple[ShownGame, ...]:
    limit_s = float(match["limits"]["move_s"])
    records = [GameRecord.from_json(game) for game in match["games"]]
    return tuple(shown_game(record, agent=0, limit_s=limit_s) for record in records)


def _losses(losses: Any) -> dict[str, Loss]:
    """Return the title of a game -> where it was lost."""
    return {
        f"Game {number}": Loss(
            int(loss["ply"]), str(loss["sentence"]), (int(at[0]), int(at[1])) if (at := loss["better"]) else None
        )
        for number, loss in losses.items()
    }


def _protocol_games(games: Any, seats: Any) -> tuple[ShownGame, ...]:
    """Return the games of the protocol check.

    The opponents end some of these games on purpose, so only a game that ended by the engine's own fault counts as lost.

    Args:
        seats: the seat of the student's engine in each game; None in results of an earlier version.
    """
    records = [GameRecord.from_json(game) for game in games]
    seats = seats or [None] * len(records)
    return tuple(
        shown_game(record, agent=seat if seat is not None and record.faulty == seat else None)
        for record, seat in zip(records, seats, strict=True)
    )


def _boards(boards: Any, part: str) -> tuple[DrawnBoard, ...]:
    """Return the boards; positions that are drawn twice, to compare them, have their commands once."""
    drawn = [_board(board, part) for board in boards]
    return tuple(
        replace(each, commands=()) if any(each.commands == other.commands for other in drawn[place + 1 :]) else each
        for place, each in enumerate(drawn)
    )


def _board(board: Any, part: str) -> DrawnBoard:
    width, height = int(board["width"]), int(board["height"])
    if not (1 <= width <= LARGEST_BOARD and 1 <= height <= LARGEST_BOARD):
        raise ValueError(f"a board of {width}x{height}")
    moves = [int(move) for move in board["moves"]]
    stones = tuple(Stone(WHITE if ply % 2 else BLACK, *point_of(move, width)) for ply, move in enumerate(moves))
    shares = [(int(move), float(share)) for move, share in board["shares"]]
    most = max((share for _, share in shares), default=1.0) or 1.0
    marks = [Mark("heat", *point_of(move, width), share / most, f"{100 * share:.0f}") for move, share in shares]
    marks += [Mark(kind, *point_of(int(move), width)) for kind in ("expected", "played") for move in board[kind]]
    size = (width, height, int(board["n_in_row"]))
    turn = "the game is over" if has_ended(size, moves) else f"{'white' if len(moves) % 2 else 'black'} is to move"
    words = f"{board['caption']}; {turn}, {size[2]} in a row win."
    if shares:
        words += " Shares in percent."
    label = f"{words} {_in_words(board, width, shares)}"
    commands = go_on(part, size, moves)
    return DrawnBoard(width, height, stones, tuple(marks), caption=words, label=label, commands=commands)


def _in_words(board: Any, width: int, shares: list[tuple[int, float]]) -> str:
    """Return in words what is marked on a board."""
    parts = [f"after the moves {', '.join(map(str, board['moves'])) or 'none'}"]
    for kind in ("expected", "played"):
        if board[kind]:
            parts.append(f"{kind} {' or '.join(f'{x} {y}' for x, y in (point_of(int(move), width) for move in board[kind]))}")
    best = sorted(shares, key=lambda pair: -pair[1])[:3]
    parts += [f"{100 * share:.0f} % at {x} {y}" for (x, y), share in ((point_of(move, width), share) for move, share in best)]
    return f"On the board {', '.join(parts)}."


def _losing_lines(lines: Any, part: str) -> tuple[DrawnBoard, ...]:
    """Return lost games of tic-tac-toe, each as the position before the move that lost it, with the numbers of the moves."""
    found = []
    for line in filter(None, lines):
        moves = [int(move) for move in line]
        drawn = list(dict.fromkeys(moves))  # an illegal last move repeats a point
        caption = f"A losing line: moves {', '.join(map(str, moves))}"
        marks: tuple[Mark, ...] = ()
        if len(drawn) < len(moves):
            before, caption = moves[:-1], f"{caption}; the last one is illegal."
        else:
            loss = _loss_of(moves)
            before, marks = moves[: loss.ply - 1], (Mark("played", *point_of(moves[loss.ply - 1], 3)),)
            seat = "second" if len(moves) % 2 else "first"
            caption += f". Your player was {seat}; move {loss.ply} (crossed) lets the opponent win by force"
            if loss.better is not None:
                marks += (Mark("expected", *loss.better),)
                caption += ", the ringed one would not"
            caption += "."
        stones = numbered_stones(before, 3)
        commands = go_on(part, TIC_TAC_TOE, before)
        found.append(DrawnBoard(3, 3, stones, marks, caption=caption, label=caption, commands=commands))
    return tuple(found)


def _loss_of(moves: list[int]) -> Loss:
    """Return where a game of tic-tac-toe was lost; ValueError if nobody has won it."""
    points = [point_of(move, 3) for move in moves]
    steps = tuple(Step(WHITE if ply % 2 else BLACK, point) for ply, point in enumerate(points))
    line = winning_line({step.point: step.colour for step in steps}, points[-1], 3)
    loss = find_loss(ShownGame("", ("", ""), 3, 3, steps, line=line, n_in_row=3), None)
    if loss is None:
        raise ValueError(f"a losing line that nobody has won: {moves}")
    return loss


def _first_stones(stones: Any) -> tuple[DrawnBoard, ...]:
    counts: dict[tuple[int, int], int] = {}
    for x, y in stones:
        counts[int(x), int(y)] = counts.get((int(x), int(y)), 0) + 1
    most = max(counts.values())
    on_board = {point: count for point, count in counts.items() if all(0 <= side < OPENING_SIZE for side in point)}
    marks = tuple(Mark("heat", x, y, count / most, str(count)) for (x, y), count in on_board.items())
    caption = (
        f"The first stones of {sum(counts.values())} starts, and how often each was played; x and y from 4 to 10 are allowed."
    )
    return (DrawnBoard(OPENING_SIZE, OPENING_SIZE, marks=marks, caption=caption, label=caption),)


def _curve(points: Any) -> Curve | None:
    parts: list[list[tuple[int, int]]] = []
    for games, lines in points:
        if not parts or int(games) <= parts[-1][-1][0]:
            parts.append([])
        parts[-1].append((int(games), int(lines)))
    return Curve(tuple(tuple(part) for part in parts)) if parts else None
