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
import importlib
import json
import os
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from grader.confinement import boards
from grader.confinement.blame import describe
from grader.confinement.cells import run_cell
from grader.confinement.layers import layer_outputs
from grader.confinement.plain import decode, encode, hash_priors_and_value, number, whole
from grader.confinement.searched_trees import (
    children_of,
    dump_tree,
    is_tree,
    most_visited_move,
    searched_root,
    set_root,
    stop_watching,
    update_held_back,
    visits_of,
    watch_roots,
)

HELLO = b"hello\n"
SCRATCH = os.getcwd()  # what this module writes belongs there; a student's module may change the working folder
STATE: dict[str, Any] = {}
KEPT: dict[Any, tuple[Any, ReplacedEvaluator]] = {}


# ----------------------------------------------------------------------------------- modules and random generators


def seed_generators() -> None:
    """Seed the global random generators with the request's seed, in [0, 2**32)."""
    random.seed(STATE["seed"])
    np.random.seed(STATE["seed"])
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(STATE["seed"])


def load_module(name: str) -> Any:
    """Import a module. Seed the generators again after its first import, which may draw numbers, or add a generator (torch)."""
    if name in sys.modules:
        return sys.modules[name]
    module = importlib.import_module(name)
    seed_generators()
    return module


# ------------------------------------------------------------------------------------- boards and evaluators


board_at = partial(boards.board_at, load=load_module)


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

    def __call__(self, board: Any, *handles: Any, **_: Any) -> tuple[Any, Any]:
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
        player.mcts = module.MCTS(lambda board: (evaluate(board)[0], 0), c_puct, n_playout)
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


def act(player: Any, board: Any, is_selfplay: int) -> dict[str, Any]:
    """Call get_action once; return the move, the probabilities and the root of the search."""
    mcts = player.mcts
    roots = watch_roots(mcts)
    if hasattr(player, "set_player_ind"):
        player.set_player_ind(board.get_current_player())
    before = _stones(board)
    try:
        returned = player.get_action(board, is_selfplay=bool(is_selfplay), print_probs_value=False)  # as Game calls it
    finally:
        if _stones(board) != before:
            raise ValueError("get_action changes the board that it was given, which must stay as it is")
    try:
        move, probs = returned
    except (TypeError, ValueError):
        raise TypeError(f"get_action must return a move and probabilities; it returned {_what(returned)}") from None
    last = getattr(player.mcts, "_root", None)
    # All visits count if get_action has begun with a new MCTS.
    roots.append((last, visits_of(last) if player.mcts is mcts else 0.0))
    return {"move": whole(move), "probs": plain_probs(probs), "root": searched_root(roots)}


def _what(value: Any) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"


def _stones(board: Any) -> dict[Any, Any]:
    """Return the stones in any order: a search that undoes its moves puts captured stones back at the end.

    An entry of 0 is no stone; a board of a lab may leave one where it has tried a move.
    """
    return {point: player for point, player in board.states.items() if player != 0}


def step(player: Any, board: Any, is_selfplay: int) -> dict[str, Any]:
    """Call `act`, and return the whole tree as plain values instead of the root."""
    done = act(player, board, is_selfplay)
    return {"move": done["move"], "probs": done["probs"], "tree": dump_tree(done["root"])}


def search(position: dict[str, Any], evaluator: dict[str, Any], is_selfplay: int = 0, **player_args: Any) -> dict[str, Any]:
    """Call get_action of a new player, in play or in self-play.

    Returns:
        move, probs, tree, and finished: the number of evaluator calls for a game that was already over.
    """
    evaluate = SearchEvaluator(**evaluator)
    done = step(make_player(evaluator=evaluate, is_selfplay=is_selfplay, **player_args), board_at(position), is_selfplay)
    return {**done, "finished": evaluate.finished}


def choose(positions: Sequence[dict[str, Any]], **player_args: Any) -> list[dict[str, Any]]:
    """Return the move of a new player in each position (in play, not in self-play), and the visits of its root's moves."""
    chosen = []
    for position in positions:
        done = act(make_player(**player_args), board_at(position), 0)
        children = getattr(done["root"], "_children", None) or {}
        visits = [number(child._n_visits) for child in children.values()]
        chosen.append({"move": done["move"], "moves": np.array([whole(m) for m in children]), "visits": np.array(visits)})
    return chosen


def self_play(position: dict[str, Any], plies: int, in_play: bool = False, **player_args: Any) -> list[dict[str, Any]]:
    """Play up to `plies` moves of one player; return each with its probabilities and tree. An illegal one is the last.

    In self-play the player plays both sides; in play its opponent always takes the lowest empty point.
    """
    player, board = make_player(is_selfplay=int(not in_play), **player_args), board_at(position)
    steps: list[dict[str, Any]] = []
    for _ in range(plies):
        steps.append(step(player, board, int(not in_play)))
        move = steps[-1]["move"]
        if move not in board.availables:
            break
        board.do_move(move)
        if in_play and not board.game_end()[0]:
            board.do_move(min(board.availables))
        if board.game_end()[0]:
            break
    return steps


def advance(position: dict[str, Any], **player_args: Any) -> dict[str, Any] | None:
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
            root = act(player, board_at(position), 0)["root"]
        mcts, searched = player.mcts, dump_tree(root)
        stop_watching(mcts)
        if not (is_tree(getattr(mcts, "_root", None), searched) or set_root(mcts, root)):
            return None
        children, best = children_of(root), most_visited_move(root)
        parent = id(children[best]._parent)
        move = {"unknown": max(children) + 1_000, "reset": -1, "kept": int(best)}[name]
        root = None  # a node may refer to its parent weakly
        mcts.update_with_move(move)
        new = mcts._root
        if new is None:
            raise ValueError(f"after update_with_move({move}), _root is None; expected a node")
        has_parent = new._parent is not None and (id(new._parent) == parent or is_tree(new._parent, searched))
        seen |= {"searched": searched, "move": int(best), name: {"tree": dump_tree(new), "has_parent": has_parent}}
    return seen


# --------------------------------------------------------------------------------------------------- network


SYMMETRY_COUNT = 8  # a square board has eight symmetries
HANDLES = (2, 3)  # action_fc_test and evaluation_fc2_test; a network may refuse all other handles


def torch_module() -> Any:
    torch = load_module("torch")
    torch.set_num_threads(1)
    return torch


def as_arrays(state_dict: dict[str, Any]) -> dict[str, np.ndarray]:
    return {key: tensor.detach().cpu().numpy() for key, tensor in state_dict.items()}


def as_tensors(weights: dict[str, np.ndarray]) -> dict[str, Any]:
    torch = torch_module()
    return {key: torch.as_tensor(value) for key, value in weights.items()}


def model_layout(width: int, height: int, block: int) -> dict[str, list[int]]:
    """Return key -> shape for the state_dict of a new PolicyValueNetModel."""
    torch_module()
    module = load_module("AlphaZero.policy_value_net_torch")
    model = module.PolicyValueNetModel(width, height, block, 9)
    return {key: list(tensor.shape) for key, tensor in model.state_dict().items()}


def net_create(width: int, height: int, block: int, weights: dict[str, np.ndarray] | None = None, by_file: bool = True) -> None:
    """Make a PolicyValueNet for later calls, with these weights or, by default, newly initialised.

    Args:
        by_file: write the weights to a file and pass it as init_model; otherwise load them into the model's state_dict.
    """
    torch = torch_module()
    module = load_module("AlphaZero.policy_value_net_torch")
    path = None
    if weights is not None and by_file:
        path = os.path.join(SCRATCH, "given_weights.model")
        torch.save(as_tensors(weights), path)
    STATE["net"] = module.PolicyValueNet(width, height, block, init_model=path)
    if weights is not None and not by_file:
        STATE["net"].model.load_state_dict(as_tensors(weights))


def net_forward(states: np.ndarray, train_mode: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return the log probabilities and values that `forward` gives in train or eval mode; the model stays as it is."""
    torch, model = torch_module(), STATE["net"].model
    # A model that remembers an activation with its gradient cannot be copied.
    tensors, modes = [*model.parameters(), *model.buffers()], [(module, module.training) for module in model.modules()]
    kept = [tensor.detach().clone() for tensor in tensors]
    with torch.no_grad():
        try:
            model.train(train_mode)
            log_probs, value = model(torch.as_tensor(states).to(precision_of(model)))
            return log_probs.cpu().numpy(), value.cpu().numpy()
        finally:
            for tensor, entries in zip(tensors, kept, strict=True):
                tensor.copy_(entries)
            for module, mode in modes:
                module.training = mode


def precision_of(model: Any) -> Any:
    """Return the dtype of a model's first parameter: a network may compute in double precision."""
    return next((parameter.dtype for parameter in model.parameters()), torch_module().float32)


def net_forward_changed(changes: dict[str, np.ndarray], states: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Run `net_forward` with one entry of the model's state_dict changed at a time; return key -> both heads."""
    model = STATE["net"].model
    kept = {key: tensor.detach().clone() for key, tensor in model.state_dict().items()}
    heads = {}
    for key, value in changes.items():
        model.load_state_dict({**kept, **as_tensors({key: value})})
        heads[key] = net_forward(states)
    model.load_state_dict(kept)
    return heads


def net_policy_value(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    probs, value = STATE["net"].policy_value(states, *HANDLES)
    return np.asarray(probs), np.asarray(value)


def net_policy_value_fn(position: dict[str, Any]) -> tuple[list[tuple[int, float]], float]:
    """Return what policy_value_fn gives: the legal moves with priors, and the value."""
    return plain_pairs(STATE["net"].policy_value_fn(board_at(position), *HANDLES))


def net_random_symmetries(position: dict[str, Any], draws: int) -> list[tuple[list[tuple[int, float]], float]]:
    """Return the same from policy_value_fn_random, called `draws` times; each call draws a random symmetry."""
    return [plain_pairs(STATE["net"].policy_value_fn_random(board_at(position), *HANDLES)) for _ in range(draws)]


def plain_pairs(evaluation: tuple[Any, Any]) -> tuple[list[tuple[int, float]], float]:
    pairs, value = evaluation
    return [(whole(move), number(prior)) for move, prior in pairs], number(value)


def net_train(states: np.ndarray, probs: np.ndarray, winners: np.ndarray, lr: float, steps: int) -> list[list[float]]:
    """Call train_step `steps` times on one batch, passed as in train.py; return [loss, entropy] of each step."""
    done = []
    for _ in range(steps):
        loss, entropy = STATE["net"].train_step(tuple(states), tuple(probs), winners, lr)
        done.append([number(loss), number(entropy)])
    return done


def net_gradients() -> dict[str, np.ndarray]:
    """Return the gradients of the parameters after the last step; empty if there are none."""
    parameters = STATE["net"].model.named_parameters()
    return {name: w.grad.detach().cpu().numpy() for name, w in parameters if w.grad is not None}


def net_weights() -> dict[str, np.ndarray]:
    return as_arrays(STATE["net"].model.state_dict())


# -------------------------------------------------------------------------------------------------- training


def train_start(weights: dict[str, np.ndarray]) -> None:
    """Make the framework's TrainPipeline with the student's modules and these weights.

    Later calls use its average network.
    """
    torch_module()
    for name in ("tmp", "model"):
        os.makedirs(os.path.join(SCRATCH, name), exist_ok=True)
    pipeline = load_module("train").TrainPipeline()
    for net in (pipeline.policy_value_net, pipeline.average_net):
        net.model.load_state_dict(as_tensors(weights))
    STATE["pipeline"], STATE["net"] = pipeline, pipeline.average_net


def train_games(games: int) -> None:
    """Play games of self-play, each followed by its updates."""
    for _ in range(games):
        STATE["pipeline"].step()


def train_play() -> dict[str, np.ndarray]:
    """Play one game of self-play; return it in the form of `watched_training.GameSamples`."""
    pipeline = STATE["pipeline"]
    pipeline.data_buffer.clear()
    pipeline.collect_selfplay_data()
    # Each sample comes in all symmetries, and the first is the one that was played.
    states, probs, winners = zip(*list(pipeline.data_buffer)[::SYMMETRY_COUNT], strict=True)
    return {"states": np.stack(states), "probs": np.stack(probs).astype(float), "winners": np.array(winners, dtype=float)}


def train_steps(states: np.ndarray, probs: np.ndarray, winners: np.ndarray, lr: float) -> list[dict[str, np.ndarray]]:
    """Take one training step per batch, passed as in train.py; return the weights after each step."""
    pipeline, weights = STATE["pipeline"], []
    for batch in zip(states, probs, winners, strict=True):
        pipeline.policy_value_net.train_step(tuple(batch[0]), tuple(batch[1]), batch[2], lr)
        pipeline.update_average()
        weights.append(as_arrays(copy.deepcopy(pipeline.policy_value_net.model.state_dict())))
    return weights


# ------------------------------------------------------------------------------------------------- exchange

OF_BOARDS = (search, choose, self_play, advance, net_policy_value_fn, net_random_symmetries)
OF_THE_NETWORK = (model_layout, net_create, net_weights, net_forward, net_forward_changed, net_policy_value)
STEPS = (net_train, net_gradients, train_start, train_games, train_play, train_steps, run_cell)
OPERATIONS: dict[str, Callable[..., Any]] = {each.__name__: each for each in (*OF_BOARDS, *OF_THE_NETWORK, *STEPS)}
OPERATIONS |= {each.__name__: partial(each, load_module) for each in boards.OF_RULES}
OPERATIONS["net_layers"] = lambda states: layer_outputs(torch_module(), STATE["net"].model, states)


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
