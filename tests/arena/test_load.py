"""Load does not change the outcome of a game: a few samples of `bench/load.py`, which keeps every core busy."""

import subprocess
import sys
from pathlib import Path

import pytest
from misbehaving import misbehaving

from arena.engine.engine_process import Limits
from arena.engine.withheld import has_run_delays
from arena.match.referee import play_game
from arena.match.setup import GameTask

ROOT = Path(__file__).resolve().parents[2]
LIMITS = Limits(move_s=0.8, init_s=1.0, wall_cap_s=1.2)

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(not has_run_delays(), reason="this system does not count run delays"),
]


@pytest.mark.parametrize(
    ("fault", "termination"),
    [
        ("think", "five"),  # 0.4 s of CPU time, about 2 s of wall-clock time
        ("child_thinks", "five"),
        ("flood_stderr", "five"),
        ("late", "timeout"),
        ("think_and_sleep", "timeout"),
        ("no_newline", "timeout"),
        ("silent_at_init", "init_failed"),
        ("crash_at_init", "init_failed"),
        ("exit_but_child", "crash"),
        ("words", "malformed"),
    ],
)
def test_a_game_on_a_busy_core_ends_as_on_a_free_one(busy_core, fault, termination):
    game = play_game(GameTask(misbehaving(fault), misbehaving("win"), LIMITS))
    assert (game.termination, game.faulty) == (termination, None if termination == "five" else 0), game.detail
    assert game.winner == 1 and game.repeats == 0


def test_the_load_test_counts_verdicts_that_differ():
    done = subprocess.run(
        [sys.executable, "bench/load.py", "--only", "exit", "--busy", "1"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 busy programs on every core: verdicts changed: 0 of 2" in done.stdout
    assert "1 busy programs on every core: verdicts changed: 0 of 2" in done.stdout
    refused = subprocess.run([sys.executable, "bench/load.py", "--busy", "0"], cwd=ROOT, capture_output=True, text=True)
    assert refused.returncode == 2 and "expected --busy of at least 1; got 0" in refused.stderr
