"""Games as the viewer shows them, from the records of a match or from SGF."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from arena.match.referee import GameRecord
from arena.match.sgf import SgfGame
from arena.rules import FIVE, SIZE, SWAP, SWAP_PLY, Action, Termination
from arena.view.drawn_boards import BLACK, WHITE, DrawnBoard, Mark, Stone, winning_line
from common.errors import UsageError

COLOURS = ("black", "white")
WON, LOST, DRAWN, OPEN = "won", "lost", "drawn", "not decided"
FAULTS = {
    Termination.ILLEGAL_MOVE: "played an illegal move",
    Termination.ILLEGAL_OPENING: "opened outside the central 7x7",
    Termination.ILLEGAL_SWAP: "swapped where no swap is allowed",
    Termination.TIMEOUT: "gave no answer in time",
    Termination.CRASH: "stopped running",
    Termination.MALFORMED: "answered something that is not a move",
    Termination.INIT_FAILED: "did not start",
}


@dataclass(frozen=True)
class Step:
    """One ply: a stone of a colour at a point, a pass, or white's swap (colour "s").

    Attributes:
        taken: the stones that were captured.
    """

    colour: str
    point: Action = SWAP
    taken: tuple[Action, ...] = ()
    is_pass: bool = False

    @property
    def code(self) -> str:
        """The step as the page's script reads it: b7,7 or w4,4x4,5x4,6 (which takes two stones), b- (a pass) or s."""
        if self.colour == "s":
            return "s"
        if self.is_pass:
            return f"{self.colour}-"
        return self.colour + "x".join(f"{x},{y}" for x, y in (self.point, *self.taken))


@dataclass(frozen=True)
class Loss:
    """The move by which a game was lost, according to a strong engine.

    Attributes:
        ply: the number of that move, counted from 1.
        sentence: what the engine says about it.
        better: what the engine would have played; None if it found nothing better.
    """

    ply: int
    sentence: str
    better: Action | None = None


@dataclass(frozen=True)
class ShownGame:
    """A game for the viewer.

    Attributes:
        title: how lists name it, such as "Game 7".
        names: black's and white's.
        setup: stones that lie on the board before the first step.
        seconds: the time of each answer; one more than steps if the last answer was refused; empty if not recorded.
        clock: what `seconds` count, such as "CPU time".
        limit_s: the limit for an answer; 0 if unknown.
        outcome: WON, LOST, DRAWN or OPEN, for the agent that the page is about; empty if it is about neither.
        ending: how the game ended, in a sentence.
        line: the row that won.
        loss: where the game was lost, if an engine was asked.
        areas: the empty points that count for a side at the end, with its colour.
        has_letters: whether points are named as in Go, such as d4, and not by x and y from 0.
        play_on: the command that plays this game, without the moves to begin with; empty if it begins with other stones, or if
            the colours do not take turns, since that command gives the first move to black and the next to white.
        n_in_row: how many stones in a row win in Gomoku.
    """

    title: str
    names: tuple[str, str]
    width: int
    height: int
    steps: tuple[Step, ...]
    setup: tuple[Stone, ...] = ()
    seconds: tuple[float, ...] = ()
    clock: str = "CPU time"
    limit_s: float = 0.0
    outcome: str = ""
    ending: str = ""
    line: tuple[Action, ...] = ()
    loss: Loss | None = None
    areas: tuple[tuple[str, Action], ...] = ()
    has_letters: bool = False
    play_on: str = ""
    n_in_row: int = FIVE

    @property
    def board(self) -> DrawnBoard:
        """The position at the end."""
        stones = list(self.setup)
        for number, step in enumerate(self.steps, 1):
            if step.colour == "s":
                stones = [replace(stone, colour=WHITE if stone.colour == BLACK else BLACK) for stone in stones]
            elif not step.is_pass:
                stones = [stone for stone in stones if (stone.x, stone.y) not in step.taken]
                stones.append(Stone(step.colour, *step.point, number))
        marks = tuple(Mark(f"area {colour}", *point) for colour, point in self.areas)
        label = f"Position after {len(self.steps)} plies. {self.ending}"
        return DrawnBoard(
            self.width, self.height, tuple(stones), marks, line=self.line, label=label, has_letters=self.has_letters
        )


def ending_of(game: GameRecord) -> str:
    """Return how a game ended as one or two sentences, with the names of the players and the referee's own words."""
    if game.termination == Termination.DRAW:
        return f"Drawn: the board is full after {len(game.moves)} plies."
    if game.termination == Termination.UNDECIDED:
        return f"Not decided, and it does not count: {game.detail or 'the machine was too busy'}."
    winner = "" if game.winner is None else seat_name(game, game.winner)
    if game.termination == Termination.FIVE:
        return f"{winner} won with five or more in a row at ply {len(game.moves)}."
    loser = seat_name(game, game.faulty if game.faulty is not None else 1 - (game.winner or 0))
    sentence = f"{winner} won, because {loser} {FAULTS[game.termination]} ({game.termination.value})."
    return f"{sentence} The referee says: it {game.detail}." if game.detail else sentence


def seat_name(game: GameRecord, agent: int) -> str:
    """Return an agent's colour and name as a sentence begins with it."""
    colour = COLOURS[int(agent != game.black)].capitalize()
    return f"{colour} ({game.names[agent]})" if game.names[agent] else colour


def shown_game(game: GameRecord, *, agent: int | None = None, limit_s: float = 0.0) -> ShownGame:
    """Return a recorded game for the viewer.

    Args:
        agent: the agent whose wins and losses the page is about; None for neither.
        limit_s: the time limit for an answer, if known.
    """
    steps, stones, turn = [], dict[Action, str](), 0
    for action in game.moves:
        if action == SWAP:
            steps.append(Step("s"))
            stones = {point: WHITE if colour == BLACK else BLACK for point, colour in stones.items()}
        else:
            steps.append(Step((BLACK, WHITE)[turn], action))
            stones[action] = (BLACK, WHITE)[turn]
        turn = 1 - turn
    five = game.termination == Termination.FIVE and game.moves
    seconds, clock = times_of(game)
    return ShownGame(
        title=f"Game {game.index}",
        names=(game.names[game.black] or "black", game.names[1 - game.black] or "white"),
        width=game.size,
        height=game.size,
        steps=tuple(steps),
        seconds=seconds,
        clock=clock,
        limit_s=limit_s,
        outcome="" if agent is None else outcome_of(game, agent),
        ending=ending_of(game),
        line=winning_line(stones, game.moves[-1]) if five else (),
        play_on=play_command(game.size, game.size, row_that_wins(game.size, game.size)),
        n_in_row=row_that_wins(game.size, game.size),
    )


def row_that_wins(width: int, height: int) -> int:
    """Return how many stones in a row win in Gomoku on a board if a file does not say it."""
    return min(FIVE, width, height)


def play_command(width: int, height: int, n_in_row: int) -> str:
    """Return the command that plays Gomoku on this board, against the baseline on that of the course."""
    if (width, height, n_in_row) == (SIZE, SIZE, FIVE):
        return "python human_play.py --player minimax"
    return f"python human_play.py --player mcts --board {width}x{height}x{n_in_row}"


def times_of(game: GameRecord) -> tuple[tuple[float, ...], str]:
    """Return the seconds of each answer, and what they count."""
    return (game.move_cpu_s, "CPU time") if any(game.move_cpu_s) else (game.move_s, "wall-clock time")


def outcome_of(game: GameRecord, agent: int) -> str:
    """Return WON, LOST, DRAWN or OPEN, for an agent."""
    if not game.is_decided:
        return OPEN
    return DRAWN if game.winner is None else (WON if game.winner == agent else LOST)


def shown_sgf(game: SgfGame, number: int) -> ShownGame:
    """Return a game read from SGF for the viewer.

    Raises:
        UsageError: the moves go on after the end of the game.
    """
    stones = {point: colour for colour, point in game.setup}
    n_in_row = game.n_in_row or row_that_wins(game.width, game.height)
    steps: list[Step] = []
    line: tuple[Action, ...] = ()
    for colour, point in game.moves:
        if line:
            raise UsageError(
                f"expected game {number} to end with {n_in_row} or more in a row at ply {len(steps)}; it has more moves"
            )
        if colour == "s":
            steps.append(Step("s"))
            stones = {at: WHITE if found == BLACK else BLACK for at, found in stones.items()}
            continue
        steps.append(Step(colour, point))
        stones[point] = colour
        line = winning_line(stones, point, n_in_row)
    result = result_in_words(game.result)
    if line and not result:
        result = (
            f"{'Black' if steps[-1].colour == BLACK else 'White'} won with {n_in_row} or more in a row at ply {len(steps)}."
        )
    return ShownGame(
        title=f"Game {number}",
        names=(game.black or "black", game.white or "white"),
        width=game.width,
        height=game.height,
        steps=tuple(steps),
        setup=tuple(Stone(colour, *point) for colour, point in game.setup),
        ending=" ".join(filter(None, (result, game.comment and f"The file says: {game.comment}."))),
        line=line,
        play_on="" if game.setup or not in_turn(steps) else play_command(game.width, game.height, n_in_row),
        n_in_row=n_in_row,
    )


def in_turn(steps: Sequence[Step]) -> bool:
    """Return whether black begins, the colours take turns, and white swaps at most once, where the rules allow it."""
    return all(
        step.colour == (BLACK, WHITE)[ply % 2] or (step.colour, ply + 1) == ("s", SWAP_PLY) for ply, step in enumerate(steps)
    )


def result_in_words(result: str) -> str:
    """Return the result that an SGF file states as a sentence; an empty string if we do not know it."""
    if result[:2] in ("B+", "W+"):
        how = {"T": " on time", "F": " by a fault of the other side", "R": " by resignation"}.get(result[2:3], "")
        if re.fullmatch(r"\d{1,4}(\.5)?", result[2:]):
            how = f" by {result[2:]}"
        return f"{'Black' if result[0] == 'B' else 'White'} won{how}."
    return {"0": "Drawn.", "Draw": "Drawn.", "Void": "The game has no result."}.get(result, "")
