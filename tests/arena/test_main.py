"""`python -m arena` replays recorded games and times the machine."""

import json
import sys
from dataclasses import replace
from threading import Barrier

import pytest
from match_tools import played, record_of
from misbehaving import misbehaving

from arena import __main__ as arena
from arena.engine.engine_process import EngineSpec
from arena.match import calibrate
from arena.match.records import Records
from arena.match.referee import REPEATS
from arena.match.setup import MatchSetup
from common.errors import UsageError


def test_a_recorded_game_is_played_again_and_a_difference_is_named(ours, tmp_path, capsys):
    setup, file = MatchSetup(ours, 2, 5), tmp_path / "games.jsonl"
    played(setup, records=Records(file, setup))
    assert arena.main(["replay", str(file), "1"]) == 0
    shown = capsys.readouterr().out
    assert "The same game" in shown and "Game 1: " in shown and "[" in shown and shown.count(" black ") > 1
    lines = file.read_text().splitlines()
    game = json.loads(lines[2])
    index = game["index"]
    game["moves"][2] = [0, 0]
    file.write_text("\n".join([lines[0], lines[1], json.dumps(game)]) + "\n")
    assert arena.main(["replay", str(file), str(index)]) == 1
    assert "The games differ from ply 3 on" in capsys.readouterr().out
    assert arena.main(["replay", str(file), "9"]) == 2
    assert arena.main(["replay", str(tmp_path / "nothing"), "0"]) == 2
    assert capsys.readouterr().err.count("\n") == 2


def test_a_recorded_game_is_shown_even_if_its_agents_can_no_longer_play(tmp_path, capsys, monkeypatch):
    """As those of a graded run, which are named by the submission and by the opponent."""
    monkeypatch.chdir(tmp_path)
    engine, opponent = (replace(misbehaving(), path=name) for name in ("ada", "baseline"))
    Records(tmp_path / "games.jsonl", MatchSetup((engine, opponent), 1, 5)).append(record_of(0))
    assert arena.main(["replay", "games.jsonl", "0"]) == 2
    said = capsys.readouterr()
    assert "Game 0: " in said.out and "[" in said.out and said.err.count("\n") == 1
    assert "the game is only shown, because its agents cannot play again: expected an engine at ada; nothing" in said.err


@pytest.mark.parametrize("busy_now", [True, False])
def test_a_game_that_went_otherwise_is_repeated_on_a_busy_machine_and_load_is_named(tmp_path, capsys, monkeypatch, busy_now):
    setup, file = MatchSetup((misbehaving("win"), misbehaving()), 1, 5), tmp_path / "games.jsonl"
    busy = {"move_s": (5.0, 5.0), "withheld_s": (4.0, 4.0)}
    Records(file, setup).append(record_of(0, **busy))
    heading, game = file.read_text().splitlines()
    heading = heading.replace('"win", "none"', f'"{sys.executable}", "{sys.executable}"')
    file.write_text(f"{heading}\n{game}\n")
    tasks = []
    other = replace(record_of(0, **(busy if busy_now else {})), moves=((7, 7), (3, 3)))
    monkeypatch.setattr(arena, "play_game", lambda task: tasks.append(task) or other)
    assert arena.main(["replay", str(file), "0"]) == 1
    said = capsys.readouterr().out
    assert len(tasks) == (1 + REPEATS if busy_now else 1) and "The games differ from ply 2 on" in said
    assert "When it was recorded other programs withheld 80 % of the time, which may be why." in said
    assert ("Now other programs withheld 80 %" in said) == busy_now


def test_the_machines_speed_is_timed_by_the_recorded_engine_alone(ours, capsys):
    speed = calibrate.measure(ours[1])
    assert 0.01 < speed.factor < 100
    assert calibrate.Speed(cpu_s=2.0, recorded_s=3.0).factor == 1.5
    with pytest.raises(UsageError, match="expected the baseline that the reference figure was recorded with"):
        calibrate.measure(ours[0])
    assert arena.main(["calibrate", "--baseline", "nowhere"]) == 2
    assert "nothing is there" in capsys.readouterr().err


def test_a_machine_is_timed_with_as_many_engines_at_once_as_it_will_run(monkeypatch):
    both, took = Barrier(2), iter([1.0, 3.0])

    def work(engine, game):
        both.wait(timeout=20)
        return next(took)

    monkeypatch.setattr(calibrate, "_fastest", work)
    assert calibrate.measure(EngineSpec("nowhere"), at_once=2).cpu_s == 2.0


def test_a_game_that_cannot_be_recorded_as_a_measure_is_named_with_its_ending(monkeypatch, tmp_path):
    monkeypatch.setattr(calibrate, "RECORD", tmp_path / "speed.json")
    with pytest.raises(UsageError, match="of at least 16 plies to record; after 0 it ended by init_failed"):
        calibrate.record(EngineSpec("nowhere"))
    monkeypatch.setattr(calibrate, "play_game", lambda task: replace(record_of(0), moves=((7, 7),) * 16))
    with pytest.raises(UsageError, match="to play the recorded game; it could not be started"):
        calibrate.record(EngineSpec("nowhere"))
    assert not calibrate.RECORD.exists()


@pytest.mark.parametrize("how", [calibrate.measure, calibrate.record])
def test_speed_is_not_measured_without_a_clock_of_cpu_time(ours, monkeypatch, how):
    monkeypatch.setattr(calibrate, "has_cpu_clock", lambda: False)
    with pytest.raises(UsageError, match="expected a system that shows the CPU time of other programs"):
        how(ours[1])
