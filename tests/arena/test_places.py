"""What a match may replace."""

from dataclasses import replace
from pathlib import Path

import pytest

from arena.match.match import ThreadRunner, play_match
from arena.match.places import check_places
from arena.match.records import Records
from arena.match.setup import MatchSetup
from arena.match.sgf import game_to_sgf
from arena.match.summary import write_result
from arena.rules import Termination
from common.errors import UsageError


@pytest.fixture
def match(ours, tmp_path, monkeypatch):
    """The result of a match, with its records in match.jsonl, the result in match.json and the games in games/."""
    monkeypatch.chdir(tmp_path)
    setup = MatchSetup(ours, 2, 5)
    result = play_match(setup, ThreadRunner(1), records=Records(Path("match.jsonl"), setup))
    write_result(result, Path("match.json"), Path("games"))
    return result


def check(json="", sgf="", continues=True):
    places = {"json_file": Path(json) if json else None, "sgf_folder": Path(sgf) if sgf else None}
    check_places(records=Path("match.jsonl"), continues=continues, **places)


def test_a_match_that_is_continued_replaces_its_own_result(match):
    check("match.json", "games")
    write_result(replace(match, games=match.games[:1]), Path("match.json"), None)  # it was interrupted, and goes on
    check("match.json")


def test_a_game_that_was_undecided_before_it_was_played_again_is_replaced(match):
    undecided = replace(match.games[1], winner=None, termination=Termination.UNDECIDED)
    Path("games/game_0001.sgf").write_text(game_to_sgf(undecided), encoding="utf-8")
    check("", "games")


def test_a_new_match_replaces_no_result(match):
    with pytest.raises(UsageError, match="expected no file at match"):
        check("match.json", continues=False)
    with pytest.raises(UsageError, match="games holds those of another match"):
        check("", "games", continues=False)


@pytest.mark.parametrize("text", ["My report", "[1]", '{"agents": 3}', "", None])
def test_a_match_that_is_continued_replaces_no_other_file(match, text):
    if text is None:
        write_result(replace(match, setup=replace(match.setup, seed=6)), Path("other"), None)
    else:
        Path("other").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="expected no file at other, which is not an earlier result of this match"):
        check("other")


@pytest.mark.parametrize("name", ["game_0000", "game_0007", "game_x"])
def test_a_match_that_is_continued_replaces_no_other_games(match, name):
    Path(f"games/{name}.sgf").write_text(game_to_sgf(match.games[1]), encoding="utf-8")
    with pytest.raises(UsageError, match="games holds those of another match"):
        check("", "games")
