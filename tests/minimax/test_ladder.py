"""The personal ladder tells which rungs an engine beats, continues where it stopped, and draws what it found."""

import json
import xml.etree.ElementTree as ET

import pytest

from Minimax import ladder


@pytest.fixture
def own_folder(engines, tmp_path, monkeypatch):
    """A folder in place of the repository's, with the rungs already built."""
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "engines").symlink_to(engines)
    monkeypatch.setattr(ladder, "ROOT", tmp_path)
    return tmp_path


def climb(folder, engine, *more):
    options = [str(engine), "--games", "4", "--time-limit", "0.2", "--svg", str(folder / "ladder.svg"), *more]
    return ladder.main(options)


def test_an_engine_beats_the_random_rung_and_a_second_call_plays_nothing_new(own_folder, engines, capsys):
    assert climb(own_folder, engines / "baseline", "--rungs", "sample") == 0
    out = capsys.readouterr().out
    assert "beats      sample" in out and "4 won, 0 drawn, 0 lost: win rate 1.00, 95 % 0.51 to 1.00" in out
    assert "Beaten: sample." in out
    (records,) = (own_folder / "build" / "ladder").glob("*/sample-*.jsonl")
    games = records.read_bytes()
    drawn = (own_folder / "ladder.svg").read_bytes()
    assert climb(own_folder, engines / "baseline", "--rungs", "sample") == 0
    assert records.read_bytes() == games and (own_folder / "ladder.svg").read_bytes() == drawn
    assert len([line for line in games.splitlines() if "moves" in json.loads(line)]) == 4


def test_games_lost_by_a_fault_are_told_with_its_cause(own_folder, engines, capsys):
    broken = own_folder / "broken"
    broken.write_text("#!/bin/sh\nread side\nexit 3\n")
    broken.chmod(0o755)
    assert climb(own_folder, broken, "--rungs", "sample", "--games", "2") == 0
    out = capsys.readouterr().out
    assert "  2 init_failed, for example game 0, ply 1: your engine gave no name: exited with exit code 3.\n" in out


def test_the_path_of_an_engine_may_be_written_in_another_way(own_folder, engines, monkeypatch):
    climb(own_folder, engines / "sample", "--rungs", "sample", "--games", "1")
    monkeypatch.chdir(engines)
    climb(own_folder, "./sample", "--rungs", "sample", "--games", "2")
    (records,) = (own_folder / "build" / "ladder").glob("*/sample-*.jsonl")
    assert len(records.read_text().splitlines()) == 3


def test_more_games_are_added_to_those_played(own_folder, engines, capsys):
    climb(own_folder, engines / "sample", "--rungs", "sample", "--games", "1")
    climb(own_folder, engines / "sample", "--rungs", "sample", "--games", "3")
    (records,) = (own_folder / "build" / "ladder").glob("*/sample-*.jsonl")
    assert len(records.read_text().splitlines()) == 4
    assert capsys.readouterr().out.count("undecided  sample") == 2


def test_a_rung_that_was_built_again_is_played_again(own_folder, engines, capsys):
    (own_folder / "build" / "engines").unlink()
    (own_folder / "build" / "engines").mkdir()
    rung = own_folder / "build" / "engines" / "sample"
    for more in (b"", b"built by another compiler"):
        rung.write_bytes((engines / "sample").read_bytes() + more)
        rung.chmod(0o755)
        assert climb(own_folder, engines / "sample", "--rungs", "sample", "--games", "1") == 0
    assert len(list((own_folder / "build" / "ladder").glob("*/sample-*.jsonl"))) == 2


def test_the_picture_shows_each_rung_and_survives_any_name():
    results = [ladder.Result("sample", 8, 0, 0, 1.0, 0.68, 1.0), ladder.Result("baseline", 1, 0, 7, 0.12, 0.02, 0.47)]
    root = ET.fromstring(ladder.picture("<my&\x1bengine>", results))
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0].startswith("<my& engine> on the ladder")
    assert texts.index("baseline") < texts.index("sample")
    assert "beats: 8 : 0" in texts and "loses to: 1 : 7" in texts


def test_a_rung_that_is_missing_is_compiled(tmp_path):
    program = ladder.rung_program("sample", tmp_path / "new")
    assert program.stat().st_mode & 0o100
    assert [path.name for path in program.parent.iterdir()] == ["sample"]


def test_a_wrong_call_gets_a_sentence(own_folder, capsys):
    with pytest.raises(ladder.UsageError, match="expected an engine at"):
        climb(own_folder, own_folder / "none")
    for option, value, words in (
        ("--games", "0", "at least 1 for --games"),
        ("--time-limit", "0", "in seconds, above 0 and below 3600; got 0"),
        ("--time-limit", "nan", "in seconds, above 0 and below 3600; got nan"),
    ):
        with pytest.raises(SystemExit) as ended:
            climb(own_folder, "x", option, value)
        assert ended.value.code == 2 and words in capsys.readouterr().err


def test_a_picture_that_cannot_be_written_is_refused_before_the_games(own_folder, engines):
    (own_folder / "file").touch()
    with pytest.raises(ladder.UsageError, match="expected the name of a file for --svg"):
        climb(own_folder, engines / "sample", "--svg", str(own_folder))
    with pytest.raises(ladder.UsageError, match=r"expected a folder at .*/file for --svg"):
        climb(own_folder, engines / "sample", "--svg", str(own_folder / "file" / "ladder.svg"))
    (own_folder / "report.md").write_text("My report", encoding="utf-8")
    with pytest.raises(ladder.UsageError, match=r"report.md is something else and stays as it is"):
        climb(own_folder, engines / "sample", "--svg", str(own_folder / "report.md"))
    assert not (own_folder / "build" / "ladder").exists()
