"""Games as Ray tasks are the games that threads play, on two nodes, even if a node, a worker or the match itself is killed."""

import importlib.util
import json
import os
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from arena.engine.engine_process import EngineSpec, Limits
from arena.engine.guardian import environment_mark, process_ids, read_file
from arena.match.match import ThreadRunner, play_match
from arena.match.ray_runner import RayRunner
from arena.match.records import Records, read_records
from arena.match.setup import MatchSetup
from common.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
LIMITS = Limits(move_s=10, init_s=30, wall_cap_s=60)
needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed")


# Think for a fifth of a second per move (for ten minutes if there is a file "hang" in the test's folder), make five in one
# column, and leave behind a child in a session of its own.
SLOW = """
import os, subprocess, sys, time
subprocess.Popen(["sleep", "60"], start_new_session=True)
side = int(input())
print("slow", flush=True)
for y in range(4, 9):
    input()
    time.sleep(600 if os.path.exists(os.environ["OF_TEST"] + "/hang") else 0.2)
    print(7 + side, y, flush=True)
"""


def slow(folder):
    """Make an engine whose games take two seconds and which can be recognised by the test's folder."""
    return EngineSpec(path="slow", command=(sys.executable, "-S", "-c", SLOW), env={"OF_TEST": str(folder)})


def engines_of(folder):
    """Return the engines that the test with this folder has started; their command line or environment names the folder."""
    found = []
    for pid in process_ids():
        with suppress(OSError):
            told = read_file(f"/proc/{pid}/environ") + read_file(f"/proc/{pid}/cmdline")
            if str(folder).encode() in told and environment_mark(pid):
                found.append(pid)
    return found


def until(holds, timeout_s=60):
    """Wait until the condition holds; fail if it never does."""
    end = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def essence(result):
    return [(g.index, g.black, g.moves, g.winner, g.termination, g.names, g.seed) for g in result.games]


def nothing_is_left(folder):
    until(lambda: not engines_of(folder))


# ------------------------------------------------------------------------------------------------- wrong calls


def test_a_missing_ray_is_one_sentence_with_the_command_that_installs_it(engines, tmp_path):
    (tmp_path / "ray.py").write_text("raise ImportError\n")
    sample = str(engines / "sample")
    command = [sys.executable, str(ROOT / "Minimax" / "evaluate.py"), "--agents-path", sample, sample, "--engine", "ray"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(tmp_path)}, timeout=60)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert "pip install 'ray>=2.40'" in done.stderr


def test_an_address_belongs_to_ray(engines):
    sample = str(engines / "sample")
    command = [sys.executable, "Minimax/evaluate.py", "--agents-path", sample, sample, "--ray-address", "localhost:6379"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.returncode == 2 and "expected --engine ray with --ray-address" in done.stderr


@needs_ray
@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("127.0.0.1:1", "nothing answers there"),
        ("6379", "as HOST:PORT"),
        ("localhost:port", "as HOST:PORT"),
    ],
)
def test_an_address_that_does_not_answer_is_one_sentence(address, sentence):
    with pytest.raises(UsageError, match=sentence):
        RayRunner(1, address)


@needs_ray
def test_a_name_that_no_machine_has_is_one_sentence(monkeypatch):
    def unknown(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr("socket.getaddrinfo", unknown)
    with pytest.raises(UsageError, match="nothing answers there"):
        RayRunner(1, "nowhere.invalid:6379")


@needs_ray
def test_an_address_at_which_another_program_answers_is_one_sentence():
    with socketserver.TCPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        with pytest.raises(UsageError, match="another program answers there"):
            RayRunner(1, f"127.0.0.1:{server.server_address[1]}")


# ------------------------------------------------------------------------------------------------ the same games


@needs_ray
def test_ray_plays_the_games_that_threads_play(engines, cluster, tmp_path, monkeypatch):
    os.symlink(engines, tmp_path / "here")
    monkeypatch.chdir(tmp_path)
    agents = (EngineSpec("here/sample"), EngineSpec("./here/baseline"))  # relative paths, which are valid only in this folder
    setup = MatchSetup(agents, 4, 11, LIMITS, openings="all49")
    by_ray = play_match(setup, RayRunner(None, cluster.address))
    assert essence(by_ray) == essence(play_match(setup, ThreadRunner(2)))
    assert len({game.moves for game in by_ray.games}) > 1
    nothing_is_left(tmp_path)


@needs_ray
def test_a_node_without_the_engine_is_nobodys_loss(cluster, tmp_path, monkeypatch):
    program = tmp_path / "engine.sh"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    agents = (EngineSpec(str(program)), EngineSpec(str(program)))
    runner = RayRunner(1, cluster.address)
    monkeypatch.setattr("arena.match.ray_runner._files", lambda spec: {spec.argv[0]: "0" * 64})
    with pytest.raises(UsageError, match="has another"):
        play_match(MatchSetup(agents, 2, 1, LIMITS), runner)


@needs_ray
def test_a_match_that_is_ended_early_ends_its_games(cluster, tmp_path):
    setup = MatchSetup((slow(tmp_path), slow(tmp_path)), 9, 3, Limits(move_s=600, init_s=600, wall_cap_s=600))
    tasks = [setup.task(index) for index in range(9)]
    with closing(RayRunner(None, cluster.address)(tasks)) as games:
        next(games)
        (tmp_path / "hang").touch()
        until(lambda: engines_of(tmp_path))
    nothing_is_left(tmp_path)


# --------------------------------------------------------------------------------------------------- what dies


@needs_ray
def test_a_node_killed_in_the_middle_of_a_match_loses_no_game_and_none_counts_twice(cluster, tmp_path):
    doomed = cluster.add_node(num_cpus=1)
    file, told = tmp_path / "games.jsonl", []
    setup = MatchSetup((slow(tmp_path), slow(tmp_path)), 6, 5, LIMITS)

    def on_game(game):
        told.append(game.index)
        if len(told) == 1:
            cluster.remove_node(doomed, allow_graceful=False)

    result = play_match(setup, RayRunner(None, cluster.address), on_game=on_game, records=Records(file, setup))
    assert sorted(told) == list(range(6)) and [game.index for game in result.games] == list(range(6))
    assert sorted(json.loads(line)["index"] for line in file.read_text().splitlines()[1:]) == list(range(6))
    assert essence(result) == essence(play_match(setup, ThreadRunner(2)))
    nothing_is_left(tmp_path)


@needs_ray
@pytest.mark.thorough("the node above is killed with its workers, and their games are played again too")
def test_a_killed_worker_leaves_no_engine_and_its_game_is_played_again(cluster, tmp_path):
    killed = []

    def on_game(game):
        if not killed:
            until(lambda: engines_of(tmp_path))
            mark = next(filter(None, map(environment_mark, engines_of(tmp_path))))
            killed.append(int(mark.split("-")[0]))
            os.kill(killed[0], signal.SIGKILL)
            until(lambda: not any((environment_mark(pid) or "").startswith(f"{killed[0]}-") for pid in engines_of(tmp_path)))

    setup = MatchSetup((slow(tmp_path), slow(tmp_path)), 4, 7, LIMITS)
    result = play_match(setup, RayRunner(None, cluster.address), on_game=on_game)
    assert killed and [game.index for game in result.games] == list(range(4))
    nothing_is_left(tmp_path)


@needs_ray
@pytest.mark.thorough("matches without Ray are killed and resumed in the same way")
def test_a_match_killed_with_its_driver_goes_on_and_leaves_no_engine(cluster, engines, tmp_path):
    file, whole = tmp_path / "games.jsonl", tmp_path / "whole.json"
    games = 16  # so that those after the third take seconds, in which this process surely gets a core
    by_ray = ["--engine", "ray", "--ray-address", cluster.address]
    evaluate = [sys.executable, "Minimax/evaluate.py"]
    os.symlink(engines, tmp_path / "here")
    match = [
        "--agents-path",
        str(tmp_path / "here" / "sample"),
        str(tmp_path / "here" / "baseline"),
        "--num-plays",
        str(games),
        "--seed",
        "9",
    ]
    quiet = {"cwd": ROOT, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([*evaluate, *match, *by_ray, "--records", str(file)], **quiet)
    until(lambda: file.exists() and file.read_bytes().count(b"\n") >= 3, 120)
    process.kill()
    process.wait()
    nothing_is_left(tmp_path)
    before = read_records(file)[1]
    done = subprocess.run([*evaluate, "--resume", str(file), *by_ray], cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr and "ray" not in done.stderr.lower()  # Ray's log would drown out the progress bar
    subprocess.run([*evaluate, *match, "--json", str(whole)], check=True, **quiet)
    after = read_records(file)[1]
    assert {index: after[index] for index in before} == before and 2 <= len(before) < games
    wanted = [(g["index"], g["winner"], g["moves"]) for g in json.loads(whole.read_text())["games"]]
    assert [(i, after[i].winner, [list(m) for m in after[i].moves]) for i in sorted(after)] == wanted
    assert len(file.read_text().splitlines()) == 1 + games
    nothing_is_left(tmp_path)
