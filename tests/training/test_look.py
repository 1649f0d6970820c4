"""`python -m training.look`: the worked example of the handout, playouts of right solutions, drawings and pages."""

import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import browser
import numpy as np
import pytest
from accessibility import needs_axe, serious_findings

from Board.game_board import Board
from training.look.__main__ import main, read_board
from training.look.recorded_search import first_playouts, is_for_the_player_to_move, nodes_on, searched_tree
from training.look.search_page import Subject, make_frame, number_boards, render_search
from training.look.tree_drawing import draw_tree
from training.look.worked_example import ANSWERS, C_PUCT, LABELS, PATHS, example_playouts

ROOT = Path(__file__).resolve().parents[2]
VARIANTS = ROOT / "instructor" / "submissions" / "variants"
NO_BROWSER = pytest.mark.skipif(bool(browser.missing()), reason=browser.missing())
# Solutions that throw the tree away, expand the root first, keep Q for the other player, or store other attributes as well.
SOLUTIONS = ("reference", "search-shares-in-play", "search-total-value-for-the-player-to-move", "search-published-layout")
PURE = ("reference", "pure-root-expanded-first", "pure-q-for-the-player-to-move", "pure-published-layout")


@pytest.fixture
def solution(tmp_path, monkeypatch):
    """Return a function that makes AlphaZero/ of a solution the one that is imported."""

    def forget():
        for name in [name for name in sys.modules if name.split(".")[0] == "AlphaZero"]:
            del sys.modules[name]

    def use(name):
        place = tmp_path / name
        shutil.copytree(ROOT / "instructor/reference/AlphaZero", place / "AlphaZero")
        if name != "reference":
            shutil.copytree(VARIANTS / name / "AlphaZero", place / "AlphaZero", dirs_exist_ok=True)
        forget()
        monkeypatch.syspath_prepend(place)

    yield use
    forget()


def empty_board():
    board = Board(width=3, height=3, n_in_row=3)
    board.init_board()
    return board


def numbers(tree):
    """(path, N, Q, P) of every node but the root, to three digits."""
    found, waiting = {}, [((), tree)]
    while waiting:
        path, node = waiting.pop()
        for child in node.children:
            below = (*path, child.move)
            found[below] = (child.visits, round(child.mean_value, 3), round(child.prior, 3))
            waiting.append((below, child))
    return found


# ---------------------------------------------------------------------------------------------- the worked example


def test_the_example_has_the_numbers_of_the_handout():
    text = (ROOT / "docs/handout.md").read_text(encoding="utf-8")
    block = re.search(r"^root            black to move.*?^```", text, re.MULTILINE | re.DOTALL)[0]
    drawn = {
        name: (int(n), float(p), float(q)) for name, n, p, q in re.findall(r"-- (\w) .*N = (\d) +P = (\S+) +Q = (\S+)", block)
    }
    last = example_playouts()[-1].after
    a, c = nodes_on(last, (4,))[-1], nodes_on(last, (0,))[-1]
    b = nodes_on(last, (4, 8))[-1]
    assert drawn == {"a": (2, 0.6, 0.5), "b": (1, 0.7, -0.6), "c": (1, 0.4, -0.3)}
    for name, node in {"a": a, "b": b, "c": c}.items():
        assert (node.visits, node.prior, pytest.approx(node.mean_value)) == drawn[name]
    values = [float(value) for value in re.findall(r"v = (\S+) for", block)]
    assert [playout.leaf_value for playout in example_playouts()[1:]] == pytest.approx(values)
    scores = {
        name: float(score) for name, score in re.findall(r"(\w): \S+ \+ 5 \* \S+ \* sqrt\(4\) / \(1 \+ \d\) = ([\d.]+)", block)
    }
    assert scores == {"a": pytest.approx(a.score), "c": pytest.approx(c.score)}


def answers_in_an_array(board, *handles):
    """The example's evaluator, with the value as a network returns it."""
    priors, value = ANSWERS[tuple(board.states)]
    return list(priors.items()), np.array([[value]])


@pytest.mark.parametrize("name", SOLUTIONS)
def test_searches_of_right_solutions_make_the_same_playouts(solution, name):
    solution(name)
    from AlphaZero.mcts_alphaZero import MCTSPlayer

    def new_player(playouts):
        return MCTSPlayer(answers_in_an_array, 2, 2, c_puct=C_PUCT, n_playout=playouts)

    # A search that expands the root first is one playout ahead.
    ahead = int(bool(first_playouts(new_player, empty_board(), 1, 1)[0].path))
    found = first_playouts(new_player, empty_board(), 4 - ahead, 1)
    assert [playout.path for playout in found] == list(PATHS[ahead:])
    other_side = is_for_the_player_to_move(found[-1].after, empty_board(), lambda board: ANSWERS[tuple(board.states)][1])
    assert other_side == (name == "search-total-value-for-the-player-to-move")
    found = [playout.turned() for playout in found] if other_side else found
    for seen, told in zip(found, example_playouts()[ahead:], strict=True):
        assert numbers(seen.after) == numbers(told.after)
    assert [seen.leaf_value for seen in found[1 - ahead :]] == pytest.approx([-0.4, 0.3, 0.6])


def test_the_example_is_told_in_words_with_the_numbers_of_the_formula_filled_in():
    frames = [make_frame(p, Subject("x", empty_board(), C_PUCT, LABELS.__getitem__)) for p in example_playouts()]
    assert frames[0].select == () and "a with P = 0.600, c with P = 0.400" in frames[0].expand
    ((heading, choices),) = frames[2].select
    assert heading == "At the root, black to move:" and [c.name for c in choices if c.is_taken] == ["c"]
    assert choices[0].formula == "+0.000 + 5 · 0.400 · √2 / (1 + 0) = 2.828"
    assert frames[3].evaluate == "The network gives v = +0.600, for black, who is to move at the leaf."
    assert frames[3].backup[0] == "At node b: N 0 → 1, Q = (0 · +0.000 − 0.600) / 1 = -0.600, for white, who moved here."
    assert frames[3].backup[1] == "At node a: N 1 → 2, Q = (1 · +0.400 + 0.600) / 2 = +0.500, for black, who moved here."
    new = [node.label for node in frames[3].tree.nodes if node.is_new]
    assert new == ["c", "d"] and [n.label for n in frames[3].tree.nodes if n.is_on_path] == ["root", "a", "b"]


# ----------------------------------------------------------------------------------------------- other searches


@pytest.mark.parametrize("name", PURE)
def test_playouts_of_pure_searches_follow_one_another_with_results_as_values(solution, name):
    solution(name)
    from AlphaZero.mcts_pure import MCTSPlayer

    board = read_board("3x3x3", "4 0 8 2")
    found = first_playouts(lambda n: MCTSPlayer(c_puct=5, n_playout=n), board, 12, 3)
    for position in (board, empty_board()):
        tree = searched_tree(MCTSPlayer(c_puct=5, n_playout=300), position, 1, 3)
        assert is_for_the_player_to_move(tree, position) == (name == "pure-q-for-the-player-to-move")
    found = [playout.turned() for playout in found] if name == "pure-q-for-the-player-to-move" else found
    assert len(found) == 12 and all(abs(p.leaf_value) == pytest.approx(1) or abs(p.leaf_value) < 1e-9 for p in found[1:])
    for playout in found[1:]:
        for node, move in zip(nodes_on(playout.before, playout.path), playout.path, strict=False):
            taken = next((child for child in node.children if child.move == move), None)
            assert taken is None or taken.score >= max(child.score for child in node.children) - 1e-6
    assert all(not nodes_on(p.after, p.path)[-1].children for p in found if p.ended)


def test_a_search_without_a_tree_or_with_chance_in_it_is_refused_with_a_sentence(solution):
    solution("reference")
    from AlphaZero.mcts_pure import MCTSPlayer

    made = MCTSPlayer(n_playout=9)
    made.get_action = lambda board, **_: (0, None)
    with pytest.raises(Exception, match="expected a search that keeps its tree"):
        searched_tree(made, empty_board(), 2, 1)
    with pytest.raises(Exception, match="cannot be shown one by one"):
        first_playouts(lambda n: MCTSPlayer(n_playout=8 if n == 4 else n), empty_board(), 6, 1)


def test_a_drawing_holds_what_was_visited_and_no_two_nodes_overlap(solution):
    solution("reference")
    from AlphaZero.mcts_pure import MCTSPlayer

    tree = searched_tree(MCTSPlayer(n_playout=200), empty_board(), 3, 1)
    drawing = draw_tree(tree, str, 2, tree, most=4)
    assert len(drawing.nodes) > 10
    for y in {node.y for node in drawing.nodes}:
        row = sorted(node.x for node in drawing.nodes if node.y == y)
        assert all(right - left >= 92 for left, right in pairwise(row))
    boards = number_boards(tree, Subject("x", empty_board(), 5.0))
    assert [len(board.marks) for board in boards] == [9, 9, 9, 9]


# ------------------------------------------------------------------------------------------ the command, the page


def test_the_example_needs_nothing_written_and_everything_else_names_what_comes_first(tmp_path, capsys):
    page = tmp_path / "search.html"
    for _ in range(2):
        assert main(["--example", "--out", str(page)]) == 0
    assert "a       2  66.7 %  +0.500" in capsys.readouterr().out
    assert main(["--pure", "--out", str(tmp_path / "other.html")]) == 2
    said = capsys.readouterr().err
    assert said.startswith("look: AlphaZero/mcts_pure.py comes first") and said.count("\n") == 1
    assert not (tmp_path / "other.html").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--board", "3x3"], "expected --board as WIDTHxHEIGHTxN"),
        (["--board", "100x100x5"], "expected --board as WIDTHxHEIGHTxN"),
        (["--moves", "4 4"], "got '4'"),
        (["--moves", "0 3 1 4 2"], "it is over"),
        (["--playouts", "1"], "expected --playouts from 2"),
        (["--c-puct", "nan"], "expected --c-puct"),
    ],
)
def test_a_wrong_call_gets_one_sentence(solution, tmp_path, capsys, arguments, words):
    solution("reference")
    assert main(["--pure", "--out", str(tmp_path / "search.html"), *arguments]) == 2
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1 and not (tmp_path / "search.html").exists()


def test_a_network_is_looked_into(solution, tmp_path, monkeypatch, capsys):
    solution("reference")
    (tmp_path / "model").symlink_to(ROOT / "model")
    monkeypatch.chdir(tmp_path)
    assert main(["--position", "[4, 0]", "--playouts", "50"]) == 0
    assert "AlphaZero with 3_3_3.model: 50 playouts on 3x3, 3 in a row, after the moves 4, 0" in capsys.readouterr().out
    assert (tmp_path / "search.html").is_file()


def test_a_network_is_looked_into_on_the_board_of_its_run(solution, tmp_path, monkeypatch, capsys):
    solution("reference")
    monkeypatch.chdir(tmp_path)
    assert main(["--model", str(ROOT / "model" / "5_5_4.model"), "--playouts", "20"]) == 0
    assert "20 playouts on 5x5, 4 in a row" in capsys.readouterr().out


def test_the_tree_is_drawn_to_the_depth_that_is_asked_for(solution, tmp_path, monkeypatch, capsys):
    solution("reference")
    monkeypatch.chdir(tmp_path)
    depths = {}
    for depth in (1, 3):
        assert main(["--pure", "--playouts", "200", "--depth", str(depth), "--svg", "tree.svg"]) == 0
        assert "The tree: tree.svg" in capsys.readouterr().out
        drawing = ElementTree.parse("tree.svg").getroot()
        boxes = drawing.findall(".//{*}g[@class]/{*}rect")
        depths[depth] = len({box.get("y") for box in boxes})
        texts = [text.text for text in drawing.iter("{http://www.w3.org/2000/svg}text")]
        assert "root" in texts and any(text and text.startswith("N 200") for text in texts)
    assert depths == {1: 2, 3: 4}, "the root and the levels below it"
    (tmp_path / "notes.svg").write_text("mine")
    assert main(["--pure", "--playouts", "20", "--svg", "notes.svg"]) == 2
    assert (
        "notes.svg is neither and stays as it is" in capsys.readouterr().err and (tmp_path / "notes.svg").read_text() == "mine"
    )


def test_a_search_is_looked_into_by_the_command(tmp_path):
    for folder in ("Board", "arena", "common", "games", "training"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    shutil.copytree(ROOT / "instructor/reference/AlphaZero", tmp_path / "AlphaZero")
    command = [sys.executable, "-m", "training.look", "--pure", "--moves", "4 0", "--playouts", "50"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as piped:
        piped.stdout.close()  # as `| head -1` does
        assert piped.stderr.read() == b"" and piped.wait() == 141
    assert "50 playouts on 3x3" in done.stdout and (tmp_path / "search.html").is_file()


@NO_BROWSER
@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_steps_through_the_playouts_without_an_error_or_a_request(tmp_path, width):
    playouts = example_playouts()
    subject = Subject("Four playouts", empty_board(), C_PUCT, LABELS.__getitem__)
    page = tmp_path / "search.html"
    page.write_text(render_search(playouts[-1].after, playouts, subject, 3))
    with browser.browser() as window:
        window.view_as(width, 900)
        window.open(page.as_uri())
        parts = "[...document.querySelectorAll('.playout:not([hidden]) .phase')]"
        shown = f"return {parts}.filter(part => part.offsetParent).map(part => part.textContent)"
        seen = []
        for _ in range(16):
            (text,) = window.run(shown)
            seen.append(text)
            window.click(window.find(".next")[0])
        assert [text[0] for text in seen] == ["1", "2", "3", "4"] * 4 and "c: +0.000 + 5" in seen[8]
        assert window.run("return document.querySelector('.told').textContent") == "Playout 4 of 4, step 4 of 4: backup."
        window.type(window.find(".next")[0], "\ue011")  # Home
        assert window.run(shown)[0].startswith("1 Select")
        assert window.run("return document.documentElement.scrollWidth <= innerWidth")
        assert window.run("return performance.getEntriesByType('resource').length") == 0
        assert window.log() == []


@needs_axe
def test_the_page_has_no_serious_fault_of_accessibility(tmp_path):
    playouts = example_playouts()
    page = tmp_path / "search.html"
    page.write_text(
        render_search(playouts[-1].after, playouts, Subject("Four playouts", empty_board(), C_PUCT, LABELS.__getitem__), 3)
    )
    assert serious_findings(page, click=(".next",)) == []
