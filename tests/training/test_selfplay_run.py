"""Runs of self-play learn, continue after a kill or Ctrl-C without repeating work, and refuse bad input with one sentence.

A run is killed once; with TRUST=all in the environment five times, and a table is printed.
"""

import contextlib
import fcntl
import hashlib
import importlib.util
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from selfplay_run_tools import SETTINGS, arguments, games_of, resumed, state_of, table_of

from common.errors import UsageError
from common.locks import LOCK
from games.gomoku.rules import GomokuRules
from training import export_run
from training.selfplay import long_run
from training.selfplay.learner import learns_faster_in_bfloat16
from training.selfplay.run_report import SampleGame, sample_to_sgf
from training.supervised.learning import deepened

ROOT = Path(__file__).resolve().parents[2]
ALL = os.environ.get("TRUST") == "all"
KILLS = 5 if ALL else 1


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder for the run that tests begin from."""
    return tmp_path_factory.mktemp("kept") / "run"


@pytest.fixture
def begun(started, kept, tmp_path):
    """A run of 30 games in a folder of its own, played once for all tests."""
    if not kept.exists():
        assert started(arguments(kept, games=30))[0] == 0
    return shutil.copytree(kept, tmp_path / "begun")


def assert_whole(folder, least_games):
    """Nothing twice, nothing missing, and exactly the steps that the positions call for."""
    games, state = games_of(folder), state_of(folder)
    assert [game["game"] for game in games] == list(range(len(games))) and len(games) >= least_games
    origins = [(game["start"], game["worker"], game["number"]) for game in games]
    assert len(set(origins)) == len(origins)
    for start, worker in {origin[:2] for origin in origins}:
        numbers = [origin[2] for origin in origins if origin[:2] == (start, worker)]
        assert numbers == list(range(len(numbers)))
    positions = sum(len(game["moves"]) for game in games)
    assert state["games"] == len(games) and state["steps"] == (positions - 60) * 4 // 16
    metrics = table_of(folder, "metrics.csv")
    for column in ("games", "positions", "steps"):
        numbers = [int(row[column]) for row in metrics]
        assert numbers == sorted(numbers) and numbers[-1] == {**state, "positions": positions}[column]
    assert len({row["steps"] for row in metrics}) == len(metrics)
    evaluated = [int(row["games"]) for row in table_of(folder, "elo.csv")]
    assert evaluated == sorted(set(evaluated)) and evaluated[-1] == len(games)
    assert [one["games"] for one in state["evaluations"]] == evaluated
    assert {int(path.stem) for path in (folder / "networks").iterdir()} >= set(evaluated)


# ------------------------------------------------------------------------------------------------ from end to end


def test_a_run_plays_learns_and_evaluates_and_goes_on_for_more_games(any_library, started, make_network, tmp_path):
    folder = tmp_path / "runs" / "a"
    code, out, err = started(arguments(folder, "--backend", "auto"))
    assert code == 0 and "60 games" in out.replace("61 games", "60 games").replace("62 games", "60 games"), err
    assert_whole(folder, 60)
    state = state_of(folder)
    network = make_network(3, 3, 1)
    network.restore_model(folder / "best.model")
    latest = state["model"]
    assert all(torch.equal(latest[name], tensor) for name, tensor in network.model.state_dict().items())
    assert {path.suffix for path in (folder / "sgf").iterdir()} == {".sgf"}
    # Without a gate workers get the latest network, but not after each step.
    steps = sorted({game["steps"] for game in games_of(folder)})
    assert steps[0] == 0 and len(steps) > 1 and min(np.diff(steps)) >= 32

    early = (folder / "checkpoint.pt").read_bytes()
    code, out, err = started(resumed(folder, "--games", 90, "--backend", "torch"))
    assert code == 0 and f"{state['games']} of 90 games" in out, err
    assert_whole(folder, 90)

    # As if it had been killed right after the last game, long after the last checkpoint.
    (folder / "checkpoint.pt").write_bytes(early)
    (folder / "elo.csv").unlink()
    before = (folder / "games.jsonl").read_bytes()
    code, _, err = started(resumed(folder))
    assert code == 0 and "Self-play has ended; the last network plays its matches" in err
    assert_whole(folder, 90)
    assert (folder / "games.jsonl").read_bytes() == before
    assert games_of(folder)[-1]["start"] == 1 and state_of(folder)["seconds"] > state["seconds"]


def test_the_best_network_is_exported_with_what_it_came_from(started, begun, tmp_path, capfd):
    weights = tmp_path / "model" / "3_3_3.model"
    weights.parent.mkdir()
    assert export_run.main([str(tmp_path / "none"), str(weights)]) == 2
    assert "expected a run that has evaluated a network" in capfd.readouterr().err
    assert export_run.main([str(begun), str(weights)]) == 0
    manifest = json.loads(weights.with_suffix(".json").read_text())
    assert manifest["sha256"] == hashlib.sha256(weights.read_bytes()).hexdigest()
    given, best = (torch.load(path, weights_only=True) for path in (weights, begun / "best.model"))
    assert given.keys() == best.keys() and all(torch.equal(given[name], tensor) for name, tensor in best.items())
    assert (manifest["board"], manifest["blocks"], manifest["origin"]) == ([3, 3, 3], 1, "self-play from nothing")
    state = state_of(begun)
    assert (manifest["games"], manifest["samples"]) == (state["games"], 16 * state["steps"])
    config = json.loads((begun / "config.json").read_text())
    assert manifest["configurations"] == [{"from_games": 0, **config}]
    assert started(resumed(begun))[0] == 0
    assert started(resumed(begun, "--games", 50, "--playouts", 5))[0] == 0
    assert export_run.main([str(begun), str(weights)]) == 0
    manifest = json.loads(weights.with_suffix(".json").read_text())
    assert manifest["configurations"] == [
        {"from_games": 0, **config},
        {"from_games": state["games"], "playouts": 5, "games": 50},
    ]
    assert manifest["games"] == state_of(begun)["games"] >= 50
    written = [{name: int(value) for name, value in row.items() if value} for row in table_of(begun, "elo.csv")]
    assert manifest["evaluations"] == written and len(written) > 2
    assert "against_other_won" not in written[0] and written[-1]["elo"] == manifest["elo_against_pure_mcts"]["elo"]
    (begun / "elo.csv").write_text("games\n0\n")  # as a kill between checkpoint and table leaves it
    assert export_run.main([str(begun), str(weights)]) == 2 and "expected all evaluations" in capfd.readouterr().err
    (begun / "checkpoint.pt").write_bytes(b"damaged")
    assert export_run.main([str(begun), str(weights)]) == 2 and "files are damaged or of another" in capfd.readouterr().err


def test_with_a_gate_self_play_waits_for_a_network_that_wins(started, tmp_path):
    assert started(arguments(tmp_path, "--gate", "--search", "puct", games=90))[0] == 0
    assert_whole(tmp_path, 90)
    rows = table_of(tmp_path, "elo.csv")
    accepted = {row["steps"] for row in rows if row["accepted"] == "1"}
    assert accepted and {str(game["steps"]) for game in games_of(tmp_path)} <= accepted
    for row in rows[1:]:
        rate = int(row["gate_won"]) + int(row["gate_drawn"]) / 2
        assert (rate / 4 > 0.55) == (row["accepted"] == "1")
        assert sum(int(row[f"against_other_{part}"]) for part in ("won", "drawn", "lost")) == SETTINGS["rating-games"]


def test_after_a_change_of_settings_steps_are_due_at_the_new_rate_from_then_on(started, begun, tmp_path):
    def positions():
        return sum(len(game["moves"]) for game in games_of(begun))

    then, before = positions(), state_of(begun)
    start = then + 20
    changes = ("--games", 70, "--reuse", 8, "--batch-size", 32, "--start-positions", start)
    assert started(resumed(begun, *changes))[0] == 0
    now = state_of(begun)
    owed = ((then - 60) * 4 / 16 - before["steps"]) * 16 / 32
    assert now["steps"] == int(before["steps"] + owed + (positions() - start) * 8 / 32) > before["steps"]
    assert now["samples"] == 16 * before["steps"] + 32 * (now["steps"] - before["steps"])
    assert started(resumed(begun, "--start-positions", 60))[0] == 0  # no steps for the positions that were waited for
    assert state_of(begun)["steps"] == now["steps"]
    assert export_run.main([str(begun), str(tmp_path / "best.weights")]) == 0
    assert json.loads((tmp_path / "best.json").read_text())["samples"] == now["evaluations"][now["best"]]["samples"]


def test_a_change_after_a_kill_counts_from_the_games_there_are_and_lost_steps_draw_as_many_samples(started, begun, monkeypatch):
    early, then = (begun / "checkpoint.pt").read_bytes(), state_of(begun)
    assert started(resumed(begun, "--games", 60))[0] == 0
    games = games_of(begun)
    (begun / "checkpoint.pt").write_bytes(early)

    def killed(*_):
        raise UsageError("killed before anything was played")

    with monkeypatch.context() as patched:
        patched.setattr(long_run, "make_crew", killed)
        assert started(resumed(begun, "--games", len(games), "--batch-size", 64))[0] == 2
    changes = {"from_games": len(games), "batch_size": 64, "games": len(games)}
    assert state_of(begun)["history"][1:] == [changes]
    assert started(resumed(begun))[0] == 0
    now = state_of(begun)
    assert now["history"][1:] == [changes] and games_of(begun) == games
    due = (sum(len(game["moves"]) for game in games) - 60) * 4
    assert due - 64 < now["samples"] <= due and now["samples"] - then["samples"] == 64 * (now["steps"] - then["steps"]) > 0


def test_a_run_from_before_a_setting_existed_goes_on_with_its_default(started, begun):
    state, config = state_of(begun), json.loads((begun / "config.json").read_text())
    for settings in (config, *state["history"]):
        del settings["gate_score"], settings["forced_playouts_k"]
    for name in ("samples", "due_from"):
        del state[name]
    torch.save(state, begun / "checkpoint.pt")
    (begun / "config.json").write_text(json.dumps(config))
    code, _, err = started(resumed(begun, "--games", 60))
    assert code == 0, err
    now = "--forced-playouts-k 0.0, --gate-score 0.55"
    assert err.count(f"The run was begun before these settings existed, and goes on with {now}.") == 1
    assert_whole(begun, 60)
    assert state_of(begun)["samples"] == 16 * state_of(begun)["steps"]


def test_a_run_ends_after_its_cpu_time_and_counts_that_of_its_games_over_a_kill(started, tmp_path):
    def spent():
        return sum(game["cpu_s"] for game in games_of(tmp_path)) + state_of(tmp_path)["learning_cpu_s"]

    assert started(arguments(tmp_path, "--cpu-minutes", 0.005, games=10**6))[0] == 0
    early = (tmp_path / "checkpoint.pt").read_bytes()
    first = state_of(tmp_path)
    assert first["complete"] and first["games"] < 10**6 and spent() >= 0.3
    code, out, _ = started(resumed(tmp_path, "--cpu-minutes", 0.01))
    assert code == 0 and f"{first['games']} of 1000000 games, 0.0 of 0.01 CPU minutes" in out
    (tmp_path / "checkpoint.pt").write_bytes(early)  # as if it had been killed before it wrote another one
    assert started(resumed(tmp_path))[0] == 0
    last = state_of(tmp_path)
    assert last["complete"] and last["steps"] > first["steps"] and spent() >= 0.6 > first["evaluations"][-1]["cpu_s"]
    assert [one["cpu_s"] for one in last["evaluations"][-1:]] == pytest.approx([spent()], abs=0.02)


def test_weights_to_start_from_are_those_of_the_first_games(started, make_network, tmp_path):
    weights = tmp_path / "weights.model"
    network = make_network(3, 3, 1, seed=5)
    network.save_model(str(weights))
    assert started(arguments(tmp_path / "a", "--init-model", weights, games=8))[0] == 0
    first = torch.load(tmp_path / "a" / "networks" / "0000000.model", weights_only=True)
    assert all(torch.equal(first[name], tensor) for name, tensor in network.model.state_dict().items())


def test_a_run_from_supervised_weights_learns_in_the_blocks_that_do_something_and_tells_of_both(
    started, make_network, tmp_path, capfd
):
    trained = make_network(3, 3, 1, seed=5)
    supervised = tmp_path / "supervised.pt"
    torch.save(deepened(trained.model, GomokuRules(3, 3, 3), 4, seed=1).state_dict(), supervised)
    supervised.with_suffix(".json").write_text('{"origin": "supervised"}')
    assert started(arguments(tmp_path / "run", "--init-model", supervised, games=8))[0] == 0
    first = torch.load(tmp_path / "run" / "networks" / "0000000.model", weights_only=True)
    assert first.keys() == trained.model.state_dict().keys()
    assert all(torch.equal(first[name], tensor) for name, tensor in trained.model.state_dict().items())

    weights = tmp_path / "tuned.pt"
    assert export_run.main([str(tmp_path / "run"), str(weights), "--blocks", "4"]) == 0
    manifest = json.loads(weights.with_suffix(".json").read_text())
    assert (manifest["blocks"], manifest["blocks_trained"]) == (4, 1)
    assert manifest["started_from"] == {"origin": "supervised"}
    assert str(supervised) in manifest["origin"]
    states = (torch.rand(5, 9, 3, 3) < 0.3).float().numpy()
    trained.restore_model(tmp_path / "run" / "best.model")
    deep = make_network(3, 3, 4)
    deep.restore_model(weights)
    for expected, given in zip(trained.policy_value(states, 2, 3), deep.policy_value(states, 2, 3), strict=True):
        assert given == pytest.approx(expected, abs=1e-5)
    capfd.readouterr()
    assert export_run.main([str(tmp_path / "run"), str(weights), "--blocks", "0"]) == 2
    assert "expected --blocks of at least the run's 1" in capfd.readouterr().err


@pytest.mark.parametrize("slower", [torch.float32, torch.bfloat16, None])
def test_steps_are_made_in_bfloat16_where_that_is_faster_and_goes(make_network, monkeypatch, slower):
    network = make_network(3, 3, 1)
    before = {name: tensor.clone() for name, tensor in network.model.state_dict().items()}
    train_step, seconds = type(network).train_step, [0.0]

    def timed(self, states, probs, winners, rate):
        in_bfloat16 = torch.is_autocast_enabled("cpu")
        if in_bfloat16 and slower is None:
            raise TypeError("Got unsupported ScalarType BFloat16")
        seconds[0] += 1 + (in_bfloat16 == (slower is torch.bfloat16))
        return train_step(self, states, probs, winners, rate)

    monkeypatch.setattr(type(network), "train_step", timed)
    monkeypatch.setattr("training.selfplay.learner.computing_clock", lambda device: lambda: seconds[0])
    assert learns_faster_in_bfloat16(network, GomokuRules(3, 3, 3), 8) == (slower is torch.float32)
    assert all(torch.equal(before[name], tensor) for name, tensor in network.model.state_dict().items())


def test_a_game_as_sgf_has_its_moves_from_the_left_and_from_the_top():
    text = sample_to_sgf(SampleGame(7, [0, 5, 8], 1, ("new", "old")), GomokuRules(3, 3, 3))
    assert "SZ[3]" in text and "GN[7]" in text and "RE[B+]" in text and "PB[new]PW[old]" in text
    assert text.split("\n")[1:] == [";B[ac]", ";W[cb]", ";B[ca])", ""]
    drawn = sample_to_sgf(SampleGame(0, [0], -1, ("", "")), GomokuRules(4, 3, 3))
    assert "SZ[4:3]" in drawn and "RE[0]" in drawn


# ------------------------------------------------------------------------------------------------ kills and Ctrl-C


def left_of(folder):
    """Processes of the run in this folder, with those that they have started."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"RUN_OF_TEST={folder}".encode() in entry.read_bytes():
                found.append(int(entry.parent.name))
    return found


def until(holds, timeout_s=120):
    end = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def begin(folder, words):
    """Start the command as a program of its own, whose processes `left_of(folder)` finds."""
    environment = {**os.environ, "RUN_OF_TEST": str(folder), "OMP_NUM_THREADS": "1", "PYTHONSAFEPATH": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, (ROOT / "instructor" / "reference", ROOT)))
    command = [sys.executable, "-m", "training.selfplay", *words]
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def test_a_run_killed_again_and_again_ends_whole(tmp_path, capfd):
    folder = tmp_path / "run"
    numbers = random.Random(os.environ.get("KILL_SEED", "1"))
    lines = folder / "games.jsonl"

    def count():
        return lines.read_bytes().count(b"\n") if lines.exists() else 0

    table, process = [], begin(folder, arguments(folder, games=10_000, workers=1))
    for kill in range(KILLS):
        before, wanted = lines.read_bytes() if kill else b"", count() + numbers.randint(1, 60)
        until(lambda wanted=wanted, process=process: count() >= wanted or process.poll() is not None)
        time.sleep(numbers.random() / 2)
        process.kill()
        process.wait()
        assert process.returncode == -signal.SIGKILL, process.stderr.read()
        process.stderr.close()
        until(lambda: not left_of(folder), 20)
        content = lines.read_bytes()
        assert content.startswith(before[: before.rfind(b"\n") + 1])
        table.append((count(), state_of(folder)["games"], state_of(folder)["steps"]))
        more = ["--games", count() + 8] if kill == KILLS - 1 else []
        process = begin(folder, resumed(folder, *more, workers=kill % 2))
    _, err = process.communicate()
    assert process.returncode == 0 and "Traceback" not in err, err
    with capfd.disabled():
        if ALL:
            print("\nkilled after games  games in the checkpoint  steps in it")
            for games, saved, steps in table:
                print(f"{games:18}  {saved:23}  {steps:11}")
    assert_whole(folder, table[-1][0] + 8)
    assert {game["start"] for game in games_of(folder)} == set(range(KILLS + 1))


def test_ctrl_c_saves_and_the_run_goes_on(started, tmp_path):
    with begin(tmp_path, arguments(tmp_path, games=10_000)) as process:
        until(lambda: process.poll() is not None or ((tmp_path / "games.jsonl").exists() and len(games_of(tmp_path)) > 20))
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    games = len(games_of(tmp_path))
    assert process.returncode == 130 and f"Interrupted after {games} games" in err and "continue with --resume" in err
    assert state_of(tmp_path)["games"] == games
    assert started(resumed(tmp_path, "--games", games + 8))[0] == 0
    assert_whole(tmp_path, games + 8)


# -------------------------------------------------------------------------------------------------- wrong calls


def refusal(started, words):
    code, out, err = started(words)
    assert (code, out) == (2, "") and err.startswith("training.selfplay: ") and len(err.splitlines()) == 1
    return err


def test_wrong_calls_are_told_in_a_sentence(started, tmp_path):
    nowhere, wrong = tmp_path / "nowhere", tmp_path / "wrong.model"
    wrong.write_bytes(b"no weights")
    assert "expected a run to continue in" in refusal(started, resumed(nowhere))
    assert "expected one of tictactoe, 5x5x4" in refusal(started, ["--run", str(nowhere)])
    assert "expected an even --rating-games" in refusal(started, arguments(nowhere, "--rating-games", 3))
    assert "expected --batch-size of at least 1; got 0" in refusal(started, arguments(nowhere, "--batch-size", 0))
    assert "expected --reuse above 0" in refusal(started, arguments(nowhere, "--reuse", "-1"))
    assert "expected --reuse above 0 and finite; got inf" in refusal(started, arguments(nowhere, "--reuse", "inf"))
    assert "expected a board of at least 4 by 4" in refusal(started, arguments(nowhere, "--n-in-row", 4))
    assert "expected --full-share from 0 to 1; got 2" in refusal(started, arguments(nowhere, "--full-share", 2))
    assert "expected --full-share above 0" in refusal(started, arguments(nowhere, "--full-share", 0))
    assert "expected --cpu-minutes of at least 0; got -1" in refusal(started, arguments(nowhere, "--cpu-minutes", "-1"))
    assert "expected --fast-playouts below --playouts, 4; got 8" in refusal(started, arguments(nowhere, "--full-share", 0.5))
    assert "expected --forced-playouts-k from 0 to 100; got -1" in refusal(
        started, arguments(nowhere, "--forced-playouts-k", "-1")
    )
    assert "expected --search puct with --forced-playouts-k; got gumbel" in refusal(
        started, arguments(nowhere, "--forced-playouts-k", 2)
    )
    assert "expected openings of 0 to 4 stones" in refusal(started, arguments(nowhere, "--opening-stones", 5))
    assert "expected --workers of at least 0" in refusal(started, arguments(nowhere, workers=-1))
    assert not nowhere.exists()
    for path in (wrong, tmp_path / "missing.model", ROOT / "model" / "5_5_4.model"):
        assert "expected weights" in refusal(started, arguments(nowhere, "--init-model", path))
    deep = ROOT / "model" / "11_11_5.pt"
    words = ["gomoku_11", "--run", str(nowhere), "--init-model", str(deep), "--blocks", "3"]
    assert refusal(started, words).endswith(f"expected weights of 3 blocks in {deep}; they have 6\n")
    assert not nowhere.exists()
    (tmp_path / "file").write_text("")
    assert "run, which cannot be used: Not a directory" in refusal(started, arguments(tmp_path / "file" / "run"))


def test_an_unknown_preset_names_those_that_there_are(started, tmp_path, capfd):
    with pytest.raises(SystemExit) as ended:
        started(["chess", "--run", str(tmp_path)])
    assert ended.value.code == 2 and "tictactoe" in capfd.readouterr().err


def test_a_run_is_not_begun_twice_nor_changed_in_what_its_files_depend_on_nor_shared(started, begun, tmp_path):
    assert "expected a new folder without --resume" in refusal(started, arguments(begun))
    assert "expected --blocks 1, as when" in refusal(started, resumed(begun, "--blocks", 2))
    (tmp_path / "supervised").mkdir()
    (tmp_path / "supervised" / "metrics.csv").write_text("samples\n")
    assert "expected a new folder without --resume" in refusal(started, arguments(tmp_path / "supervised"))
    assert "expected no preset" in refusal(started, ["tictactoe", *resumed(begun)])
    with open(begun / LOCK, "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "another training (" in refusal(started, resumed(begun))
    content = (begun / "checkpoint.pt").read_bytes()
    for torn in (content[: len(content) // 2], b"", b"something else"):
        (begun / "checkpoint.pt").write_bytes(torn)
        assert "expected the run's checkpoint in" in refusal(started, resumed(begun))
    (begun / "config.json").write_text('{"blocks": 1}')
    assert "expected the settings of a run in" in refusal(started, resumed(begun))


def test_a_run_recorded_under_old_names_of_settings_goes_on(started, begun):
    config, state = json.loads((begun / "config.json").read_text()), state_of(begun)
    for settings in (config, *state["history"]):
        settings["learn_rate"] = settings.pop("learning_rate")
    (begun / "config.json").write_text(json.dumps(config))
    torch.save(state, begun / "checkpoint.pt")
    assert started(resumed(begun, "--games", 38))[0] == 0
    changes = state_of(begun)["history"]
    assert changes[0]["learning_rate"] == 1e-3 and "learn_rate" not in changes[0]
    assert changes[1:] == [{"from_games": state["games"], "games": 38}]
    (begun / "config.json").write_text("[]")
    assert "expected the settings of a run in" in refusal(started, resumed(begun))


def test_a_worker_that_dies_ends_the_run_with_a_sentence_and_what_there_is_stays(started, tmp_path, monkeypatch):
    from training.selfplay import workers

    monkeypatch.setattr(workers, "_serve", lambda *arguments: None)
    monkeypatch.setattr(workers.multiprocessing, "get_context", lambda method: workers.multiprocessing.context.ForkContext())
    code, _, err = started(arguments(tmp_path, workers=1))
    assert code == 2 and "expected all 2 processes to keep running; number" in err and "Traceback" not in err
    assert started(resumed(tmp_path, "--games", 30))[0] == 0
    assert_whole(tmp_path, 30)


# ---------------------------------------------------------------------------------------------------------- Ray

needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed")


def test_a_missing_ray_is_one_sentence_with_the_command_that_installs_it(started, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    code, _, err = started(arguments(tmp_path, "--ray-address", "auto", workers=1))
    assert code == 2 and "pip install 'ray>=2.40'" in err.splitlines()[-1]


@needs_ray
def test_an_address_that_does_not_answer_is_one_sentence(started, tmp_path):
    code, _, err = started(arguments(tmp_path, "--ray-address", "127.0.0.1:1", workers=1))
    assert code == 2 and "nothing answers there" in err.splitlines()[-1]


@needs_ray
def test_on_a_cluster_a_lost_actor_is_replaced_and_nothing_is_played_twice(started, tmp_path):
    from ray.cluster_utils import Cluster

    def kill_a_member():
        until(lambda: (tmp_path / "games.jsonl").exists() and len(games_of(tmp_path)) > 5, timeout_s=600)
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if entry.read_bytes().startswith(b"ray::_Member"):
                    os.kill(int(entry.parent.name), signal.SIGKILL)

    system = {"worker_niceness": 0, "prestart_worker_first_driver": False}
    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 2, "include_dashboard": False, "_system_config": system},
    )
    try:
        code, _, err = started(arguments(tmp_path / "b", "--ray-address", cluster.address, workers=2))
        assert code == 2 and "expected a CPU for each of 3 processes" in err
        threading.Thread(target=kill_a_member, daemon=True).start()
        code, _, err = started(arguments(tmp_path, "--ray-address", cluster.address, games=40, workers=1))
    finally:
        cluster.shutdown()
    assert code == 0 and "Traceback" not in err, err
    assert_whole(tmp_path, 40)
    assert len({game["worker"] for game in games_of(tmp_path)}) == 2
