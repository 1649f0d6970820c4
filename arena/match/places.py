"""Where a match may write: nothing is replaced but what the same match wrote before it was continued."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arena.match.records import read_records
from arena.match.referee import GameRecord
from arena.match.setup import MatchSetup
from arena.match.sgf import game_to_sgf
from common.errors import UsageError

NO_RESULT = "RE[Void]"  # such a game is played again when the match is continued


def check_places(*, records: Path | None, continues: bool, json_file: Path | None, sgf_folder: Path | None) -> None:
    """Raise a UsageError if the files of a match cannot be written to these places, or would replace something else.

    Args:
        records: the file that records the games.
        continues: whether `records` holds games of this match.
        json_file: the file for the result and all games.
        sgf_folder: the folder for one SGF file per game.
    """
    for file in (json_file, records):
        if file is not None and not file.resolve().parent.is_dir():
            raise UsageError(f"expected a folder at {file.resolve().parent} for {file}; there is none")
        if file is not None and file.is_dir():
            raise UsageError(f"expected the name of a file; {file} is a folder")
    if json_file is not None and records is not None and json_file.resolve() == records.resolve():
        raise UsageError(f"expected different files for the records and for --json; got {json_file} for both")
    if sgf_folder is not None:
        place = sgf_folder.resolve()
        existing = next(path for path in (place, *place.parents) if path.exists())
        if not existing.is_dir():
            raise UsageError(f"expected a folder for --sgf; {existing} is a file")
    heading, games = read_records(records) if continues and records is not None else (None, {})
    if json_file is not None and json_file.exists() and (heading is None or not _is_result(json_file, heading["match"])):
        raise UsageError(f"expected no file at {json_file}, which is not an earlier result of this match; name another file")
    if sgf_folder is not None and not all(_is_game(file, games) for file in sgf_folder.glob("game_*.sgf")):
        raise UsageError(f"expected a folder without games for --sgf; {sgf_folder} holds those of another match")


def _is_result(file: Path, match: Mapping[str, Any]) -> bool:
    """Return whether a file holds what --json wrote for the match that the records describe."""
    try:
        data = json.loads(file.read_bytes()) if file.is_file() else {}
        written = {**{name: data[name] for name in match}, "agents": [agent["path"] for agent in data["agents"]]}
    except (OSError, ValueError, TypeError, KeyError):
        return False
    return MatchSetup.identity(written) == MatchSetup.identity(match)


def _is_game(file: Path, games: Mapping[int, GameRecord]) -> bool:
    """Return whether a file holds what --sgf wrote for one of the recorded games."""
    number = file.stem.removeprefix("game_")
    game = games.get(int(number)) if number.isdecimal() else None
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
    return game is not None and (NO_RESULT in text or text == game_to_sgf(game))
