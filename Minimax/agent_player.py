"""A network of a run behind the Go Text Protocol, with the searches of training/, in NoGo and Go.

    python Minimax/agent_player.py 'gumbel:runs/nogo/best.model?playouts=32' --game nogo

The player is an agent of `training.matches`: alphazero:FILE, gumbel:FILE or policy:FILE with its options, in NoGo with
`&endgame=N` of `training.single_game` among them. Matches and `python -m arena gtp` start this program for such players
(`arena.engine.specs`). The board is that of the weights, and the komi that of their run; --board and --komi say which ones a
match expects, so that a network for others is refused at once.

The player runs a fixed number of playouts and does not look at the clock: choose a number that fits the time for a move.

Exit codes: 0 the end of the input, 2 the call was wrong, or the network does not fit the game, 130 interrupted, 141 nobody
reads the answers.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

if __name__ == "__main__":
    from common.program_starts import leave_on_ctrl_c

    leave_on_ctrl_c("Interrupted.")

# Each game has one core. numpy and torch read these variables when they are imported.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import numpy as np

from arena.engine.gtp_server import GtpServer, serve
from common.errors import UsageError
from common.program_ends import run_program
from common.subnormals import flush_subnormals
from games.catalog import rules_of
from games.protocol import GameRules

GTP_NAMES = {"nogo": "NoGo", "go": "Go"}
SIZES = range(2, 20)


def gtp_rules(game: str, superko: bool, size: int, komi: float) -> GameRules:
    """Return the rules of a game for a GTP server.

    Raises:
        ValueError: the game has no such board, or no such komi.
    """
    try:
        return rules_of(game, size, size, komi=komi, superko=superko)
    except UsageError as error:
        raise ValueError(str(error)) from None


def size_of_weights(weights: str, game: str) -> int:
    """Return the size of the square board that the weights are for, by their run or manifest, else by the number of actions.

    Raises:
        UsageError: the file cannot be read, or its network has another number of actions, or any.
    """
    from training.inference.networks import actions_of
    from training.origin import settings_of_run

    if (size := settings_of_run(Path(weights)).get("board_width")) is not None:
        return int(size)
    actions = actions_of(weights)
    sizes = [size for size in SIZES if rules_of(game, size, size).actions == actions]
    if not sizes:
        raise UsageError(
            f"expected weights of a network for {game} on a square board in {weights}; that network has {actions} actions"
        )
    return sizes[0]


class AgentBehindGtp:
    """An agent behind a GTP server; see `arena.engine.gtp_server.ServedPlayer`.

    Args:
        text: the agent, as `training.matches` describes it.
    """

    def __init__(self, text: str) -> None:
        kind, _, rest = text.partition(":")
        weights, _, self.version = rest.partition("?")
        self.name = f"{kind} {Path(weights).stem}"
        self._text = text
        self._rng = np.random.default_rng()
        self._rules: GameRules | None = None
        self._player: Any = None

    def prepare(self, rules: Any) -> None:
        """See ServedPlayer."""
        from training.single_game import make_agent_player

        if rules == self._rules:
            return
        try:
            self._player = make_agent_player(self._text, rules, self._rng)
        except UsageError as error:
            raise ValueError(str(error)) from None
        self._rules = rules

    def seed(self, seed: int) -> None:
        """See ServedPlayer."""
        self._rng.bit_generator.state = np.random.default_rng(seed).bit_generator.state

    def choose(self, position: Any) -> int:
        """See ServedPlayer."""
        return int(self._player.get_action(position)[0])


def converse(options: argparse.Namespace, answers: Any) -> None:
    """Speak GTP until quit or the end of the input.

    Raises:
        UsageError: there is no such agent, or it does not play this game.
    """
    import torch

    from training.origin import settings_of_run

    torch.set_num_threads(1)
    flush_subnormals()
    weights = options.agent.partition(":")[2].partition("?")[0]
    size = options.board or size_of_weights(weights, options.game)
    komi = settings_of_run(Path(weights)).get("komi", 7.5) if options.komi is None else options.komi

    def send(text: str) -> None:
        answers.write(text)
        answers.flush()

    make_rules = partial(gtp_rules, options.game, options.superko)
    try:
        server = GtpServer(GTP_NAMES[options.game], make_rules, AgentBehindGtp(options.agent), size, komi)
    except ValueError as error:
        raise UsageError(str(error)) from None
    serve(server, sys.stdin, send)


def main(arguments: list[str] | None = None) -> int:
    """Make the player and speak GTP.

    Raises:
        UsageError: the call was wrong, or the network does not fit the game.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("agent", help="alphazero:FILE, gumbel:FILE or policy:FILE, with options such as ?playouts=32")
    parser.add_argument("--game", choices=GTP_NAMES, required=True)
    parser.add_argument("--board", type=int, metavar="N", help="rows and columns (default: as in the weights)")
    parser.add_argument("--komi", type=float, metavar="X", help="points for white in Go (default: as in the run)")
    parser.add_argument("--superko", action="store_true", help="in Go, forbid the repetition of any earlier position")
    options = parser.parse_args(arguments)
    answers = sys.stdout
    with redirect_stdout(sys.stderr):  # whatever a library prints must not mix with the answers
        try:
            converse(options, answers)
        except ModuleNotFoundError as error:
            needed = f"expected training/ and its libraries for {options.agent}; there is no module {error.name}"
            raise UsageError(needed) from error
    return 0


if __name__ == "__main__":
    sys.exit(run_program("agent_player.py", main))
