"""The lab MuZero: the numbers of its handout, the board that refuses, and the program that trains."""

import copy
import importlib
import itertools
import re
import subprocess
import sys
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from grader.assignment import ROOT
from grader.assignment_file import load_named
from grader.confinement.boards import follow
from grader.errors import StudentFault
from grader.instructor import trust
from grader.judge.support.ruling import Ruling
from labs.muzero.checks.calls import model_in
from labs.muzero.checks.test_model import NEAR
from labs.muzero.given import probe
from labs.muzero.given.games import AskedTooMuchError, Batch, Game, Loss, Root, SearchResult
from labs.muzero.trusted import search as trusted_search
from labs.muzero.trusted.families import FAMILIES
from labs.support.cases import DrawnCases

LAB = ROOT / "labs" / "muzero"
HANDOUT = (LAB / "handout.md").read_text(encoding="utf-8")


@pytest.fixture
def solution(monkeypatch):
    """Import a module of the reference."""
    monkeypatch.syspath_prepend(str(LAB / "reference"))

    def load(name):
        forget_solutions()
        return importlib.import_module(f"MuZero.{name}")

    yield load
    forget_solutions()


def forget_solutions():
    for module in [module for module in sys.modules if module.split(".")[0] == "MuZero"]:
        del sys.modules[module]


@pytest.fixture
def sample(tmp_path, monkeypatch):
    """Let modules of MuZero be those of a sample."""

    def lay_out(name):
        (found,) = trust.load_samples(("mutants", "variants"), [name], assignment=load_named("muzero"))
        trust.lay_out(found, tmp_path / name, load_named("muzero"))
        monkeypatch.syspath_prepend(tmp_path / name)
        forget_solutions()
        return found

    yield lay_out
    forget_solutions()


class Here:
    """A worker in this process."""

    def call(self, operation, *, limit_s, **arguments):
        return follow(importlib.import_module, **arguments)

    def close(self):
        """Go on in this process: only the sample with bounds of earlier searches, which is graded elsewhere, would differ."""


def run_check(check_id):
    """Run a check on the solution that `MuZero` is at present."""
    checks = vars(importlib.import_module(f"labs.muzero.checks.test_{check_id.split('.')[0]}")).values()
    marks = {mark.args[0]: check for check in checks for mark in getattr(check, "pytestmark", []) if mark.name == "points"}
    marks[check_id](Here(), Ruling(), Random(1), DrawnCases(FAMILIES))


# The checks of each sample in a grading are those of test_lab_samples.py.
@pytest.mark.parametrize(
    "name",
    ["last-move-drawn", "reward-lost-at-the-last-step", "loss-as-a-number", "search-of-nothing", "reanalysis-of-nothing"],
)
def test_a_check_names_the_mistake_of_a_sample(name, sample):
    mutant = sample(name)
    with pytest.raises((StudentFault, ValueError), match=re.escape(mutant.says)):
        run_check(next(iter(mutant.expected)))


@pytest.mark.parametrize("check_id", ["loss.parts", "loss.gradient", "search.value", "reanalysis.fresh"])
def test_a_number_may_be_a_tensor_with_one_entry(check_id, sample):
    sample("one-entry-tensors")
    run_check(check_id)


@pytest.mark.parametrize(
    "name", ["bounds-with-the-root", "root-mask-kept-below", "new-actions-first", "root-expanded-by-the-first-simulation"]
)
def test_a_slip_in_the_selection_costs_neither_the_value_nor_the_reanalysis(name, sample):
    sample(name)
    run_check("search.value")
    run_check("reanalysis.fresh")


@pytest.mark.parametrize(
    ("changed", "told"),
    [(lambda visits, _: visits + 1, "a wrong number of visits"), (np.roll, "other visits when it is repeated")],
)
def test_a_reanalysis_by_searches_of_its_own_that_say_nothing_is_not_judged(changed, told, sample, monkeypatch):
    """It calls no `search`, so that nobody sees what its searches return to it."""
    sample("searched-in-lockstep")
    module, calls = importlib.import_module("MuZero.search"), itertools.count()
    search_all = module.search_all

    def others(*arguments):
        results = search_all(*arguments)
        return [SearchResult(changed(np.array(each.visits), next(calls)), each.value, each.move) for each in results]

    monkeypatch.setattr(module, "search_all", others)
    with pytest.raises(StudentFault, match=rf"{told}.* fix search\.visits first"):
        run_check("reanalysis.fresh")


@pytest.mark.parametrize("number", [0.5, np.float32(0.5), np.array([[0.5]]), torch.tensor([0.5]), torch.tensor(0.5)])
def test_a_number_is_read_whatever_holds_it(number):
    assert probe.one_number(number, "Loss.total").shape == () and probe.one_number(number, "Loss.total") == 0.5


def test_several_numbers_in_place_of_one_are_named(monkeypatch):
    losses = Loss(torch.zeros(()), torch.zeros(5), torch.zeros(()), torch.zeros(()))
    monkeypatch.setitem(sys.modules, "MuZero.loss", SimpleNamespace(unrolled_loss=lambda model, batch: losses))
    case = FAMILIES["losing"](Random(1))
    batch = {name: case[f"batch {name}"] for name in ("planes", "moves", "policies", "values", "rewards")}
    with pytest.raises(TypeError, match=r"Loss\.policy must be one number; it has the shape \(5,\)"):
        probe.Lost(**model_in(case), batch=batch)


def test_positions_are_unrolled_exactly_to_the_end_of_the_game_and_beyond():
    cases = [FAMILIES["beyond"](Random(seed)) for seed in range(40)]
    assert {int(case["steps"]) - int(case["within"]) for case in cases} == {0, 1, 2, 3}


def test_the_small_number_in_the_divisor_of_the_scaling_may_be_ten_times_too_large():
    """So luck decides about none that the handout allows."""
    for seed in range(500):
        latents = FAMILIES["scaling"](Random(seed))["latents"][:-1]
        low, width = latents.min(axis=1, keepdims=True), np.ptp(latents, axis=1, keepdims=True)
        assert np.allclose((latents - low) / (width + 1e-4), (latents - low) / width, atol=NEAR)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_name_of_a_case_has_the_slash_that_parts_names_in_a_bank(family):
    assert not [name for name in FAMILIES[family](Random(1)) if "/" in name]


@pytest.mark.parametrize(
    ("family", "slip"),
    [("one q", "scales_one"), ("bounds from 0", "bounds_begin_empty"), ("bounds with the root", "bounds_of_actions")],
)
def test_a_slip_that_few_searches_show_is_seen_in_each_search_drawn_for_it(family, slip):
    for seed in range(8):
        case = FAMILIES[family](Random(seed))
        assert not (case[f"slip {slip}"] == case["visits"]).all(axis=1).any()


def test_c_puct_may_grow_with_the_visits_even_where_that_changes_them(sample, monkeypatch):
    sample("growing-c-puct")
    monkeypatch.setattr(importlib.import_module("MuZero.search"), "PB_C_BASE", 20)
    monkeypatch.setattr(trusted_search, "C2", 20)
    constant = []
    for seed in range(6):
        case = FAMILIES["searching"](Random(seed))
        settings = {"n_simulations": int(case["simulations"]), "c_puct": float(case["c_puct"])}
        found = probe.Searched(**model_in(case), planes=case["planes"], availables=case["legal"], **settings)
        right = [np.array_equal(found.visits, visits) for visits in case["visits"]]
        assert any(right)
        constant.append(right[0])
    assert not all(constant), "growing changed nothing"


def test_the_example_of_targets(solution):
    game = Game(
        planes=np.zeros((5, 1, 3, 3), dtype=np.float32),
        legal=np.ones((5, 9), dtype=bool),
        moves=np.array([4, 0, 2, 1, 6]),
        players=np.array([1, 2, 1, 2, 1]),
        winner=1,
        policies=np.eye(9, dtype=np.float32)[[4, 0, 2, 1, 6]],
    )
    targets = solution("targets").make_targets(game, 3, 3, np.random.default_rng(1))
    rows = re.findall(r"^\| \d \| (?:\d|after the end) \|.*\| (\S+) \| [^|]*\| (\S*) ?\|$", HANDOUT, re.MULTILINE)
    assert [float(value) for value, _ in rows] == targets.values.tolist()
    assert [float(reward) for _, reward in rows if reward] == targets.rewards.tolist()
    assert targets.moves[:2].tolist() == [1, 6] and not targets.policies[2:].any()


def test_each_check_names_the_readings_that_it_accepts_and_variants_that_have_them():
    variants = {sample.name for sample in trust.load_samples(("variants",), assignment=load_named("muzero"))}
    texts = [path.read_text(encoding="utf-8") for path in (LAB / "checks").glob("test_*.py")]
    sections = [section for text in texts for section in re.findall(r"    Accepts:\n((?:        .+\n)+)", text)]
    named = [set(re.split(", ", names)) for section in sections for names in re.findall(r"\(([a-z0-9, -]+)\)$", section, re.M)]
    assert len(sections) == len(load_named("muzero").checks) and all(names <= variants for names in named)
    assert set().union(*named) == variants, "no check says why a variant is right"


class Predicting:
    """A model that predicts what the handout's example says; its latent state is the number of the step."""

    values = torch.tensor([-0.5, 0.6, 0.2, -0.1])
    rewards = torch.tensor([0.1, 0.7, 0.2])
    cross_entropies = torch.tensor([0.7, 0.4, 1.0, 1.0])

    def represent(self, planes):
        return torch.zeros(1, 1)

    def dynamics(self, latents, actions):
        return latents + 1, self.rewards[int(latents)].reshape(1)

    def predict(self, latents):
        step = int(latents)
        first = torch.exp(-self.cross_entropies[step])
        return torch.log(torch.stack([first, 1 - first])).reshape(1, 2), self.values[step].reshape(1)


def test_the_example_of_the_loss(solution):
    policies = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    values, rewards = torch.tensor([[-1.0, 1.0, 0.0, 0.0]]), torch.tensor([[0.0, 1.0, 0.0]])
    batch = Batch(torch.zeros(1, 1, 1, 2), torch.zeros(1, 3, dtype=torch.int64), policies[None], values, rewards)
    loss = solution("loss").unrolled_loss(Predicting(), batch)
    told = {
        name: float(number) for name, number in re.findall(r"^    (policy|value|reward|total) .*= ([\d.]+)$", HANDOUT, re.M)
    }
    got = {name: float(getattr(loss, name)) for name in told}
    assert len(told) == 4 and got == pytest.approx(told, abs=1e-4)


def test_the_examples_of_the_search(solution):
    search = solution("search")
    node = search.Node(None, np.array([0.5, 0.3, 0.2]))
    node.visits, node.sums = np.array([2.0, 1.0, 0.0]), np.array([0.6, -0.2, 0.0])
    bounds = search.Bounds()
    for q in (-0.4, 0.3):
        bounds.update(q)
    told = [
        [float(n) for n in row]
        for row in re.findall(r"^\| [ABC] \| [\d.]+ \|.*\| ([\d.]+) \|.* = ([\d.]+) \| ([\d.]+) \|$", HANDOUT, re.M)
    ]
    assert [row[0] for row in told] == pytest.approx([bounds.scaled(0.3), bounds.scaled(-0.2), 0.0], abs=1e-3)
    assert [a + b for a, b, _ in told] == pytest.approx([row[2] for row in told], abs=2e-3)
    assert search.select(node, bounds, 1.25) == int(np.argmax([row[2] for row in told])) == 0


@pytest.mark.parametrize(
    "ask",
    [
        copy.copy,
        copy.deepcopy,
        lambda root: root.copy(),
        lambda root: root.do_move(0),
        lambda root: root.game_end(),
        lambda root: root.states,
        lambda root: getattr(root, "last_move", None),
    ],
)
def test_a_root_refuses_whatever_is_beyond_its_planes_and_its_legal_moves(ask):
    root = Root(np.ones((2, 3, 4)), [1, 5])
    with pytest.raises(AskedTooMuchError, match="current_state\\(\\) and availables"):
        ask(root)
    assert (root.width, root.height, root.availables) == (4, 3, [1, 5])
    root.availables.clear()
    root.current_state()[:] = 0
    assert root.availables == [1, 5] and root.current_state().all()


@pytest.mark.parametrize(("words", "said"), [(["--games", "0"], "at least 1 game"), (["--seed", "-1"], "a seed of at least 0")])
def test_the_program_that_trains_says_what_it_expects(words, said):
    command = [sys.executable, "-m", "labs.muzero.given.training", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr
