"""`python -m arena view`: a page that shows the games of a file, made of the templates beside this module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from arena.engine.engine_process import EngineSpec
from arena.engine.specs import BASELINE
from arena.match.game_record import GameRecord
from arena.match.records import read_records
from arena.match.sgf import SgfGame, read_sgf
from arena.view.games import LOST, ShownGame, shown_game, shown_sgf
from arena.view.losses import can_be_examined, find_losses, needs_engine
from common.errors import UsageError
from common.files import write_whole
from common.pages import policy_for, template_environment

TEMPLATES = Path(__file__).with_name("templates")
GENERATOR = "gomoku-arena view"


def games_of_file(path: Path, agent: int) -> list[ShownGame]:
    """Return the games of a file of records or of SGF.

    Args:
        agent: the agent of a match whose lost games the page is about.

    Raises:
        UsageError: the file is neither.
    """
    if path.suffix.lower() == ".sgf":
        read = read_sgf(path)
        return [_of_sgf(game, number) for number, game in enumerate(read)]
    heading, games = read_records(path)
    if not games:
        raise UsageError(f"expected games in {path}; none has been recorded yet")
    limit_s = float(heading["match"].get("limits", {}).get("move_s", 0.0))
    return [_of_record(games[index], agent, limit_s) for index in sorted(games)]


def _of_sgf(game: SgfGame, number: int) -> ShownGame:
    if game.board_game is None:
        return shown_sgf(game, number)
    from arena.view.board_games import shown_board_sgf  # needs rules that the kit of a lab does not hold

    return shown_board_sgf(game, number)


def _of_record(game: GameRecord, agent: int, limit_s: float) -> ShownGame:
    if game.game is None:
        return shown_game(game, agent=agent, limit_s=limit_s)
    from arena.view.board_games import shown_board_game  # see above

    return shown_board_game(game, agent=agent, limit_s=limit_s)


def choose_game(games: Sequence[ShownGame], number: int | None, path: Path) -> int:
    """Return the place of the game to show first: the one with this number, else the first lost one, else the first.

    Raises:
        UsageError: no game has this number.
    """
    if number is None:
        return next((place for place, game in enumerate(games) if game.outcome == LOST), 0)
    titles = [game.title for game in games]
    if f"Game {number}" not in titles:
        raise UsageError(f"expected the number of one of the {len(games)} games in {path}; got {number}")
    return titles.index(f"Game {number}")


def script() -> str:
    """Return the viewer's script as it is embedded in a page."""
    return template_environment(TEMPLATES).get_template("viewer.js.j2").render()


def render_page(games: Sequence[ShownGame], first: int, title: str) -> str:
    """Return a page with these games, which opens with the one at place `first`."""
    environment = template_environment(TEMPLATES)
    values: dict[str, Any] = {"games": games, "first": first, "title": title, "policy": policy_for(script())}
    return environment.get_template("page.html.j2").render(**values, generator=GENERATOR)


def write_page(
    path: Path, number: int | None, agent: int, engine: EngineSpec | None, out: Path, progress: Callable[[str], None]
) -> ShownGame:
    """Write the page of a file's games and return the game that it opens with.

    Args:
        number: see `choose_game`.
        engine: says where that game and all lost games of the course's board were lost; None to leave this out. Ctrl-C leaves
            out the games that have not been examined yet.
        out: the page; an earlier page of this program is replaced.
        progress: is told how far the engine is.

    Raises:
        UsageError: the file holds no such game, or `out` is something other than such a page or cannot be written.
    """
    _expect_own_page(out)
    games = games_of_file(path, agent)
    first = choose_game(games, number, path)
    places = [first, *(place for place, game in enumerate(games) if game.outcome == LOST and place != first)]
    if engine is None and any(can_be_examined(games[place]) and needs_engine(games[place]) for place in places):
        progress(f"The page does not show where games were lost: build the engine {BASELINE}, or name one with --engine.")
    try:
        find_losses(games, places, engine, progress)
    except KeyboardInterrupt:
        progress("Stopped; the page says where the games before this one were lost.")
    page = render_page(games, first, path.name)
    try:
        _expect_own_page(out)
        write_whole(out, page)
    except OSError as error:
        raise UsageError(f"the page {out} cannot be written: {error.strerror}") from error
    return games[first]


def _expect_own_page(out: Path) -> None:
    """Raise a UsageError if a page may not be written to `out`."""
    if not out.resolve().parent.is_dir():
        raise UsageError(f"expected a folder at {out.resolve().parent} for --out; there is none")
    try:
        if out.exists() and GENERATOR not in out.read_text(encoding="utf-8", errors="replace")[:1000]:
            raise UsageError(f"expected a new file or an earlier page for --out; {out} is something else and stays as it is")
    except OSError as error:
        raise UsageError(f"the page {out} cannot be written: {error.strerror}") from error
