"""The records of a match on disk: a heading, then one line of JSON for each game, appended as soon as the game ends.

A match that was killed can continue where it stopped; recorded games are not played again.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
import weakref
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from arena.engine.cores import available_cores
from arena.engine.engine_process import EngineSpec
from arena.engine.specs import NETWORK_PLAYERS
from arena.match.referee import GameRecord
from arena.match.setup import MatchSetup
from common.errors import UsageError
from common.locks import lock

FORMAT = 3
HEADING_START = b'{"format": '


def files_named(argv: Sequence[str]) -> list[str]:
    """Return the files that a command names by full paths, except Python itself, whose patch level may differ.

    Networks are named as options, or as KIND:FILE?OPTIONS.
    """
    paths = map(_path_in, argv)
    return [path for path in paths if os.path.isabs(path) and os.path.isfile(path) and path != sys.executable]


def _path_in(part: str) -> str:
    kind, _, rest = part.partition(":")
    return rest.partition("?")[0] if kind in NETWORK_PLAYERS else part


def agent_files(agent: EngineSpec) -> list[str]:
    """Return the files that make an agent what it is.

    These are the program of an engine of the course, without its sandbox, or all files of a command and those of `agent.files`.
    """
    if agent.protocol == "course" and os.path.isfile(agent.path):
        return [agent.path]
    return list(dict.fromkeys([*files_named(agent.argv), *agent.files]))


def agent_digest(agent: EngineSpec) -> str | None:
    """Return the digest of an agent's files, such as its program, or a player and its network; None if there are none."""
    digests = [str(digest(path)) for path in agent_files(agent)]
    return digests[0] if len(digests) == 1 else hashlib.sha256(" ".join(digests).encode()).hexdigest() if digests else None


class Builds:
    """The programs of a match, to notice that one has been built again while the match was running."""

    def __init__(self, agents: Sequence[EngineSpec]) -> None:
        self._agents = agents
        self._states = [_state(agent) for agent in agents]
        self._digests = [agent_digest(agent) for agent in agents]

    def changed(self) -> str:
        """Return the path of an agent whose files are not those of the beginning; empty if there is none."""
        for number, agent in enumerate(self._agents):
            if (state := _state(agent)) != self._states[number]:
                if agent_digest(agent) != self._digests[number]:
                    return agent.path
                self._states[number] = state
        return ""


def _state(agent: EngineSpec) -> list[tuple[str, int, int, int]]:
    """Return what changes whenever one of the agent's files is written; this is much cheaper than the digest."""
    try:
        found = [(path, os.stat(path)) for path in agent_files(agent)]
    except OSError:  # removed at this moment
        return []
    return [(path, status.st_ino, status.st_size, status.st_mtime_ns) for path, status in found]


def digest(path: str) -> str | None:
    """Return the sha256 of an engine's program, or None if it is not a single file."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None


@cache
def machine() -> dict[str, Any]:
    """Describe this machine, since a time means nothing without it."""
    processor = platform.processor()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), processor)
    except OSError:
        pass
    return {
        "system": platform.platform(),
        "processor": processor,
        "cores": available_cores(),
        "python": platform.python_version(),
    }


def read_records(path: Path) -> tuple[dict[str, Any], dict[int, GameRecord]]:
    """Read the heading as plain values, and the games by index. An incomplete last line, left by a kill, is ignored.

    Raises:
        UsageError: there is no such file, or it does not contain records of this version.
    """
    try:
        lines = path.read_bytes().split(b"\n")[:-1]
    except OSError as error:
        raise UsageError(f"expected records of a match in {path}: {error.strerror}") from error
    try:
        heading = json.loads(lines[0]) if lines else {}
        written = int(heading["format"])
    except (ValueError, TypeError, KeyError):
        raise UsageError(f"expected records of a match in {path}; its first line is not the heading of such a file") from None
    if written != FORMAT:
        raise UsageError(
            f"expected records of format {FORMAT} in {path}; they have format {written}, from another version of this program: "
            "begin the match again with a new file"
        )
    if lacking := [key for key in ("match", "digests") if key not in heading]:
        raise UsageError(f"expected records of a match in {path}; the heading lacks {' and '.join(lacking)}")
    digests = heading["digests"]
    if not isinstance(heading["match"], dict) or not isinstance(digests, list) or len(digests) != 2:
        raise UsageError(f"expected records of a match in {path}; its heading does not describe two agents")
    games: dict[int, GameRecord] = {}
    for line in lines[1:]:
        try:
            game = GameRecord.from_json(json.loads(line))
        except (ValueError, TypeError, KeyError) as error:
            raise UsageError(f"expected one game in each line of {path}; got {line[:60]!r}") from error
        games[game.index] = game
    return heading, games


def begins_anew(path: Path) -> bool:
    """Return whether a file is empty, or holds only the beginning of a heading because a match was killed at once.

    Raises:
        UsageError: the file cannot be read.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"expected records of a match in {path}: {error.strerror}") from error
    return b"\n" not in content and content[: len(HEADING_START)] == HEADING_START[: len(content)]


class Records:
    """The records file of one match, either new or continued.

    Args:
        path: the file.
        setup: the match.
        speed: speed factor of the machine, written into a new file.

    The file is locked until the object is deleted, since two programs would play and record the same games.

    Raises:
        UsageError: the file contains another match, a match between other programs, or no match; it cannot be written; or
            another program is recording games in it.
    """

    def __init__(self, path: Path, setup: MatchSetup, speed: float | None = None) -> None:
        self.path = path
        self._lock()
        self.games: dict[int, GameRecord] = {}
        digests = [agent_digest(agent) for agent in setup.agents]
        if not begins_anew(path):
            found, self.games = read_records(path)
            if setup.identity(found["match"]) != setup.identity(setup.to_json()):
                raise UsageError(f"expected records of this match in {path}; they belong to another match: use a new file")
            if found["digests"] != digests:
                raise UsageError(
                    f"expected the programs that {path} was begun with; at least one has been rebuilt since: use a new file"
                )
            self._cut_torn_line()
        else:
            heading = {"format": FORMAT, "match": setup.to_json(), "digests": digests}
            self._write(json.dumps({**heading, "machine": {**machine(), "speed": speed}}), "w")

    def append(self, game: GameRecord) -> None:
        """Append one game and make sure that it is on the disk."""
        self.games[game.index] = game
        self._write(json.dumps(game.to_json()), "a")

    def _lock(self) -> None:
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
            weakref.finalize(self, os.close, descriptor)
            locked = lock(descriptor)
        except OSError as error:
            raise self._unwritable(error) from error
        if not locked:
            raise UsageError(f"another match is recording its games in {self.path}: wait until it ends, or use a new file")

    def _unwritable(self, error: OSError) -> UsageError:
        return UsageError(f"the records {self.path} cannot be written: {error.strerror}")

    def _write(self, line: str, mode: str) -> None:
        try:
            with open(self.path, mode, encoding="utf-8") as file:
                file.write(line + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise self._unwritable(error) from error

    def _cut_torn_line(self) -> None:
        """Remove an incomplete last line, since the next record would otherwise be appended to it."""
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.truncate(self.path, whole)
