"""What docs/theory.md computes is right, is found by the programs that students write, and stands in the text as computed."""

import dataclasses
import random
import re
from itertools import combinations
from math import comb
from pathlib import Path

import pytest

from arena.statistics.estimates import wilson_95
from common.errors import UsageError
from docs import generate
from docs.examples import alphabeta, limits, loss, pitfalls, rollout_by_hand
from grader.assignment_file import load_assignment
from grader.instructor.trust import load_mutants

ROOT = Path(__file__).resolve().parents[2]


def test_what_is_generated_stands_in_the_documents(capsys):
    assert generate.main(["--check"]) == 0
    assert capsys.readouterr().err == ""


def test_a_figure_changed_by_hand_is_noticed_and_mended(tmp_path, monkeypatch, capsys):
    path = tmp_path / "theory.md"
    right = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
    path.write_text(right.replace("549,946", "549,945"), encoding="utf-8")
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    monkeypatch.setattr(generate, "TEXTS", {"theory.md": "en"})
    monkeypatch.setattr(generate, "pictures", dict)
    assert generate.main(["--check"]) == 1
    assert "theory.md is not up to date; run python docs/generate.py" in capsys.readouterr().err
    assert generate.main([]) == 0 and path.read_text(encoding="utf-8") == right
    capsys.readouterr()
    assert generate.main([]) == 0 and capsys.readouterr().out == ""


@pytest.mark.parametrize("spoil", [("<!-- generated: loss -->", ""), ("generated: loss ", "generated: los ")])
def test_a_part_that_is_missing_is_named(spoil):
    text = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
    with pytest.raises(UsageError, match="look for los"):
        generate.rendered(text.replace(*spoil), "en", "docs/theory.md")


def test_a_changed_limit_is_noticed_in_both_languages(monkeypatch, capsys):
    changed = dataclasses.replace(load_assignment(), compile_limit_s=121)
    monkeypatch.setattr(limits, "load_assignment", lambda: changed)
    monkeypatch.setattr(generate, "TEXTS", {"docs/handout.md": "en", "docs/handout.zh.md": "zh"})
    monkeypatch.setattr(generate, "pictures", dict)
    assert generate.main(["--check"]) == 1
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2 and "handout.md is not up to date" in said[0] and "handout.zh.md is not" in said[1]


def test_limits_that_differ_between_profiles_are_shown_in_their_order():
    quick = load_assignment().profile("quick")
    (row,) = (line for line in limits.table_of_limits("en").splitlines() if line.startswith("| a call of your Python (5.1"))
    cpu, wall = (part.split(" s of ")[0].split(" / ") for part in row.split("|")[2].strip().split(", "))
    assert cpu[1] == f"{quick.call_limit_s:g}" and wall[1] == f"{2 * quick.call_limit_s + 1:g}" and len(cpu) == len(wall) == 3


@pytest.mark.parametrize(("games", "rate"), [(50, 0.7), (800, 0.55), (100, 0.64)])
def test_the_games_that_decide_a_match_do_so_four_times_in_five(games, rate):
    wins = [won for won in range(games + 1) if not wilson_95(won, games)[0] <= 0.5 <= wilson_95(won, games)[1]]
    assert 0.75 < sum(comb(games, won) * rate**won * (1 - rate) ** (games - won) for won in wins) < 0.9
    text = " ".join((ROOT / "docs" / "theory.md").read_text(encoding="utf-8").split())
    assert re.search(rf"is {rate}, about {games} games (show this|do)|about {games} games would show it", text)


# ---------------------------------------------------------------------------------------------------------- the loss


def reference():
    return (ROOT / "instructor" / "reference" / loss.NETWORK).read_text(encoding="utf-8")


def test_the_terms_add_up_to_what_the_reference_returns():
    assert (loss.terms().loss, loss.terms().entropy) == pytest.approx(loss.returned(reference()), abs=2e-6)


def test_the_scales_of_batch_norm_make_the_difference_that_the_text_names():
    without = reference().replace('not name.endswith("bias")', 'not name.endswith("bias") and w.ndim > 1')
    assert without != reference()
    assert loss.returned(without)[0] == pytest.approx(loss.terms().loss - loss.terms().l2_of_scales, abs=2e-6)


def test_the_batch_is_what_its_story_says():
    first, second = (loss.small_board(moves) for moves in loss.MOVES)
    assert first.get_current_player() == 1 and second.get_current_player() == 2
    first.do_move(8)
    assert first.game_end() == (True, 1)
    second.do_move(8)  # anything but 6 loses at once
    second.do_move(6)
    assert second.game_end() == (True, 1)
    assert [row.sum() for row in loss.batch().shares] == pytest.approx([1, 1])


def test_every_mistake_gives_another_loss_than_the_right_ones():
    losses = [found for found, _ in loss.right("en") + loss.mistaken("en")]
    assert len(losses) == 3 + len(loss.CHINESE)
    assert all(abs(one - other) > 1e-4 for one, other in combinations(losses, 2))


def test_without_an_l2_term_in_the_loss_it_is_the_third_of_the_right_ones():
    (mutant,) = (mutant for mutant in load_mutants(ROOT) if mutant.name == "no-l2")
    source = mutant.files[loss.NETWORK].decode()
    assert loss.returned(source)[0] == pytest.approx(loss.right("en")[2][0], abs=2e-6)


# ------------------------------------------------------------------------------------------------------------- trees


def minimax(own, other, depth):
    """Plain negamax, with nothing left out."""
    if alphabeta._has_won(other):
        return -1
    if depth == 0 or own | other == alphabeta.FULL:
        return 0
    empty = [point for point in range(9) if not (own | other) >> point & 1]
    return max(-minimax(other, own | 1 << point, depth - 1) for point in empty)


@pytest.mark.parametrize("seed", range(20))
def test_no_order_and_no_table_changes_a_value(seed):
    rng = random.Random(seed)
    points = rng.sample(range(9), rng.randrange(3, 6))
    own, other = (sum(1 << point for point in points[start::2]) for start in (0, 1))
    if len(points) % 2:
        own, other = other, own
    if alphabeta._has_won(own) or alphabeta._has_won(other):
        return
    depth = rng.randrange(1, 7)
    for _, _, order, table in alphabeta.ROWS:
        for remember in (False, True):
            searcher = alphabeta.Searcher(order, table, remember)
            for limit in range(1, depth + 1):  # as iterative deepening would
                assert searcher.search(own, other, limit) == minimax(own, other, limit)


def test_the_whole_tree_has_as_many_nodes_as_the_game_has_positions_of_play():
    assert alphabeta.nodes_of_minimax() == 549_946  # known: 255,168 games
    assert alphabeta.Searcher(alphabeta.by_number).search() == 0


def test_the_drawn_tree_has_the_value_of_minimax():
    assert max(visit.value for visit in alphabeta.visits()) == max(min(leaves) for leaves in alphabeta.TREE.values())
    assert all(visit.seen + visit.left_out == alphabeta.TREE[visit.move] for visit in alphabeta.visits())


def test_a_rollout_that_stops_early_or_goes_on_too_long_is_refused(monkeypatch):
    assert rollout_by_hand.results() == [-1, -1, 1]
    for moves in ((3, 6, 5), (3, 6, 5, 8, 2)):
        monkeypatch.setattr(rollout_by_hand, "ROLLOUTS", (moves,))
        with pytest.raises(ValueError, match="over"):
            rollout_by_hand.results()


# ---------------------------------------------------------------------------------------------------------- pitfalls


def test_the_gallery_follows_the_mutants():
    entries = pitfalls.load_pitfalls()
    mutants = {mutant.name: mutant for mutant in load_mutants(ROOT)}
    english, chinese = pitfalls.gallery("en"), pitfalls.gallery("zh")
    assert len(entries) >= 20
    for entry in entries:
        mutant = mutants[entry.mutant]
        for text in (english, chinese):
            assert mutant.says.strip() in text and next(iter(mutant.expected)) in text
        assert entry.cause in english and entry.cause_zh in chinese


def test_a_mutant_that_changed_or_went_is_named():
    entry = pitfalls.load_pitfalls()[0]
    for changed in (dataclasses.replace(entry, cause="Another one."), dataclasses.replace(entry, mutant="gone")):
        with pytest.raises(UsageError, match=f"pitfalls.toml, {changed.mutant}"):
            pitfalls.gallery("en", [changed])


def test_the_gallery_does_not_contain_a_line_of_the_solution():
    solution = {
        line.strip()
        for path in (ROOT / "instructor" / "reference" / "AlphaZero").glob("*.py")
        for block in path.read_text(encoding="utf-8").split("### BEGIN SOLUTION")[1:]
        for line in block.split("### END SOLUTION")[0].splitlines()[1:]
        if len(line.strip()) > 12
    }
    assert len(solution) > 50
    text = "\n".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("theory.md", "theory.zh.md"))
    assert [line for line in solution if line in text] == []
