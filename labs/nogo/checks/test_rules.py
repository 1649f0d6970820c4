"""The student's rules of NoGo against ours, on every position of random games (handout 2)."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from grader.confinement.worker_client import Worker
from grader.errors import StudentFault
from grader.judge.support.ruling import Ruling
from labs.support.boards import LabPosition, Values, line_of, shaped
from labs.support.cases import Case, Cases

BOARD = "NoGo.board.Board"
GAMES, COPIES, REFUSED = 24, 16, 12
SEPARATE = 6  # moves that one board plays before its copy, or the other way round
LEGAL, TAKEN, SUICIDE, CAPTURE = range(4)
REASONS = {
    TAKEN: "it is taken",
    SUICIDE: "there it would leave its own chain without a liberty (suicide)",
    CAPTURE: "there it would take the last liberty of an opposing chain (a capture)",
}
CHECK_LIBERTIES = "Check the liberties of the chains beside it."
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
        position, seen, fault = followed(worker, ruling, case, "availables")
        for ply, values in enumerate(seen):
            _expect_legal(position, ply, values["availables"].reshape(-1), case["why"][ply])
        if fault:
            ply = len(seen) - 1
            move = position.name(line_of(case)[ply])
            raise StudentFault(f"{position.after(ply)}, {move} is legal, but do_move raised {fault}.")
        plies += len(seen)
    ruling.seen = f"The same moves at all {plies} plies of {GAMES} games."


def _expect_legal(position: LabPosition, ply: int, listed: np.ndarray, why: np.ndarray) -> None:
    moves, legal, place = [int(move) for move in listed], set(np.flatnonzero(why == LEGAL).tolist()), position.after(ply)
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
    """Compare the end of the game, the winner and the side to move at every ply."""
    ruling.expected = "The game is over when the side to move has no legal move, and that player has lost."
    for _ in range(GAMES):
        case = cases.draw("game", rng)
        position, seen, fault = followed(worker, ruling, case, "game_end", "has_a_winner", "get_current_player")
        for ply, values in enumerate(seen):
            place = position.after(ply)
            over, winner = (int(value) for value in case["ends"][ply])
            player = int(shaped(values, "get_current_player", ()))
            ruling.expect(player == case["players"][ply], f"{place}, player {case['players'][ply]} is to move; got {player}.")
            for name in ("game_end", "has_a_winner"):
                _expect_end(place, name, shaped(values, name, (2,)), (over, winner))
        ruling.expect(not fault, f"{position.after(len(seen) - 1)}, the next move is legal, but do_move raised {fault}.")
    ruling.seen = f"The same ends and winners in {GAMES} games."


def _expect_end(place: str, name: str, got: np.ndarray, right: tuple[int, int]) -> None:
    over, winner = int(got[0]), int(got[1])
    if over and not right[0]:
        raise StudentFault(f"{place}, the game goes on, since a legal move is left; {name} says that it is over.")
    if right[0] and not over:
        raise StudentFault(f"{place}, the game is over, since no legal move is left; {name} says that it goes on.")
    if winner != right[1]:
        who = f"player {right[1]} has won" if right[0] else "nobody has won yet"
        raise StudentFault(f"{place}, {who}; {name} gives {winner}. Whoever is to move and cannot has lost.")


@pytest.mark.points("rules.planes")
def test_planes(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Compare the feature planes at every ply."""
    ruling.expected = "current_state gives the four planes of section 2.3 at every ply."
    for _ in range(GAMES):
        case = cases.draw("game", rng)
        position, seen, _ = followed(worker, ruling, case, "current_state")
        for ply, values in enumerate(seen):
            right = case["planes"][ply].astype(float)
            _expect_planes(position.after(ply), shaped(values, "current_state", right.shape), right)
    ruling.seen = f"The same planes at every ply of {GAMES} games."


def _expect_planes(place: str, got: np.ndarray, right: np.ndarray) -> None:
    wrong = [number for number in range(len(right)) if not np.array_equal(got[number], right[number])]
    if not wrong:
        return
    if np.array_equal(got[[1, 0]], right[:2]):
        raise StudentFault(f"{place}, planes 0 and 1 are swapped: plane 0 is for {PLANES[0]}.")
    if np.array_equal(got[:, ::-1], right):
        raise StudentFault(f"{place}, the planes are upside down: row 0 of a plane is the top row of the board.")
    number = wrong[0]
    raise StudentFault(
        f"{place}, plane {number} ({PLANES[number]}) is wrong: it sums to {got[number].sum():g}, ours to "
        f"{right[number].sum():g}, and they differ at {int((got[number] != right[number]).sum())} points."
    )


@pytest.mark.points("rules.copy")
def test_copy(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Move on a copy, and on the original of another copy; neither may show on the other board."""
    ruling.expected = "A copy is equal to its original, and independent of it."
    watch = ["availables", "game_end", "get_current_player", "current_state", "states"]
    for _ in range(COPIES):
        case = cases.draw("game", rng)
        position = LabPosition.of(BOARD, case)
        plies = rng.randrange(len(position.moves))
        start = position.before(plies)
        ruling.evidence["copy"] = start
        steps, legal = list(position.moves[plies : plies + SEPARATE]), np.flatnonzero(case["why"][plies] == LEGAL).tolist()
        other = int(rng.choice([move for move in legal if move not in steps] or legal))
        shown = worker.call("copies", position=start, steps=steps, other=other, watch=watch)
        _expect_same(position.after(plies), shown)
    ruling.seen = f"Independent copies in {COPIES} positions."


def _expect_same(place: str, shown: dict[str, Values]) -> None:
    pairs = (
        ("original", "copy", "the copy differs from its original in"),
        ("original", "original later", "a move on the copy changes the original's"),
        ("original", "copy later", "a move on the original changes the copy's"),
        ("alone", "original moved", "earlier moves on the copy change what a move on the original does to"),
        ("alone", "copy moved", "earlier moves on the original change what a move on the copy does to"),
    )
    for first, second, words in pairs:
        for name, value in shown[first].items():
            if not np.array_equal(value, shown[second][name]):
                raise StudentFault(f"{place}, {words} {name}. Copy every list, dict and set, and what they hold.")


@pytest.mark.points("rules.refuses")
def test_refuses(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Play an illegal move of each kind in random positions."""
    ruling.expected = "do_move raises ValueError for an illegal move and leaves the board as it was."
    for _ in range(REFUSED):
        case = cases.draw("game", rng)
        position = LabPosition.of(BOARD, case)
        plies = rng.randrange(len(position.moves) // 2, len(position.moves) + 1)
        why = case["why"][plies]
        wrong = [int(rng.choice(found)) for kind in REASONS if (found := np.flatnonzero(why == kind)).size]
        start = position.before(plies)
        ruling.evidence["refused"] = {**start, "illegal": [*wrong, len(why)]}
        watch = ["availables", "get_current_player", "states"]
        replies = worker.call("refusals", position=start, steps=[*wrong, len(why)], watch=watch)
        for move, reply in zip([*wrong, len(why)], replies, strict=True):
            what = "a pass" if move == len(why) else position.name(move)
            reason = "NoGo has none" if move == len(why) else REASONS[int(why[move])]
            place = f"{position.after(plies)}, {what} is illegal ({reason})"
            ruling.expect(reply["raised"] != "", f"{place}; do_move plays it.")
            ruling.expect(reply["raised"] == "ValueError", f"{place}; do_move raised {reply['raised']} instead of ValueError.")
            same = all(np.array_equal(reply["before"][name], reply["after"][name]) for name in watch)
            ruling.expect(same, f"{place}; do_move refuses it, but has already changed the board.")
    ruling.seen = f"Illegal moves refused in {REFUSED} positions."
