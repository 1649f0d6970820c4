"""How a user names an agent: by a program, or by a prefix and a colon for other protocols and for the Python players.

build/my_engine                                 a program that speaks the course's protocol
gomocup:./pbrain-name                           a program that speaks the Gomocup (Piskvork) pipe protocol
alphazero:model/15_15_5.pt?playouts=400         AlphaZero/ in the current folder, with these weights
mcts:playouts=1000                              pure MCTS from the current folder
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import parse_qsl

from arena.engine.engine_process import EngineSpec
from arena.rules import SIZE
from common.errors import UsageError

PYTHON_PLAYER = Path(__file__).resolve().parents[2] / "Minimax" / "python_player.py"


def parse_agent(text: str) -> EngineSpec:
    """Return the agent that the text names.

    Raises:
        UsageError: there is no such program, or an option is unknown.
    """
    kind, colon, rest = text.partition(":")
    if colon and kind == "gomocup":
        program = engine_at(rest).argv[0]
        return EngineSpec(text, (program,), cwd=os.path.dirname(program), protocol="gomocup", any_size=True)
    if colon and kind in ("alphazero", "mcts"):
        return _python_player(text, kind, rest)
    return engine_at(text)


def _python_player(text: str, kind: str, rest: str) -> EngineSpec:
    model, _, query = rest.partition("?") if kind == "alphazero" else ("", "", rest)
    if kind == "alphazero" and not os.path.isfile(model):
        raise UsageError(f"expected weights at {model or 'alphazero:FILE'}; nothing is there")
    try:
        options = dict(parse_qsl(query, strict_parsing=True)) if query else {}
        playouts = int(options.pop("playouts", "400"))
    except ValueError:
        raise UsageError(f"expected options such as playouts=400 in {text}; got {query!r}") from None
    if options or playouts < 2:
        raise UsageError(f"expected playouts=N with N of at least 2 in {text}; got {query!r}")
    command = [sys.executable, str(PYTHON_PLAYER), kind, "--playouts", str(playouts)]
    if model:
        command += ["--model", os.path.abspath(model)]
    return EngineSpec(text, tuple(command), any_size=True)


def engine_at(path: str) -> EngineSpec:
    """Return the engine at a path, which must be a program that speaks the course's protocol.

    Raises:
        UsageError: there is no program at the path.
    """
    if not os.path.exists(path):
        raise UsageError(f"expected an engine at {path}; nothing is there: section 2 of docs/handout.md says how to build ours")
    if path.endswith((".cpp", ".cc")):
        raise UsageError(
            f"expected a program; {path} is its source: build it with g++ -std=c++17 -O2 -I Minimax {path} -o engine"
        )
    if os.path.isdir(path) or not os.access(path, os.X_OK):
        raise UsageError(f"expected a program; {path} cannot be executed")
    return EngineSpec(path=path)


def check_size(agents: Iterable[EngineSpec], size: int) -> None:
    """Check that all agents can play on a board of this size.

    Raises:
        UsageError: an agent can only play on the course's board.
    """
    for agent in agents:
        if size != SIZE and not agent.any_size:
            raise UsageError(
                f"expected a board of {SIZE}x{SIZE}, the only size that {agent.path} can play in the "
                f"course's protocol; got {size}x{size}"
            )
