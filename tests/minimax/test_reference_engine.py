"""The reference engine beside its play: position against definitions, bench, report, switches."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "instructor" / "reference" / "Minimax"
DEPTH = "5"
BENCH_LINE = re.compile(r" *(\d+) (\w+) +depth +(\d+) nodes +(\d+) time +[\d.]+ nps +\d+ score +(-?\d+) best (\d+),(\d+)")
REPORT_LINE = re.compile(r"depth (\d+) nodes (\d+) nps (\d+) score (-?\d+) pv((?: \d+,\d+)+)")
IDEAS = re.findall(r'^ +\{"(\w+)", &Options::', (SOURCES / "options.h").read_text(), re.MULTILINE)
AT_THE_ROOT = "balance"  # no part of a search
SURE_WIN = 900_000


@pytest.fixture(scope="module")
def reference(engines):
    return engines / "reference"


def run(program, *arguments, said="", **environment):
    return subprocess.run([program, *arguments], input=said, capture_output=True, text=True, env=environment, timeout=120)


def signature(program, **environment):
    done = run(program, "bench", DEPTH, **environment)
    assert done.returncode == 0 and done.stderr == ""
    *lines, mean, last = done.stdout.splitlines()
    found = [BENCH_LINE.fullmatch(line) for line in lines]
    assert len(found) >= 12 and all(found) and mean.startswith("mean depth ")
    assert last == f"signature {sum(int(match[4]) for match in found)}"
    return [match.group(1, 2, 3, 4, 5, 6, 7) for match in found]


def play(program, said, side=1, **environment):
    """Standard output and standard error of an engine that is told these lines and never swaps."""
    environment = {"GOMOKU_SEED": "1", "GOMOKU_NO_SWAP": "1", "GOMOKU_MOVE_TIME_S": "0.3", **environment}
    done = run(program, said=f"{side}\n{said}", **environment)
    assert done.returncode == 0
    return done.stdout, done.stderr


def run_with_sources(program, *, without, options=()):
    """Compile tests/minimax/PROGRAM.cpp with the sources of the engine, except some; return what it says when it is run."""
    sources = [path for path in SOURCES.glob("*.cpp") if path.stem not in without]
    flags = ["-std=c++17", "-O1", "-D_GLIBCXX_ASSERTIONS", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", str(SOURCES)]
    main = Path(__file__).with_name(f"{program.name}.cpp")
    subprocess.run(["g++", *flags, *options, str(main), *map(str, sources), "-o", str(program)], check=True)
    done = run(program)
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_positions_after_any_walk_equal_those_built_anew_and_the_definitions(tmp_path):
    """A stone put and taken, a search that is stopped, a swap: tests/minimax/position_walk.cpp says what is compared."""
    said = run_with_sources(tmp_path / "position_walk", without=("engine", "bench", "opening"))
    steps, definitions, fives = map(int, re.fullmatch(r"steps (\d+) definitions (\d+) fives (\d+)\n", said).groups())
    assert steps > 1000 and definitions > 100 and fives > 1000


def test_a_third_stone_that_no_search_has_looked_at_does_not_count_as_fair(tmp_path):
    """The clock of the test is over after a number of searches: tests/minimax/opening_in_haste.cpp."""
    clock = str(Path(__file__).with_name("counted_clock.h"))
    run_with_sources(tmp_path / "opening_in_haste", without=("engine", "bench"), options=("-include", clock))


def test_the_bench_repeats_itself_whatever_the_seed_and_the_time(reference):
    first = signature(reference)
    assert first == signature(reference, GOMOKU_SEED="5", GOMOKU_MOVE_TIME_S="0.01", GOMOKU_WITHOUT="")
    assert {kind for _, kind, *_ in first} == {"opening", "middle", "late", "defence", "attack"}
    assert all(abs(int(score)) > SURE_WIN for _, kind, *_, score, _, _ in first if kind == "attack")


def test_a_bench_by_time_searches_each_position_as_long(reference):
    done = run(reference, "bench", "--seconds", "0.02")
    *lines, mean = done.stdout.splitlines()
    assert done.returncode == 0 and all(BENCH_LINE.fullmatch(line) for line in lines) and mean.startswith("mean depth ")


@pytest.mark.parametrize("arguments", [["x"], ["bench", "0"], ["bench", "2.5"], ["bench", "65"], ["bench", "--seconds", "no"]])
def test_other_arguments_are_refused_in_a_sentence(reference, arguments):
    done = run(reference, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Expected no arguments, or: bench [DEPTH") and done.stderr.count("\n") == 1


def test_each_iteration_is_reported_on_request_and_standard_output_is_the_protocol(reference):
    """The answers themselves depend on the time; their form does not."""
    for report, silent in (({}, True), ({"GOMOKU_REPORT": "1"}, False)):
        output, told = play(reference, "7 7\n", **report)
        assert re.fullmatch(r"reference\n\d+ \d+\n", output)
        assert silent == (told == "")
    found = [REPORT_LINE.fullmatch(line) for line in told.splitlines()]
    depths = [int(match[1]) for match in found if match]
    assert all(found) and depths in (list(range(1, len(found) + 1)), [*range(1, len(found)), len(found) - 1])
    nodes = [int(match[2]) for match in found]
    assert nodes == sorted(nodes) and nodes[0] > 0
    for match in found:
        line = [tuple(map(int, cell.split(","))) for cell in match[5].split()]
        assert len(set(line)) == len(line) and (7, 7) not in line and all(0 <= v < 15 for cell in line for v in cell)


def test_a_move_of_so_many_nodes_does_not_depend_on_the_time(reference):
    """Both the choice of black's second stone, which takes many searches, and an ordinary move."""
    said = "-1 -1\n3 3\n4 9\n"
    short, told = play(reference, said, side=0, GOMOKU_NODES="4000", GOMOKU_REPORT="1", GOMOKU_MOVE_TIME_S="0.001")
    long, same = play(reference, said, side=0, GOMOKU_NODES="4000", GOMOKU_REPORT="1", GOMOKU_MOVE_TIME_S="5")
    without_speed = [re.sub(r"nps \d+", "", text) for text in (told, same)]
    assert short == long and without_speed[0] == without_speed[1]
    assert 400 < int(REPORT_LINE.fullmatch(told.splitlines()[-1])[2]) <= 4000


def test_the_last_line_reported_begins_with_the_move_played(reference):
    """Also where an iteration that could not be finished has found a better move: then its depth is reported a second time."""
    repeated = 0
    for nodes in range(1000, 9000, 1000):
        output, told = play(reference, "7 7\n", GOMOKU_NODES=str(nodes), GOMOKU_REPORT="1", GOMOKU_MOVE_TIME_S="5")
        found = [REPORT_LINE.fullmatch(line) for line in told.splitlines()]
        assert output.splitlines()[-1].split() == found[-1][5].split()[0].split(",")
        repeated += found[-1][1] == found[-2][1]
    assert repeated


def test_a_win_by_threats_is_reported_at_depth_0_with_its_first_move(reference):
    """White answers far away, so that black's three grows; what black then plays is what was reported."""
    output, told = play(reference, "-1 -1\n0 0\n0 14\n14 0\n14 14\n0 7\n", side=0, GOMOKU_REPORT="1")
    wins = [REPORT_LINE.fullmatch(line) for line in told.splitlines() if line.startswith("depth 0 ")]
    assert wins and all(int(match[4]) > SURE_WIN for match in wins)
    assert output.splitlines()[-1].split() == wins[-1][5].strip().split(",")


@pytest.mark.parametrize("names", ["speed", "lmr,speed", "lmr,,vcf", "LMR"])
@pytest.mark.parametrize("arguments", [[], ["bench", "1"]])
def test_an_unknown_idea_is_refused_in_a_sentence_with_the_known_ones(reference, arguments, names):
    done = run(reference, *arguments, said="0\n", GOMOKU_WITHOUT=names)
    wrong = next(name for name in names.split(",") if name not in IDEAS)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1
    assert f"'{wrong}'" in done.stderr and all(f" {idea}" in done.stderr for idea in IDEAS)


def test_each_idea_that_is_switched_off_changes_the_search_and_several_at_once_can_be(reference):
    with_all = signature(reference)
    trees = {idea: signature(reference, GOMOKU_WITHOUT=idea) for idea in IDEAS}
    assert [idea for idea in IDEAS if trees[idea] == with_all] == [AT_THE_ROOT]
    several = signature(reference, GOMOKU_WITHOUT="vcf,rootvct")
    assert several not in (with_all, trees["vcf"], trees["rootvct"])


def test_without_balance_the_second_stone_of_black_is_the_best_and_not_the_fairest(reference):
    """Of the many searches for a fair stone none is reported."""
    fair, untold = play(reference, "-1 -1\n3 3\n", side=0, GOMOKU_REPORT="1")
    best, told = play(reference, "-1 -1\n3 3\n", side=0, GOMOKU_REPORT="1", GOMOKU_WITHOUT=AT_THE_ROOT)
    first, third = (tuple(map(int, line.split())) for line in fair.splitlines()[1:])
    assert min(max(abs(third[0] - x), abs(third[1] - y)) for x, y in (first, (3, 3))) == 3
    assert untold == "" and REPORT_LINE.match(told)
    assert fair.splitlines()[:2] == best.splitlines()[:2]
