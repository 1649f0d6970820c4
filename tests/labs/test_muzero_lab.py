"""The lab MuZero: the numbers of its handout, the board that refuses, and the program that trains."""

import copy
import re
import subprocess
import sys

import numpy as np
import pytest
import torch

from grader.assignment import ROOT, load_named
from grader.instructor import trust
from labs.muzero.given.games import AskedTooMuchError, Batch, Game, Root

LAB = ROOT / "labs" / "muzero"
HANDOUT = (LAB / "handout.md").read_text(encoding="utf-8")


@pytest.fixture
def solution(monkeypatch):
    """Import a module of the reference."""
    monkeypatch.syspath_prepend(str(LAB / "reference"))

    def load(name):
        for module in [module for module in sys.modules if module.split(".")[0] == "MuZero"]:
            monkeypatch.delitem(sys.modules, module)
        return __import__(f"MuZero.{name}", fromlist=[name])

    return load


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
