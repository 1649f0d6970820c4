"""bench/family.py: trains, counts and plays what the record lacks, and says in a sentence what it cannot use."""

import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import family
import family_tables
import recording
from markdown_tables import cells_of

from common.errors import UsageError
from games.catalog import rules_of
from training.inference.networks import new_model
from training.muzero.latent_model import MuZeroModel
from training.muzero.muzero_settings import MuZeroConfig
from training.search.puct import PuctSettings
from training.search.rollouts import RandomRollouts
from training.searched_lines import play_searched_lines
from training.selfplay.learner import Learner


def call(*arguments):
    """Run a command of the bench in this process, where the package AlphaZero is the reference already."""
    options = family.parse_options([str(argument) for argument in arguments])
    return family.COMMANDS[options.command](options)


@pytest.fixture
def alphazero(reference, monkeypatch, tmp_path):
    """The folder of a run of AlphaZero on tic-tac-toe that has ended after a few games."""
    reference("policy_value_net_torch")
    few = ["--playouts", "2", "--check-every", "4", "--batch-size", "8", "--start-positions", "16"]
    monkeypatch.setitem(family.TRAINED, "tictactoe", few)
    assert call("train", tmp_path, "--searches", "puct", "--seeds", 3, "--games", 4) == 0
    return tmp_path / "puct_3"


@pytest.fixture
def muzero(tmp_path):
    """A folder like that of a run of MuZero on tic-tac-toe that has counted losing lines once."""
    folder = tmp_path / "muzero_7"
    folder.mkdir()
    config = MuZeroConfig(3, 3, 3, filters=4, blocks=1, seed=7)
    recording.write_record(folder / "config.json", asdict(config))
    torch.manual_seed(1)
    torch.save(MuZeroModel(config.rules(), 4, 1).state_dict(), folder / "latest.model")
    (folder / "metrics.csv").write_text(
        "games,steps,cpu_s,losing_lines_100,losing_lines_400\n64,0,0.5,,\n128,60,4.6,30,12\n", encoding="utf-8"
    )
    return folder


def rows_of(path, kind):
    return [row for row in recording.read_json(path)["rows"] if row["kind"] == kind]


# ------------------------------------------------------------------------------------------------ the whole way


def test_runs_are_judged_and_play_and_nothing_is_measured_twice(alphazero, muzero, tmp_path, monkeypatch, capsys):
    record = tmp_path / "family.json"
    assert call("train", tmp_path, "--searches", "puct", "--seeds", 3) == 0  # has ended, and stays as it is
    lines = ("lines", "--networks", alphazero, "--models", muzero, "--playouts", 2, 3, "--record", record)
    matches = ("matches", "--board", "3x3x3", "--network", alphazero, "--model", muzero, "--playouts", 2, "--games", 4)
    matches = (*matches, "--methods", "uct", "puct", "mixed", "muzero", "--equal-time", "puct", "--record", record)
    assert call(*lines) == 0 and call(*matches) == 0
    assert {row["name"]: row["games"] for row in rows_of(record, "network")}.keys() == {"puct_3", "muzero_7"}
    assert {(row["method"], row["seed"], row["playouts"]) for row in rows_of(record, "lines")} == {
        (method, {"uct": 1, "muzero": 7}.get(method, 3), playouts) for method in family.METHODS for playouts in (2, 3)
    }
    played = rows_of(record, "match")
    assert len(played) == 2 * 6 and all(row["won"] + row["drawn"] + row["lost"] == 4 for row in played)
    before = record.read_bytes()
    capsys.readouterr()

    def refuse(*_):
        raise AssertionError("measured again")

    for name in ("contestant", "play_lockstep_match", "play_searched_lines"):
        monkeypatch.setattr(family, name, refuse)
    assert call(*lines) == 0 and call(*matches) == 0
    assert capsys.readouterr().out.count("(recorded before)") == 12
    assert record.read_bytes() == before


def test_an_interrupted_training_is_told_that_the_same_command_continues_it(reference, monkeypatch, tmp_path, capsys):
    reference("policy_value_net_torch")

    def interrupt(self, crew):
        raise KeyboardInterrupt

    monkeypatch.setattr(Learner, "go", interrupt)
    assert call("train", tmp_path, "--searches", "puct", "--seeds", 3, "--games", 500) == 130
    assert "Interrupted after 0 games and 0 steps; the same command continues." in capsys.readouterr().err


def test_the_networks_of_a_run_become_its_curve(alphazero, tmp_path, monkeypatch):
    record = tmp_path / "family.json"
    monkeypatch.setattr(family, "CHECKED_PLAYOUTS", (2,))
    assert call("curves", alphazero, "--record", record) == 0
    points = rows_of(record, "curve")
    assert len(points) >= 2 and points[0]["games"] == 0 and points[-1]["games"] >= 4
    assert all((row["method"], row["seed"]) == ("puct", 3) and row["losing_lines"]["2"] > 0 for row in points)
    before = record.read_bytes()
    monkeypatch.setattr(family, "contestant", None)
    assert call("curves", alphazero, "--record", record) == 0 and record.read_bytes() == before


# ----------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["curves", "nowhere"], "expected the folder of a run, with config.json; nowhere has none"),
        (["matches", "--methods", "puct", "uct"], "expected the network of a run of self-play for puct; none was given"),
        (["matches", "--methods", "muzero", "uct"], "expected the model of a run of MuZero for muzero; none was given"),
        (["matches", "--games", "3"], "expected an even number of games"),
        (["lines", "--networks", "a", "--models", "b", "c"], "expected at least as many --networks as --models"),
    ],
)
def test_what_cannot_be_compared_gets_a_sentence(arguments, sentence):
    with pytest.raises(UsageError, match=sentence):
        call(*arguments)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["matches", "--playouts", "1"], "expected --playouts of at least 2"),
        (
            ["matches", "--methods", "uct", "puct", "--equal-time", "mixed"],
            "expected --equal-time to name one of the --methods",
        ),
        (["matches", "--methods", "uct"], "expected at least two --methods"),
    ],
)
def test_a_wrong_call_is_refused(arguments, sentence, capsys):
    with pytest.raises(SystemExit) as ended:
        call(*arguments)
    assert ended.value.code == 2 and sentence in capsys.readouterr().err


def test_runs_of_another_kind_are_refused(muzero):
    with pytest.raises(UsageError, match=r"expected a run on 5x5x4 in .*; it is one on 3x3x3"):
        call("matches", "--model", muzero)
    with pytest.raises(UsageError, match=r"expected runs of self-play on tic-tac-toe; .* is one of muzero on 3x3x3"):
        call("curves", muzero)


def test_the_mix_plays_other_games_than_gomoku(tmp_path):
    rules = rules_of("nogo", 3, 3)
    torch.save(new_model("residual", rules, 1, 8).state_dict(), tmp_path / "a.model")
    agent = family.contestant("mixed", tmp_path / "a.model", 4, rules, 2, np.random.default_rng(1))
    boards = rules.batch(2)
    boards.play(agent.choose(boards))  # a move that is not legal raises ValueError


# ------------------------------------------------------------------------------------------- counts, tables, curve


def test_a_search_with_enough_rollouts_loses_hardly_any_line_of_a_game_that_nobody_can_win():
    rng = np.random.default_rng(1)
    rules = rules_of("gomoku", 2, 2, n_in_row=2)  # the first player wins at once, so the second loses every line
    result = play_searched_lines(rules, RandomRollouts(2, rng), PuctSettings(8), rng)
    assert result.first.losses == 0 and result.second.losses == result.second.lines > 0


def match(first, second, budget, won, drawn, lost, playouts=(64, 64)):
    row = {"kind": "match", "board": "5x5x4", "budget": budget, "first": first, "second": second, "games": won + drawn + lost}
    row |= {"won": won, "drawn": drawn, "lost": lost, "score": (won + drawn / 2) / row["games"], "low_95": 0.25, "high_95": 1}
    return {**row, "playouts": list(playouts), "cpu_ms_a_move": [1.0, 3.0]}


def test_the_tables_of_a_round_robin():
    rows = [match("uct", "puct", "64 playouts", 1, 2, 7), match("uct", "puct", "equal CPU time", 3, 0, 1, (300, 64))]
    rows.append(match("puct", "muzero", "64 playouts", 6, 2, 2))
    assert cells_of(family_tables.family_matches({"rows": rows}, "5x5x4"))[1:] == [
        ["pure UCT", "PUCT", "1 / 2 / 7", ".20, .25 to 1", "3 / 0 / 1", ".75, .25 to 1"],
        ["PUCT", "MuZero", "6 / 2 / 2", ".70, .25 to 1", "-", "-"],
    ]
    head, *methods = cells_of(family_tables.family_methods({"rows": rows}, "5x5x4"))
    assert head[1] == "64 playouts: CPU ms per move" and head[3] == "equal CPU time: playouts"
    assert methods == [
        ["pure UCT", "1.0", ".20", "300", "1.0", ".75"],
        ["PUCT", "2.0", ".75", "64", "3.0", ".25"],
        ["MuZero", "3.0", ".30", "-", "-", "-"],
    ]


def test_the_tables_of_networks_and_lines():
    own = {"kind": "network", "board": "3x3x3", "method": "puct", "games": 1536, "playouts": 25}
    rows = [{**own, "name": f"puct_{seed}", "seed": seed, "cpu_s": 60.4 + seed} for seed in (2, 1)]
    rows += [
        {"kind": "lines", "method": "puct", "seed": seed, "playouts": playouts, "losing_lines": 10 * seed + playouts}
        for seed in (2, 1)
        for playouts in (100, 25)
    ]
    assert cells_of(family_tables.family_networks({"rows": rows}))[1:] == [
        ["tic-tac-toe", "AlphaZero, PUCT", "1, 2", "1536", "25", "61, 62"]
    ]
    assert cells_of(family_tables.family_lines({"rows": rows})) == [
        ["", "seeds", "25 playouts", "100 playouts"],
        ["PUCT", "1, 2", "35 / 45", "110 / 120"],
    ]
