"""A student's board as the checks see it: how a worker sets it up, and what it shows about the positions of a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from grader.confinement.worker_client import NOT_WRITTEN, Worker
from grader.errors import StudentFault
from labs.support.cases import Case

SHOWN_MOVES = 12  # in a message
LATE = "moves in second halves"  # what every check of games counts: a board may not leave them all early
SECOND = "games that player 2 begins"
UNLISTED = "positions with a taken point that it does not list"
TAKEN_TRIED = 4  # of these, so that a board that lists every point gets nothing for what it refuses
MOST_LINES = 4  # lines that may be drawn for each one that a check wants, if the board leaves them early
COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
Values = Mapping[str, np.ndarray]
Step = int | list[Any]


def point_name(action: int, width: int, height: int) -> str:
    """Return the point that an action takes, or pass; "" for no action. A1 is at the bottom left; there is no column I."""
    if not 0 <= action <= width * height:
        return ""
    return "pass" if action == width * height else f"{COLUMNS[action % width]}{action // width + 1}"


@dataclass(frozen=True)
class LabPosition:
    """A position on a board that the submission brings.

    Attributes:
        board_class: dotted name of the class, such as NoGo.board.Board.
        arguments: the keyword arguments of the class, among them width and height.
        moves: moves and calls in order of play; see `grader.confinement.boards`.
        start_player: the index of the player who begins.
        earlier: moves of a game that was played on the same board before `init_board` began this one.
        naming: names an action in words, given the width and the height; "" for what is not an action.
    """

    board_class: str
    arguments: Mapping[str, float]
    moves: tuple[Step, ...] = ()
    start_player: int = 0
    earlier: tuple[Step, ...] = ()
    naming: Callable[[int, int, int], str] = point_name

    @classmethod
    def of(cls, board_class: str, case: Case, naming: Callable[[int, int, int], str] = point_name, **arguments: float) -> Self:
        """Return the position after the moves of a case; `arguments` are those of the class besides width and height."""
        width, height = map(int, case["size"])
        arguments = {"width": width, "height": height, **arguments}
        return cls(board_class, arguments, tuple(line_of(case)), start_player_of(case), naming=naming)

    def before(self, plies: int) -> dict[str, Any]:
        """Return the position after only this many moves, as it is sent to a worker."""
        return {**self.to_json(), "moves": list(self.moves[:plies])}

    def to_json(self) -> dict[str, Any]:
        """Return the position as it is sent to a worker and recorded as evidence."""
        start = {"board": self.board_class, "arguments": dict(self.arguments), "start_player": self.start_player}
        return {**start, "moves": list(self.moves), **({"earlier": list(self.earlier)} if self.earlier else {})}

    @property
    def size(self) -> str:
        """The size as messages give it, such as 5x4 (width x height)."""
        return f"{self.arguments['width']}x{self.arguments['height']}"

    def name(self, action: int) -> str:
        """Return an action in words: its number and its name, such as `5 (F1)`."""
        named = self.naming(action, int(self.arguments["width"]), int(self.arguments["height"]))
        return f"{action} ({named})" if named else f"{action}, which is not an action of this board"

    def after(self, plies: int) -> str:
        """Return where in a line a message means, such as `on a 5x4 board after the moves [3, 7]`."""
        moves = [step for step in self.moves[:plies] if isinstance(step, int)]
        if not moves:
            return f"On an empty {self.size} board{' where player 2 begins' * self.start_player}"
        shown = ("..., " if len(moves) > SHOWN_MOVES else "") + ", ".join(map(str, moves[-SHOWN_MOVES:]))
        board = f"{self.size} board{' where player 2 began,' * self.start_player}"
        return f"On a {board} after the moves [{shown}]"


@dataclass(frozen=True)
class Walk:
    """A line of legal moves, as far as the student's board follows it.

    A board that does not list a legal move, or refuses it, is at fault in that alone. Checks of anything else judge it on the
    part of the line before.

    Attributes:
        position: the position after that part.
        seen: what the board shows at the start and after each move.
        stop: what cut the line short, as a sentence; empty if nothing did.
        left_out: a fault after that part that another check reports, as a sentence; empty if there is none.
    """

    position: LabPosition
    seen: tuple[Values, ...]
    stop: str
    left_out: str = ""

    @property
    def plies(self) -> int:
        """The number of moves and calls that the board followed."""
        return len(self.position.moves)

    def up_to(self, ply: int, left_out: str) -> Walk:
        """Return the line up to a ply, and the fault after it that another check reports."""
        return Walk(replace(self.position, moves=self.position.moves[:ply]), self.seen[: ply + 1], "", left_out)

    def listed(self, ply: int) -> list[int]:
        """Return what the board lists as legal at a ply."""
        return listed_in(self.seen[ply])

    def next_moves(self, ply: int, most: int) -> list[int]:
        """Return the next moves of the line, as far as the board followed it."""
        return [step for step in self.position.moves[ply : ply + most] if isinstance(step, int)]


def walked(worker: Worker, position: LabPosition, *watch: str) -> Walk:
    """Play the moves of a position on the student's board while it lists them."""
    lines, names = [list(position.moves)], ["availables", *(name for name in watch if name != "availables")]
    (reply,) = worker.call("follow", position=position.before(0), lines=lines, watch=names)
    seen, last = reply["seen"], len(reply["seen"]) - 1
    stop = f"{position.after(last)}, {_call_of(position.moves[last])} raised {reply['fault']}." if reply["fault"] else ""
    for ply, step in enumerate(position.moves[: last + 1]):
        if isinstance(step, int) and step not in listed_in(seen[ply]):
            last, stop = ply, f"{position.after(ply)}, {position.name(step)} is legal, and your board does not list it."
            break
    return Walk(replace(position, moves=position.moves[:last]), tuple(seen[: last + 1]), stop)


def _call_of(step: Step) -> str:
    """Return what raised an exception at a step of a line of legal moves, as part of a sentence."""
    return "the next move is legal, but do_move" if isinstance(step, int) else str(step[0])


def listed_in(values: Values) -> list[int]:
    """Return what a board lists as legal; raise StudentFault unless these are integers."""
    shape, moves = values["availables"].shape, values["availables"].reshape(-1)
    if moves.size and moves.size != max(shape, default=1):  # a dict gives pairs
        raise StudentFault(f"availables must be a list of integers; it gives numbers of shape {shape}.")
    if not np.isfinite(moves).all():
        raise StudentFault("availables holds something that is not a finite number.")
    if (wrong := moves[moves != np.round(moves)]).size:
        raise StudentFault(f"availables holds {wrong[0]:g}, which is not an integer.")
    return [int(move) for move in moves]


@dataclass
class Tally:
    """How often a check has judged each kind of thing that it must judge.

    A board that leaves the lines early leaves little to judge. It must not get points for that.

    Attributes:
        least: kind -> how often it must be judged.
        found: kind -> how often it was.
        stop: what cut the first line short that was not judged to its end, as a sentence; empty if each was.
    """

    least: Mapping[str, int]
    found: Counter[str] = field(default_factory=Counter)
    stop: str = ""

    def cut(self, stop: str) -> None:
        """Note that a line is not judged to its end, and why."""
        self.stop = self.stop or stop

    @property
    def lacking(self) -> list[str]:
        """The kinds that have been judged too rarely because of lines that were not judged to their end."""
        return [kind for kind, least in self.least.items() if self.stop and self.found[kind] < least]


def walks(
    worker: Worker,
    draw: Callable[[], tuple[LabPosition, Case]],
    lines: int,
    tally: Tally,
    *watch: str,
    judged: Callable[[Case, Walk], Walk] = lambda _, walk: walk,
) -> Iterator[tuple[Case, Walk]]:
    """Yield lines as far as the student's board follows them, and more of them while the tally lacks something.

    Args:
        draw: draws a line.
        watch: what the board is to show besides `availables`.
        judged: returns the part of a line that can be judged, if another check reports a fault after it.

    Raises:
        StudentFault: the tally still lacks something after all lines have been yielded, or player 2 cannot begin and the tally
            asks for such games.
    """
    for number in range(MOST_LINES * lines):
        if number >= lines and not tally.lacking:
            return
        position, case = draw()
        if position.start_player:
            if fault := _fault_at_the_start(worker, position):
                if SECOND in tally.least:
                    raise StudentFault(fault)
                tally.cut(fault)
                continue
            tally.found[SECOND] += 1
        walk = judged(case, walked(worker, position, *watch))
        tally.cut(walk.stop or walk.left_out)
        tally.found[LATE] += max(0, walk.plies - len(position.moves) // 2)
        yield case, walk
    if tally.lacking:
        kind = tally.lacking[0]
        raise StudentFault(
            f"This depends on other rules: in {MOST_LINES * lines} games your board reaches {tally.found[kind]} {kind}, and "
            f"at least {tally.least[kind]} are needed. {tally.stop}".strip()
        )


def _fault_at_the_start(worker: Worker, position: LabPosition) -> str:
    """Return why `init_board` cannot begin a game on the student's board, as a sentence; empty if it can.

    Raises:
        StudentFault: `init_board` is not written yet, or not even a new board can be made.
    """
    try:
        worker.call("follow", position=position.before(0), lines=[], watch=[], on_copies=True)
    except StudentFault as fault:
        if str(fault).startswith(NOT_WRITTEN):
            raise
        new = replace(position, start_player=0).before(0)
        worker.call("follow", position=new, lines=[], watch=[], on_copies=True)
        return f"{position.after(0)}, init_board({position.start_player}) fails: {fault}"
    return ""


def expect_new_game(worker: Worker, line: LabPosition, watch: Sequence[str], *, after: Sequence[Step]) -> None:
    """Raise StudentFault unless a line looks the same on a board that has played before and begun again by `init_board`.

    Args:
        line: moves that the student's board follows.
        watch: what has to be the same; see `grader.confinement.boards.watched`.
        after: the moves of the game before, which the student's board follows as well.
    """
    again, moves = replace(line, earlier=tuple(after)), list(line.moves)
    begins = f"init_board({line.start_player}) after a game of {len(again.earlier)} moves on this board"
    (new,) = worker.call("follow", position=line.before(0), lines=[moves], watch=list(watch))
    try:
        (used,) = worker.call("follow", position=again.before(0), lines=[moves], watch=list(watch))
    except StudentFault as fault:
        raise StudentFault(f"{line.after(0)}, {begins} fails: {fault}") from fault
    for ply, (right, got) in enumerate(zip(new["seen"], used["seen"], strict=False)):
        for name in right:
            if not np.array_equal(right[name], got[name], equal_nan=True):
                raise StudentFault(
                    f"{line.after(ply)}, {name} differs from that of a new board if {begins} has begun the game."
                )
    if used["fault"] != new["fault"]:
        place = line.after(len(used["seen"]) - 1)
        raise StudentFault(f"{place}, do_move raised {used['fault']} if {begins} has begun the game.")


def start_player_of(case: Case) -> int:
    """Return the index of the player who begins the game of a case."""
    return int(case.get("start_player", 0))


def line_of(case: Case) -> list[int]:
    """Return the moves of a case as plain numbers."""
    return [int(move) for move in case["moves"]]


def shaped(values: Values, name: str, shape: Sequence[int]) -> np.ndarray:
    """Return a value of a student's board; raise StudentFault if it has another shape or is not finite."""
    value = values[name]
    if value.shape != tuple(shape):
        raise StudentFault(f"{name} gives numbers of shape {value.shape}; expected {tuple(shape)}.")
    if not np.isfinite(value).all():
        raise StudentFault(f"{name} gives something that is not a finite number, such as None.")
    return value


def stones_in(values: Values) -> dict[int, int]:
    """Return point -> player, as `states` of the student's board gives it (`watched` leaves out entries of 0).

    Raises:
        StudentFault: `states` is not such a dict.
    """
    states = values["states"]
    if states.size and (states.shape[1:] != (2,) or not np.isfinite(states).all()):
        raise StudentFault("states must be a dict from points to players.")
    return {int(point): int(player) for point, player in states.reshape(-1, 2)}


def expect_last_move(values: Values, position: LabPosition, ply: int) -> None:
    """Raise StudentFault unless `last_move` is the move before a ply of a real game, or -1 at its start."""
    last, got = position.moves[ply - 1] if ply else -1, int(shaped(values, "last_move", ()))
    if got != last:
        raise StudentFault(f"{position.after(ply)}, last_move is {last}; got {got}.")


def expect_refusal(reply: Mapping[str, Any], place: str) -> None:
    """Raise StudentFault unless do_move raised ValueError and left the board as it was, also for the moves after it.

    Args:
        reply: one of the replies of `grader.confinement.boards.refusals`.
        place: where, and which move, as the beginning of a sentence.
    """
    if not reply["raised"]:
        does = "does nothing and raises no ValueError" if _alike(reply["before"], reply["after"]) else "plays it"
        raise StudentFault(f"{place}; do_move {does}.")
    if reply["raised"] != "ValueError":
        raise StudentFault(f"{place}; do_move raised {reply['raised']} instead of ValueError.")
    if not _alike(reply["before"], reply["after"]):
        raise StudentFault(f"{place}; do_move refuses it, but has already changed the board.")
    if len(reply["later"]) != 2 or not _alike(*reply["later"]):
        raise StudentFault(f"{place}; do_move refuses it, but has changed the board, as the next moves show.")


def _alike(values: Values, others: Values) -> bool:
    """Return whether two boards show the same."""
    return values.keys() == others.keys() and all(np.array_equal(values[name], others[name], equal_nan=True) for name in values)
