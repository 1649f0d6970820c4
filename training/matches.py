"""Matches between two agents with all games side by side: python -m training.matches FIRST SECOND [options]

    alphazero:model/11_11_5.pt?playouts=400     PUCT with these weights (`puct.py`); `&leaves=8` evaluates 8 leaves at once
    gumbel:model/11_11_5.pt?playouts=32         Gumbel search with these weights (`gumbel.py`)
    policy:model/11_11_5.pt                     the network's most probable move, without a search
    muzero:runs/NAME?playouts=100               the search and the latest model of a run of `training.muzero`
    mcts:playouts=1000                          pure Monte Carlo tree search with random rollouts (handout section 5.1)

`&backend=NAME` says what computes the network of this agent, as --backend does for both. Without either, the libraries and
types are timed and the fastest is taken, 8-bit integers included if `training.quantise` has put a file beside the weights.

In Go, `&search_depth=N` chooses how the search of an agent ends its games: N is the depth limit of one that plays on after two
passes (`games.go.position`), and with 0 two passes end them, as in real games. The default for a network is that of its run, if
the run's folder or a manifest says so, and 0 for everything else.

The rules are those of a game of `games/` (--game), by default Gomoku, without a swap. Games come in pairs with one opening,
which is drawn at random (in Gomoku near the centre); the agents swap seats between the two games. Every move is searched with a
new tree and without noise, as in `get_action` outside self-play. All games run in lockstep, so that their leaves form one batch
for the network. The network's idle residual blocks are left out.
"""

from __future__ import annotations

if __name__ == "__main__":
    from common.program_starts import leave_on_ctrl_c

    leave_on_ctrl_c("Interrupted.")  # torch takes seconds to import, and there is nothing to save

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, get_args
from urllib.parse import parse_qsl

import numpy as np
import torch

from arena.statistics.estimates import GameResult, MatchStatistics, match_statistics
from arena.statistics.stopping import StoppingRule
from common.errors import UsageError
from common.program_ends import Parser, run_program
from common.program_starts import INTERRUPTED
from common.subnormals import flush_subnormals
from games.catalog import GAMES, rules_of
from games.go.rules import GoRules
from games.protocol import NOBODY, GameRules, PositionBatch
from training.inference.evaluators import (
    Evaluator,
    InferenceNetwork,
    PlayerBackend,
    PositionCache,
    StateEvaluator,
    network_to_play,
)
from training.inference.networks import read_model
from training.muzero.muzero_run import read_muzero_run
from training.origin import settings_of_run
from training.search.gumbel import GumbelSettings, playouts_at_once
from training.search.latent import LatentSearchModel
from training.search.puct import PuctSettings
from training.search.rollouts import make_rollouts
from training.search.steps import StepsMaker
from training.second_pass import answer_passes
from training.selfplay.game_stream import make_search

REPORT_EVERY_S = 30.0
DEFAULTS = {"playouts": 400, "considered": 16, "search_depth": 0, "leaves": 1}
LEAST = {"playouts": 2, "considered": 2, "search_depth": 2, "leaves": 1}


class Agent(Protocol):
    """Chooses moves in many games at once."""

    def choose(self, boards: PositionBatch) -> np.ndarray:
        """Return a legal move for each of these positions, [G]; no game is over, and `boards` is not changed."""


@dataclass(frozen=True)
class SearchAgent:
    """Searches each position with a new tree, without noise, and plays the most visited (PUCT) or best (Gumbel) move.

    Attributes:
        evaluate: the network, random rollouts, or a learnt model.
        settings: the search settings.
        rng: breaks ties.
        computed_by: how the network is computed, such as `torch, float32 on cpu`; empty if there is none or nobody knows.
    """

    evaluate: Evaluator | StepsMaker
    settings: PuctSettings | GumbelSettings
    rng: np.random.Generator
    computed_by: str = ""

    def choose(self, boards: PositionBatch) -> np.ndarray:
        """See Agent."""
        search = make_search(self.settings, len(boards), boards.legal.shape[1], self.evaluate, self.rng)
        decisions = search.decide(boards, is_selfplay=False)
        return answer_passes(boards, decisions.moves, decisions.policies)


@dataclass(frozen=True)
class PolicyAgent:
    """Plays the most probable legal move of a network; `computed_by` is as in SearchAgent."""

    evaluate: StateEvaluator
    computed_by: str = ""

    def choose(self, boards: PositionBatch) -> np.ndarray:
        """See Agent."""
        probs, _ = self.evaluate(boards.feature_planes())
        return answer_passes(boards, np.where(boards.legal, probs, -1.0).argmax(axis=1), probs)


# ------------------------------------------------------------------------------------------------------- games


@dataclass(frozen=True)
class PlayedGame:
    """A game of a match.

    Attributes:
        number: the number of the game. Games 2k and 2k + 1 have the same opening, and in game 2k the first agent moves first.
        moves: all moves, including the opening.
        winner: 1 for the player who moved first, 2 for the other one, or -1 for a draw.
    """

    number: int
    moves: tuple[int, ...]
    winner: int

    @property
    def result(self) -> GameResult:
        """The game's result for the first agent."""
        first_is = 1 + self.number % 2
        value = 0.5 if self.winner == NOBODY else float(self.winner == first_is)
        return GameResult(value, pair=self.number // 2, identity=(first_is, self.moves))


@dataclass(frozen=True)
class PlayedMatch:
    """A match that has been played.

    Attributes:
        games: the games in order of their numbers.
        verdict: the verdict of the stopping rule that ended the match early, or None.
    """

    games: tuple[PlayedGame, ...]
    verdict: str | None = None

    @property
    def statistics(self) -> MatchStatistics:
        """Wins, draws, losses, intervals and Elo difference of the first agent."""
        return match_statistics([game.result for game in self.games])


@dataclass(frozen=True)
class MatchSettings:
    """Settings of a match.

    Attributes:
        rules: the game.
        games: the number of games to play; it must be even.
        opening_stones: the number of stones placed at random before the agents take over.
        side_by_side: the number of games played at once; it must be even.
    """

    rules: GameRules
    games: int
    opening_stones: int = 2
    side_by_side: int = 64

    def check(self) -> None:
        """Raise UsageError unless games come in pairs."""
        for name, number in (("games", self.games), ("games side by side", self.side_by_side)):
            if number < 2 or number % 2:
                raise UsageError(
                    f"expected an even number of {name}, since openings are played with both colours; got {number}"
                )


def play_lockstep_match(
    agents: tuple[Agent, Agent],
    settings: MatchSettings,
    rng: np.random.Generator,
    *,
    stop: StoppingRule | None = None,
    progress: Callable[[int, int], None] = lambda ended, running: None,
) -> PlayedMatch:
    """Play a match between two agents.

    Args:
        agents: the two agents; the result is given for the first.
        settings: the settings of the match.
        rng: draws the openings.
        stop: an optional rule that may end the match early. It gets the results in order of the games' numbers, and only
            once all games side by side have ended: short games end first, and whoever wins those may not win the long ones.
            If the rule ends the match, later games do not count.
        progress: called after each move with the number of games that have ended and the number still being played.

    Raises:
        UsageError: a setting is out of its range.
    """
    settings.check()
    rules, games = settings.rules, settings.games
    played: list[PlayedGame] = []
    while len(played) < games:
        numbers = np.arange(len(played), min(games, len(played) + settings.side_by_side))
        openings = [rules.draw_opening(settings.opening_stones, rng) for _ in numbers[::2]]
        wave = rules.batch(len(numbers))
        done = len(played)
        for running, ended in _play(wave, numbers, np.repeat(openings, 2, axis=0).astype(int), agents):
            played += ended
            progress(len(played), running)
        played[done:] = sorted(played[done:], key=lambda game: game.number)
        for game in played[done:] if stop else ():
            if verdict := stop.add(game.result):  # type: ignore[union-attr]
                return PlayedMatch(tuple(played[: game.number + 1]), verdict)
    return PlayedMatch(tuple(played))


def _play(
    boards: PositionBatch, numbers: np.ndarray, openings: np.ndarray, agents: tuple[Agent, Agent]
) -> Iterator[tuple[int, list[PlayedGame]]]:
    """Play games to their ends.

    Args:
        boards: [G] empty boards.
        numbers: [G] the numbers of the games.
        openings: [G, S] the first moves of each game.
        agents: the two agents; the first has the first seat in games with an even number.

    Yields:
        After each move, (the number of games still being played, the games that have just ended).
    """
    history = list(openings.T)
    for moves in openings.T:
        boards.play(moves)
    while len(boards):
        moves = np.empty(len(boards), dtype=np.int64)
        for seat, agent in enumerate(agents):
            turn = np.flatnonzero((boards.side_to_move - 1 + numbers) % 2 == seat)
            if turn.size:
                moves[turn] = agent.choose(boards.take(turn))
        boards.play(moves)
        history.append(moves)
        lines = np.array(history).T
        over = boards.over
        ended = [
            PlayedGame(int(numbers[game]), tuple(lines[game].tolist()), int(boards.winner[game]))
            for game in np.flatnonzero(over)
        ]
        boards, numbers, history = boards.take(~over), numbers[~over], list(lines[~over].T)
        yield len(boards), ended


# ------------------------------------------------------------------------------------------------------ agents


def load_inference_network(
    path: str, rules: GameRules, batch_size: int, backend: PlayerBackend = "auto", device: str | None = None
) -> InferenceNetwork:
    """Load a fast copy of a network with the weights in a file.

    The weights say which network it is: the course's in AlphaZero/, or one of `training.inference.networks`.

    Args:
        path: the file.
        rules: the game.
        batch_size: the expected number of states in a batch.
        backend: what computes the network; see `network_to_play`.
        device: where torch computes it, "cpu" or "cuda"; None for the GPU if there is one.

    Raises:
        UsageError: the file holds no weights, or weights for another board or game; or there is no such backend here.
        NotImplementedError: the network is not written yet.
    """
    model = read_model(path, rules)
    size = rules.width, rules.height
    return network_to_play(model, *size, Path(path), backend=backend, device=device, batch_size=batch_size)


def make_agent(
    text: str,
    rules: GameRules,
    batch_size: int,
    rng: np.random.Generator,
    backend: PlayerBackend = "auto",
    device: str | None = None,
) -> SearchAgent | PolicyAgent:
    """Make an agent from its description; the module's docstring lists the forms.

    Args:
        text: the description, such as mcts:playouts=1000.
        rules: the game.
        batch_size: the number of games in which the agent chooses moves at once.
        rng: draws all random numbers of the agent.
        backend: what computes the network, unless the text names something else; see `load_inference_network`.
        device: where it is computed.

    Raises:
        UsageError: the text describes no agent, or there is no such backend here.
        NotImplementedError: the agent needs a network that is not written yet.
    """
    kind, _, rest = text.partition(":")
    weights, _, query = ("", "", rest) if kind == "mcts" else rest.partition("?")
    depth = ("search_depth",) if isinstance(rules, GoRules) else ()
    known = {
        "alphazero": ("playouts", "leaves", *depth),
        "gumbel": ("playouts", "considered", *depth),
        "policy": (),
        "muzero": ("playouts",),
        "mcts": ("playouts", *depth),
    }.get(kind)
    if known is None:
        raise UsageError(f"expected alphazero:FILE, gumbel:FILE, policy:FILE, muzero:FOLDER or mcts:playouts=N; got {text}")
    if not weights and kind != "mcts":
        raise UsageError(f"expected {kind}:{'FOLDER' if kind == 'muzero' else 'FILE'}; got {text!r}, which names nothing")
    trained = settings_of_run(Path(weights)) if weights and kind != "muzero" else {}
    defaults = DEFAULTS | {name: trained[name] for name in depth if name in trained}
    try:
        given: dict[str, Any] = dict(parse_qsl(query, strict_parsing=True)) if query else {}
        if kind in ("alphazero", "gumbel", "policy"):
            backend = given.pop("backend", backend)
        numbers = {name: int(given.pop(name, defaults[name])) for name in known}
    except ValueError:
        raise UsageError(f"expected options such as playouts=400 in {text}; got {query!r}") from None
    if backend not in get_args(PlayerBackend):
        raise UsageError(f"expected backend={', '.join(get_args(PlayerBackend)[:-1])} or int8 in {text}; got {backend}")
    if given or any(number < LEAST[name] and (name, number) != ("search_depth", 0) for name, number in numbers.items()):
        options = " and ".join(f"{name}=N with N of at least {LEAST[name]}" for name in known) or "no option but backend"
        raise UsageError(f"expected {options}{' (or search_depth=0)' if depth else ''} in {text}")
    search_depth = numbers.get("search_depth", 0)
    if kind == "mcts":
        return SearchAgent(make_rollouts(rules, rng), PuctSettings(numbers["playouts"], search_depth=search_depth), rng)
    if kind == "muzero":
        return _muzero_agent(Path(weights), rules, numbers["playouts"], rng)
    if isinstance(rules, GoRules) and trained.get("komi", rules.komi) != rules.komi:
        raise UsageError(f"expected a komi of {trained['komi']:g}, with which {weights} was trained; got {rules.komi:g}")
    settings: PuctSettings | GumbelSettings | None = None
    if kind == "gumbel":
        settings = GumbelSettings(numbers["playouts"], numbers["considered"], search_depth)
        batch_size *= playouts_at_once(batch_size, settings.considered)
    elif kind == "alphazero":
        settings = PuctSettings(numbers["playouts"], search_depth=search_depth, leaves=numbers["leaves"])
        batch_size *= settings.leaves
    network = load_inference_network(weights, rules, batch_size, backend, device)
    evaluate = PositionCache(network)
    return SearchAgent(evaluate, settings, rng, network.description) if settings else PolicyAgent(evaluate, network.description)


def _muzero_agent(folder: Path, rules: GameRules, playouts: int, rng: np.random.Generator) -> SearchAgent:
    config, model = read_muzero_run(folder)
    own = config.rules()
    boards = [(each.name, f"{each.width}x{each.height}", getattr(each, "n_in_row", 0)) for each in (rules, own)]
    if boards[0] != boards[1]:
        expected, found = (f"{name} on {size}" + (f" with {row} in a row" if row else "") for name, size, row in boards)
        raise UsageError(f"expected a run of {expected} in {folder}; it is a run of {found}")
    if isinstance(rules, GoRules) and config.komi != rules.komi:
        raise UsageError(f"expected a komi of {config.komi:g}, with which {folder} was trained; got {rules.komi:g}")
    return SearchAgent(LatentSearchModel(model), config.search_settings(playouts), rng)


# ----------------------------------------------------------------------------------------------------- command


def describe_match(result: PlayedMatch) -> str:
    """Describe the first agent's result in a match of at least one game, in two lines."""
    seen = result.statistics
    assert seen.elo is not None  # it is None only if no game was played
    low, high = seen.interval_95
    return (
        f"{seen.games} games, {seen.distinct_games} distinct: {seen.wins} won, {seen.draws} drawn, {seen.losses} lost\n"
        f"score {seen.score_rate:.3f}, 95 % {low:.3f} to {high:.3f}; "
        f"Elo {seen.elo.difference:+.0f}, 95 % {seen.elo.low:+.0f} to {seen.elo.high:+.0f}"
    )


def show_progress(games: int) -> Callable[[int, int], None]:
    """Make a progress function that prints a line on stderr from time to time."""
    start = reported = time.monotonic()

    def progress(ended: int, running: int) -> None:
        nonlocal reported
        now = time.monotonic()
        if now - reported > REPORT_EVERY_S:
            reported = now
            print(f"{ended} of {games} games ended, {running} running, {now - start:.0f} s", file=sys.stderr, flush=True)

    return progress


def board_size(text: str) -> tuple[int, int, int]:
    """Parse WIDTHxHEIGHTxN_IN_ROW; N_IN_ROW, which only Gomoku has, may be missing and is 5 then."""
    width, height, n_in_row = (int(number) for number in f"{text}x5".split("x")[:3])
    if text.count("x") > 2:
        raise ValueError
    return width, height, n_in_row


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and play."""
    parser = Parser(prog="training.matches", description="Play games side by side (docs/training.md, Matches).")
    parser.add_argument("first", metavar="FIRST", help="an agent, such as alphazero:model/11_11_5.pt?playouts=400")
    parser.add_argument("second", metavar="SECOND", help="another agent, such as mcts:playouts=1000")
    parser.add_argument(
        "--board",
        type=board_size,
        default=(11, 11, 5),
        metavar="WxHxN",
        help="board size and, for Gomoku, N in a row (default 11x11x5)",
    )
    parser.add_argument("--game", choices=GAMES, default="gomoku", help="the game (default gomoku)")
    parser.add_argument("--komi", type=float, default=7.5, metavar="X", help="what white receives in Go (default 7.5)")
    parser.add_argument("--games", type=int, default=40, metavar="N", help="number of games, even (default 40)")
    parser.add_argument(
        "--opening-stones",
        type=int,
        default=2,
        metavar="N",
        help="number of stones placed at random before the agents play (default 2)",
    )
    parser.add_argument("--side-by-side", type=int, default=64, metavar="N", help="games at once (default 64)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the openings and the agents (default 1)")
    parser.add_argument(
        "--backend", choices=get_args(PlayerBackend), default="auto", help="what computes networks (default: auto)"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write games and statistics to FILE as JSON")
    options = parser.parse_args(arguments)
    if options.seed < 0:
        parser.error(f"expected --seed of at least 0; got {options.seed}")
    torch.set_num_threads(1)
    flush_subnormals()
    try:
        if options.out:
            _expect_writable(options.out)  # before the games
        width, height, n_in_row = options.board
        rules = rules_of(options.game, width, height, n_in_row=n_in_row, komi=options.komi)
        rngs = np.random.default_rng(options.seed).spawn(3)
        batch_size = max(1, min(options.games, options.side_by_side) // 2)
        agents = (
            make_agent(options.first, rules, batch_size, rngs[1], options.backend),
            make_agent(options.second, rules, batch_size, rngs[2], options.backend),
        )
        for name, agent in zip((options.first, options.second), agents, strict=True):
            if agent.computed_by:
                print(f"{name}: the network is computed by {agent.computed_by}", file=sys.stderr)
        settings = MatchSettings(rules, options.games, options.opening_stones, options.side_by_side)
        start = time.monotonic()
        result = play_lockstep_match(agents, settings, rngs[0], progress=show_progress(options.games))
    except (UsageError, NotImplementedError) as error:
        print(f"training.matches: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Interrupted; an unfinished match has no result.", file=sys.stderr)
        return INTERRUPTED
    print(f"{options.first} against {options.second}, seed {options.seed}, {time.monotonic() - start:.0f} s")
    print(describe_match(result))
    if options.out:
        options.out.write_text(
            json.dumps(match_json(options, [agent.computed_by for agent in agents], result)) + "\n", encoding="utf-8"
        )
    return 0


def _expect_writable(out: Path) -> None:
    """Make the folder of a file, and refuse a file that cannot be written; an existing one stays as it is."""
    is_new = not out.exists()
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with open(out, "a", encoding="utf-8"):
            pass
    except OSError as error:
        raise UsageError(f"expected a file that can be written for --out; {out}: {error.strerror}") from error
    if is_new:
        out.unlink()


def match_json(options: argparse.Namespace, computed_by: list[str], result: PlayedMatch) -> dict[str, Any]:
    """Return the call, how the networks were computed, the statistics and the games as plain values."""
    return {
        "first": options.first,
        "second": options.second,
        "computed_by": computed_by,
        "game": options.game,
        "board": list(options.board),
        "seed": options.seed,
        "opening_stones": options.opening_stones,
        "statistics": result.statistics.to_json(),
        "games": [{"number": game.number, "moves": list(game.moves), "winner": game.winner} for game in result.games],
    }


if __name__ == "__main__":
    sys.exit(run_program("training.matches", main))
