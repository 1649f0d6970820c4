"""The student's rules of NoGo against ours, on every position of random games (handout 2)."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from random import Random

import numpy as np
import pytest

from grader.confinement.worker_client import Worker
from grader.errors import StudentFault
from grader.judge.support.ruling import Ruling
from labs.nogo.checks.games import BOARD, CAPTURE, LATE_MOVES, LEGAL, SUICIDE, TAKEN, followed_games, legal_at
from labs.support.boards import (
    LATE,
    SECOND,
    TAKEN_TRIED,
    UNLISTED,
    LabPosition,
    Tally,
    Values,
    Walk,
    expect_last_move,
    expect_new_game,
    expect_refusal,
    line_of,
    listed_in,
    shaped,
    stones_in,
)
from labs.support.cases import Case, Cases, draw_game
from labs.support.copies import judge_copies

GAMES, COPIES, REFUSED = 24, 16, 12
AGAIN = 6  # games that are played twice on one board
TURNS = "positions in second halves with right planes or the right side to move"
ENDS = 6  # positions without a move, by the board's own list, in which the end must be right
REASONS = {
    TAKEN: "it is taken",
    SUICIDE: "there it would leave its own chain without a liberty (suicide)",
    CAPTURE: "there it would take the last liberty of an opposing chain (a capture)",
}
CHECK_LIBERTIES = "Check the liberties of the chains beside it."
# The planes come last, since a difference shows in them, whatever its cause.
SHOWN = ("states?", "last_move?", "current_state?")
PLANES = ("the stones of the side to move", "the stones of the opponent", "the last move", "whether the first player moves")


def followed(worker: Worker, ruling: Ruling, case: Case, *watch: str) -> tuple[LabPosition, list[Values], str]:
    """Play a case's game on the student's board; return what it showed at each ply, and what cut it short."""
    position = LabPosition.of(BOARD, case)
    ruling.evidence["game"] = position.to_json()
    start = position.before(0)
    (reply,) = worker.call("follow", position=start, lines=[list(position.moves)], watch=list(watch))
    return position, reply["seen"], reply["fault"]


@pytest.mark.points("rules.legal")
def test_legal(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Compare `availables` with the legal moves at every ply."""
    ruling.expected = "availables lists exactly the legal moves, at every ply of random games."
    plies = 0
    for _ in range(GAMES):
        case = cases.draw("game", rng)
        position, seen, fault = followed(worker, ruling, case, "availables!")
        for ply, values in enumerate(seen):
            _expect_legal(position, ply, listed_in(values), case["why"][ply])
        if fault:
            ply = len(seen) - 1
            move = position.name(line_of(case)[ply])
            raise StudentFault(f"{position.after(ply)}, {move} is legal, but do_move raised {fault}.")
        plies += len(seen)
    ruling.seen = f"The same moves at all {plies} plies of {GAMES} games."


def _expect_legal(position: LabPosition, ply: int, moves: list[int], why: np.ndarray) -> None:
    legal, place = set(np.flatnonzero(why == LEGAL).tolist()), position.after(ply)
    if strange := sorted(move for move in moves if not 0 <= move < len(why)):
        raise StudentFault(f"{place}, availables holds {position.name(strange[0])}; NoGo has no other move, and no pass.")
    if wrong := sorted(set(moves) - legal):
        reason = int(why[wrong[0]])
        hint = f" {CHECK_LIBERTIES}" * (reason in (CAPTURE, SUICIDE))
        stone = f"a stone at {position.name(wrong[0])} is illegal"
        raise StudentFault(f"{place}, {stone}: {REASONS[reason]}. Your board lists it.{hint}")
    if lacking := sorted(legal - set(moves)):
        raise StudentFault(
            f"{place}, a stone at {position.name(lacking[0])} is legal, since every chain keeps a liberty. Your board does not "
            f"list it. {CHECK_LIBERTIES}"
        )
    if moves != sorted(legal):
        raise StudentFault(f"{place}, availables is not in ascending order, or lists a move twice: {moves[:12]}.")


@pytest.mark.points("rules.end")
def test_end(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Compare the end of the game, the winner and the side to move at every ply, and beyond the end of the game.

    At last, play some of the games again on the board on which they have ended: `init_board` begins a new game there.

    Accepts: where the board lists other moves than the legal ones, an end by the rules, and one that follows from its own list,
    since rules.legal judges the list. A game that is not over by such a list goes on with the moves that it holds.
    """
    ruling.expected = "The game is over when the side to move has no legal move, and that player has lost."
    told, ended = ("game_end", "has_a_winner"), list[LabPosition]()
    watch = (*told, "get_current_player")
    tally = Tally({LATE: LATE_MOVES, "ends": ENDS, SECOND: 1})
    for case, walk in followed_games(worker, ruling, lambda: draw_game(cases, rng), GAMES, tally, *watch):
        position, shown = walk.position, list(walk.seen)
        if shown[-1]["availables"].size and not all(_is_over_by_rules(case, walk, name) for name in told):
            start, most = position.to_json(), int(case["size"].prod())
            further = worker.call(
                "play_on", position=start, plies=most, seed=rng.randrange(2**31), watch=["availables", *watch]
            )
            position, shown = replace(position, moves=(*position.moves, *further["moves"])), [*shown, *further["seen"]]
            if shown[-1]["availables"].size:
                tally.cut(f"{position.after(len(shown) - 1)}, it still lists moves.")
        for ply, values in enumerate(shown):
            place, player = position.after(ply), 1 + (position.start_player + ply) % 2
            got_player = int(shaped(values, "get_current_player", ()))
            ruling.expect(got_player == player, f"{place}, player {player} is to move; got {got_player}.")
            right = case["ends"][ply] if ply <= walk.plies else None
            for name in told:
                got = shaped(values, name, (2,))
                if right is not None and sorted(set(walk.listed(ply))) == legal_at(case, ply):
                    _expect_end(place, name, got, right)
                elif right is None or not np.array_equal(got, right):
                    _expect_consistent_end(place, name, got, listed_in(values), 3 - player)
            tally.found["ends"] += bool(values["game_end"][0])
        ended.append(walk.position)
    for position in ended[:AGAIN]:
        expect_new_game(worker, position, ("availables", *watch, *SHOWN), after=position.moves)
    ruling.seen = f"The same ends and winners in {GAMES} games."


def _is_over_by_rules(case: Case, walk: Walk, name: str) -> bool:
    """Return whether the game is over by the rules where a line ends, and the board says so."""
    end = case["ends"][walk.plies]
    return bool(end[0]) and np.array_equal(walk.seen[-1][name], end)


def _expect_end(place: str, name: str, got: np.ndarray, right: np.ndarray) -> None:
    over, winner = int(got[0]), int(got[1])
    if over and not right[0]:
        raise StudentFault(f"{place}, the game goes on, since a legal move is left; {name} says that it is over.")
    if right[0] and not over:
        raise StudentFault(f"{place}, the game is over, since no legal move is left; {name} says that it goes on.")
    if winner != right[1]:
        who = f"player {right[1]} has won" if right[0] else "nobody has won yet"
        rule = "A player who cannot move has lost." if right[0] else "Until the game is over, the winner is -1."
        raise StudentFault(f"{place}, {who}; {name} gives {winner}. {rule}")


def _expect_consistent_end(place: str, name: str, got: np.ndarray, listed: list[int], other: int) -> None:
    right = (0, -1) if listed else (1, other)
    if (int(got[0]), int(got[1])) != right:
        moves = f"lists {len(listed)} moves" if listed else "lists no move"
        raise StudentFault(
            f"{place}, your board {moves}, and {name} gives {bool(got[0])}, {got[1]:g}. The game is over when no legal move is "
            "left; a player who cannot move has lost."
        )


@pytest.mark.points("rules.planes")
def test_planes(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Compare the feature planes at every ply, and what `states` and `last_move` say of the same.

    Accepts: entries of 0 in `states` for points without a stone; games that a board follows only in part, because it does not
    list a legal move, which rules.legal judges. Where it takes the wrong player for the side to move, which rules.end judges,
    stones may have the other colour, and only right planes count.
    """
    ruling.expected = "current_state gives the four planes of section 2.3 at every ply."
    tally, watch = Tally({TURNS: LATE_MOVES}), ("current_state", "get_current_player?", "states!", "last_move")
    for case, walk in followed_games(worker, ruling, lambda: draw_game(cases, rng), GAMES, tally, *watch):
        for ply, values in enumerate(walk.seen):
            right, place = case["planes"][ply].astype(float), walk.position.after(ply)
            player, got = 1 + (walk.position.start_player + ply) % 2, shaped(values, "current_state", right.shape)
            if np.array_equal(values["get_current_player"], player):
                _expect_planes(place, got, right)
                _expect_stones(place, values, right, player)
            elif not np.array_equal(got, right):
                tally.cut(f"{place}, player {player} is to move; get_current_player gives something else.")
                break
            expect_last_move(values, walk.position, ply)
            tally.found[TURNS] += ply > len(case["moves"]) // 2
    ruling.seen = f"The same planes at every ply of {GAMES} games."


def _expect_planes(place: str, got: np.ndarray, right: np.ndarray) -> None:
    wrong = [number for number in range(len(right)) if not np.array_equal(got[number], right[number])]
    if not wrong:
        return
    if 0 in wrong and np.array_equal(got[[1, 0]], right[:2]):
        raise StudentFault(f"{place}, planes 0 and 1 are swapped: plane 0 is for {PLANES[0]}.")
    if np.array_equal(got[:, ::-1], right):
        raise StudentFault(f"{place}, the planes are upside down: row 0 of a plane is the top row of the board.")
    number = wrong[0]
    differing = int((got[number] != right[number]).sum())
    raise StudentFault(
        f"{place}, plane {number} ({PLANES[number]}) is wrong: it sums to {got[number].sum():g}, ours to "
        f"{right[number].sum():g}, and they differ at {differing} point{'s' * (differing > 1)}."
    )


def _expect_stones(place: str, values: Values, planes: np.ndarray, side: int) -> None:
    """Raise StudentFault unless `states` holds the stones of the planes, where `side` is to move."""
    own, other = planes[:2, ::-1].reshape(2, -1)
    right = {point: side if own[point] else 3 - side for point in np.flatnonzero(own + other).tolist()}
    if (got := stones_in(values)) == right:
        return
    if got.keys() == right.keys():
        raise StudentFault(f"{place}, states gives a stone to the wrong player.")
    stones = "the stone" if len(right) == 1 else f"the {len(right)} stones"
    raise StudentFault(f"{place}, states must hold {stones} on the board, as a dict point -> player.")


@pytest.mark.points("rules.copy")
def test_copy(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Move on a copy, and on the original of another copy; neither may show on the other board.

    Accepts: see `test_planes`.
    """
    ruling.expected = "A copy is equal to its original, and independent of it."
    watch = ["availables", "game_end?", "get_current_player?", *SHOWN]
    lines = followed_games(worker, ruling, lambda: draw_game(cases, rng), COPIES, Tally({LATE: LATE_MOVES}))
    judge_copies(worker, ruling, rng, ((walk, case["why"] == LEGAL, range(walk.plies)) for case, walk in lines), watch)


@pytest.mark.points("rules.refuses")
def test_refuses(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Play an illegal move of each kind in random positions, on a taken point, and off the board on both sides.

    On an empty board, a negative index from the end of a list of all points is that of a legal move.

    Accepts: illegal moves that the board itself lists, which rules.legal judges. Also see `test_planes`.
    """
    ruling.expected = "do_move raises ValueError for an illegal move and leaves the board as it was."
    watch = ["availables", "get_current_player?", *SHOWN]
    tally = Tally({LATE: LATE_MOVES, UNLISTED: TAKEN_TRIED})
    for case, walk in followed_games(worker, ruling, lambda: cases.draw("game", rng), REFUSED, tally):
        plies = rng.randrange(walk.plies // 2, walk.plies + 1)
        why, listed, position = case["why"][plies], walk.listed(plies), walk.position
        wrong = []
        for kind in REASONS:
            found = [move for move in np.flatnonzero(why == kind).tolist() if move not in listed]
            wrong += [rng.choice(found)] if found else []
        if any(why[move] == TAKEN for move in wrong):
            tally.found[UNLISTED] += 1
        elif walk.plies:
            tally.cut(f"{position.after(plies)}, it lists points that are taken.")
        outside = next(move for move in count(len(why)) if move not in listed)
        for ply, steps in ((plies, [*wrong, outside]), (0, [move for move in (-1,) if move not in walk.listed(0)])):
            start, legal = position.before(ply), np.flatnonzero(case["why"][ply] == LEGAL).tolist()
            then = rng.sample(legal, min(2, len(legal)))
            ruling.evidence["refused"] = {**start, "illegal": steps, "then": then}
            replies = worker.call("refusals", position=start, steps=steps, then=then, watch=watch)
            for move, reply in zip(steps, replies, strict=True):
                what, reason = _illegal(position, move, why)
                place = f"{position.after(ply)}, {what} is illegal ({reason})"
                expect_refusal(reply, place)
    ruling.seen = f"Illegal moves refused in {REFUSED} positions."


def _illegal(position: LabPosition, move: int, why: np.ndarray) -> tuple[str, str]:
    """Return an illegal move in words, and why it is illegal."""
    if 0 <= move < len(why):
        return position.name(move), REASONS[int(why[move])]
    return ("a pass", "NoGo has none") if move == len(why) else (f"move {move}", "it is off the board")
