"""How a user names an agent: by a program, or by a prefix and a colon for other protocols and for the Python players.

build/my_engine                                 a program that speaks the course's protocol
gomocup:./pbrain-name                           a program that speaks the Gomocup (Piskvork) pipe protocol
alphazero:model/15_15_5.pt?playouts=400         AlphaZero/ in the current folder, with these weights
alphazero:FILE?playouts=400&fast=yes            the same search, with the network computed faster (training.single_game)
alphazero:FILE?playouts=400&backend=int8        the same by this backend: auto, torch, openvino or int8
mcts:playouts=1000                              pure MCTS from the current folder

Players of the games of games/ all speak GTP; see `parse_player`.
gtp:gnugo --mode gtp --level 1                  a program with its arguments, in quotes for a shell
nogo:rave?simulations=10000                     our NoGo player in C++, with uct, rave or random
mcts:playouts=200                               pure MCTS from the current folder
gumbel:FILE?playouts=32                         in NoGo and Go, a network of a run with a search of training/; alphazero: and
                                                policy: likewise (training.matches)
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import parse_qsl

from arena.engine.engine_process import EngineSpec
from arena.rules import SIZE
from common.errors import UsageError
from common.harmless_text import on_screen
from common.torch_libraries import torch_libraries_mib

BASELINE, REFERENCE = "build/engines/baseline", "build/engines/reference"
NOGO_PLAYER = Path(__file__).resolve().parents[2] / "build" / "engines" / "nogo"
MOST_SIMULATIONS = 2_000_000  # as in games/nogo/players/player.cpp
PYTHON_PLAYER = Path(__file__).resolve().parents[2] / "Minimax" / "python_player.py"
AGENT_PLAYER = PYTHON_PLAYER.with_name("agent_player.py")
NETWORK_PLAYERS = ("alphazero", "gumbel", "policy")
BACKENDS = ("auto", "torch", "openvino", "int8")  # what can compute the network of a player (training.inference)
# A GPU would compute beside the clock, which counts the time of the processor.
WITHOUT_GPU = {"CUDA_VISIBLE_DEVICES": ""}
START_S = 120.0  # for a network player to load its network on a busy machine


def parse_agent(text: str) -> EngineSpec:
    """Return the agent that the text names.

    Raises:
        UsageError: there is no such program, or an option is unknown.
    """
    kind, colon, rest = text.partition(":")
    if colon and kind in ("gtp", "nogo"):
        raise UsageError(f"expected a player of Gomoku; {text} plays the games of python -m arena play")
    if colon and kind == "gomocup":
        program = engine_at(rest).argv[0]
        return EngineSpec(text, (program,), cwd=os.path.dirname(program), protocol="gomocup", any_size=True)
    if colon and kind in ("alphazero", "mcts"):
        return _python_player(text)
    return engine_at(text)


def parse_player(
    text: str, game: str, *, size: int | None = None, komi: float | None = None, superko: bool = False
) -> EngineSpec:
    """Return the player of "gomoku", "nogo" or "go" that the text names; it speaks GTP.

    Args:
        text: the player.
        game: the game.
        size, komi: the board and the komi, if they are known already; a network for others does not start then.
        superko: whether our players keep to positional superko in Go, about which GTP says nothing.

    Raises:
        UsageError: there is no such program, it does not play this game, or an option is unknown.
    """
    kind, colon, rest = text.partition(":")
    if colon and kind == "gtp":
        return _gtp_program(text, rest)
    if colon and kind == "nogo":
        if game != "nogo":
            raise UsageError(f"expected a player of {game}; {text} plays only NoGo")
        return _nogo_player(text, rest)
    by_superko = ("--superko",) if superko else ()
    if colon and kind in NETWORK_PLAYERS and game != "gomoku":
        return _network_player(text, game, size, komi, by_superko)
    if colon and kind in ("alphazero", "mcts"):
        spec = _python_player(text)
        return replace(spec, command=(*spec.command, "--gtp", game, *by_superko), protocol="gtp")
    known = "gtp:COMMAND, mcts:playouts=200, "
    known += "alphazero:FILE" if game == "gomoku" else "gumbel:FILE or, in NoGo, nogo:uct?simulations=10000"
    raise UsageError(f"expected a player of {game} such as {known}; got {text!r}")


def _network_player(text: str, game: str, size: int | None, komi: float | None, by_superko: tuple[str, ...]) -> EngineSpec:
    kind, _, rest = text.partition(":")
    weights, mark, query = rest.partition("?")
    if not os.path.isfile(weights):
        raise UsageError(f"expected weights at {weights or f'{kind}:FILE'}; nothing is there")
    command = [sys.executable, str(AGENT_PLAYER), f"{kind}:{os.path.abspath(weights)}{mark}{query}", "--game", game]
    command += ["--board", str(size)] if size is not None else []
    command += ["--komi", f"{komi:g}"] if komi is not None else []
    return EngineSpec(
        text, (*command, *by_superko), WITHOUT_GPU, protocol="gtp", any_size=True, libraries_mib=torch_libraries_mib()
    )


def check_start(player: EngineSpec) -> None:
    """Start a network player once and end it, so that what does not fit is said before a match.

    Raises:
        UsageError: the network is not for this game, board or komi, or the player cannot be started.
    """
    if str(AGENT_PLAYER) not in player.command:
        return
    env = {**os.environ, **player.env}
    try:
        done = subprocess.run(player.argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=START_S)
    except subprocess.TimeoutExpired:
        raise UsageError(f"expected {player.path} to start within {START_S:g} s; it has not") from None
    if done.returncode:
        sentence = (done.stderr.strip() or "it said nothing").splitlines()[-1].removeprefix(f"{AGENT_PLAYER.name}: ")
        raise UsageError(f"{player.path}: {on_screen(sentence)}")


def _gtp_program(text: str, command: str) -> EngineSpec:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"expected gtp:COMMAND with balanced quotes; got {text!r}: {error}") from None
    program = shutil.which(words[0]) if words else None
    if program is None:
        raise UsageError(f"expected a program that speaks GTP after gtp:; got {text!r}, and there is no such program")
    files = tuple(os.path.abspath(word) for word in words[1:] if os.path.isfile(word))
    return EngineSpec(text, (os.path.abspath(program), *words[1:]), protocol="gtp", any_size=True, files=files)


def _nogo_player(text: str, rest: str) -> EngineSpec:
    search, _, query = rest.partition("?")
    try:
        options = dict(parse_qsl(query, strict_parsing=True)) if query else {}
        simulations = int(options.pop("simulations", "10000"))
    except ValueError:
        raise UsageError(f"expected an option such as simulations=10000 in {text}; got {query!r}") from None
    if search not in ("uct", "rave", "random") or options or not 1 <= simulations <= MOST_SIMULATIONS:
        raise UsageError(
            f"expected nogo:uct, nogo:rave or nogo:random with simulations from 1 to {MOST_SIMULATIONS}; got {text!r}"
        )
    if not os.access(NOGO_PLAYER, os.X_OK):
        raise UsageError(
            f"expected our NoGo player at {NOGO_PLAYER}; nothing is there: in the course's repository, run "
            "make build/engines/nogo"
        )
    command = (str(NOGO_PLAYER), "--search", search, "--simulations", str(simulations))
    return EngineSpec(text, command, protocol="gtp", any_size=True)


@dataclass(frozen=True)
class PythonPlayer:
    """A search of AlphaZero/ that a user named.

    Attributes:
        kind: "alphazero" or "mcts".
        model: the file of weights; empty for mcts.
        playouts: playouts for each move.
        fast: whether `training.single_game` computes the network.
        backend: what computes it then, one of BACKENDS; empty if the user did not say.
    """

    kind: str
    model: str
    playouts: int
    fast: bool = False
    backend: str = ""


def parse_python_player(text: str) -> PythonPlayer:
    """Return what `alphazero:FILE?playouts=N` or `mcts:playouts=N` names.

    Raises:
        UsageError: there are no weights, or an option is unknown.
    """
    kind, _, rest = text.partition(":")
    model, _, query = rest.partition("?") if kind == "alphazero" else ("", "", rest)
    if kind == "alphazero" and not os.path.isfile(model):
        raise UsageError(f"expected weights at {model or 'alphazero:FILE'}; nothing is there")
    try:
        options = dict(parse_qsl(query, strict_parsing=True)) if query else {}
        playouts = int(options.pop("playouts", "400"))
        backend = options.pop("backend", "") if kind == "alphazero" else ""
        fast = ("no", "yes").index(options.pop("fast", "yes" if backend else "no")) if kind == "alphazero" else 0
    except ValueError:
        raise UsageError(f"expected options such as playouts=400 or fast=yes in {text}; got {query!r}") from None
    if options or playouts < 2:
        raise UsageError(f"expected playouts=N with N of at least 2 in {text}; got {query!r}")
    if backend and (backend not in BACKENDS or not fast):
        raise UsageError(f"expected backend={', '.join(BACKENDS[:-1])} or {BACKENDS[-1]}, without fast=no, in {text}")
    return PythonPlayer(kind, model, playouts, bool(fast), backend)


def _python_player(text: str) -> EngineSpec:
    player = parse_python_player(text)
    command = [sys.executable, str(PYTHON_PLAYER), player.kind, "--playouts", str(player.playouts)]
    if player.model:
        command += ["--model", os.path.abspath(player.model), *(["--fast"] if player.fast else [])]
        command += ["--backend", player.backend] if player.backend else []
    return EngineSpec(
        text, tuple(command), WITHOUT_GPU, any_size=True, libraries_mib=torch_libraries_mib(), files=_sources_of_search()
    )


def _sources_of_search() -> tuple[str, ...]:
    """Return the Python files of the search that Minimax/python_player.py chooses when it is started in the current folder."""
    place = Path.cwd() if os.path.isfile("AlphaZero/__init__.py") else PYTHON_PLAYER.parents[1]
    return tuple(str(path) for folder in ("AlphaZero", "Board") for path in sorted(place.glob(f"{folder}/*.py")))


def engine_at(path: str) -> EngineSpec:
    """Return the engine at a path, which must be a program that speaks the course's protocol.

    Raises:
        UsageError: there is no program at the path.
    """
    if not path:
        raise UsageError("expected the path of an engine, such as build/my_engine; got an empty name")
    if not os.path.exists(path):
        raise UsageError(
            f"expected an engine at {path}; nothing is there: docs/handout.md says how to build ours (section 2) and yours "
            "(section 4.3)"
        )
    if path.endswith((".cpp", ".cc", ".cxx", ".CPP")):
        raise UsageError(
            f"expected a program; {path} is its source: build it with g++ -std=c++17 -O2 -pthread -I Minimax {path} "
            "-o build/my_engine"
        )
    if os.path.isdir(path):
        raise UsageError(f"expected a program; {path} is a folder: name the program in it")
    if not os.access(path, os.X_OK):
        raise UsageError(
            f"expected a program; {path} cannot be executed: name what the compiler wrote, or, if it is this file, allow it "
            f"with chmod +x {path}"
        )
    if sys.platform == "linux" and os.access(path, os.R_OK) and not _first_bytes(path).startswith((b"\x7fELF", b"#!")):
        raise UsageError(
            f"expected a program; {path} is neither a program for Linux nor a script that begins with #!: build the engine on "
            "this computer"
        )
    return EngineSpec(path=path)


def _first_bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(4)


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
