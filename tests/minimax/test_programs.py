"""evaluate.py and judge.py as they are called."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from common.errors import UsageError
from Minimax import evaluate

ROOT = Path(__file__).resolve().parents[2]


def run(program, *arguments, stdin="", cwd=ROOT):
    command = [sys.executable, str(ROOT / "Minimax" / program), *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, cwd=cwd, timeout=120)


def test_evaluate_sums_up_and_writes_all_games(engines, tmp_path):
    target = tmp_path / "match.json"
    agents = ("--agents-path", engines / "sample", engines / "baseline")
    done = run("evaluate.py", *agents, "--num-plays", 4, "--num-workers", 64, "--seed", 3, "--json", target, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Number of plays: 4" in done.stdout and "wins: 4   score: 1.0000" in done.stdout
    assert "64 games at the same time were requested" in done.stdout and "95 % interval" in done.stdout
    data = json.loads(target.read_text())
    assert set(data) >= {"plays", "draws", "distinct_games", "terminations", "agents", "games"}
    assert len(data["games"]) == 4 and data["agents"][1]["wins"] == 4


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--agents-path", "nowhere", "nowhere"], "nothing is there"),
        (["--agents-path", "Minimax/sample.cpp", "Minimax/sample.cpp"], "build it with g++"),
        (["--agents-path", "README.md", "README.md"], "allow it with chmod +x README.md"),
        (["--agents-path", "Minimax", "Minimax"], "Minimax is a folder: name the program in it"),
        (["--agents-path", "{sample}", "{sample}", "--num-plays", "0"], "at least 1"),
        (["--agents-path", "{sample}", "{sample}", "--time-limit", "-1"], "--time-limit in seconds, above 0"),
        (["--agents-path", "{sample}", "{sample}", "--time-limit", "5000"], "in seconds, above 0 and below 3600; got 5000"),
        (["--agents-path", "{sample}", "{sample}", "--board-size", "27"], "expected --board-size from 5 to 26; got 27"),
        (["--agents-path", "{sample}", "{sample}", "--records", "README.md"], "expected no file at README.md"),
        (["--agents-path", "{sample}", "{sample}", "--json", "no/folder/x.json"], "expected a folder"),
        (["--agents-path", "{sample}", "{sample}", "--json", "docs"], "expected the name of a file; docs is a folder"),
        (["--agents-path", "{sample}", "{sample}", "--records", "docs"], "expected the name of a file; docs is a folder"),
        (["--agents-path", "{sample}", "{sample}", "--sgf", "README.md/games"], "README.md is a file"),
        (["--resume", "nowhere", "--json", "docs"], "expected the name of a file; docs is a folder"),
        (["--resume", "nowhere", "--json", "./nowhere"], "expected different files for the records and for --json"),
        (["--agents-path", "{sample}", "{sample}", "--points", "straight:30"], "expected --stop decided with --points"),
        *(
            (["--agents-path", "{sample}", "{sample}", "--stop", "decided", "--points", f"shifted_score:{points}"], "above 0")
            for points in ("nan", "inf", "-3", "0")
        ),
    ],
)
def test_a_wrong_call_gets_one_sentence(engines, arguments, sentence):
    done = run("evaluate.py", *[a.format(sample=engines / "sample") for a in arguments])
    assert done.returncode == 2 and sentence in done.stderr and "Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have programs of another format")
def test_an_executable_text_is_refused_before_it_loses_every_game(tmp_path, engines):
    notes = tmp_path / "notes"
    notes.write_text("my engine is in main.cpp\n", encoding="utf-8")
    notes.chmod(0o755)
    done = run("evaluate.py", "--agents-path", notes, engines / "sample")
    assert done.returncode == 2 and "neither a program for Linux nor a script that begins with #!" in done.stderr


def test_a_default_that_was_typed_does_not_pass_for_the_recorded_value():
    done = run("evaluate.py", "--resume", "nowhere", "--time-limit", 5)
    assert done.returncode == 2 and "expected no --time-limit with --resume" in done.stderr


@pytest.mark.parametrize(
    ("option", "place", "written", "sentence"),
    [
        ("--json", "match.json", "match.json", "expected no file at match.json"),
        ("--sgf", "games", "games/game_0008.sgf", "expected a folder without games for --sgf; games holds"),
    ],
)
def test_the_games_of_an_earlier_match_are_neither_replaced_nor_mixed(tmp_path, monkeypatch, option, place, written, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "games").mkdir()
    (tmp_path / written).write_text("earlier", encoding="utf-8")
    options = evaluate.parse(["--agents-path", "a", "b", option, place])
    with pytest.raises(UsageError, match=sentence):
        evaluate.check_files(options)
    assert (tmp_path / written).read_text(encoding="utf-8") == "earlier"


def test_a_match_that_is_continued_replaces_its_own_result_and_no_other_file(engines, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    begin = ["--agents-path", str(engines / "sample"), str(engines / "sample"), "--num-plays", "1", "--records", "match.jsonl"]
    places = ["--json", "match.json", "--sgf", "games"]
    assert evaluate.main([*begin, *places]) == 0
    assert evaluate.main(["--resume", "match.jsonl", "--num-plays", "2", *places]) == 0
    assert len(json.loads(Path("match.json").read_text(encoding="utf-8"))["games"]) == len(os.listdir("games")) == 2
    Path("report.md").write_text("My report", encoding="utf-8")
    assert evaluate.main(["--resume", "match.jsonl", "--json", "report.md"]) == 2
    assert Path("report.md").read_text(encoding="utf-8") == "My report"


@pytest.mark.parametrize("option", ["--json", "--sgf"])
def test_games_that_cannot_be_written_get_one_sentence_after_the_summary(engines, option):
    sample = engines / "sample"
    done = run("evaluate.py", "--agents-path", sample, sample, "--num-plays", 1, option, "/proc/games")
    assert done.returncode == 2 and "Number of plays: 1" in done.stdout
    assert done.stderr.splitlines()[-1].startswith("evaluate.py: the games cannot be written to /proc/games: ")


def test_a_name_that_the_terminal_cannot_show_does_not_lose_the_summary(tmp_path, monkeypatch):
    engine = tmp_path / "engine"
    engine.write_text("#!/bin/sh\nread side; echo 五子棋; read move; exit 3\n", encoding="utf-8")
    engine.chmod(0o755)
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    done = run("evaluate.py", "--agents-path", engine, engine, "--num-plays", 1)
    assert done.returncode == 0 and "\\u4e94" in done.stdout


def test_judge_wants_a_time_limit_that_can_be_told(engines):
    done = run("judge.py", engines / "sample", "human", "--time-limit", "inf")
    assert done.returncode == 2 and "below 3600; got inf" in done.stderr


def test_evaluate_says_what_a_fault_was(engines, tmp_path):
    talks = tmp_path / "talks"
    talks.write_text("#!/bin/sh\nread x; echo talks\nread x; echo 'I think 7 7'\n")
    talks.chmod(0o755)
    done = run("evaluate.py", "--agents-path", engines / "sample", talks, "--num-plays", 2, "--seed", 1)
    assert done.returncode == 0 and "lost by: 2 malformed" in done.stdout
    (line,) = [line for line in done.stdout.splitlines() if "for example" in line]
    assert line == "  2 malformed, for example game 0, ply 2: agent 1 answered 'I think 7 7' instead of two numbers."


def test_an_interrupted_match_sums_up_what_it_has_and_ends_its_engines(engines):
    command = [sys.executable, "Minimax/evaluate.py", "--agents-path", str(engines / "sample"), str(engines / "baseline")]
    process = subprocess.Popen([*command, "--num-plays", "5000"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.stdout.readline().startswith(b"Seed ")  # all is imported and the match begins
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=90)
    finally:
        process.kill()
    assert process.returncode == 130 and b"Interrupted after" in err and b"Number of plays" in out
    assert b"Traceback" not in err


def test_a_game_that_is_interrupted_is_left_with_the_exit_code_of_ctrl_c():
    command = [sys.executable, "-u", "Minimax/judge.py", "human", "human"]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline()  # the board: the game has begun
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, b"") and b"left unfinished" in out


def test_judge_shows_the_board_and_the_reason(engines):
    done = run("judge.py", engines / "sample", engines / "baseline")
    assert done.returncode == 0
    assert "wins with five in a row" in done.stdout.splitlines()[-1] and "[X]" in done.stdout


def test_a_human_is_asked_again_and_may_leave(engines):
    done = run("judge.py", "human", engines / "sample", stdin="nonsense\n0 0\n7 7\n")
    assert done.returncode == 0
    assert "expected two numbers" in done.stdout and "outside the central 7x7" in done.stdout
    assert "left unfinished" in done.stdout


def test_two_humans_can_swap():
    done = run("judge.py", "human", "human", stdin="７ ７\n8 8\n9 9\nswap\n1 1\n")
    assert "every stone changes colour and black (X) is to move again" in done.stdout
    assert "black (X) human: 1 1" in done.stdout


def test_judge_refuses_a_path_that_is_no_engine():
    done = run("judge.py", "human", "nowhere")
    assert done.returncode == 2 and "nothing is there" in done.stderr


def test_programs_run_from_another_folder(engines, tmp_path):
    os.symlink(engines / "sample", tmp_path / "mine")
    done = run("evaluate.py", "--agents-path", "mine", "./mine", "--num-plays", 2, "--num-workers", 1, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
