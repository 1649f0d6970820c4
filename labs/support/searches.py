"""A student's AlphaZero search on a student's board: the numbers of its tree, wins in one move, losses to avoid.

A search plays on the student's own board. If a verdict is bad and that board breaks the rules in the very position, which the
checks of the rules judge, the search alone is judged on a board of ours (`grader.confinement.boards.GivenBoard`). So a
mistake in the rules costs no point of the search, and no board can make a wrong search look right: whichever board is played
on, the true rules decide.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from grader.confinement.boards import GivenBoard
from grader.confinement.plain import hash_priors_and_value
from grader.confinement.worker_client import NOT_WRITTEN, Worker
from grader.errors import StudentFault
from grader.judge.support.ruling import Ruling
from grader.judge.support.searches import with_either_value
from grader.judge.support.trees import (
    Tree,
    boards_of,
    expect_finished_games_to_end,
    expect_legal_children,
    expect_values_add_up,
    expect_visits_add_up,
    most_visited,
)
from labs.support.boards import LabPosition, stones_in, walked
from labs.support.cases import Case
from labs.support.tables import table_in

KIND = "mcts_alphaZero"
C_PUCT = 3.0
NO_PROBABILITY = 1e-9  # what rounding, or softmax(log(visits + 1e-10)) over the whole board, may leave at an illegal action
SAME_SHARES = 1e-3  # how far probabilities may be from the shares of the visits; one visit of 120 is eight times as much
SHARPENED = 0.98  # the least probability of the most visited moves if the probabilities are those of a low temperature
SAME_PRIORS = 1e-3  # how far the prior of a child may be from the policy
SECOND_PLAYOUTS = 40  # of a search that only shows which tree it uses
SHOWN_MOVES = 8  # of a list of right moves in a message
DRAWS = 8  # positions that may be drawn for each one that a check needs
LOST = 2  # the same, after which a check gives up if nothing could be judged
EXCUSED = ("board", "move")  # what search.tree reports and other checks excuse; see `grader.confinement.worker.excusing`
RULES = ("availables!", "game_end", "get_current_player", "states!")


@dataclass(frozen=True)
class Searched:
    """A position that a search begins from, with our table of it.

    Attributes:
        place: the position on the student's own board.
        table: see `labs.support.tables`.
        given: whether the search plays on a board of ours instead.
        later: moves after which a tree begins.
    """

    place: LabPosition
    table: Mapping[str, np.ndarray]
    given: bool = False
    later: tuple[int, ...] = ()

    def board(self) -> GivenBoard:
        """Return a board of ours in this position."""
        board = GivenBoard(self.table)
        for move in self.later:
            board.do_move(move)
        return board

    def to_json(self) -> dict[str, Any]:
        """Return the position as it is sent to a worker."""
        return {"table": self.table, "moves": []} if self.given else self.place.to_json()


class NotJudged(StudentFault):
    """A fault that another check reports leaves nothing to judge in a position; if none can be judged, the check fails so."""


def judge_searches(
    worker: Worker,
    ruling: Ruling,
    draw: Callable[[], tuple[LabPosition, Case]],
    judge: Callable[[Searched, Case], None],
    wanted: int,
) -> str:
    """Judge a search in `wanted` positions, each on a board that follows the rules there.

    A position in which nothing can be judged is replaced, a limited number of times. So is one to which the student's board
    does not follow half of the way: nobody gets the points of a search for a board that hardly plays.

    Args:
        draw: draws a position and its case.
        judge: raises StudentFault if the search is wrong there.

    Returns:
        How the student's board made boards of ours necessary, as a sentence; empty if none was.

    Raises:
        StudentFault: the search is wrong, or too few positions can be judged.
    """
    remarks, left_out = list[str](), NotJudged("")
    for number in range(DRAWS * wanted):
        if number == LOST * wanted and not remarks:
            break
        place, case = draw()
        ruling.evidence["search"] = place.to_json()
        try:
            remarks.append(_judge_one(worker, Searched(place, table_in(case)), case, judge))
        except NotJudged as reason:
            left_out = reason
        if len(remarks) == wanted:
            return next(filter(None, remarks), "")
    raise left_out


def _judge_one(worker: Worker, position: Searched, case: Case, judge: Callable[[Searched, Case], None]) -> str:
    """Judge a search in one position; return why it was judged on a board of ours, empty if it was not."""
    try:
        judge(position, case)
    except StudentFault as fault:
        told = str(fault)
        if told.startswith(f"{NOT_WRITTEN} AlphaZero/"):
            raise
        mistake = _mistake(worker, position) or (told if told.startswith(NOT_WRITTEN) else "")
        if not mistake:
            raise
        game = _game_before(position.place)
        if 2 * walked(worker, game).plies < len(game.moves):
            raise NotJudged(f"This depends on the rules, and your board follows them in too few games. {mistake}") from fault
        _judge_alone(replace(position, given=True), case, judge)
        return f"{mistake} So the search was judged on a board of ours wherever yours goes wrong."
    return ""


def _judge_alone(searched: Searched, case: Case, judge: Callable[[Searched, Case], None]) -> None:
    try:
        judge(searched, case)
    except NotJudged:
        raise
    except StudentFault as fault:
        raise StudentFault(f"{fault} This was seen on a board of ours, because yours goes wrong there.") from fault


def _mistake(worker: Worker, searched: Searched) -> str:
    """Return where the student's board goes wrong in this position or after it, as a sentence; empty if it does not.

    The lines are played on copies of one board, as a search plays them, and on a copy of that after each move, since a search
    may also begin there.

    Raises:
        StudentFault: not even the game before can be played, because the board lacks something that is not written yet.
    """
    lines = [*_lines(searched.table), []]  # at the end, the first position again
    copied = [[step for move in line for step in (move, ["copy"])] for line in lines]
    lines *= 2
    try:
        played = [*lines[: len(copied)], *copied]
        replies = worker.call("follow", position=searched.place.to_json(), lines=played, watch=RULES, on_copies=True)
    except StudentFault as fault:
        return walked(worker, _game_before(searched.place)).stop or str(fault)
    for line, reply in zip(lines, replies, strict=True):
        board, position = searched.board(), searched.place
        for move in line:
            board.do_move(move)
        place = replace(position, moves=(*position.moves, *line)).after(len(position.moves) + len(line))
        if reply["fault"]:
            return f"{place}, all moves are legal, but on a copy of your board do_move raised {reply['fault']}."
        got = reply["seen"][-1]
        right = {
            "availables": board.availables,
            "game_end": board.game_end(),
            "get_current_player": board.get_current_player(),
        }
        wrong = [name for name, value in right.items() if not np.array_equal(got[name], np.asarray(value, dtype=float))]
        try:
            wrong += ["states"] if stones_in(got) != board.states else []
        except StudentFault as fault:
            return f"{place}, {fault}"
        if wrong:
            return f"{place}, a copy of your board is wrong in {wrong[0]}."
    return ""


def _game_before(place: LabPosition) -> LabPosition:
    """Return the position without calls of methods, such as the one that begins a simulation."""
    return replace(place, moves=tuple(step for step in place.moves if isinstance(step, int)))


def _lines(table: Mapping[str, np.ndarray]) -> list[list[int]]:
    """Return the moves from the first position of a table to each position, in the order of the positions."""
    lines: dict[int, list[int]] = {0: []}
    for before, move, after in table["edges"].tolist():
        lines.setdefault(after, [*lines[before], move])
    return [lines[number] for number in range(len(lines))]


def searched(
    worker: Worker,
    position: Searched,
    evaluator: dict[str, Any],
    n_playout: int,
    *,
    is_selfplay: int = 0,
    excused: Collection[str] = (),
) -> dict[str, Any]:
    """Call get_action of a new player; return its move, its probabilities and its tree."""
    search = partial(worker.call, "search", position=position.to_json(), kind=KIND, c_puct=C_PUCT, excused=list(excused))
    reply: dict[str, Any] = with_either_value(partial(search, is_selfplay=is_selfplay, n_playout=n_playout), evaluator)
    return reply


def expect_sound_search(worker: Worker, position: Searched, seed: int, *, n_playout: int, actions: int) -> None:
    """Raise StudentFault unless a search in play and one in self-play are sound: their trees, probabilities and moves.

    Args:
        seed: the seed of the evaluator's hash.
        actions: the length of the probabilities that get_action returns.
    """
    _expect_sound_search(worker, position, seed, n_playout, actions, is_selfplay=0)
    try:
        _expect_sound_search(worker, position, seed, n_playout, actions, is_selfplay=1)
    except StudentFault as fault:
        raise StudentFault(f"{fault} This was seen in self-play.") from fault


def _expect_sound_search(
    worker: Worker, position: Searched, seed: int, n_playout: int, actions: int, *, is_selfplay: int
) -> None:
    reply = searched(worker, position, {"kind": "hash", "seed": seed}, n_playout, is_selfplay=is_selfplay)
    tree = Tree.from_reply(reply["tree"])
    evaluate = partial(_hash_evaluation, seed)
    _expect_sound_tree(tree, position, evaluate, n_playout, has_noise=bool(is_selfplay))
    probs, move, visits = reply["probs"], reply["move"], tree.root_visits
    _expect_probabilities(probs, move, position.board().availables, actions)
    shares = np.zeros(actions)
    shares[list(visits)] = np.array(list(visits.values())) / sum(visits.values())
    most = sorted(most_visited(visits))
    if np.abs(probs - shares).max() > SAME_SHARES and probs[most].sum() < SHARPENED:
        raise StudentFault("The probabilities that get_action returns are not the shares of the visits of the root's children.")
    if not is_selfplay and move not in most:
        raise StudentFault(f"In play, get_action returned {move}, which is not a most visited move ({most[:SHOWN_MOVES]}).")


@dataclass
class SelfPlayDraws:
    """What one player draws in self-play in positions in which some moves are right.

    Attributes:
        drawn: whether it has drawn a right move.
        missed: the chance that a player who draws each move by its share of the visits has drawn none.
    """

    drawn: bool = False
    missed: float = 1.0

    def draw(self, worker: Worker, position: Searched, right: Collection[int], n_playout: int) -> None:
        """Let the player draw a move, unless it has drawn a right one or get_action fails, which search.tree reports.

        The draw counts if a right move is the most visited one, which a player at a low temperature draws more often still.
        """
        if self.drawn:
            return
        play = partial(worker.call, "self_play", position=position.to_json(), kind=KIND, c_puct=C_PUCT, plies=1, kept=True)
        try:
            (step,) = with_either_value(partial(play, n_playout=n_playout), {"kind": "uniform"})
            visits = Tree.from_reply(step["tree"]).root_visits
        except StudentFault:
            return
        self.drawn = step["move"] in right
        if most_visited(visits) <= set(right):
            self.missed *= 1 - sum(visits.get(move, 0.0) for move in right) / sum(visits.values())


Evaluate = Callable[[Any], tuple[Mapping[int, float], float]]
"""Position -> the priors of its legal moves, and its value for the side to move."""


def _hash_evaluation(seed: int, board: Any) -> tuple[Mapping[int, float], float]:
    legal = sorted(board.availables)
    priors, value = hash_priors_and_value(list(board.states.items()), board.get_current_player(), legal, seed)
    return dict(zip(legal, priors.tolist(), strict=True)), float(value)


def _uniform_evaluation(board: Any) -> tuple[Mapping[int, float], float]:
    return dict.fromkeys(board.availables, 1 / max(1, len(board.availables))), 0.0


def _expect_sound_tree(tree: Tree, position: Searched, evaluate: Evaluate, n_playout: int, *, has_noise: bool = False) -> None:
    expect_visits_add_up(tree, n_playout)
    expect_finished_games_to_end(tree, position)
    expect_legal_children(tree, position)
    if not has_noise:
        _expect_priors(tree, position, evaluate)
    expect_values_add_up(tree, position, lambda board: evaluate(board)[1])


def _expect_priors(tree: Tree, position: Searched, evaluate: Evaluate) -> None:
    """Raise StudentFault unless each child has the prior that the policy gave to its move."""
    boards = boards_of(tree, position)
    for node in np.unique(tree.parent[1:]).tolist():
        priors = evaluate(boards[node])[0] if node in boards else {}
        for child in tree.children(node).tolist():
            move, got = int(tree.move[child]), float(tree.prior[child])
            if move in priors and abs(got - priors[move]) > SAME_PRIORS:
                where = f"The node after moves {tree.path(node)}" if node else "The root"
                raise StudentFault(
                    f"{where} has a child for {position.place.name(move)} with the prior {got:.3g}; policy_value_fn gives "
                    f"{priors[move]:.3g}."
                )


def expect_tree_of_its_own(worker: Worker, position: Searched, seed: int, *, in_play: bool, opponent: int = 0) -> None:
    """Raise StudentFault unless a player's second search in a game begins from the position that it is given.

    The tree may be new, or the part of the first one below the moves that have been played.

    Args:
        seed: the seed of the evaluator's hash.
        in_play: whether the player has an opponent, who moves between the searches, or plays both sides in self-play.
        opponent: which move the opponent plays; see `grader.confinement.worker.self_play`.
    """
    play = partial(worker.call, "self_play", position=position.to_json(), kind=KIND, c_puct=C_PUCT, plies=2, opponent=opponent)
    play = partial(play, in_play=in_play, n_playout=SECOND_PLAYOUTS)
    try:
        steps = with_either_value(play, {"kind": "hash", "seed": seed})
        if len(steps) < 2:
            return  # the game is over before
        moves, board = [int(steps[0]["move"])], position.board()
        board.do_move(moves[0])
        moves += [sorted(board.availables)[opponent]] if in_play else []
        later = replace(position, later=tuple(moves))
        tree = Tree.from_reply(steps[1]["tree"])
        expect_legal_children(tree, later)
        expect_values_add_up(tree, later, lambda board: _hash_evaluation(seed, board)[1])
    except StudentFault as fault:
        raise StudentFault(
            "In the second search of a game, the tree does not begin from the position on the board: take a new tree for each "
            "search, or follow each move of both players by update_with_move, and leave the board itself as it is. "
            f"{fault}"
        ) from fault


def _expect_probabilities(probs: np.ndarray | None, move: int, legal: Collection[int], actions: int) -> None:
    if probs is None or probs.shape != (actions,):
        got = "no numbers" if probs is None else f"{probs.shape[0]} of them"
        raise StudentFault(f"get_action returns the probabilities of all {actions} actions of the board; got {got}.")
    if not np.isfinite(probs).all() or abs(float(probs.sum()) - 1.0) > 1e-3 or (probs < -NO_PROBABILITY).any():
        raise StudentFault("The probabilities that get_action returns must lie in [0, 1] and sum to 1.")
    if wrong := [action for action in np.flatnonzero(probs > NO_PROBABILITY).tolist() if action not in legal]:
        raise StudentFault(f"get_action gives a probability to illegal actions: {wrong[:SHOWN_MOVES]}.")
    if move not in legal:
        raise StudentFault(f"get_action returned {move}, which is not a legal action.")


def expect_right_move(
    worker: Worker,
    ruling: Ruling,
    position: Searched,
    case: Case,
    *,
    n_playout: int,
    what: tuple[str, str],
    usual: Callable[[], tuple[LabPosition, Case]],
) -> None:
    """Raise StudentFault unless the search plays one of the right moves of a case.

    Args:
        what: what one right move does, and what several do, such as `wins at once` and `win at once`.
        usual: draws a position on a board of the same size, of the kind in which search.tree judges a search. If get_action
            fails there, too, that check reports it.

    Raises:
        NotJudged: get_action fails here and in usual positions.
    """
    search = partial(searched, worker, position, {"kind": "uniform"}, n_playout)
    try:
        reply = search()
    except StudentFault as fault:
        if not _fails_in(worker, usual, position.given):
            raise
        try:
            reply = search(excused=EXCUSED)
        except StudentFault:
            raise NotJudged(f"This depends on search.tree, and get_action fails in too many positions. {fault}") from fault
    place, right = position.place, [int(move) for move in case["right"]]
    if reply["move"] not in right:
        ruling.evidence.setdefault("searches", []).append({**place.to_json(), "right": right, "played": reply["move"]})
        names = ", ".join(place.name(move) for move in right[:SHOWN_MOVES])
        raise StudentFault(
            f"{place.after(len(place.moves))}, {names} {what[len(right) > 1]}; your search played {place.name(reply['move'])} "
            f"after {n_playout} playouts. {_ending(worker, position, [right[0], reply['move']])} "
            f"{_cause(position, reply, n_playout)}"
        )


def _fails_in(worker: Worker, usual: Callable[[], tuple[LabPosition, Case]], given: bool) -> bool:
    """Return whether get_action fails in a usual position, on the same board as where it has failed."""
    place, case = usual()
    try:
        searched(worker, Searched(place, table_in(case), given), {"kind": "uniform"}, SECOND_PLAYOUTS)
    except StudentFault:
        return True
    return False


def _cause(position: Searched, reply: Mapping[str, Any], n_playout: int) -> str:
    """Return what is wrong with the tree of a search that has played a wrong move, as a sentence."""
    try:
        _expect_sound_tree(Tree.from_reply(reply["tree"]), position, _uniform_evaluation, n_playout)
    except StudentFault as fault:
        return str(fault)
    return "If that is right, check who sees the result of a finished game, and how the move is chosen from the visits."


def _ending(worker: Worker, position: Searched, moves: list[int]) -> str:
    """Return what the board says after the first of these moves that ends the game, or after the first move."""
    replies = worker.call("follow", position=position.to_json(), lines=[[move] for move in moves], watch=["game_end"])
    told = {}
    for move, reply in zip(moves, replies, strict=True):
        over, winner = np.resize(reply["seen"][-1]["game_end"], 2)
        won = "the game is a draw" if winner == -1 else f"player {winner:g} has won"
        told[move] = won if over and not reply["fault"] else ""
    move = next((move for move in moves if told[move]), moves[0])
    whose = "the board" if position.given else "your board"
    return f"After {position.place.name(move)}, game_end of {whose} says that {told[move] or 'the game goes on'}."
