"""The grader on a few samples of each kind; `make trust` runs them all."""

import dataclasses
import json
import os
import shutil
from pathlib import Path

import pytest

from common.errors import UsageError
from grader.__main__ import main
from grader.assignment_file import load_assignment
from grader.confinement.sandbox import find_sandbox
from grader.instructor import trust
from grader.pipeline.results import Verdict

ROOT = Path(__file__).resolve().parents[2]
MUTANTS = (
    "pure-terminal-node-expanded",
    "wrong-view",
    "temperature-after-the-choice",
    "no-zero-grad",
)
VARIANTS = ("search-follows-the-game",)
SAMPLES = [
    *(("mutants", name) for name in MUTANTS),
    *(("variants", name) for name in VARIANTS),
    pytest.param("mutants", "engine-forgets-its-own-swap", marks=pytest.mark.thorough("games of real engines")),
    pytest.param("mutants", "no-c-puct", marks=pytest.mark.thorough("a slip that the check of the noise must not blame")),
    pytest.param("mutants", "symmetry-undone-the-wrong-way", marks=pytest.mark.thorough("one more slip in a network")),
]


def sample(kind, name):
    (found,) = trust.load_samples((kind,), [name])
    return found


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Where the samples are graded."""
    return tmp_path_factory.mktemp("graded")


@pytest.mark.parametrize(("kind", "name"), SAMPLES)
def test_a_sample_gets_what_it_must(kind, name, graded, engines, checks_run_here):
    row = trust.run_sample(sample(kind, name), graded, find_sandbox(), seed=1)
    assert row.wrong == "", row.failed


def test_there_are_enough_samples_and_each_names_its_misconception():
    samples = trust.load_samples()
    assert sum(s.kind == "mutants" for s in samples) >= 40 and sum(s.kind == "variants" for s in samples) > 12
    assert all(s.why.endswith(".") for s in samples)
    assert all(s.expected and s.says for s in samples if s.kind == "mutants")


def test_a_sample_is_given_the_checks_that_its_files_can_fell_and_the_long_ones_when_asked():
    assignment = load_assignment()
    search = sample("mutants", "wrong-view")
    checks, left_out = trust.checks_for(search, assignment)
    assert {check.id.split(".")[0] for check in checks} == {"mcts_alphazero"}
    assert left_out == ["training.never_loses", "training.own_search"]
    checks, left_out = trust.checks_for(search, assignment, long=True)
    assert "training.own_search" in {check.id for check in checks} and left_out == []


def test_a_file_may_decide_single_checks_of_a_part():
    assignment = load_assignment()
    search = sample("mutants", "wrong-view")
    decides = dict.fromkeys(search.files, ("mcts_alphazero.tree",))
    checks, _ = trust.checks_for(search, dataclasses.replace(assignment, decides=decides))
    assert [check.id for check in checks] == ["mcts_alphazero.tree"]


def test_what_is_decided_is_not_decided_again(graded, monkeypatch, engines, checks_run_here):
    mutant = sample("mutants", MUTANTS[0])
    first = trust.run_sample(mutant, graded, find_sandbox(), seed=1)
    monkeypatch.setattr(trust, "grade", lambda *_, **__: pytest.fail("graded again"))
    assert trust.run_sample(mutant, graded, find_sandbox(), seed=1) == first


def test_a_row_that_is_not_as_expected_is_told_and_ends_with_1(tmp_path, monkeypatch):
    checks = {"a.one": ("failed", 0.0), "a.two": ("partial", 0.5), "a.three": ("passed", 1.0)}
    verdicts = {i: Verdict(i, s, p, max_points=1.0, message="said", handout="5.1") for i, (s, p) in checks.items()}

    def faults(expected, **more):
        return trust.find_faults(trust.Sample("mutants", "m", "", {}, expected=expected, **more), verdicts)

    assert faults({"a.one": None, "a.two": 0.5}) == {}
    assert faults({"a.one": None}, luck=("a.two",)) == {}
    assert faults({"a.one": None}) == {"a.two": "gave 50%"}
    assert faults({"a.one": None, "a.two": None, "a.three": None}) == {"a.three": "noticed nothing"}
    assert faults({"a.one": None, "a.two": 0.25}) == {"a.two": "gave 50% instead of 25%"}
    assert faults({"a.one": None, "a.two": None, "a.four": None}) == {"a.four": "did not run"}
    assert faults({"a.one": None, "a.two": None}, says="the sign") == {"a.one": "does not say 'the sign'"}
    row = trust.SampleRow("mutants", "m", 1, {}, ("a.three",), ("a.long",), {}, {"a.three": "noticed nothing"}, 1.0)
    monkeypatch.setattr(trust, "run_sample", lambda *_, **__: row)
    lines = []
    (tmp_path / "rows.json").write_text("before")
    os.link(tmp_path / "rows.json", tmp_path / "earlier")
    options = trust.TrustOptions(("wrong-view",), ("mutants",), range(1, 3), tmp_path, jobs=2)
    assert trust.main(options, lines.append) == 1
    assert any(line.endswith("NO: a.three noticed nothing") for line in lines) and "a.long" in lines[-1]
    assert any(line.startswith("a.three  wrong in 2 of 2 runs") for line in lines)
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert [each["faults"] for each in rows] == [row.faults] * 2, "one for each seed"
    assert (tmp_path / "earlier").read_text() == "before", "the file is replaced as a whole"


def test_a_mutant_whose_text_is_not_there_once_is_fatal(tmp_path):
    shutil.copytree(ROOT / "instructor" / "reference", tmp_path / "instructor" / "reference")
    shutil.copytree(ROOT / "instructor" / "submissions", tmp_path / "instructor" / "submissions")
    shutil.copyfile(ROOT / "assignment.toml", tmp_path / "assignment.toml")
    path = tmp_path / "instructor/reference/AlphaZero/mcts_pure.py"
    path.write_text(path.read_text().replace("leaf_value = -leaf_value", "leaf_value = 0 - leaf_value"))
    with pytest.raises(UsageError, match=r"mutant pure-sign-not-turned: expected its old text exactly once .* there 0 times"):
        trust.load_samples(("mutants",), root=tmp_path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'[[mutants]]\nname = "x"\n', r"odd\.toml: expected tables \[\[mutant\]\] and nothing else; got mutants"),
        (b"\xff", r"odd\.toml is not valid TOML: expected UTF-8 text"),
        (
            b'[[mutant]]\nname = "x"\nmisconception = ""\nfile = "AlphaZero/mcts_pure.py"\nold = "_"\nnew = ""\n'
            b'fails = []\nsays = "y"\n',
            "mutant x: expected at least one check in fails; got none",
        ),
    ],
    ids=["a misspelt table", "no UTF-8", "fails nothing"],
)
def test_mutants_that_would_be_left_out_or_prove_nothing_are_fatal(tmp_path, content, words):
    (tmp_path / "instructor/submissions/mutants").mkdir(parents=True)
    (tmp_path / "instructor/submissions/mutants/odd.toml").write_bytes(content)
    (tmp_path / "instructor/reference/AlphaZero").mkdir(parents=True)
    (tmp_path / "instructor/reference/AlphaZero/mcts_pure.py").write_text("_")
    with pytest.raises(UsageError, match=words):
        trust.load_mutants(tmp_path)


def test_a_mutant_of_a_file_that_is_not_there_names_the_file(tmp_path):
    (tmp_path / "instructor/submissions/mutants").mkdir(parents=True)
    keys = ("name", "misconception", "file", "old", "new", "says")
    mutant = "".join(f'{key} = "gone.py"\n' for key in keys)
    (tmp_path / "instructor/submissions/mutants/one.toml").write_text(f"[[mutant]]\n{mutant}fails = []\n")
    with pytest.raises(UsageError, match=r"^mutant gone\.py: expected a file of the reference; got gone\.py: No such file"):
        trust.load_samples(("mutants",), root=tmp_path)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('over = "nowhere"', r"expected a variant's folder with expected\.toml at .*nowhere"),
        ("withuot = []", "unknown withuot"),
    ],
)
def test_a_variant_whose_description_is_wrong_is_fatal(tmp_path, line, words):
    folder = tmp_path / "instructor" / "submissions" / "variants" / "odd"
    folder.mkdir(parents=True)
    (folder / "expected.toml").write_text(f'why = "x."\n{line}\n')
    with pytest.raises(UsageError, match=words):
        trust.load_samples(("variants",), root=tmp_path)


def test_a_pattern_that_fits_nothing_is_a_wrong_call():
    with pytest.raises(UsageError, match=r"expected a pattern that matches the name of a sample, such as .*; got 'nobody'"):
        trust.load_samples(only=["wrong-view", "nobody"])


def test_only_may_be_repeated(monkeypatch):
    asked = []
    monkeypatch.setattr(trust, "main", lambda options, _: asked.append(options.only) or 0)
    assert main(["trust", "--only", "wrong-view", "--only", "reference"]) == main(["trust"]) == 0
    assert asked == [("wrong-view", "reference"), ("*",)]
    assert {sample.name for sample in trust.load_samples(only=asked[0])} == set(asked[0])


def test_every_sample_with_an_unknown_check_is_named():
    assignment = load_assignment()
    fewer = dataclasses.replace(assignment, checks=tuple(c for c in assignment.checks if c.id != "mcts_pure.reuse"))
    naming = [s.name for s in trust.load_samples(("mutants",)) if "mcts_pure.reuse" in {*s.expected, *s.luck}]
    with pytest.raises(UsageError) as caught:
        trust.load_samples(("mutants",), assignment=fewer)
    assert len(naming) > 1 and all(f"mutants {name} (mcts_pure.reuse)" in str(caught.value) for name in naming)
