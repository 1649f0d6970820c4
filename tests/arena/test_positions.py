"""The suite of positions: its data, engines that can set up positions, and engines that cannot."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from arena.engine.engine_process import EngineProcess, GameOffer, Limits
from arena.engine.gomocup_engine import GomocupEngine
from arena.engine.specs import parse_agent
from arena.suite.positions import KINDS, attempt, find_position, load_suite, run_suite
from common.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
FLAGS = ["-std=c++17", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]


# -------------------------------------------------------------------------------------------------------- the data


def test_the_suite_has_the_kinds_and_depths_that_it_is_for():
    suite = load_suite()
    kinds = {kind: [p for p in suite if p.kind == kind] for kind in KINDS}
    assert len(suite) >= 30 and len(kinds["block"]) >= 8 and len(kinds["trap"]) >= 8
    assert {p.depth for p in kinds["vcf"]} >= set(range(3, 12)) and max(p.depth for p in kinds["vcf"]) >= 13
    assert len({p.name for p in suite}) == len(suite)


def test_every_position_is_a_legal_game_in_progress_and_its_answers_are_empty_points():
    for position in load_suite():
        board = position.position()
        assert not board.is_over and not board.swapped and board.turn == position.side
        assert 1 <= len(position.answers) <= 3
        for point in (*position.answers, *position.greedy):
            assert point not in board.stones
        assert bool(position.greedy) == (position.kind == "trap") and not set(position.greedy) & set(position.answers)


# ----------------------------------------------------------------------------------------------- engines in positions

PLAYERS = ["baseline", "reference", "mcts_50000"]


def solved(program, limits=None, kind=None):
    suite = [p for p in load_suite() if kind in (None, p.kind)]
    made = list(run_suite(parse_agent(str(program)), limits or Limits(move_s=1), suite))
    assert [m.position for m in made] == suite
    assert all(m.fault == "" for m in made), [(m.position.name, m.fault) for m in made if m.fault]
    return sum(m.solved for m in made), len(made)


@pytest.mark.thorough("the baseline solves some")
def test_the_reference_solves_nearly_all_and_the_sample_hardly_any(engines):
    right, of = solved(engines / "reference")
    assert right >= of - 4  # some slack, since the engine looks at a clock
    assert solved(engines / "sample")[0] <= 4


def test_the_baseline_solves_some(engines):
    right, of = solved(engines / "baseline", Limits(move_s=5))
    assert of / 4 < right < of


@pytest.mark.parametrize("name", PLAYERS)
def test_an_engine_in_a_position_knows_whose_stones_are_whose(engines, name):
    """Both colours can make five, in a position in which the engine did not choose any of the stones."""
    four, scattered = [[4, 7], [5, 7], [6, 7], [7, 7]], [[12, 12], [10, 2], [13, 3], [2, 13], [0, 0]]
    black = [point for pair in zip(four, scattered[:4], strict=True) for point in pair]
    white = [*(point for pair in zip(scattered[:4], four, strict=True) for point in pair), scattered[4]]
    for moves in (black, white):
        offer = GameOffer(seed=1, position=tuple((x, y) for x, y in moves[:-1]))
        with EngineProcess(parse_agent(str(engines / name)), Limits(), offer) as engine:
            called = engine.start(len(moves) % 2)
            assert engine.took_position and "+position" not in called
            assert engine.ask((moves[-1][0], moves[-1][1])) in {(3, 7), (8, 7)}


@pytest.mark.parametrize("side", [0, 1])
def test_the_sample_moves_on_empty_points_of_a_position(engines, side):
    full = [(x, y) for x in range(15) for y in range(15)]
    free, moves = (14, 14), []
    # Fill all but a few points without five in a row: colours alternate every two columns, with a shift from row to row.
    black = [p for p in full if (p[0] // 2 + p[1]) % 2 == 0 and p != free][: 110 - side]
    white = [p for p in full if (p[0] // 2 + p[1]) % 2 == 1 and p != free][: 110 - side]
    for pair in zip(black, white, strict=True):
        moves += pair
    if side == 1:
        moves.append(next(p for p in full if p not in moves and (p[0] // 2 + p[1]) % 2 == 0 and p != free))
    for seed in range(5):
        with EngineProcess(
            parse_agent(str(engines / "sample")), Limits(), GameOffer(seed, position=tuple(moves[:-1]))
        ) as engine:
            engine.start(side)
            assert engine.ask(moves[-1]) not in moves


def test_without_an_offer_nobody_speaks_of_a_position(engines):
    with EngineProcess(parse_agent(str(engines / "sample"))) as engine:
        assert engine.start(0) == "sample" and not engine.took_position


def test_a_gomocup_engine_is_told_the_position_by_board(pbrain):
    position = find_position("block-01")
    spec = parse_agent(f"gomocup:{pbrain}")
    made = attempt(spec, position, Limits(move_s=2))
    assert made.fault == "" and made.answer is not None
    with GomocupEngine(spec, Limits(move_s=2), GameOffer(position=position.moves[:-1])) as engine:
        engine.start(position.side)
        assert engine.took_position
        board = position.position()
        answer = engine.ask(position.moves[-1])
        board.play(answer)
        board.play(next((x, y) for x in range(15) for y in range(15) if (x, y) not in board.stones))
        assert engine.ask(board.actions[-1]) not in board.stones


def test_an_engine_with_an_empty_name_may_take_a_position(tmp_path):
    program = tmp_path / "nameless"
    program.write_text("#!/bin/sh\nread side\necho ' +position'\nread point\n")
    program.chmod(0o755)
    with EngineProcess(parse_agent(str(program)), offer=GameOffer(position=((7, 7), (8, 8)))) as engine:
        assert engine.start(0) == "(no name)" and engine.took_position


# ------------------------------------------------------------------------------------------------ engines that cannot


@pytest.fixture
def plain(tmp_path):
    """Build an engine as it was before positions were introduced."""
    source, program = tmp_path / "plain.cpp", tmp_path / "plain"
    source.write_text(
        '#include "AIController.h"\n'
        'std::string ai_name = "plain";\n'
        "void init() {}\n"
        "std::pair<int, int> action(std::pair<int, int>) { return {7, 7}; }\n"
    )
    subprocess.run(["g++", *FLAGS, "-I", str(ROOT / "Minimax"), str(source), "-o", str(program)], check=True)
    return program


def judge(*arguments):
    command = [sys.executable, str(ROOT / "Minimax/judge.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_an_engine_that_takes_no_positions_is_refused(plain):
    done = judge("--suite", plain)
    assert done.returncode == 2 and done.stdout == ""
    assert (
        "expected an engine that can set up positions" in done.stderr
        and "ai_set_stone" in done.stderr
        and done.stderr.count("\n") == 1
    )


def script(tmp_path, body, name="engine"):
    path = tmp_path / name
    path.write_text(f"#!{sys.executable}\nimport os, sys, time\n{body}\n")
    path.chmod(0o755)
    return str(path)


TAKES = "input(); print('mine +position', flush=True); last = input()\n"
FAULTS = {
    "crash": TAKES + "os._exit(3)",
    "timeout": TAKES + "time.sleep(60)",
    "malformed": TAKES + "print('7 seven', flush=True)",
    "illegal_move": TAKES + "print(last, flush=True)",
    "illegal_swap": TAKES + "print('-1 -1', flush=True)",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_engine_that_fails_in_a_position_has_not_solved_it_and_the_fault_is_named(tmp_path, fault):
    limits = Limits(move_s=0.3, wall_cap_s=0.6)
    made = attempt(parse_agent(script(tmp_path, FAULTS[fault])), load_suite()[0], limits)
    assert (made.fault, made.solved) == (fault, False)


def test_a_right_answer_is_solved_and_any_other_is_not(tmp_path):
    position = load_suite()[0]
    right, wrong = position.answers[0], next(p for p in ((0, 0), (14, 14)) if p not in position.answers)
    for answer, verdict in ((right, True), (wrong, False)):
        spec = parse_agent(script(tmp_path, TAKES + f"print(*{answer}, flush=True)"))
        assert attempt(spec, position, Limits()).solved is verdict
    # A correct answer that comes too late does not count.
    made = attempt(spec, position, Limits())
    assert not replace(made, answer=right, fault="timeout").solved


def test_an_engine_that_gives_no_name_is_not_judged(tmp_path):
    with pytest.raises(UsageError, match="expected an engine that starts"):
        attempt(parse_agent(script(tmp_path, "sys.exit(1)")), load_suite()[0], Limits())


# -------------------------------------------------------------------------------------------------------- the program


def test_the_program_prints_a_row_for_each_position_and_totals(engines):
    done = judge("--suite", engines / "sample", "--time-limit", "2")
    assert done.returncode == 0, done.stderr
    rows = done.stdout.splitlines()
    suite = load_suite()
    rows[1:5] = []  # what the kinds and the depth are
    assert [row.split()[0] for row in rows[2 : 2 + len(suite)]] == [p.name for p in suite]
    assert [row.split()[0] for row in rows[2 + len(suite) :]] == [*KINDS, "all"] and f"of {len(suite)} solved" in rows[-1]


def test_a_position_is_drawn_with_what_is_right():
    position = find_position("trap-01")
    done = judge("--show", "trap-01")
    assert done.returncode == 0 and done.stdout.count("X") > 5
    assert f"Correct: {position.answers[0][0]} {position.answers[0][1]}" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--show", "vcf-99"], "expected a position from"),
        (["--suite", "nowhere"], "nothing is there"),
        (["--suite", "nowhere", "human", "human"], "expected two players"),
        ([], "expected two players"),
        (["human"], "expected two players"),
        (["--suite", "nowhere", "--time-limit", "0"], "above 0"),
    ],
)
def test_a_wrong_call_is_a_sentence(arguments, words):
    done = judge(*arguments)
    assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr


def test_the_positions_offered_are_the_moves_but_the_last(tmp_path):
    position = load_suite()[0]
    heard = tmp_path / "heard"
    body = f"side = input(); open({str(heard)!r}, 'w').write(side + ';' + os.environ['GOMOKU_POSITION'])\n"
    body += f"print('mine +position', flush=True); open({str(heard)!r}, 'a').write(';' + input())"
    attempt(parse_agent(script(tmp_path, body)), position, Limits())
    side, offered, last = heard.read_text().split(";")
    numbers = [int(word) for word in f"{offered} {last}".split()]
    assert int(side) == position.side == len(position.moves) % 2
    assert numbers == [coordinate for move in position.moves for coordinate in move]


def test_python_players_take_positions_too(monkeypatch):
    monkeypatch.chdir(ROOT / "instructor" / "reference")
    position = load_suite()[0]
    made = attempt(parse_agent("mcts:playouts=20"), position, Limits(move_s=30, init_s=60))
    assert made.fault == "" and made.answer is not None
    assert "GOMOKU_POSITION" not in os.environ
