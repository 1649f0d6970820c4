"""The report of a submission: what comes first, what is drawn, and the page in a real browser at both widths."""

import json
import re
from dataclasses import replace
from random import Random
from types import SimpleNamespace

import browser
import pytest
from accessibility import needs_axe, serious_findings
from course_tools import make_results
from game_records import game_record

from arena.rules import Termination
from grader.assignment_file import load_assignment
from grader.errors import StudentFault
from grader.judge.conftest import _decide
from grader.judge.support import searches
from grader.judge.support.board_position import BoardPosition, board_at
from grader.judge.support.ruling import Ruling
from grader.pipeline.gains import failures_first, nearest_first, points_in_words, subtotals
from grader.pipeline.go_on import go_on
from grader.pipeline.pictures import pictures_of
from grader.pipeline.report import in_sentences, render_report
from grader.pipeline.sections import anchor, read_sections

np = pytest.importorskip("numpy")
NO_BROWSER = pytest.mark.skipif(bool(browser.missing()), reason=browser.missing())
HOSTILE = '</script><script>document.title = "taken"</script><img src=x onerror=alert(1)>'
LONG = {"minimax.win_rate", "training.never_loses", "training.own_search"}
POSITION = BoardPosition(3, 3, 3, (4, 0, 2, 6))


def agent(name, wins, losses):
    times = {"median": 0.1, "p95": 0.2, "max": 0.51}
    values = {"path": name, "name": HOSTILE, "wins": wins, "losses": losses, "score": (wins - losses) / 51}
    values |= {"statistics": {"interval_95": [0.1, 0.9]}, "move_s": times, "move_cpu_s": times}
    return {**values, "losses_by": {"five": losses} if losses else {}}


def match(games):
    counts = {"plays": len(games), "draws": 0, "distinct_games": len(games), "limits": {"move_s": 5.0, "clock": "cpu"}}
    return {**counts, "agents": [agent("mine", 0, 51), agent("baseline", 51, 0)], "games": [game.to_json() for game in games]}


@pytest.fixture
def poor(assignment):
    """Results that fell short in every way that a report draws."""
    fault = {"termination": Termination.CRASH, "faulty": 0, "detail": HOSTILE}
    games = [game_record(index, winner=index % 2, names=("mine", HOSTILE)) for index in range(4)]
    games.append(game_record(4, winner=1, **fault))
    drawn = {"boards": [POSITION.pictured("A win in one move", [3, 5], [8])]}
    shares = {"boards": [POSITION.pictured(caption, shares={1: 0.75, 3: 0.25}) for caption in ("Expected", "Seen")]}
    failed = {"status": "failed", "points": 0.0}
    changes = {
        "minimax.opening": {"status": "partial", "points": 1.0, "message": "Twice.", "evidence": {"stones": [[7, 7], [0, 0]]}},
        "minimax.win_rate": {**failed, "message": "It did.", "evidence": {"match": match(games)}},
        "mcts_pure.tactics": {**failed, "message": f"It played 8. {HOSTILE}", "seen": "", "evidence": drawn},
        "mcts_pure.agreement": {**failed, "message": "Other moves.", "seen": "", "evidence": shares},
        "network.layers": {**failed, "message": "Not written yet: x.", "seen": ""},
        "network.load": {"status": "could_not_grade", "points": 0.0, "message": "A person has to."},
        "training.never_loses": {**failed, "evidence": {"curve": [[25, 38], [50, 12], [75, 4]]}},
        "training.own_search": {**failed, "evidence": {"examples": [[4, 0, 2, 6, 1, 3], [0, 0]]}},
    }
    return make_results(assignment, "poor", changes)


def test_failures_come_first_and_among_them_the_nearest_gain(poor):
    near = [verdict.id for verdict in nearest_first(poor.program, LONG)]
    assert near[:3] == ["minimax.opening", "mcts_pure.agreement", "mcts_pure.tactics"]
    assert set(near[3:6]) == LONG and near[6] == "network.layers"
    ordered = [verdict.id for verdict in failures_first(poor, LONG)]
    assert ordered[:8] == [*near, "network.load"] and len(ordered) == len(poor.verdicts) == len(set(ordered))
    page = render_report(poor)
    assert re.findall(r'<article id="([\w.]+)"', page) == ordered
    assert "Not decided: network.load." in points_in_words(poor, LONG)
    assert points_in_words(poor, LONG).endswith("Nearest gain: minimax.opening, 1 more.")


def test_subtotals_by_part_add_up_to_all_points(poor):
    parts = {part.name: (part.points, part.max_points, part.section) for part in subtotals(poor)}
    assert parts["minimax"] == (4, 35, "4") and parts["mcts_pure"] == (3, 6, "5.1") and parts["report"][1] == 20
    assert sum(points for points, _, _ in parts.values()) == poor.points


def test_each_check_says_what_for_expected_seen_and_where_to_read(poor, assignment):
    articles = re.split(r"<article ", render_report(poor))[1:]
    marked = [item.id for item in assignment.marks]
    for article in articles[: len(assignment.checks)]:
        assert all(f"<dt>{word}</dt>" in article for word in ("Purpose", "Seen", "Read"))
    assert len(articles) == len(assignment.checks) + len(marked)
    assert all(check.purpose.endswith(".") for check in assignment.checks)
    assert "Handout, section 5.1 Pure MCTS" in render_report(poor)


def test_a_section_is_a_link_if_the_assignment_knows_the_address(assignment):
    assert {check.handout for check in (*assignment.checks, *assignment.marks)} <= set(read_sections(assignment))
    section = read_sections(replace(assignment, handout_url="https://example.org/handout.md"))["5.4"]
    assert section.link == "https://example.org/handout.md#54-alphazero-mcts"
    assert anchor("6 Report and code review") == "6-report-and-code-review"


def test_in_a_kit_sections_link_to_the_handout_in_the_kit(assignment, tmp_path):
    handout = tmp_path / "kit 1" / assignment.handout
    handout.parent.mkdir(parents=True)
    handout.write_text("## 5 Part 2\n\n### 5.4 AlphaZero MCTS\n")
    kit, results = tmp_path / "kit 1", tmp_path / "results"
    assert read_sections(assignment, kit)["5.4"].link == ""
    assert read_sections(assignment, kit, results)["5.4"].link == "../kit%201/docs/handout.md#54-alphazero-mcts"
    handout.with_suffix(".html").touch()
    assert read_sections(assignment, kit, kit / "results" / "me")["5.4"].link == "../../docs/handout.html#54-alphazero-mcts"
    (kit / assignment.reference).mkdir(parents=True)
    assert read_sections(assignment, kit, results)["5.4"].link == "", "reports of the course are handed back"


def test_boards_lines_games_and_curves_are_drawn_from_the_evidence(poor):
    drawn = {verdict.id: pictures_of(verdict) for verdict in poor.verdicts}
    (board,) = drawn["mcts_pure.tactics"].boards
    assert [(mark.kind, mark.x, mark.y) for mark in board.marks] == [("expected", 0, 1), ("expected", 2, 1), ("played", 2, 2)]
    assert [stone.colour for stone in board.stones] == ["b", "w", "b", "w"] and "played 2 2" in board.label
    assert [mark.text for mark in drawn["mcts_pure.agreement"].boards[1].marks] == ["75", "25"]
    first, illegal = drawn["training.own_search"].boards
    assert first.stones[-1].number == 4 and "Your player was first; move 5" in first.caption and "is illegal" in illegal.caption
    assert drawn["training.never_loses"].curve.label == "38 after 25 games, 12 after 50 games, 4 after 75 games"
    games = drawn["minimax.win_rate"]
    assert [game.outcome for game in games.games] == ["won", "lost", "won", "lost", "lost"] and games.first == 1
    assert sum(len(pictures.boards) for pictures in drawn.values()) == 6


def test_the_game_viewer_says_where_a_game_was_lost(poor):
    verdict = next(verdict for verdict in poor.verdicts if verdict.id == "minimax.win_rate")
    loss = {"ply": 2, "sentence": "The engine baseline sees it.", "better": [3, 4]}
    games = pictures_of(
        replace(verdict, evidence={**verdict.evidence, "losses": {"1": loss, "3": {**loss, "better": None}}})
    ).games
    assert [game.loss and game.loss.better for game in games] == [None, (3, 4), None, None, None] and games[3].loss.ply == 2
    assert all(game.loss is None for game in pictures_of(replace(verdict, evidence={**verdict.evidence, "losses": [1]})).games)


def test_positions_come_with_the_commands_that_go_on_from_there(poor):
    drawn = {verdict.id: pictures_of(verdict, with_commands=True) for verdict in poor.verdicts}
    assert [board.commands for board in drawn["mcts_pure.tactics"].boards] == [
        (
            'python human_play.py --player mcts --position "4 0 2 6" --start ai',
            'python -m training.look --pure --position "4 0 2 6"',
        )
    ]
    expected, seen = drawn["mcts_pure.agreement"].boards
    assert expected.commands == () and len(seen.commands) == 2, "once for both"
    lost, illegal = drawn["training.own_search"].boards
    model = "--model model/best_policy.model"
    assert lost.commands[0] == f'python human_play.py {model} --position "4 0 2 6" --start ai'
    assert illegal.commands[1] == f'python -m training.look {model} --position "0"'
    page = render_report(poor)
    assert page.count('<code class="command"><span>python</span> <span>-m</span> <span>training.look</span>') == 4
    assert '"command"><span>python' not in render_report(replace(poor, assignment="nogo"))


def test_commands_leave_out_a_move_that_ended_the_game_and_name_other_boards():
    assert go_on("mcts_pure", (5, 4, 4), (0, 9, 1, 8, 2, 7, 3)) == (
        'python human_play.py --player mcts --board 5x4x4 --position "0 9 1 8 2 7" --start ai',
        'python -m training.look --pure --board 5x4x4 --position "0 9 1 8 2 7"',
    )
    assert go_on("network", (5, 5, 4), (3,)) == ('python human_play.py --player mcts --board 5x5x4 --position "3"',)
    assert go_on("mcts_alphazero", (3, 3, 3), ()) == ("python human_play.py --start ai", "python -m training.look")


def test_the_positions_of_a_fault_are_evidence_also_if_another_fault_quotes_it():
    fault = StudentFault("It failed there.", [POSITION.pictured("Seen")])
    quoting = StudentFault("In self-play it failed.")
    quoting.__cause__ = fault
    check = load_assignment().checks[0]
    call = SimpleNamespace(excinfo=SimpleNamespace(value=quoting))
    verdict = _decide(check, Ruling(), call, 1.0)
    assert verdict.status == "failed" and verdict.evidence == {"boards": fault.boards}
    call.excinfo.value = StudentFault("Elsewhere.")
    assert _decide(check, Ruling(evidence={"seed": 1}), call, 1.0).evidence == {"seed": 1}


def test_in_the_games_of_the_protocol_only_the_engines_own_fault_is_a_loss(poor):
    crash = {"termination": Termination.CRASH, "detail": "exited"}
    games = [
        game_record(0, winner=0, faulty=1, names=("mine 1", "gives"), **crash),  # the opponent ends this game on purpose
        game_record(1, winner=1, faulty=0, names=("gives", "mine 2"), **crash),  # as white, and again on purpose
        game_record(2, winner=0, faulty=1, names=("gives", "mine 3"), **crash),  # its name is another at each start
    ]
    evidence = {"games": [game.to_json() for game in games], "seats": [0, 1, 1]}
    failed = pictures_of(replace(poor.verdicts[1], status="failed", evidence=evidence))
    assert [game.outcome == "lost" for game in failed.games] == [False, False, True] and failed.first == 2
    assert pictures_of(replace(poor.verdicts[1], status="passed", evidence=evidence)).games == ()
    del evidence["seats"]  # as in results of an earlier version
    assert len(pictures_of(replace(poor.verdicts[1], status="failed", evidence=evidence)).games) == 3


def test_a_losing_line_is_drawn_before_the_move_that_lost_it_with_a_better_one(poor):
    evidence = {"examples": [[4, 1, 0, 8, 2, 5, 6], [0, 0]]}
    verdict = replace(poor.verdicts[0], id="training.own_search", evidence=evidence)
    line, illegal = pictures_of(verdict, with_commands=True).boards
    assert line.caption.startswith("A losing line: moves 4, 1, 0, 8, 2, 5, 6. Your player was second; move 2 (crossed) lets ")
    assert [(mark.kind, mark.x, mark.y) for mark in line.marks] == [("played", 1, 0), ("expected", 0, 0)]
    assert len(line.stones) == 1 and '--position "4"' in line.commands[0]
    assert illegal.caption.endswith("the last one is illegal.")


@pytest.mark.parametrize("value", ["text", 7, [7], [[]], {"games": 1}, [{"width": 10**9}], [{"moves": "x"}], [["a", None]]])
@pytest.mark.parametrize("name", ["match", "games", "boards", "examples", "stones", "curve"])
def test_evidence_of_another_form_is_not_drawn_and_breaks_nothing(poor, name, value):
    verdict = replace(poor.verdicts[0], status="failed", evidence={name: value})
    pictures = pictures_of(verdict)
    assert pictures.games == () and pictures.boards == () and pictures.curve is None


@pytest.mark.parametrize(("finds_wins", "caption"), [(False, "A win in one move"), (True, "The only move that does not lose")])
def test_what_a_search_missed_is_recorded_as_boards(monkeypatch, finds_wins, caption):
    def move_of(worker, position, n_playout, player):
        board = board_at(position)
        wins = [move for move in board.availables if board_at(position, [move]).game_end()[1] == board.get_current_player()]
        return wins[0] if wins and finds_wins else board.availables[0]

    monkeypatch.setattr(searches, "searched_move", move_of)
    with pytest.raises(StudentFault, match=r"wins at once|does not lose") as fault:
        searches.expect_tactics(None, Ruling(), Random(1), {})
    boards = fault.value.boards
    assert boards and all(board["caption"] == caption and not {*board["expected"]} & {*board["played"]} for board in boards)
    assert json.loads(json.dumps(boards)) == boards


def test_sentences_do_not_run_together():
    assert in_sentences("Won 3, lost 1. At 0.5 s it\nfell. See 5.1.") == ["Won 3, lost 1.", "At 0.5 s it", "fell.", "See 5.1."]


# Returns the words of the match table and of commands that do not stand on one line.
BROKEN_WORDS = """
const rows = "thead th, td.n, td.words, td[data-label=Wins]";
return [...document.querySelectorAll(`.cards :is(${rows}), .cards .words span, .command span`)]
    .flatMap(cell => [...cell.childNodes]).filter(node => node.nodeType == Node.TEXT_NODE)
    .flatMap(node => [...node.data.matchAll(/\\S+/g)].filter(word => {
        const range = document.createRange();
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        return new Set([...range.getClientRects()].map(place => place.top)).size > 1;
    })).map(word => word[0]);
"""


@NO_BROWSER
def test_the_page_holds_at_both_widths_runs_one_script_and_asks_for_nothing(poor, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(render_report(poor))
    assert len(path.read_bytes()) < 2_000_000
    with browser.browser() as window:
        for width, dark in ((390, True), (1200, False)):
            window.view_as(width, 900, dark)
            window.open(path.as_uri())
            assert window.run("return document.documentElement.scrollWidth <= innerWidth")
            assert window.run("return document.title") == "poor · Gomoku AI: Minimax and AlphaZero"
            assert window.run(BROKEN_WORDS) == [] != window.run("return [...document.querySelectorAll('.command span')]")
            window.click(window.find(".next-lost")[0])
            assert window.run("return document.querySelector('.viewer .told').textContent").startswith("Ply 2 of 2")
            window.click(window.find(".viewer .first")[0])
            assert window.find(".viewer .stone") == []
            assert window.run("return performance.getEntriesByType('resource').length") == 0
            assert window.log() == []


@needs_axe
def test_reports_have_no_serious_fault_of_accessibility(poor, tmp_path):
    pages = []
    for results in (poor, make_results(load_assignment(), "good")):
        pages.append(tmp_path / f"{results.submission}.html")
        pages[-1].write_text(render_report(results))
    assert serious_findings(*pages, click=("details:not([open]) summary", ".viewer .numbers")) == []


def test_a_report_without_games_has_no_script(assignment):
    page = render_report(make_results(load_assignment(), "good"))
    assert "<script" not in page and "script-src" not in page and "Every check earned full points." in page


def test_a_page_for_students_names_no_node_of_the_cluster(assignment):
    around = {"date": "2026-01-01", "speed": "1.00", "node": "host7 (10.0.0.3, node ab12cd34)"}
    results = replace(make_results(assignment, "ada"), environment=around)
    given, own = (render_report(results, with_seed=with_seed) for with_seed in (False, True))
    assert "host7" in own and "host7" not in given and "<dt>node</dt>" not in given and "1.00" in given


def test_a_report_speaks_of_points_by_a_person_only_where_a_person_gives_some(assignment):
    page = render_report(make_results(assignment, "good"))
    assert "<b>30</b>points for a person to give" in page
    assert "for a person to give" not in render_report(make_results(replace(assignment, marks=()), "good"))
