"""The lines of a case on the student's board of Go, and what is compared at each ply."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from grader.confinement.worker_client import Worker
from grader.errors import StudentFault
from grader.judge.support.ruling import Ruling
from labs.support.boards import (
    LabPosition,
    Step,
    Tally,
    Values,
    Walk,
    listed_in,
    shaped,
    start_player_of,
    stones_in,
    walks,
)
from labs.support.cases import Case

BOARD, TO_MOVE = "Go.board.Board", "get_current_player"
LEGAL, TAKEN, SUICIDE, KO, SUPERKO, OVER = range(6)
REASONS = {
    TAKEN: "it is taken",
    SUICIDE: "it captures nothing and leaves its own chain without a liberty (suicide)",
    KO: "it would retake a ko at once",
    SUPERKO: "it repeats an earlier arrangement of stones (superko)",
    OVER: "the game is over",
}


def start_of(case: Case) -> LabPosition:
    """Return the student's board with all actions of a case, and the call of for_search where its simulation begins."""
    komi, superko = float(case["komi"]), bool(case["superko"])
    position = LabPosition.of(BOARD, case, komi=komi, superko=superko)
    if "begin" not in case:
        return position
    begin = int(case["begin"])
    search = ["for_search", int(case["depth"])]
    return replace(position, moves=(*position.moves[:begin], search, *position.moves[begin:]))


@dataclass(frozen=True)
class Ply:
    """One position of a line.

    Attributes:
        place: where it is, in words.
        number: its row in the arrays of the case.
        values: what the student's board shows.
    """

    place: str
    number: int
    values: Values


def followed_lines(
    worker: Worker, ruling: Ruling, draw: Callable[[], Case], lines: int, tally: Tally, *watch: str
) -> Iterator[tuple[Case, Walk]]:
    """Yield the lines of cases as far as the student's board follows them; see `labs.support.boards.walks`.

    If the check does not watch the side to move, a line ends before that goes wrong, such as by a pass that keeps the turn.
    """

    def start() -> tuple[LabPosition, Case]:
        case = draw()
        position = start_of(case)
        ruling.evidence["line"] = position.to_json()
        return position, case

    if TO_MOVE in watch:
        yield from walks(worker, start, lines, tally, *watch)
    else:
        yield from walks(worker, start, lines, tally, *watch, f"{TO_MOVE}?", judged=_until_turns_go_wrong)


def _until_turns_go_wrong(case: Case, walk: Walk) -> Walk:
    right = [np.array_equal(values[TO_MOVE], case["players"][ply]) for ply, values in enumerate(walk.seen)]
    if all(right) or not right[0]:  # where the other player begins, all stones only change colours
        return walk
    ply = right.index(False)
    return walk.up_to(ply - 1, f"{walk.position.after(ply)}, the board is wrong about the side to move.")


def plies(walk: Walk) -> Iterator[Ply]:
    """Yield the positions of a line."""
    for number, values in enumerate(walk.seen):
        simulated = " in a simulation" if any(isinstance(step, list) for step in walk.position.moves[:number]) else ""
        yield Ply(f"{walk.position.after(number)}{simulated}", number, values)


def has_wrong_stones(case: Case, ply: Ply) -> bool:
    """Return whether `states` holds other stones; rules.captures finds that fault, and that of `states` that is no dict."""
    return shown_stones(ply.values) not in (None, _right_stones(case["stones"][ply.number]))


def shown_stones(values: Values) -> dict[int, int] | None:
    """Return point -> player, or None if `states` is no such dict."""
    try:
        return stones_in(values)
    except StudentFault:
        return None


def _right_stones(stones: np.ndarray) -> dict[int, int]:
    return {int(point): int(stones[point]) for point in np.flatnonzero(stones)}


def expect_legal(position: LabPosition, ply: Ply, case: Case, *, in_order: bool = True) -> None:
    """Raise StudentFault unless `availables` lists the legal actions.

    Args:
        in_order: whether it must list them in ascending order and each of them once.
    """
    why = case["why"][ply.number]
    listed = listed_in(ply.values)
    legal, last = set(np.flatnonzero(why == LEGAL).tolist()), len(why) - 1
    if strange := sorted(action for action in listed if not 0 <= action <= last):
        raise StudentFault(f"{ply.place}, availables holds {position.name(strange[0])}; the pass is action {last}.")
    if lacking := sorted(legal - set(listed)):
        name = position.name(lacking[0])
        cause = _cause(listed, lacking[0], case, ply)
        raise StudentFault(f"{ply.place}, {name} is legal, and availables does not list it{cause}.")
    if wrong := sorted(set(listed) - legal):
        reason = REASONS[int(why[wrong[0]])]
        raise StudentFault(f"{ply.place}, {position.name(wrong[0])} is illegal: {reason}. availables lists it.")
    if in_order and listed != sorted(legal):
        raise StudentFault(f"{ply.place}, availables is not in ascending order, or lists an action twice: {listed[:12]}.")


def _cause(listed: list[int], lacking: int, case: Case, ply: Ply) -> str:
    last = int(case["size"].prod())
    if not listed:
        return ", as if the game were over"
    if lacking == last:
        return f": the pass is action {last}"
    if ply.number and case["why"][ply.number - 1][lacking] == KO:
        return ": the ko that forbade it has been lifted by the last action"
    return ": the stone captures or its chain keeps a liberty, and neither a ko nor superko forbids it"


def expect_end(ply: Ply, case: Case, *, scored: bool = True) -> None:
    """Raise StudentFault unless the side to move, the end of the game and the winner are right.

    The winner may follow from the board's own score, which rules.score judges.

    Args:
        scored: whether the score decides the game if it is over here, rather than the depth limit of a simulation.
    """
    player, (over, winner) = int(case["players"][ply.number]), (int(value) for value in case["ends"][ply.number])
    got_player = int(shaped(ply.values, "get_current_player", ()))
    if got_player != player:
        raise StudentFault(f"{ply.place}, player {player} is to move; got {got_player}.")
    got_over, got_winner = (int(value) for value in shaped(ply.values, "game_end", (2,)))
    if got_over and not over:
        raise StudentFault(f"{ply.place}, the game goes on; game_end says that it is over.")
    if over and not got_over:
        raise StudentFault(f"{ply.place}, the game is over; game_end says that it goes on.")
    own = ply.values["score"]
    by_own_score = scored and own.shape == () and np.isfinite(own) and got_winner == _winner_by(float(own), case)
    if got_winner != winner and not (over and by_own_score):
        score = float(case["scores"][ply.number])
        result = "nobody has won" if winner == -1 else f"player {winner} has won"
        raise StudentFault(f"{ply.place}, {result} (score for black {score:+g}); game_end gives {got_winner}.")


def _winner_by(score: float, case: Case) -> int:
    """Return the winner of a finished game with this score; black is the player who began."""
    black = 1 + start_player_of(case)
    return -1 if score == 0 else black if score > 0 else 3 - black


def says_over(ply: Ply) -> bool:
    """Return whether `game_end` says that the game is over; rules.end judges the rest of what it says."""
    return bool(np.resize(ply.values["game_end"], 2)[0] > 0)


def expect_stones(position: LabPosition, ply: Ply, stones: np.ndarray) -> None:
    """Raise StudentFault unless `states` holds the stones on the board."""
    got, right = stones_in(ply.values), _right_stones(stones)
    if got == right:
        return
    if extra := sorted(set(got) - set(right)):
        raise StudentFault(f"{ply.place}, the stone at {position.name(extra[0])} has been captured; states still holds it.")
    if lacking := sorted(set(right) - set(got)):
        raise StudentFault(f"{ply.place}, the stone at {position.name(lacking[0])} stands on the board; states lacks it.")
    raise StudentFault(f"{ply.place}, states gives a stone to the wrong player.")


def expect_captures(ply: Ply, right: np.ndarray) -> None:
    """Raise StudentFault unless `captures` holds how many stones player 1 and player 2 have captured, [2]."""
    captures = ply.values["captures"]
    if captures.size and (captures.shape[1:] != (2,) or not np.isfinite(captures).all()):
        raise StudentFault("captures must be a dict from players to numbers of stones.")
    got = {int(player): float(number) for player, number in captures.reshape(-1, 2)}
    for player, number in enumerate(right.tolist(), 1):
        if got.get(player, 0) != number:
            stones = "1 stone" if number == 1 else f"{number} stones"
            raise StudentFault(f"{ply.place}, player {player} has captured {stones}; captures gives {got.get(player, 0):g}.")


def begin_of(case: Case) -> int:
    """Return the first ply of a line's simulation; 0 if the line is a real game."""
    return int(case["begin"]) + 1 if "begin" in case else 0


def is_pass(case: Case, action: Step) -> bool:
    """Return whether an action is the pass."""
    return action == int(case["size"].prod())
