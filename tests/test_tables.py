"""The tables of recorded results stand in the documents as bench/tables.py makes them, and the benches record what it reads."""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))

import ablation
import engine_tables
import ladder
import milestones
import network_tables
import pytest
import recording
import stopping
import tables
import torch
import train_3x3
from game_records import game_record
from markdown_tables import cells_of
from table_text import listed, markdown, rounded

from arena.engine.engine_process import EngineSpec
from arena.match.match import MatchResult
from arena.match.setup import MatchSetup
from arena.rules import Termination

ROOT = Path(__file__).resolve().parents[1]
RECORDS = sorted((ROOT / "bench" / "records").glob("*.json"))


def test_the_records_that_no_program_writes_are_named():
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "bench").glob("*.py"))
    written = set(re.findall(r'add_record_option\(\w+, "(\w+)"\)|^        \(\w+, "(\w+)"\),$', sources, re.MULTILINE))
    written |= {("muzero_without_reanalysis", "")}  # by bench/record_run.py, to a FILE
    by_hand = [path.stem for path in RECORDS if path.stem not in {name for pair in written for name in pair}]
    named = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("Only the records")[1].split("are edited by hand")[0]
    assert sorted(re.findall(r"`(\w+)`", named)) == by_hand


# ---------------------------------------------------------------------------------------------------- documents


@pytest.fixture
def copy(tmp_path):
    """A copy of what bench/tables.py reads and writes."""
    shutil.copytree(ROOT / "bench", tmp_path / "bench", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "docs", tmp_path / "docs", ignore=shutil.ignore_patterns("pictures"))
    shutil.copytree(ROOT / "model", tmp_path / "model", ignore=shutil.ignore_patterns("*.pt", "*.model", "*.int8"))
    for room in ("Board", "arena", "common", "games", "grader", "training"):
        (tmp_path / room).symlink_to(ROOT / room, target_is_directory=True)
    return tmp_path


def run_tables(root, *arguments):
    return subprocess.run([sys.executable, str(root / "bench" / "tables.py"), *arguments], capture_output=True, text=True)


def replace_in(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert text.count(old) >= 1, f"{old!r} is not in {path}"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_the_documents_are_up_to_date():
    done = run_tables(ROOT, "--check")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("file", "old", "new", "name", "document", "row"),
    [
        (
            "bench/records/ladder.json",
            '"won": 147, "drawn": 0, "lost": 43',
            '"won": 148, "drawn": 0, "lost": 42',
            "ladder-matches",
            "docs/engines.md",
            "| mcts_100000 | mcts_50000 | 190 | 190 | 148 : 42 | 0.779, 0.715 to 0.832 | 0 |",
        ),
        (
            "bench/records/train_3x3.json",
            '"exact_cpu_s": 34.8',
            '"exact_cpu_s": 44.8',
            "train-3x3",
            "docs/training.md",
            "| | total | 66 | 57 | 45 | 45 | 58 | 48 | 72 | 53 |",
        ),
        (
            "model/3_3_3.json",
            '"100": 0',
            '"100": 7',
            "losing-lines",
            "model/README.md",
            "| 100 | 7 | 0 | 0 |",
        ),
        (
            "bench/records/stopping.json",
            '"wrong": 38, "undecided": 32',
            '"wrong": 50, "undecided": 32',
            "stopping",
            "docs/arena.md",
            "| 0.50 | 63.5 | 0.0 (0.0-0.4) | 49.4 % | 64.0 | 145.7 | 5.0 (3.8-6.5) | 3.2 |",
        ),
    ],
)
def test_a_changed_number_is_reported_by_check_and_written_without_it(copy, file, old, new, name, document, row):
    before = (copy / document).read_bytes()
    replace_in(copy / file, old, new)
    checked = run_tables(copy, "--check")
    assert checked.returncode == 1
    assert checked.stderr == f"tables.py: the table {name} in {document} differs from {file}; run `python bench/tables.py`\n"
    assert (copy / document).read_bytes() == before and row not in before.decode()
    assert run_tables(copy).returncode == 0
    assert row in (copy / document).read_text(encoding="utf-8").splitlines()
    assert run_tables(copy, "--check").returncode == 0
    replace_in(copy / file, new, old)
    assert run_tables(copy).returncode == 0
    assert (copy / document).read_bytes() == before


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("docs/engines.md", "<!-- table: ablation -->", "<!-- table: abrasion -->", "expected one table abrasion"),
        ("docs/engines.md", "<!-- table: ablation -->", "<!-- table: stopping -->", "look for ablation, stopping"),
        ("docs/engines.md", "<!-- end of table -->", "", "expected one table ladder-matches"),
        ("model/README.md", "<!-- end of table -->", "", "expected `<!-- end of table -->`"),
        ("model/README.md", "<!-- table: losing-lines -->", "", "look for losing-lines"),
        ("bench/records/ladder.json", '"effective_games": 60.0, ', "", "what the table ladder-matches shows; KeyError"),
        ("bench/records/coverage.json", "{", "", "expected recorded results in"),
        ("bench/records/coverage.json", None, None, "expected recorded results in"),
    ],
)
def test_what_cannot_be_made_into_tables_gets_one_sentence(copy, file, old, new, words):
    if old is None:
        (copy / file).unlink()
    else:
        replace_in(copy / file, old, new)
    before = {document: (copy / document).read_bytes() for document in tables.DOCUMENTS}
    for arguments in ((), ("--check",)):
        done = run_tables(copy, *arguments)
        assert done.returncode == 2 and words in done.stderr
        assert done.stderr.startswith("tables.py: ") and len(done.stderr.splitlines()) == 1
    assert {document: (copy / document).read_bytes() for document in tables.DOCUMENTS} == before


def test_every_record_is_used_by_a_table_and_says_how_it_was_measured():
    used = {source for table in tables.TABLES.values() for source in table.sources if source.startswith("bench/")}
    later = {source for table in tables.TABLES.values() if table.unless_recorded for source in table.sources}
    assert RECORDS and used - later <= {path.relative_to(ROOT).as_posix() for path in RECORDS} <= used
    for path in RECORDS:
        record = recording.read_json(path)
        assert record["command"] and "machine" in record, path.name


def test_a_record_is_written_as_it_was_read(tmp_path):
    assert RECORDS
    for path in RECORDS:
        recording.write_record(tmp_path / path.name, recording.read_json(path))
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name


def test_no_document_of_the_kit_points_to_the_program_that_makes_the_tables():
    for document in ("docs/arena.md", "model/README.md"):
        assert "bench/tables.py" not in (ROOT / document).read_text(encoding="utf-8")


def test_halves_are_rounded_away_from_zero_and_empty_cells_stay_short():
    assert [rounded(value, 2) for value in (0.425, 0.515, 1, 0.004)] == ["0.43", "0.52", "1.00", "0.00"]
    assert [rounded(value, 0, "+") for value in (-10.5, 0.4, 833.1)] == ["-11", "+0", "+833"]
    assert listed([1]) == "1" and listed([1, 2, 3]) == "1, 2 and 3"
    assert markdown(["", "n", "m"], [["a", 1, ""]]) == "| | n | m |\n|---|---:|---:|\n| a | 1 | |\n"


# -------------------------------------------------------------------------------------------------- ladder, ablation


def match_of(winners, termination=Termination.FIVE, move_cpu_s=(0.5, 0.25)):
    """A match with these winners, in which agent 0 always plays black."""
    setup = MatchSetup((EngineSpec("a"), EngineSpec("b")), len(winners), 1)
    endings = [(winner, Termination.DRAW if winner is None else termination) for winner in winners]
    games = tuple(
        game_record(i, winner=winner, termination=ending, move_cpu_s=move_cpu_s) for i, (winner, ending) in enumerate(endings)
    )
    return MatchResult(setup, games)


def test_the_ladder_is_recorded_and_read_again(tmp_path):
    results = {
        (0, 1): match_of([0, 0, 0, 0]),
        (1, 2): match_of([0, 0, 1, None], Termination.TIMEOUT),
        (0, 2): match_of([0, 0]),
    }
    record = ladder.record_of(["low", "middle", "high"], results, "python bench/ladder.py FOLDER")
    recording.write_record(tmp_path / "ladder.json", record)
    again = recording.read_json(tmp_path / "ladder.json")
    assert again == record and again["command"] and again["machine"]["cores"] >= 1
    assert cells_of(engine_tables.ladder_matches(again))[1:] == [
        ["middle", "low", "4", "4", "4 : 0", "1.000, 0.510 to 1.000", "0"],
        ["high", "middle", "4", "4", "2 : 1", "0.625, 0.219 to 0.908", "3"],
    ]
    assert ["high", "low", "2", "2", "2 : 0"] in [row[:5] for row in cells_of(engine_tables.ladder_matches(again, False))]
    _, low, middle, high = cells_of(engine_tables.ladder_ratings(again))
    assert low == ["low", "0", "-", "0.25", "0.25", "0.25"]
    assert middle[2].startswith("at least +") and middle[2].endswith("(no game lost)")
    assert high[2].startswith("+") and middle[3:] == ["0.25", "0.50", "0.50"] and high[3:] == ["0.50", "0.50", "0.50"]
    assert "| high | low |" in ladder.report(again) and ladder.report(again).endswith("The order is monotone.")


def run_ablation(monkeypatch, results, *arguments):
    monkeypatch.setattr(ablation, "match_without", lambda ideas, engine, options: results[ideas])
    monkeypatch.setattr(sys, "argv", ["ablation.py", *map(str, arguments)])
    return ablation.main()


def test_the_ablation_adds_rows_to_those_of_the_same_settings(monkeypatch, tmp_path, capsys):
    record, games = tmp_path / "ablation.json", tmp_path / "games"
    first = {"pvs": match_of([0, 1, None, 1]), "killers,history": match_of([0, 0])}
    assert run_ablation(monkeypatch, first, games, "--ideas", *first, "--record", record) == 0
    second = {"pvs": match_of([0, 0, 0, 1]), "table": match_of([1, 1], Termination.TIMEOUT)}
    assert run_ablation(monkeypatch, second, games, "--ideas", *second, "--record", record) == 0
    assert "table: 0 won, 2 lost, 2 distinct games, 2 lost on time" in capsys.readouterr().out
    rows = recording.read_json(record)["rows"]
    assert [(row["without"], row["won"], row["drawn"], row["lost"]) for row in rows] == [
        ("pvs", 3, 0, 1),
        ("killers,history", 2, 0, 0),
        ("table", 0, 0, 2),
    ]
    assert rows[1]["elo_95"][1] is None
    shown = cells_of(engine_tables.ablation(recording.read_json(record)))[1:]
    assert [row[:3] for row in shown] == [
        ["`killers` and `history`", "2 : 0", "won all games"],
        ["`pvs`", "3 : 1", "+191"],
        ["`table`", "0 : 2", "lost all games"],
    ]
    assert shown[0][3].endswith("to unbounded") and shown[2][3].startswith("unbounded to")
    before = record.read_bytes()
    assert run_ablation(monkeypatch, second, games, "--seed", 2, "--record", record) == 2
    assert "expected a record of `python bench/ablation.py FOLDER" in capsys.readouterr().err
    assert record.read_bytes() == before


def test_the_milestones_keep_recorded_matches_and_note_each_new_one_at_once(monkeypatch, tmp_path, capsys):
    def play(stronger, weaker, options):
        if (stronger, weaker) not in played:
            raise KeyboardInterrupt
        return match_of(played[stronger, weaker])

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["milestones.py", str(tmp_path / "games"), "--record", str(record), *arguments])
        return milestones.main()

    record, played = tmp_path / "milestones.json", {("step_1", "baseline"): [1, 1]}
    monkeypatch.setattr(milestones, "subprocess", SimpleNamespace(run=lambda *_, **__: None))  # builds nothing
    monkeypatch.setattr(milestones, "play", play)
    assert run("--steps", "step_1") == 0
    played = {("step_1", "baseline"): [0, 1], ("step_6", "baseline"): [0, 0]}
    assert run("--steps", "step_1", "step_6") == 130  # interrupted in the match against step_4
    rows = recording.read_json(record)["rows"]
    assert [(row["step"], row["opponent"], row["won"]) for row in rows] == [
        ("step_1", "baseline", 1),
        ("step_6", "baseline", 2),
    ]
    shown = {row[0]: row[2:] for row in cells_of(engine_tables.milestones(recording.read_json(record)))[1:]}
    assert shown["`step_6`"] == ["-", "2 : 0 (1.00, 0.34 to 1.00)"] and shown["`step_7`"] == ["-", "-"]
    assert run("--games", "2") == 2
    assert "expected a record of `python bench/milestones.py FOLDER --games 2" in capsys.readouterr().err


# ---------------------------------------------------------------------------------------------- train_3x3, stopping


def training(seed, *looks, **options):
    """The row of a training with these looks, (games, losing lines) each."""
    given = {"submission": Path("instructor/reference"), "set": [], "without": [], "games": 100, **options}
    seen = [train_3x3.Look(games, losing, games / 10, games / 5) for games, losing in looks]
    return train_3x3.row_of(argparse.Namespace(**given), seed, seen)


def test_a_training_replaces_that_of_the_same_setting_and_seed_and_no_other(tmp_path):
    record = tmp_path / "train_3x3.json"
    unmixed = [("averaging", 0.0)]
    for row in (
        *(training(seed, (50, 3), (100, 0)) for seed in (1, 2, 3)),
        training(1, (50, 0), submission=Path("variants/training-weight-decay")),
        training(1, (50, 0), set=unmixed),
        training(1, (50, 9), (60, 4), (70, 5), (80, 6), (90, 7), (100, 8), without=["augmentation"]),
        training(2, (50, 0), (60, 0)),
        training(1, (75, 0), set=unmixed),
        training(1, (50, 0), set=[("n_playout", 50)]),
    ):
        train_3x3.record_training(record, row, torch.__version__)
    again = recording.read_json(record)
    assert len(again["rows"]) == 7 and again["machine"]["torch"] == torch.__version__
    assert cells_of(network_tables.train_3x3(again)) == [
        ["", "", "seed 1", "2", "3"],
        ["the reference", "games", "100", "60", "100"],
        ["", "CPU s: training", "10", "6", "10"],
        ["", "exact search", "20", "12", "20"],
        ["", "total", "30", "18", "30"],
        ["`training-weight-decay`", "games", "50", "", ""],
        ["", "CPU s in total", "15", "", ""],
    ]
    assert cells_of(network_tables.train_3x3_settings(again))[1:] == [
        ["no change", "100", "60", "100", ""],
        ["`--set averaging=0.0`", "75", "", "", "measures the latest weights"],
        ["`--without augmentation`", "none in 100", "", "", "4 lines at best, 4 to 8 in the last five tests"],
        ["`--set n_playout=50`", "50", "", "", "1.0 times the CPU time per game"],
    ]
    averaging = cells_of(network_tables.train_3x3_averaging(again))
    assert averaging[1:] == [["averaged weights", "100"], ["the latest weights", "75"]]


def test_rows_from_another_machine_keep_its_name(tmp_path):
    record = tmp_path / "train_3x3.json"
    shutil.copyfile(ROOT / "bench" / "records" / "train_3x3.json", record)
    earlier = recording.read_json(record)
    train_3x3.record_training(record, training(2, (150, 0)), torch.__version__)
    again = recording.read_json(record)
    assert len(again["rows"]) == len(earlier["rows"]) and again["machine"] != earlier["machine"]
    for before, after in zip(earlier["rows"], again["rows"], strict=True):
        if before == earlier["rows"][1]:
            assert after == training(2, (150, 0))
        else:
            assert after == {"machine": earlier["machine"], **before}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--record", "--go-on"], "expected --record without --go-on"),
        (["--record", ROOT / "bench" / "records" / "ladder.json"], "expected a record of `python bench/train_3x3.py"),
        (["--record", ROOT / "LICENSE"], "expected recorded results in"),
    ],
)
def test_a_training_that_cannot_be_recorded_is_refused_before_it_starts(monkeypatch, capsys, arguments, words):
    monkeypatch.setattr(sys, "argv", ["train_3x3.py", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        train_3x3.main()
    assert ended.value.code == 2 and words in capsys.readouterr().err


def test_the_stopping_rules_are_recorded_and_read_again(monkeypatch, tmp_path, capsys):
    record = tmp_path / "stopping.json"
    monkeypatch.setattr(stopping, "largest_error", lambda *_: 0.0)
    call = ["--rates", "0.55", "1.0", "--runs", "4", "--most", "20", "--record", str(record)]
    monkeypatch.setattr(sys, "argv", ["stopping.py", *call])
    assert stopping.main() == 0
    table = engine_tables.stopping(recording.read_json(record))
    assert table in capsys.readouterr().out
    head, between, sure = cells_of(table)
    assert head[-1] == "undecided after 20"
    assert between[0] == "0.55" and between[6] == "-"
    assert sure == ["1.00", "29.0", "0.0 (0.0-49.0)", "100.0 %", "40.0", "18.0", "0.0 (0.0-49.0)", "0.0"]
