"""Finished runs are recorded by bench/record_run.py as bench/tables.py shows them."""

import json
import shutil
import sys
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))

import network_tables
import pytest
import record_run
import recording
import torch
from markdown_tables import cells_of

from training.muzero.latent_model import MuZeroModel
from training.muzero.muzero_settings import MuZeroConfig

ROOT = Path(__file__).resolve().parents[1]


def alphago_run(folder):
    """A folder of runs with the results that stand in bench/records/alphago_9.json, and games of a teacher."""
    known = recording.read_json(ROOT / "bench" / "records" / "alphago_9.json")
    for stage in record_run.STAGES:
        (folder / stage).mkdir()
        (folder / stage / "result.json").write_text(json.dumps(known[stage]))
    games = [{"size": 9, "nodes": 1}, {"winner": 0, "best": [1, 2]}, {"winner": -1, "best": [3]}]
    (folder / "teacher.jsonl").write_text("".join(json.dumps(line) + "\n" for line in games))
    return ["alphago", str(folder), "--games", str(folder / "teacher.jsonl"), "--record", str(folder / "record.json")]


def test_the_stages_of_alphago_are_recorded_from_their_folder(tmp_path):
    assert record_run.main(alphago_run(tmp_path)) == 0
    record = recording.read_json(tmp_path / "record.json")
    assert record["teacher"]["results"] == {"black": 1, "white": 0, "drawn": 1} and "torch" in record["machine"]
    known = recording.read_json(ROOT / "bench" / "records" / "alphago_9.json")
    rows, expected = (cells_of(network_tables.alphago(one)) for one in (record, known))
    assert rows[1] == ["teacher", "", "", "2 games, 3 positions"]
    assert rows[2:] == expected[2:] and len(rows) == 7
    assert network_tables.alphago_value(record) == network_tables.alphago_value(known)


def test_runs_with_several_seeds_are_recorded_side_by_side(tmp_path):
    runs = []
    for seed in (2, 1):
        runs.append(tmp_path / str(seed))
        runs[-1].mkdir()
        call = alphago_run(runs[-1])
        (runs[-1] / "value" / "games.jsonl").write_text(json.dumps({"size": 7, "seed": seed}) + "\n")
    assert record_run.main(["alphago-seeds", *map(str, runs), *call[2:]]) == 0
    record = recording.read_json(runs[-1] / "record.json")
    rows = cells_of(network_tables.alphago_seeds(record))
    assert rows[0] == ["stage", "seed 1", "seed 2"] and len(rows) == 12
    by_name = {row[0]: row[1:] for row in rows}
    assert by_name["reinforce: drawing their moves"] == 2 * [".59, .54 to .63"]
    assert by_name["... as a share of that"] == 2 * ["0.97"]  # 0.201 of 0.208
    assert by_name["search: lambda 0.0 against 0.5"] == 2 * [".48, .37 to .58"]


def test_a_stage_that_is_not_finished_is_named(tmp_path, capsys):
    call = alphago_run(tmp_path)
    (tmp_path / "search" / "result.json").unlink()
    assert record_run.main(call) == 2
    assert "search/result.json" in capsys.readouterr().err and not (tmp_path / "record.json").exists()


@pytest.fixture
def selfplay_run(tmp_path):
    """A folder like that of a run on 3x3 that has evaluated one network."""
    (tmp_path / "networks").mkdir()
    shutil.copyfile(ROOT / "model" / "3_3_3.model", tmp_path / "networks" / "0000250.model")
    config = {"board_width": 3, "board_height": 3, "n_in_row": 3}
    (tmp_path / "config.json").write_text(json.dumps(config))
    names = "games,steps,accepted,against_other_won,against_other_drawn,against_other_lost,"
    names += "against_mcts_won,against_mcts_drawn,against_mcts_lost,elo,error_95"
    (tmp_path / "elo.csv").write_text(f"{names}\n250,359,1,,,,8,15,17,-80,63\n")
    return tmp_path


def test_a_run_of_self_play_is_recorded_with_the_lines_that_its_networks_lose(selfplay_run):
    record = selfplay_run / "record.json"
    assert record_run.main(["selfplay", str(selfplay_run), "--record", str(record)]) == 0
    assert cells_of(network_tables.selfplay_tictactoe(recording.read_json(record)))[1:] == [
        ["250", "359", "0 / 0", "8 : 15 : 17", "-80 +- 63"]
    ]


@pytest.fixture
def muzero_run(tmp_path):
    """A folder like that of a run of MuZero on 3x3 that has counted losing lines once."""
    config = MuZeroConfig(3, 3, 3, filters=4, blocks=1, seed=7)
    (tmp_path / "config.json").write_text(json.dumps(asdict(config)))
    torch.manual_seed(1)
    torch.save(MuZeroModel(config.rules(), 4, 1).state_dict(), tmp_path / "latest.model")
    names = (
        "games,steps,policy_loss,value_loss,reward_loss,consistency_loss,cpu_s,check_cpu_s,losing_lines_100,losing_lines_400"
    )
    (tmp_path / "metrics.csv").write_text(f"{names}\n64,0,,,,,0.5,0.0,,\n128,60,3,1,0.1,0,4.6,9.5,30,12\n")
    return tmp_path


def test_a_run_of_muzero_is_recorded_with_its_losing_lines_and_its_accuracy(muzero_run, monkeypatch):
    monkeypatch.setattr(record_run, "RANDOM_GAMES", 20)
    record = muzero_run / "record.json"
    assert record_run.main(["muzero", str(muzero_run), "--record", str(record)]) == 0
    content = recording.read_json(record)
    assert cells_of(network_tables.muzero_losing_lines(content)) == [["games", "CPU s", "seed 7"], ["128", "5", "30 / 12"]]
    assert [row[0] for row in cells_of(network_tables.muzero_accuracy(content))[1:]] == ["1", "2", "3", "4", "5"]
    assert content["accuracy"][0]["games"] == 128


def test_runs_of_muzero_with_other_settings_are_not_recorded_together(muzero_run, tmp_path, capsys):
    other = tmp_path / "other"
    other.mkdir()
    for name in ("latest.model", "metrics.csv"):
        shutil.copyfile(muzero_run / name, other / name)
    (other / "config.json").write_text(json.dumps(asdict(MuZeroConfig(3, 3, 3, filters=4, blocks=1, seed=8, playouts=50))))
    record = tmp_path / "record.json"
    assert record_run.main(["muzero", str(muzero_run), str(other), "--record", str(record)]) == 2
    assert "differs in playouts" in capsys.readouterr().err and not record.exists()


def test_a_record_of_muzero_keeps_its_other_seeds_and_refuses_other_settings(muzero_run, monkeypatch, capsys):
    monkeypatch.setattr(record_run, "RANDOM_GAMES", 20)
    record = muzero_run / "record.json"
    assert record_run.main(["muzero", str(muzero_run), "--record", str(record)]) == 0
    (muzero_run / "config.json").write_text(json.dumps(asdict(MuZeroConfig(3, 3, 3, filters=4, blocks=1, seed=8))))
    for _ in range(2):  # the same run again replaces its rows
        assert record_run.main(["muzero", str(muzero_run), "--record", str(record)]) == 0
    content = recording.read_json(record)
    assert [row["seed"] for row in content["rows"]] == [7, 8]
    assert [row["seed"] for row in content["accuracy"]] == [7] * 5 + [8] * 5
    (muzero_run / "config.json").write_text(json.dumps(asdict(MuZeroConfig(3, 3, 3, filters=4, blocks=1, seed=9, playouts=50))))
    assert record_run.main(["muzero", str(muzero_run), "--record", str(record)]) == 2
    told = capsys.readouterr().err
    assert "expected a record of `python -m training.muzero tictactoe" in told and "--playouts 50" in told
    assert recording.read_json(record) == content


def test_runs_of_muzero_with_and_without_reanalysis_stand_side_by_side():
    def record(share, *rows):
        names = ("seed", "games", "cpu_s", "losing_lines")
        rows = [dict(zip(names, row, strict=True)) for row in rows]
        return {"configuration": {"reanalysed_share": share}, "rows": rows}

    with_it = record(
        0.25, (1, 64, 10.0, {"100": 5, "400": 3}), (2, 64, 14.0, {"100": 2, "400": 1}), (3, 64, 90.0, {"100": 0, "400": 0})
    )
    without = record(0.0, (1, 64, 8.0, {"100": 9, "400": 7}), (2, 64, 10.0, {"100": 6, "400": 8}), (2, 128, 18.0, {"400": 0}))
    assert cells_of(network_tables.muzero_reanalysis(with_it, without)) == [
        ["games", "25 % reanalysed: seeds 1 / 2", "none: seeds 1 / 2"],
        ["64", "3 / 1", "7 / 8"],
        ["128", "- / -", "- / 0"],
    ]


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("config.json", '{"board_width": 5, "board_height": 5, "n_in_row": 4}', "expected a run on 3x3"),
        ("networks/0000250.model", None, "expected evaluated networks in"),
        ("elo.csv", None, "expected evaluated networks in"),
        ("config.json", None, "expected recorded results in"),
    ],
)
def test_a_run_that_cannot_be_recorded_gets_one_sentence(selfplay_run, capsys, file, content, words):
    if content is None:
        (selfplay_run / file).unlink()
    else:
        (selfplay_run / file).write_text(content)
    assert record_run.main(["selfplay", str(selfplay_run), "--record", str(selfplay_run / "record.json")]) == 2
    told = capsys.readouterr().err
    assert words in told and len(told.splitlines()) == 1
