"""The records of a match: a killed match can be continued, and files that do not belong to the match are refused."""

import json
import shutil
from dataclasses import replace

import pytest
from match_tools import FOUR, played, record_of, runner_of
from misbehaving import misbehaving

from arena.engine.engine_process import Limits
from arena.engine.specs import engine_at, parse_agent, parse_player
from arena.match.match import MatchResult, ThreadRunner, play_match
from arena.match.records import Records, agent_digest, read_records
from arena.match.setup import MatchSetup
from arena.rules import Termination
from arena.statistics.stopping import Decided
from common.errors import UsageError
from common.scoring import formula_named

LIMITS = Limits(move_s=0.6, init_s=3.0)


def test_a_killed_match_goes_on_and_repeats_nothing(tmp_path):
    file, played = tmp_path / "games.jsonl", []
    setup = MatchSetup((misbehaving("win"), misbehaving()), 3, 1, LIMITS)
    whole = play_match(setup, ThreadRunner(1), records=Records(file, setup))
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:2]) + lines[2][:40])  # as if killed in the middle of a write
    again = play_match(setup, ThreadRunner(1), records=Records(file, setup), on_game=played.append)
    assert len(played) == 3 and played[0] == whole.games[0]
    assert [g.moves for g in again.games] == [g.moves for g in whole.games]
    assert len(file.read_text().splitlines()) == 4
    with pytest.raises(UsageError, match="belong to another match"):
        Records(file, replace(setup, seed=2))


def test_a_match_that_a_rule_ended_is_ended_when_it_is_read_again(ours, tmp_path):
    setup, file = MatchSetup(ours, 12, 5), tmp_path / "games.jsonl"
    first, again = (
        played(setup, records=Records(file, setup), rule=Decided(formula_named("shifted_score"), 2, 12)) for _ in range(2)
    )
    assert again.stopped and again.games == first.games


def test_a_match_goes_on_with_the_games_that_could_not_be_decided(tmp_path):
    file = tmp_path / "games.jsonl"
    first = play_match(FOUR, runner_of(*(record_of(i, decided=i != 2) for i in range(4))), records=Records(file, FOUR))
    assert first.plays == 3
    asked = []

    def runner(tasks):
        asked.extend(task.index for task in tasks)
        yield record_of(2)

    again = play_match(FOUR, runner, records=Records(file, FOUR))
    assert asked == [2] and again.plays == 4
    assert play_match(FOUR, runner_of(), records=Records(file, FOUR)).games == again.games


def test_programs_that_were_rebuilt_do_not_continue_a_match(engines, tmp_path):
    program = tmp_path / "engine"
    shutil.copy(engines / "sample", program)
    setup = MatchSetup((engine_at(str(program)), engine_at(str(program))), 2, 5)
    played(setup, records=Records(tmp_path / "games.jsonl", setup))
    shutil.copy(engines / "baseline", program)
    with pytest.raises(UsageError, match="rebuilt"):
        Records(tmp_path / "games.jsonl", setup)


def test_another_network_does_not_continue_a_match(tmp_path):
    weights = tmp_path / "net.pt"
    weights.write_bytes(b"first")
    agents = [parse_agent(f"alphazero:{weights}"), parse_player(f"gumbel:{weights}?playouts=4", "go")]
    before = [agent_digest(agent) for agent in agents]
    weights.write_bytes(b"second")
    assert all(agent_digest(agent) not in (None, old) for agent, old in zip(agents, before, strict=True))


def test_another_search_or_another_script_does_not_continue_a_match(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "AlphaZero").mkdir()
    for name in ("AlphaZero/__init__.py", "AlphaZero/mcts_pure.py", "player.py"):
        (tmp_path / name).write_text("first")
    agents = [parse_agent("mcts:playouts=20"), parse_player("gtp:python3 player.py --level 1", "go")]
    before = [agent_digest(agent) for agent in agents]
    for name in ("AlphaZero/mcts_pure.py", "player.py"):
        (tmp_path / name).write_text("second")
    assert all(agent_digest(agent) not in (None, old) for agent, old in zip(agents, before, strict=True))


@pytest.mark.parametrize("part", ['"match": [], "digests": [null, null]', '"match": {}, "digests": [null]'])
def test_a_heading_that_describes_no_match_gets_a_sentence(tmp_path, part):
    file = tmp_path / "games.jsonl"
    file.write_text('{"format": 3, ' + part + "}\n")
    with pytest.raises(UsageError, match="does not describe two agents"):
        read_records(file)


def test_games_that_different_agents_lost_at_the_start_are_different_games():
    failed = [
        replace(record_of(number), black=0, moves=(), winner=1 - lost, faulty=lost, termination=Termination.INIT_FAILED)
        for number, lost in ((0, 0), (2, 1))
    ]
    assert MatchResult(FOUR, tuple(failed)).distinct_games == 2


def test_a_rebuilt_gomocup_engine_does_not_continue_a_match(engines, tmp_path):
    program = tmp_path / "pbrain"
    shutil.copy(engines / "sample", program)
    setup = MatchSetup((parse_agent(f"gomocup:{program}"), engine_at(str(engines / "sample"))), 2, 5)
    Records(tmp_path / "games.jsonl", setup)
    shutil.copy(engines / "baseline", program)
    with pytest.raises(UsageError, match="rebuilt"):
        Records(tmp_path / "games.jsonl", setup)


def test_games_after_a_program_was_rebuilt_do_not_count(engines, tmp_path):
    program, file = tmp_path / "engine", tmp_path / "games.jsonl"
    shutil.copy(engines / "sample", program)
    setup = MatchSetup((engine_at(str(program)), engine_at(str(engines / "sample"))), 4, 5)

    def runner(tasks):
        yield record_of(0)
        shutil.copy2(program, tmp_path / "same")
        (tmp_path / "same").replace(program)  # another file with the same content
        yield record_of(1)
        program.unlink()
        yield record_of(2)

    result = play_match(setup, runner, records=Records(file, setup))
    assert result.plays == 2 and "was rebuilt during the match" in result.stopped
    assert list(read_records(file)[1]) == [0, 1]


def test_a_file_that_holds_no_records_is_never_replaced(tmp_path):
    notes = tmp_path / "notes"
    notes.write_text("my notes")
    with pytest.raises(UsageError, match="not the heading"):
        Records(notes, FOUR)
    assert notes.read_text() == "my notes"


def test_two_matches_cannot_record_in_one_file(tmp_path):
    first = Records(tmp_path / "games.jsonl", FOUR)
    with pytest.raises(UsageError, match="another match is recording its games"):
        Records(tmp_path / "games.jsonl", FOUR)
    first.append(record_of(0))
    del first
    assert list(Records(tmp_path / "games.jsonl", FOUR).games) == [0]


@pytest.mark.parametrize("begun", ["", '{"for', '{"format": 3, "match": {"agents"'])
def test_a_match_that_was_killed_while_its_heading_was_written_begins_again(tmp_path, begun):
    file = tmp_path / "games.jsonl"
    file.write_text(begun)
    Records(file, FOUR)
    assert read_records(file)[1] == {}


def test_records_without_an_incomplete_line_are_only_read(tmp_path, monkeypatch):
    Records(tmp_path / "games.jsonl", FOUR).append(record_of(0))
    monkeypatch.setattr("os.truncate", None)
    assert list(Records(tmp_path / "games.jsonl", FOUR).games) == [0]


@pytest.mark.parametrize("data", [{}, {"agents": 3}, FOUR.to_json() | {"agents": ["/bin/true"]}, FOUR.to_json() | {"more": 1}])
def test_a_damaged_description_of_a_match_gets_one_sentence(data):
    with pytest.raises(UsageError, match=r"^expected [^\n]*$"):
        MatchSetup.from_json(data)


HEADING = '{"format": 3, "match": {}, "digests": []}\n'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no heading\n",
        "{}\n",
        '{"format": 2}\n',
        "[]\n",
        '{"format": null}\n',
        '{"format": 3}\n',
        HEADING + '{"index": 3}\n',
    ],
)
def test_a_file_without_records_gets_one_sentence(tmp_path, text):
    (tmp_path / "file").write_text(text)
    with pytest.raises(UsageError, match=r"^expected [^\n]*$"):
        read_records(tmp_path / "file")


def test_a_setup_survives_its_records(ours):
    setup = MatchSetup(ours, 12, 5, Limits(move_s=1.5, wall_cap_s=9), openings="all49", stop="sprt:0,70,0.05,0.05")
    assert MatchSetup.from_json(json.loads(json.dumps(setup.to_json()))) == setup
