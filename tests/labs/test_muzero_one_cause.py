"""In the lab MuZero one mistake costs the points of one check, whose message names it, and no right solution loses any."""

import copy
import importlib
import sys
from random import Random

import pytest

from grader.assignment import ROOT
from grader.confinement.boards import follow
from grader.errors import StudentFault
from grader.judge.support.ruling import Ruling
from labs.muzero.trusted.families import FAMILIES
from labs.support.cases import DrawnCases

REFERENCE = ROOT / "labs" / "muzero" / "reference" / "MuZero"
STUBS = ROOT / "labs" / "muzero" / "MuZero"


class Cases(DrawnCases):
    """Cases that are drawn once for all tests, since drawing takes longer than the checks."""

    def __init__(self):
        super().__init__(FAMILIES)
        self._drawn = {}

    def draw(self, family, rng):
        key = family, rng.getstate()
        if key not in self._drawn:
            self._drawn[key] = super().draw(family, rng), rng.getstate()
        case, state = self._drawn[key]
        rng.setstate(state)
        return case


CASES = Cases()


def forget_solutions():
    for module in [module for module in sys.modules if module.split(".")[0] == "MuZero"]:
        del sys.modules[module]


class Here:
    """A worker in this process: it gets copies, and imports the submission again after each fault."""

    def call(self, operation, *, limit_s, **arguments):
        try:
            return follow(importlib.import_module, **copy.deepcopy(arguments))
        except Exception as error:
            self.close()
            raise StudentFault(f"{type(error).__name__}: {error}") from error

    def close(self):
        forget_solutions()


@pytest.fixture
def losing(tmp_path, monkeypatch):
    """The checks among some that the reference with edits loses, each with its message."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def run(file, edits, parts):
        (tmp_path / "MuZero").mkdir()
        for source in REFERENCE.glob("*.py"):
            text = source.read_text(encoding="utf-8")
            if source.name == file:
                for old, new in edits:
                    assert text.count(old) == 1, old
                    text = text.replace(old, new)
            (tmp_path / "MuZero" / source.name).write_text(text, encoding="utf-8")
        failed = {}
        for part in parts:
            for check in vars(importlib.import_module(f"labs.muzero.checks.test_{part}")).values():
                for mark in (mark for mark in getattr(check, "pytestmark", []) if mark.name == "points"):
                    forget_solutions()
                    try:
                        check(Here(), Ruling(), Random(1), CASES)
                    except StudentFault as fault:
                        failed[mark.args[0]] = str(fault)
        return failed

    yield run
    forget_solutions()


NODE = "        self.latent = latent\n"
SELECTED = "    return int(scores.argmax())\n"
RETURNED = "    return SearchResult(root.visits, root.sums.sum() / root.visits.sum(), int(root.visits.argmax()))\n"
PRIORS = "    return Node(latent, torch.softmax(logits, dim=0).numpy())\n"
STUB = '    raise NotImplementedError("MuZero/search.py: search: see handout section 5")\n'
SEARCHES = {
    "a node cannot be made": [(NODE, "        self.latent = latent.item()\n")],
    "the file cannot be read": [("class Node:\n", "class Node\n")],
    "it is not written yet": [
        ("    with torch.no_grad():\n        root, bounds", f"{STUB}    with torch.no_grad():\n        root, bounds")
    ],
    "it returns a tuple": [(RETURNED, RETURNED.replace("SearchResult", ""))],
    "it returns the visits of legal moves alone": [
        (RETURNED, RETURNED.replace("root.visits,", "root.visits[board.availables],", 1))
    ],
    "it asks the board for its last move": [(PRIORS, f"    board.last_move\n{PRIORS}")],
    "it selects at random": [(SELECTED, "    return int(np.random.default_rng().choice(np.flatnonzero(node.priors)))\n")],
    "it breaks ties at random": [
        ("np.sqrt(1 + node.visits.sum())", "np.sqrt(node.visits.sum())"),
        (SELECTED, "    return int(np.random.default_rng().choice(np.flatnonzero(scores == scores.max())))\n"),
    ],
}


@pytest.mark.parametrize("what", SEARCHES)
def test_a_mistake_in_the_search_costs_reanalysis_nothing(what, losing):
    assert losing("search.py", SEARCHES[what], ["reanalysis"]) == {}


RESULTS = "    results = [search(model, game.root(t), n_simulations, c_puct) for t in range(len(game.moves))]\n"
OTHER = "    from labs.muzero.given.sine_model import SineModel\n"
REANALYSES = {
    "the settings are the default ones": (
        [(", n_simulations, c_puct) for", ") for")],
        "must search with the n_simulations that it was given",
    ),
    "c_puct is the default one": (
        [(", n_simulations, c_puct) for", ", n_simulations) for")],
        "with the c_puct that it was given",
    ),
    "another model searches": (
        [(RESULTS, f"{OTHER}    model = SineModel(*game.planes.shape[1:], model.root.out_features)\n{RESULTS}")],
        "must search with the model that it was given",
    ),
    "the first position is searched each time": (
        [("game.root(t), n_simulations", "game.root(0), n_simulations")],
        "does not search that before move 1",
    ),
    "values are those of the opponent": ([("[result.value for", "[-result.value for")], "It has the wrong sign."),
    "visits are not divided": ([("result.visits / result.visits.sum()", "result.visits")], "must be divided by their sum"),
    "the chosen move has the whole policy": (
        [("result.visits / result.visits.sum()", "np.eye(len(result.visits))[result.move]")],
        "the new search gives the visit shares",
    ),
}


@pytest.mark.parametrize("what", REANALYSES)
def test_a_mistake_in_reanalysis_costs_one_check_that_names_it(what, losing):
    edits, says = REANALYSES[what]
    failed = losing("reanalysis.py", edits, ["reanalysis"])
    assert set(failed) == {"reanalysis.fresh"} and says in failed["reanalysis.fresh"], failed


def test_changed_planes_of_the_old_game_cost_one_check(losing):
    failed = losing("reanalysis.py", [(RESULTS, f"    game.planes[:] = 1 - game.planes\n{RESULTS}")], ["reanalysis"])
    assert set(failed) == {"reanalysis.keeps"}, failed


STEP = "            weight = 1.0 / unroll_steps\n"
SCALED = "    return scale * x + (1 - scale) * x.detach()\n"
LOSSES = {
    "the steps are added up": ([(STEP, STEP.replace("1.0 / unroll_steps", "1.0"))], "added up without the weight 1/K"),
    "the last step is left out": ([("range(unroll_steps + 1)", "range(unroll_steps)")], "Step K is missing"),
    "cross entropies are added up": (
        [("cross_entropy.mean()", "cross_entropy.sum()")],
        "The samples are added up, not averaged",
    ),
    "the reward of the move before": (
        [("batch.rewards[:, k - 1])", "batch.rewards[:, max(k - 2, 0)])")],
        "that of the move before",
    ),
    "values are turned": ([("batch.values[:, k])", "batch.values[:, k] * (-1) ** k)")], "turned from step to step"),
    "values are not squared": ([("F.mse_loss(values", "F.l1_loss(values")], "it must be squared"),
    "each with all targets": (
        [("F.mse_loss(values, batch.values[:, k])", "(values[:, None] - batch.values[:, k]).square().mean()")],
        "the targets of all samples",
    ),
    "the parts change places": (
        [("policy, value, reward)\n    ###", "value, policy, reward)\n    ###")],
        "This is the part value",
    ),
    "the total has other weights": (
        [("Loss(policy + value", "Loss(policy + 0.25 * value")],
        "The total is the sum of the parts",
    ),
}
FLOWS = {
    "a hook on the state itself": (
        [(SCALED, "    x.register_hook(lambda gradient: scale * gradient)\n    return x\n")],
        "for the reward and the prediction as well",
    ),
    "the factor of the paper's losses": (
        [("scale_gradient(latents, 0.5)", "scale_gradient(latents, 1 / unroll_steps)")],
        "by 1/K",
    ),
    "nothing flows": ([("scale_gradient(latents, 0.5)", "latents.detach()")], "something on the way is detached"),
}
BOTH = {
    "not averaged and not halved": [LOSSES["the steps are added up"][0][0], (SCALED, "    return x\n")],
    "only step 0": [(STEP, STEP.replace("1.0 / unroll_steps", "0.0"))],
}


@pytest.mark.parametrize("what", LOSSES)
def test_a_mistake_in_the_parts_of_the_loss_costs_one_check_that_names_it(what, losing):
    edits, says = LOSSES[what]
    failed = losing("loss.py", edits, ["loss"])
    assert set(failed) == {"loss.parts"} and says in failed["loss.parts"], failed


@pytest.mark.parametrize("what", FLOWS)
def test_a_mistake_in_the_flow_of_the_gradient_costs_one_check_that_names_it(what, losing):
    edits, says = FLOWS[what]
    failed = losing("loss.py", edits, ["loss"])
    assert set(failed) == {"loss.gradient"} and says in failed["loss.gradient"], failed


@pytest.mark.parametrize("what", BOTH)
def test_a_wrong_loss_hides_no_wrong_gradient(what, losing):
    assert set(losing("loss.py", BOTH[what], ["loss"])) == {"loss.parts", "loss.gradient"}


PLANES = "    planes = torch.as_tensor(np.array(board.current_state()), dtype=torch.float32)\n"
NOISE = "    priors = torch.softmax(logits, dim=0).numpy()\n    priors[legal] += np.random.dirichlet([0.3] * legal.sum())\n"
BOUNDS = "        bounds.update(node.sums[action] / node.visits[action])\n    ###"
SELECTIONS = {
    "noise at the root": ([(PRIORS, f"{NOISE}    return Node(latent, priors / priors.sum())\n")], "this search has no noise"),
    "each is drawn": (SEARCHES["it selects at random"], "this search has no noise"),
    "c_puct is the default one": ([("    scores = c_puct * node", "    scores = 1.25 * node")], "c_puct is always 1.25"),
    "no square root": ([("np.sqrt(1 + node.visits.sum())", "(1 + node.visits.sum())")], "The square root is missing"),
    "bounds of results": ([(BOUNDS, "        bounds.update(result)\n    ###")], "those of single results"),
    "visits of legal moves alone": (SEARCHES["it returns the visits of legal moves alone"], "must have the shape"),
    "visits are shares": (
        [(RETURNED, RETURNED.replace("(root.visits,", "(root.visits / root.visits.sum(),"))],
        "that many visits",
    ),
}
ASKING = {
    "a copy": [(PLANES, f"    import copy\n    board = copy.deepcopy(board).copy()\n{PLANES}")],
    "game_end": [(PLANES, f"    if board.game_end()[0]:\n        return None\n{PLANES}")],
    "last_move": SEARCHES["it asks the board for its last move"],
}


@pytest.mark.parametrize("what", SELECTIONS)
def test_a_mistake_in_the_selection_costs_one_check_that_names_it(what, losing):
    edits, says = SELECTIONS[what]
    failed = losing("search.py", edits, ["search"])
    assert set(failed) == {"search.visits"} and says in failed["search.visits"], failed


@pytest.mark.parametrize("what", ASKING)
def test_a_question_to_the_board_costs_one_check_that_names_it(what, losing):
    failed = losing("search.py", ASKING[what], ["search"])
    assert set(failed) == {"search.board"} and f"asked for {what}" in failed["search.board"], failed


def test_rewards_that_are_subtracted_are_named(losing):
    edits = [("result = node.rewards[action] - result", "result = -node.rewards[action] - result")]
    failed = losing("search.py", edits, ["search"])
    assert set(failed) == {"search.visits", "search.value"} and "rewards are subtracted" in failed["search.visits"], failed


RESULT = "result = 1.0 if game.players[t] == game.winner else -1.0"
REWARD = "rewards[k] = result if t == length - 1 else 0.0"
TARGETS = {
    "results of the player of step 0": (
        [(RESULT, RESULT.replace("[t]", "[start]"))],
        "targets.players",
        "It has the wrong sign",
    ),
    "results of the opponent": (
        [(RESULT, RESULT.replace("==", "!=")), (REWARD, REWARD.replace("= result", "= -result"))],
        "targets.players",
        "It has the wrong sign",
    ),
    "a draw is a loss": ([("if game.winner == NOBODY", "if game.winner == 0")], "targets.players", "so the value is 0; got -1"),
    "no value where the end is in sight": (
        [
            (
                "        values[k] = result if",
                "        values[k] = 0 if start + unroll_steps >= length and game.values is None else result if",
            )
        ],
        "targets.players",
        "is to move, so the value is",
    ),
    "the game loses its policies": (
        [("policies[k] = game.policies[t]\n", "policies[k] = game.policies[t]\n        game.policies[t] = 0\n")],
        "targets.players",
        "make_targets changes the game",
    ),
    "an index behind the end": ([("        if t >= length:\n            break\n", "")], "targets.absorbing", "out of bounds"),
    "the reward of the new value": ([(REWARD, REWARD.replace("result", "values[k]"))], "targets.absorbing", "so its reward is"),
}


@pytest.mark.parametrize("what", TARGETS)
def test_a_mistake_in_the_targets_costs_one_check_that_names_it(what, losing):
    edits, check, says = TARGETS[what]
    failed = losing("targets.py", edits, ["targets"])
    assert set(failed) == {check} and says in failed[check], failed


def test_a_wrong_result_hides_no_wrong_reward(losing):
    edits = [(RESULT, RESULT.replace("[t]", "[start]")), (REWARD, REWARD.replace("= result", "= -result"))]
    assert set(losing("targets.py", edits, ["targets"])) == {"targets.players", "targets.absorbing"}
