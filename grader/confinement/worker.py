"""The process that runs a student's Python: it reads one request per line and replies with plain values.

`grader.confinement.worker_client` starts it inside the sandbox as `python -I worker_entry.py WORKSPACE`. It writes HELLO once,
before any of the student's code is loaded. A request is one JSON line `{"nonce", "seed", "op", "args"}`; the seed is for the
random generators that the student's code uses. The reply is `{"nonce", "value"}` or `{"nonce", "fault"}`, with values encoded
as in `grader.confinement.plain`. The descriptors of the exchange are moved first, so whatever the student prints goes to
standard error. This process judges nothing and knows no expected values.

`grader.confinement.boards` defines what a position is.
"""

from __future__ import annotations

import copy
import functools
import json
import math
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from grader.confinement import boards
from grader.confinement.blame import describe
from grader.confinement.cells import run_cell
from grader.confinement.loading import STATE, board_at, load_module, seed_generators
from grader.confinement.network_calls import HANDLES, OF_THE_NETWORK, OF_THE_TRAINING
from grader.confinement.plain import decode, encode, hash_priors_and_value, in_words, number, whole
from grader.confinement.searched_trees import (
    children_of,
    dump_tree,
    gained_visits,
    is_tree,
    most_visited_move,
    others_watched,
    playouts_on_copies,
    searched_root,
    set_root,
    stop_watching,
    update_held_back,
    visits_of,
    watch_roots,
)

HELLO = b"hello\n"
KEPT: dict[Any, tuple[Any, ReplacedEvaluator]] = {}


# ------------------------------------------------------------------------------------- boards and evaluators


@dataclass(eq=False)
class SearchEvaluator:
    """A `policy_value_fn(board, action_fc, evaluation_fc)` for a search to call.

    Args:
        kind: `uniform` (value 0), `hash` (`hash_priors_and_value`), `hash priors` (the same priors, value 0) or `network`
            (the student's own network, cached by feature planes).
        seed: the seed of the hash.
        at_root: the priors of the first position of a search, which has the most legal moves, in ascending order of moves;
            they replace the hash's.
        value_as_array: return the value as a (1, 1) array instead of a float; the interface allows both.
        ascending: give the moves in ascending order, and not in the order of the board's empty points as a network does.

    Attributes:
        finished: the number of calls for a game that was already over.
    """

    kind: str
    seed: int = 0
    value_as_array: bool = False
    at_root: np.ndarray | None = None
    ascending: bool = False
    cache: dict[bytes, tuple[list[tuple[int, float]], Any]] = field(default_factory=dict, init=False)
    finished: int = field(default=0, init=False)
    __name__ = "policy_value_fn"  # as functions and methods have one

    def __call__(self, board: Any, *handles: Any, **_: Any) -> tuple[Any, Any]:
        if not hasattr(board, "game_end"):
            raise TypeError(f"the policy function was called with {in_words(board)}; expected a Board")
        self.finished += bool(board.game_end()[0])
        legal = sorted(board.availables) if self.ascending else list(board.availables)
        if self.kind == "network":
            key = np.asarray(board.current_state()).tobytes()
            if key not in self.cache:
                pairs, value = STATE["net"].policy_value_fn(board, *HANDLES)
                self.cache[key] = (list(pairs), value)
            pairs, value = self.cache[key]
            return iter(pairs), copy.copy(value)  # a search may change an array in place
        if self.kind in ("hash", "hash priors"):
            ordered = sorted(legal)  # a search may permute the list of its copy
            priors, value = hash_priors_and_value(list(board.states.items()), board.get_current_player(), ordered, self.seed)
            value = value if self.kind == "hash" else 0.0
            if self.at_root is not None and len(legal) == len(self.at_root):
                priors = self.at_root
            prior_of = dict(zip(ordered, priors, strict=True))
            priors = [prior_of[move] for move in legal]
        else:
            priors, value = np.full(len(legal), 1.0 / max(1, len(legal))), 0.0
        return zip(legal, priors, strict=True), np.array([[value]]) if self.value_as_array else value


class ReplacedEvaluator:
    """An evaluator for a player that stays while its evaluator is replaced; see `make_player`."""

    __name__ = "policy_value_fn"

    def __init__(self) -> None:
        self.now: SearchEvaluator

    def __call__(self, *arguments: Any, **named: Any) -> tuple[Any, Any]:
        return self.now(*arguments, **named)


# -------------------------------------------------------------------------------------------------- searches


def make_player(
    kind: str,
    n_playout: int,
    c_puct: float,
    evaluator: dict[str, Any] | SearchEvaluator | ReplacedEvaluator,
    is_selfplay: int = 0,
    first_n_moves: int | None = None,
    kept: bool = False,
) -> Any:
    """Make one of the student's players: `mcts_pure` with the evaluator's priors as its policy, or `mcts_alphaZero`.

    Args:
        kept: return the player of the last such call with the same settings, after reset_player, as training does between
            games. A new player may begin with the same random numbers each time.
    """
    module = load_module(f"AlphaZero.{kind}")
    evaluate: Any = SearchEvaluator(**evaluator) if isinstance(evaluator, dict) else evaluator
    if kind == "mcts_pure":  # whose get_action may begin with a new MCTS
        module.policy_value_fn = lambda board: (evaluate(board)[0], 0)
    if kept:
        settings = (kind, n_playout, c_puct, is_selfplay, first_n_moves)
        if settings not in KEPT:
            replaced = ReplacedEvaluator()
            KEPT[settings] = make_player(kind, n_playout, c_puct, replaced, is_selfplay, first_n_moves), replaced
        player, replaced = KEPT[settings]
        replaced.now = evaluate
        player.reset_player()
        return player
    if kind == "mcts_pure":
        player = module.MCTSPlayer(c_puct=c_puct, n_playout=n_playout)
        player.mcts = module.MCTS(module.policy_value_fn, c_puct, n_playout)
    else:
        player = module.MCTSPlayer(evaluate, *HANDLES, c_puct=c_puct, n_playout=n_playout, is_selfplay=is_selfplay)
        if first_n_moves is not None:
            player.first_n_moves = first_n_moves
    return player


def plain_probs(value: Any) -> np.ndarray | None:
    """Return the second value of get_action as a flat array; None if it is not one, as pure MCTS may return anything there."""
    if value is None:
        return None
    try:
        return np.asarray(value, dtype=float).reshape(-1)
    except (TypeError, ValueError, RuntimeError):
        return None


class BoardChanged(ValueError):
    """get_action has changed the board that it was given."""


def act(player: Any, board: Any, is_selfplay: int, enough: float = math.inf) -> dict[str, Any]:
    """Call get_action once; return the move, the probabilities, the root of the search, and whether get_action has failed.

    Args:
        enough: with this many new visits a search is complete, and an exception that get_action raises then is excused, and so
            is an illegal move: the most visited move is returned, without probabilities.
    """
    mcts = player.mcts
    roots = watch_roots(mcts)
    if hasattr(player, "set_player_ind"):
        player.set_player_ind(board.get_current_player())
    before = _stones(board)
    fault = None
    try:
        with others_watched(mcts, roots):
            returned = player.get_action(board, is_selfplay=bool(is_selfplay), print_probs_value=False)  # as Game calls it
        move, probs = _move_and_probs(returned)
        if enough < math.inf and move not in board.availables:
            raise ValueError(f"get_action returned move {move}, which is not legal")
    except Exception as error:
        if enough == math.inf:
            raise
        fault = error
    finally:
        if _stones(board) != before:
            raise BoardChanged(
                "get_action changes the board that it was given, which must stay as it is: let each playout move on a copy"
            )
    last = getattr(player.mcts, "_root", None)
    # All visits count if get_action has begun with a new MCTS.
    roots.append((last, visits_of(last) if player.mcts is mcts else 0.0))
    if fault is not None:
        if gained_visits(roots) < enough:
            raise fault
        move, probs = whole(most_visited_move(searched_root(roots))), None
    return {"move": move, "probs": probs, "root": searched_root(roots), "failed": fault is not None}


def _move_and_probs(returned: Any) -> tuple[int, np.ndarray | None]:
    try:
        move, probs = returned
    except (TypeError, ValueError):
        raise TypeError(f"get_action must return a move and probabilities; it returned {in_words(returned)}") from None
    return whole(move), plain_probs(probs)


def _stones(board: Any) -> dict[Any, Any]:
    """Return the stones in any order: a search that undoes its moves puts captured stones back at the end.

    An entry of 0 is no stone; a board of a lab may leave one where it has tried a move.
    """
    return {point: player for point, player in board.states.items() if player != 0}


def with_tree(done: dict[str, Any]) -> dict[str, Any]:
    """Return what `act` has returned, with the whole tree as plain values instead of the root."""
    return {"move": done["move"], "probs": done["probs"], "tree": dump_tree(done["root"])}


def excusing(operation: Callable[..., Any]) -> Callable[..., Any]:
    """Let an operation take one more argument, `excused`: the slips of a player that another check reports.

    "board": the search plays on the board that it was given. The operation is repeated with a copy for each playout.
    "move": get_action fails when its search is complete, or returns an illegal move; see `act`.
    """

    @functools.wraps(operation)
    def excused_operation(*, excused: Sequence[str] = (), **arguments: Any) -> Any:
        if "move" in excused:
            arguments["enough"] = max(1, arguments["n_playout"] - 1)  # the root may not count its expansion
        try:
            return operation(**arguments)
        except BoardChanged:
            if "board" not in excused:
                raise
        KEPT.clear()
        seed_generators()
        with playouts_on_copies(load_module(f"AlphaZero.{arguments['kind']}").MCTS):
            return operation(**arguments)

    return excused_operation


@excusing
def search(
    position: dict[str, Any],
    evaluator: dict[str, Any],
    is_selfplay: int = 0,
    enough: float = math.inf,
    **player_args: Any,
) -> dict[str, Any]:
    """Call get_action of a new player, in play or in self-play.

    Returns:
        move, probs, tree, and finished: the number of evaluator calls for a game that was already over.
    """
    evaluate = SearchEvaluator(**evaluator)
    player = make_player(evaluator=evaluate, is_selfplay=is_selfplay, **player_args)
    done = act(player, board_at(position), is_selfplay, enough)
    return {**with_tree(done), "finished": evaluate.finished}


@excusing
def choose(positions: Sequence[dict[str, Any]], enough: float = math.inf, **player_args: Any) -> list[dict[str, Any]]:
    """Return the move of a new player in each position (in play, not in self-play), and the visits of its root's moves."""
    chosen = []
    for position in positions:
        done = act(make_player(**player_args), board_at(position), 0, enough)
        children = getattr(done["root"], "_children", None) or {}
        visits = [number(child._n_visits) for child in children.values()]
        chosen.append({"move": done["move"], "moves": np.array([whole(m) for m in children]), "visits": np.array(visits)})
    return chosen


@excusing
def self_play(
    position: dict[str, Any],
    plies: int,
    in_play: bool = False,
    opponent: int = 0,
    enough: float = math.inf,
    **player_args: Any,
) -> list[dict[str, Any]]:
    """Play up to `plies` moves of one player; return each with its probabilities and tree.

    An illegal move is the last one, and so is one after which get_action has failed: what it leaves behind is not known.

    In self-play the player plays both sides; in play it has an opponent.

    Args:
        opponent: the place of each of its moves among the legal ones in ascending order; by default it takes the lowest empty
            point, and with -1 it passes, where that is the last action.
    """
    player, board = make_player(is_selfplay=int(not in_play), **player_args), board_at(position)
    steps: list[dict[str, Any]] = []
    for _ in range(plies):
        done = act(player, board, int(not in_play), enough)
        steps.append(with_tree(done))
        move = done["move"]
        if done["failed"] or move not in board.availables:
            break
        board.do_move(move)
        if in_play and not board.game_end()[0]:
            board.do_move(sorted(board.availables)[opponent])
        if board.game_end()[0]:
            break
    return steps


@excusing
def advance(position: dict[str, Any], enough: float = math.inf, **player_args: Any) -> dict[str, Any] | None:
    """Call update_with_move after a search: for a move without a child, for -1, and for the root's most visited child.

    Each of these calls has a search of its own, which is kept from updating its tree. If get_action drops it in another way,
    the searched root is set again.

    Returns:
        The tree of the last search, the move of the most visited child, and for each call the tree from the new root on and
        whether the old root is still its parent; nothing if get_action drops its tree and `_root` cannot be set.

    Raises:
        ValueError: no child of the root has visits.
    """
    seen: dict[str, Any] = {}
    for name in ("unknown", "reset", "kept"):
        player = make_player(**player_args)
        with update_held_back(player.mcts):
            root = act(player, board_at(position), 0, enough)["root"]
        mcts, searched = player.mcts, dump_tree(root)
        stop_watching(mcts)
        if not (is_tree(getattr(mcts, "_root", None), searched) or set_root(mcts, root)):
            return None
        children, best = children_of(root), most_visited_move(root)
        parent = id(children[best]._parent)
        unknown = next(m for m in range(whole(max(children)) + 2) if m not in children)  # a taken point, or beyond the board
        move = {"unknown": unknown, "reset": -1, "kept": int(best)}[name]
        root = None  # a node may refer to its parent weakly
        mcts.update_with_move(move)
        new = mcts._root
        if new is None:
            raise ValueError(f"after update_with_move({move}), _root is None; expected a node")
        has_parent = new._parent is not None and (id(new._parent) == parent or is_tree(new._parent, searched))
        seen |= {"searched": searched, "move": int(best), name: {"tree": dump_tree(new), "has_parent": has_parent}}
    return seen


# ------------------------------------------------------------------------------------------------- exchange

OF_SEARCHES = (search, choose, self_play, advance)
OPERATIONS: dict[str, Callable[..., Any]] = {
    each.__name__: each for each in (*OF_SEARCHES, *OF_THE_NETWORK, *OF_THE_TRAINING, run_cell)
}
OPERATIONS |= {each.__name__: functools.partial(each, load_module) for each in boards.OF_RULES}


def main(workspace: Path, submitted: Sequence[str]) -> None:
    """Reply to requests until the input ends; `submitted` names the folders that have the submission's Python."""
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    sys.path.insert(0, str(workspace))
    replies.write(HELLO)
    replies.flush()
    for line in requests:
        request = json.loads(line)
        reply: dict[str, Any] = {"nonce": request["nonce"]}
        try:
            STATE["seed"] = request["seed"]
            seed_generators()
            reply["value"] = encode(OPERATIONS[request["op"]](**decode(request["args"])))
            text = json.dumps(reply)
        except BaseException as error:  # including SystemExit, since the student's exit() must not end the exchange
            reply.pop("value", None)
            reply["fault"] = describe(error, workspace, submitted)
            text = json.dumps(reply)
        replies.write(text.encode("ascii") + b"\n")
        replies.flush()
