"""Schemes: the three that ship, the arithmetic of a total, and the sentence that each mistake in a file gets."""

import shutil
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import UsageError
from grader.__main__ import main
from grader.assignment import ROOT
from grader.assignment_file import load_assignment, load_named
from grader.instructor.marking.items import Items
from grader.instructor.marking.schemes import LateRule, Rounding, load_scheme
from grader.instructor.marking.standing import Standing
from grader.instructor.marking.totals import shown, total_of
from grader.instructor.notebook import COURSE, load_rubric

SHIPPED = ("win_rate", "capped", "pass_fail")
ASSIGNMENT = load_assignment()


def items_of(name, course=COURSE):
    return Items.of(load_scheme(name, course, ASSIGNMENT), ASSIGNMENT, load_rubric(ASSIGNMENT, COURSE))


ITEMS = {name: items_of(name) for name in SHIPPED}


def test_the_schemes_that_ship_are_those_of_the_folder():
    assert {path.stem for path in (COURSE / "schemes").iterdir()} == set(SHIPPED)


@pytest.mark.parametrize(
    ("name", "parts", "cap"),
    [("win_rate", [35, 35, 30], 100), ("capped", [40, 25, 45], 100), ("pass_fail", [35, 35, 30], 100)],
)
def test_full_points_in_everything_give_full_points_in_each_part(name, parts, cap):
    items = ITEMS[name]
    total = total_of(Standing(points={unit.id: items.most[unit.id] for unit in items.scheme.units}), items)
    assert [*total.parts.values()] == parts
    assert total.total == min(cap, sum(parts))
    assert total.above_cap == sum(parts) - total.total


# ------------------------------------------------------------------------------------------------------ arithmetic


@given(st.data(), st.sampled_from(SHIPPED), st.integers(0, 20_000))
def test_a_total_is_the_sum_of_what_is_shown_and_lies_between_0_and_the_cap(data, name, late_minutes):
    items = ITEMS[name]
    ids = [*(unit.id for unit in items.scheme.units), *(item.id for item in items.scheme.extra)]
    shares = data.draw(st.lists(st.fractions(0, 1, max_denominator=999), min_size=len(ids), max_size=len(ids)))
    points = {i: items.most[i] * share for i, share in zip(ids, shares, strict=True)}
    total = total_of(Standing(points=points, late_minutes=late_minutes), items)
    sums = sum(total.parts.values()) + sum(total.extra.values())
    assert sums - total.above_cap - total.penalty + total.rounding == total.total
    # At most half a step, and what is left of the five shown numbers beyond their four places.
    assert abs(total.rounding) <= Decimal(float(items.scheme.rounding.step / 2)) + 6 * Decimal("0.00005")
    assert 0 <= total.total <= 100
    assert (Fraction(total.total) / items.scheme.rounding.step).denominator == 1


@given(st.fractions(0, 1000))
def test_points_are_shown_with_at_most_four_places_and_to_the_nearest(points):
    text = shown(points)
    assert -text.as_tuple().exponent <= 4
    assert abs(Fraction(text) - points) <= Fraction(1, 20_000)


@pytest.mark.parametrize(
    ("how", "points", "rounded"),
    [
        ("nearest", "97.25", "97.5"),
        ("nearest", "97.24", "97"),
        ("up", "97.01", "97.5"),
        ("down", "97.49", "97"),
        ("up", "97", "97"),
    ],
)
def test_a_total_is_rounded_to_a_multiple_of_the_step(how, points, rounded):
    assert Rounding(Fraction(1, 2), how)(Fraction(points)) == Fraction(rounded)


@pytest.mark.parametrize(
    ("minutes", "lost"),
    [(0, 0), (15, 0), (16, 8), (1440, 8), (1441, 16), (3 * 1440, 24), (3 * 1440 + 1, 80)],
)
def test_each_day_begun_costs_ten_percent_after_the_grace_and_everything_after_the_last_day(minutes, lost):
    rule = LateRule(per_day=Fraction(10), unit="percent", grace_minutes=15, latest_days=3)
    assert rule.penalty(Fraction(80), minutes) == lost


def test_points_are_lost_at_most_down_to_0():
    rule = LateRule(per_day=Fraction(30), unit="points", grace_minutes=0, latest_days=7)
    assert [rule.penalty(Fraction(50), days * 1440) for days in (0, 1, 2)] == [0, 30, 50]


# ------------------------------------------------------------------------------------------- a scheme of one's own


@pytest.fixture
def own(tmp_path):
    """A course whose scheme `own` is a copy of another with one place changed."""

    def write(of="capped", old="", new=""):
        (tmp_path / "schemes").mkdir(exist_ok=True)
        text = (COURSE / "schemes" / f"{of}.toml").read_text(encoding="utf-8")
        assert text.count(old) >= 1, f"{old!r} does not stand in {of}.toml"
        (tmp_path / "schemes" / "own.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
        return tmp_path

    return write


def test_a_fourth_scheme_is_one_edited_file(own):
    course = own("capped", 'points = 25\ncounts = ["mcts_pure", "network",', 'points = 30\ncounts = ["mcts_pure", "network",')
    (course / "schemes" / "own.toml").write_text(
        (course / "schemes" / "own.toml").read_text().replace('["minimax"]', '["minimax.win_rate"]')
        + 'left_out = ["minimax.build", "minimax.protocol", "minimax.opening"]\n',
    )
    with pytest.raises(UsageError, match="left_out is unknown"):  # it stands in the table above it
        load_scheme("own", course, ASSIGNMENT)
    text = (course / "schemes" / "own.toml").read_text().splitlines()
    (course / "schemes" / "own.toml").write_text("\n".join([text[-1], *text[:-1]]))
    items = items_of("own", course)
    points = {i: most for i, most in items.most.items() if i in {unit.id for unit in items.scheme.units}}
    total = total_of(Standing(points={**points, "minimax.win_rate": Fraction(15), "minimax.build": Fraction(0)}), items)
    assert (total.parts["part_1"], total.parts["part_2"]) == (20, 30)


def test_a_cap_may_be_the_sum_of_parts_that_have_no_exact_binary_form(own):
    course = own("capped", "points = 40", "points = 40.1")
    path = course / "schemes" / "own.toml"
    text = path.read_text(encoding="utf-8").replace("cap = 100", "cap = 110.1").replace("step = 1", "step = 0.1")
    path.write_text(text, encoding="utf-8")
    assert load_scheme("own", course, ASSIGNMENT).most == Fraction("110.1")


def with_more_points(check, points):
    checks = tuple(replace(c, points=points) if c.id == check else c for c in ASSIGNMENT.checks)
    return replace(ASSIGNMENT, checks=checks)


@pytest.mark.parametrize(("name", "parts", "most"), [("win_rate", [40, 35, 30], 105), ("capped", [40, 25, 45], 100)])
def test_a_part_without_points_has_the_sum_of_its_checks(name, parts, most):
    scheme = load_scheme(name, COURSE, with_more_points("minimax.win_rate", 35))
    assert ([scheme.full_points(part) for part in scheme.parts], scheme.most) == (parts, most)


def test_a_total_without_a_cap_has_whole_steps(own):
    course = own("win_rate", "step = 0.5", "step = 1")
    with pytest.raises(UsageError, match=r"step \(1\); got 100\.5, the points of all parts, because the file has no cap"):
        load_scheme("own", course, with_more_points("minimax.win_rate", 30.5))


def test_a_scheme_says_which_parts_it_scales():
    said = "The scheme capped scales part_1 from 35 points to 40, part_2 from 35 points to 25."
    assert load_scheme("capped", COURSE, ASSIGNMENT).sentences == (said,)
    assert load_scheme("win_rate", COURSE, ASSIGNMENT).sentences == ()


MISTAKES = {
    "not TOML": ("[[parts]]", "[[parts]", "not valid TOML"),
    "a missing key": (
        'profile = "full"',
        "",
        "other keys in the file: profile is missing; the keys are title, profile",
    ),
    "a misspelt key": (
        "per_day = 5",
        "perday = 5",
        "in late: per_day is missing, perday is unknown; the keys are per_day",
    ),
    "a key that is not in the file": ("cap = 100", 'cap = 100\nunits = "x"', "in the file: units is unknown"),
    "points that are a word": ("points = 40", 'points = "40"', "at least 0 for parts[part_1].points; got '40'"),
    "points below 0": ("points = 40", "points = -1", "expected a number of at least 0 for parts[part_1].points; got -1"),
    "points of 0": ("points = 40", "points = 0", "expected points above 0 for part_1 in parts; got 0"),
    "a check that is not in the assignment": (
        '["minimax"]',
        '["minimax", "minmax"]',
        "expected checks or marks of the assignment, or ids of by_hand, in the counts of part_1; got 'minmax'",
    ),
    "a check that nobody counts": (
        '"report", ',
        "",
        "expected report in the counts of a part, or in left_out; it is in neither",
    ),
    "a check that is counted twice": (
        '["minimax"]',
        '["minimax", "network.load"]',
        "expected network.load in one place; it is in the counts of part_1 and in the counts of part_2",
    ),
    "a part named as a mark": ('id = "part_1"', 'id = "report"', "no column of marks.csv has; got 'report' again"),
    "a part named as a column": ('id = "part_1"', 'id = "total"', "no column of marks.csv has; got 'total' again"),
    "an id with a space": ('id = "part_1"', 'id = "Part 1"', "lower-case letters, digits and underscores; got 'Part 1'"),
    "a cap beyond all points": ("cap = 100", "cap = 120", "expected a cap above 0 and at most 110"),
    "a cap of no whole steps": ("cap = 100", "cap = 99.5", "expected a cap that is a multiple of rounding.step (1); got 99.5"),
    "an unknown rounding": ('how = "nearest"', 'how = "bankers"', "rounding.how among nearest, up, down; got 'bankers'"),
    "a step of 0": ("step = 1", "step = 0", "expected a rounding.step that divides 100, such as 0.5; got 0"),
    "an unknown profile": ('profile = "full"', 'profile = "ful"', "profile among quick, full, smoke, trust, check; got 'ful'"),
    "an unknown unit": ('unit = "points"', 'unit = "marks"', "expected late.unit among percent, points; got 'marks'"),
    "half a day": (
        "latest_days = 7",
        "latest_days = 1.5",
        "a whole number of at least 0 for late.latest_days; got 1.5",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_scheme_gets_one_sentence_with_its_place(mistake, own):
    old, new, words = MISTAKES[mistake]
    course = own("capped", old, new)
    with pytest.raises(UsageError) as caught:
        load_scheme("own", course, ASSIGNMENT)
    assert str(caught.value).startswith(f"{course / 'schemes' / 'own.toml'}")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("part_1 = 0.4", "part_3 = 0.4", "expected parts among part_1, part_2, written in pass_if.parts; got part_3"),
        ("part_1 = 0.4", "part_1 = 40", "expected a share of at most 1 for pass_if.parts.part_1; got 40"),
        ("total = 0.5\n", "", "in pass_if: total is missing"),
    ],
)
def test_a_mistake_in_the_conditions_of_a_pass_gets_one_sentence(old, new, words, own):
    with pytest.raises(UsageError) as caught:
        load_scheme("own", own("pass_fail", old, new), ASSIGNMENT)
    assert words in str(caught.value)


@pytest.mark.parametrize("name", ["nothing", "../../assignment", "win_rate.toml"])
def test_an_unknown_scheme_is_answered_by_the_names_of_those_that_exist(name):
    with pytest.raises(UsageError, match="expected a scheme among capped, pass_fail, win_rate"):
        load_scheme(name, COURSE, ASSIGNMENT)


def test_the_usual_scheme_or_the_only_one_is_taken_without_a_name(tmp_path):
    assert load_scheme("", COURSE, ASSIGNMENT).name == "win_rate"
    (tmp_path / "schemes").mkdir()
    shutil.copyfile(COURSE / "schemes" / "capped.toml", tmp_path / "schemes" / "ours.toml")
    assert load_scheme("", tmp_path, ASSIGNMENT).name == "ours"
    assert load_scheme("", tmp_path, ASSIGNMENT).choice == load_scheme("capped", COURSE, ASSIGNMENT).choice == ""


def test_marks_and_gradebook_choose_among_several_schemes_by_one_rule(school, course, api, capsys, tmp_path):
    said = "The scheme is win_rate, the default. --scheme chooses another one: capped, pass_fail.\n"
    class_of_eight = [str(school.results), "--students", str(tmp_path / "roster.csv"), "--course", str(course)]
    commands = (["marks", *class_of_eight, "--out", str(school.folder)], ["gradebook", *class_of_eight])
    for arguments in commands:
        main(arguments)
        assert capsys.readouterr().out.count(said) == 1
        main([*arguments, "--scheme", "win_rate"])
        assert "The scheme" not in capsys.readouterr().out
        main([*arguments, "--scheme", "capped"])
        assert capsys.readouterr().out.count("The scheme capped scales part_1 from 35 points to 40, part_2") == 1
    (course / "schemes" / "win_rate.toml").unlink()
    for arguments in commands:
        assert main(arguments) == 2
        refused = f"expected --scheme, because {course / 'schemes'} holds capped, pass_fail and no win_rate; got none\n"
        assert capsys.readouterr().err == f"grader: {refused}"
    (course / "schemes" / "pass_fail.toml").unlink()
    for arguments in commands:
        assert main(arguments) != 2


def test_a_course_without_schemes_says_so(tmp_path):
    for assignment, example in ((ASSIGNMENT, "instructor/course/schemes"), (load_named("go"), "labs/nogo/course/schemes")):
        with pytest.raises(UsageError, match=rf"expected schemes of marks \(\*\.toml\) in .* there are none: copy {example}$"):
            load_scheme("", tmp_path, assignment)


def test_the_schemes_are_withheld_from_students():
    for path in (COURSE / "schemes").iterdir():
        assert not ASSIGNMENT.is_in_kit(Path(path).relative_to(ROOT).as_posix())
