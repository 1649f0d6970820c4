"""Part 2 as a whole: train tic-tac-toe from scratch with the student's own code and test the result exactly (handout 5.5).

The student's code plays against itself and learns, as in train.py; the grader chooses the batches (`watched_training`). Every
few games the network plays every line of replies with the grader's own search, and training ends with the first network that
loses no line. Up to three seeds are tried and the best network counts, so one unlucky training run decides nothing.

The network with averaged weights counts, as in train.py. The grader computes the average, so a program that plays well by
other means than its network gains nothing. The grader also draws the initial weights; trained weights still resemble them,
whereas weights that a submission brings along do not. If the network is not the handout's, or its weights do not resemble the
initial ones, a person has to look. Steps that do not follow their targets have learnt something else and earn nothing.

The student's own search earns points for its own play. But if its moves differ from those of a correct search with the same
network, it earns no more than the network does, so a tic-tac-toe solver gains nothing.

A fault in the student's search, or in policy_value_fn, costs points in the checks of these. If points were lost there, there
is one seed; if the network does not learn, the training is repeated with the grader's search, which calls policy_value, and
the network earns the points of that run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from random import Random

import numpy as np
import pytest

from Board.game_board import Board
from common.weights import expected_layout
from grader.confinement.plain import have_same_layers
from grader.confinement.worker_client import Worker
from grader.errors import CouldNotGrade, StudentFault
from grader.judge.support.agreement import SearchComparison
from grader.judge.support.board_position import board_at
from grader.judge.support.drawn_positions import random_position
from grader.judge.support.drawn_weights import fresh_weights, random_weights
from grader.judge.support.own_search import CALL_LIMIT_S, choose_moves, own_agent, position_of, visits_of
from grader.judge.support.ruling import Ruling
from grader.judge.support.trees import most_visited
from grader.judge.trusted.agents import PolicyValue, network_agent, searching_agent
from grader.judge.trusted.answers import search_answers
from grader.judge.trusted.network import evaluator, forward
from grader.judge.trusted.search import Evaluation, search
from grader.judge.trusted.watched_training import GameSamples, WatchedTraining
from grader.pipeline.results import FAILED, PARTIAL
from grader.pipeline.run import Run
from training.exact import ExactResult, Line, play_all_replies

NOISE_ALPHA, NOISE_SHARE = 0.3, 0.25
BLOCK = 1  # residual blocks of train.py's network on 3x3
SELF_PLAY_PLAYOUTS = 50  # twice the 25 of train.py, since no tree is kept between moves
SAME_OUTPUTS = 1e-3
LARGE_LAYER = 500  # entries; for smaller layers a correlation says little
KINSHIP = 0.2  # least correlation of layers with their initial weights: 0.82 after 150 games, 0 for foreign weights
OBEDIENCE = 0.4  # largest share of visits that may differ from those of a correct search with a random network
# Least correlation of steps with their targets' remainders: 0.25 to 0.45 for correct steps, 0 +- 0.02 if targets are ignored.
FOLLOWING = 0.1
CLEARLY_FOLLOWING = 0.15
ENOUGH_WATCHED, SURELY_WATCHED = 25, 100  # steps needed to trust a high correlation, and to trust a low one
MORE_TRIES = 4  # later networks of the training run to try if only the student's own search loses with the first
OTHER_MOVE = 0.1  # share of a root's visits; a search that differs by more does not play by its network
PLAYING_CHECKS = ("mcts_alphazero.", "network.legal_moves")  # of all that self-play needs but policy_value


@dataclass
class TrainedNetwork:
    """The best network of a training run, and how it was trained.

    Attributes:
        losing: number of playouts -> number of losing lines; empty if nothing was trained.
        curve: games played and losing lines at each test during training.
        fault: why no further training was possible.
        doubt: see `_doubt`.
        attempt: the training run that produced the network and can continue.
    """

    losing: dict[int, int] = field(default_factory=dict)
    games: int = 0
    seed: int = 0
    seconds: float = 0.0
    trusted_search: bool = False
    curve: list[tuple[int, int]] = field(default_factory=list)
    fault: str = ""
    weights: dict[str, np.ndarray] = field(default_factory=dict)
    doubt: str = ""
    attempt: TrainingAttempt | None = None

    @property
    def watched(self) -> int:
        """The number of training steps that were watched."""
        return self.attempt.watched if self.attempt else 0

    @property
    def following(self) -> float:
        """How well the steps followed their targets."""
        return self.attempt.following if self.attempt else 0.0

    @property
    def worst(self) -> int:
        return max(self.losing.values(), default=10**6)


@pytest.fixture(scope="module")
def trained(run: Run, worker: Worker) -> TrainedNetwork:
    """Train once for both checks. The worker keeps the last network; the result has the weights of the best one."""
    return train_best(run, worker)


def train_best(run: Run, worker: Worker) -> TrainedNetwork:
    """Return the best network, trained with the student's search or, if PLAYING_CHECKS lost points, with the grader's."""
    rng, worker.seed_rng = run.random("training"), run.random("training:dice")  # codespell:ignore dice
    seeds = run.profile.training.seeds
    lost = [i for i, ruled in run.verdicts.items() if i.startswith(PLAYING_CHECKS) and ruled.status in (FAILED, PARTIAL)]
    best = _train(run, worker, rng, 1 if lost else seeds, trusted_search=False)
    if best.worst > 0 and lost:
        best = min(best, _train(run, worker, rng, seeds, trusted_search=True), key=lambda each: each.worst)
    return best


def _train(run: Run, worker: Worker, rng: Random, seeds: int, trusted_search: bool) -> TrainedNetwork:
    """Return the best network from any point of any of these training runs."""
    best = TrainedNetwork()
    for number in range(seeds):
        attempt = TrainingAttempt(run, worker, rng, trusted_search, f"attempt {number + 1} of {seeds}")
        try:
            attempt.start()
            # Even a network without losing lines goes on training until it is clear whether the steps follow their targets;
            # if it is in doubt, a person looks in any case.
            while not attempt.is_over and (best.worst > 0 or (attempt.is_open and not best.doubt)):
                best = min(best, attempt.look(), key=lambda each: each.worst)
        except StudentFault as fault:
            best.fault = str(fault)
        if best.worst == 0 or best.fault:
            break
    return best


class TrainingAttempt:
    """A training run whose network is tested every few games.

    Args:
        rng: draws the seed, and the positions in which the network is tested.
        trusted_search: whether the grader's search plays the games.
        name: shown in the progress line.
    """

    def __init__(self, run: Run, worker: Worker, rng: Random, trusted_search: bool, name: str) -> None:
        self._run, self._worker, self._rng, self._trusted_search, self._name = run, worker, rng, trusted_search, name
        self._profile = run.profile.training
        self._seed, self._games, self._started = rng.randrange(2**31), 0, time.monotonic()
        self._numbers = np.random.default_rng(self._seed)
        self._beginning = fresh_weights(3, 3, BLOCK, self._seed)
        self._training: WatchedTraining
        self._curve: list[tuple[int, int]] = []

    def start(self) -> None:
        """Start training in a new worker, since the CPU time of one process is limited."""
        self._worker.close()
        beginning = self._worker.call("train_start", limit_s=CALL_LIMIT_S, weights=self._beginning)
        if not have_same_layers(beginning, self._beginning):
            self._beginning = beginning  # see `_doubt`
        self._training = WatchedTraining(self._worker, self._beginning, Random(self._seed))

    @property
    def is_over(self) -> bool:
        """Whether all games have been played."""
        return self._games >= self._profile.max_games

    @property
    def is_open(self) -> bool:
        """Whether more steps are needed to tell whether they follow their targets."""
        watched, following = self._training.watched, self._training.following
        return watched < ENOUGH_WATCHED or (following < CLEARLY_FOLLOWING and watched < SURELY_WATCHED)

    @property
    def watched(self) -> int:
        """The number of steps that were watched."""
        return self._training.watched

    @property
    def following(self) -> float:
        """How well the steps followed their targets (`WatchedTraining`)."""
        return self._training.following

    def look(self, doubt: str | None = None) -> TrainedNetwork:
        """Train for some more games and test the network.

        Args:
            doubt: the doubt to use when the worker already has another network; by default `_doubt` determines it.
        """
        more = min(self._profile.check_every, self._profile.max_games - self._games)
        for _ in range(more):
            self._training.learn(trusted_game(self._worker, self._numbers) if self._trusted_search else _own_game(self._worker))
        self._games += more
        weights = {key: value.copy() for key, value in self._training.average.items()}
        outcome = TrainedNetwork(attempt=self, games=self._games, seed=self._seed, curve=self._curve, weights=weights)
        outcome.trusted_search = self._trusted_search
        outcome.doubt = _doubt(self._worker, self._beginning, weights, self._rng) if doubt is None else doubt
        outcome.losing = {n: _losing_lines(self._worker, outcome, n) for n in self._profile.playouts}
        outcome.seconds = time.monotonic() - self._started
        self._curve.append((self._games, outcome.worst))
        left_s = (self._profile.max_games - self._games) * outcome.seconds / self._games
        self._run.progress(
            f"training, {self._name}: {self._games} of at most {self._profile.max_games} games, {outcome.worst} losing lines, "
            f"at most {left_s:.0f} s left"
        )
        return outcome


def _own_game(worker: Worker) -> GameSamples:
    """Play one game with the worker's network and the student's search."""
    return GameSamples.from_reply(worker.call("train_play", limit_s=CALL_LIMIT_S))


def trusted_game(worker: Worker, numbers: np.random.Generator) -> GameSamples:
    """Play one game with the worker's network and the grader's search."""
    policy_value = _policy_value(worker)
    board = Board(width=3, height=3, n_in_row=3)
    board.init_board()
    states, shares, sides = [], [], []
    while not board.game_end()[0]:

        def evaluate(leaf: Board, plies: int = len(board.states)) -> Evaluation:
            probs, values = policy_value(leaf.current_state()[np.newaxis])
            legal = leaf.availables
            priors = probs[0][legal]
            if len(leaf.states) == plies:
                priors = (1 - NOISE_SHARE) * priors + NOISE_SHARE * numbers.dirichlet(np.full(len(legal), NOISE_ALPHA))
            return zip(legal, priors.tolist(), strict=True), float(values.reshape(-1)[0])

        root = search(board, evaluate, SELF_PLAY_PLAYOUTS, c_puct=5.0)
        visits = np.zeros(9)
        for move, child in root.children.items():
            visits[move] = child.visits
        states.append(board.current_state())
        shares.append(visits / visits.sum())
        sides.append(board.get_current_player())
        board.do_move(int(numbers.choice(9, p=shares[-1])))
    winner = board.game_end()[1]
    winners = [0.0 if winner == -1 else (1.0 if side == winner else -1.0) for side in sides]
    return GameSamples(np.stack(states), np.stack(shares), np.array(winners))


def _policy_value(worker: Worker) -> PolicyValue:
    """Return the worker's network as a function; it raises StudentFault if outputs have a wrong shape or are not finite."""

    def policy_value(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        probs, values = worker.call("net_policy_value", states=states)
        probs, values = np.asarray(probs, dtype=float), np.asarray(values, dtype=float)
        if probs.shape != (len(states), 9) or values.size != len(states):
            raise StudentFault(f"policy_value returns shapes {probs.shape} and {values.shape} for {len(states)} states.")
        if not (np.all(np.isfinite(probs)) and np.all(np.isfinite(values))):
            raise StudentFault("After training, policy_value returns numbers that are not finite.")
        return probs, values

    return policy_value


def _losing_lines(worker: Worker, outcome: TrainedNetwork, n_playout: int) -> int:
    """Count the losing lines with the grader's search.

    The network is computed from its weights; if these are in doubt, the worker's network is used.
    """
    try:
        agent = (
            searching_agent(_policy_value(worker), n_playout) if outcome.doubt else network_agent(outcome.weights, n_playout)
        )
        return play_all_replies(agent).losing_lines
    except ValueError as error:
        raise StudentFault(f"After training the network cannot be used: {error}.") from error


def _doubt(worker: Worker, beginning: dict[str, np.ndarray], weights: dict[str, np.ndarray], rng: Random) -> str:
    """Return why the weights may not come from training the handout's network from `beginning`; "" if there is no doubt."""
    # With one layer more, too, training has begun with the network's own weights, which it may have brought along.
    if {key: w.shape for key, w in weights.items()} != expected_layout(3, 3, BLOCK):
        return "the network's layers are not those of the handout"
    boards = [board_at(random_position(rng, 3, 3, 3, rng.randrange(6))) for _ in range(8)]
    states = np.stack([board.current_state() for board in boards]).astype(np.float32)
    log_probs, values = forward(weights, states)
    probs, own_values = _policy_value(worker)(states)
    if max(np.abs(probs - np.exp(log_probs)).max(), np.abs(own_values.reshape(-1) - values.reshape(-1)).max()) > SAME_OUTPUTS:
        return "the network's outputs are not those that the handout's network has with its weights"
    kinship = {key: correlation(beginning[key], weights[key]) for key in beginning if beginning[key].size >= LARGE_LAYER}
    usual = float(np.median(list(kinship.values())))
    if usual < KINSHIP:
        return f"the weights do not resemble the initial ones (median correlation of the layers {usual:.2f})"
    return ""


def correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Return the correlation of the entries of two arrays, from -1 to 1; 0 if one array does not vary."""
    a, b = (np.asarray(x, dtype=float).reshape(-1) - np.mean(x, dtype=float) for x in (first, second))
    length = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / length if length > 0 else 0.0


def expect_trained(trained: TrainedNetwork, share: float) -> None:
    """If there are points to give, raise StudentFault for weights not learnt from the batches, CouldNotGrade for a doubt."""
    if share <= 0:
        return
    if trained.doubt:
        raise CouldNotGrade(
            f"after training {trained.doubt}, so no program can tell whether it was trained; it lost {trained.worst} lines"
        )
    follows = trained.following >= FOLLOWING
    if trained.watched < (ENOUGH_WATCHED if follows else SURELY_WATCHED):
        raise CouldNotGrade(
            f"only {trained.watched} steps had targets that differed from those of equal states, too few to tell whether "
            f"train_step learns from its batches; the network lost {trained.worst} lines"
        )
    if not follows:
        raise StudentFault(
            f"train_step does not learn from the batches that it is given. Over {trained.watched} steps, the weight changes "
            f"had a correlation of {trained.following:.2f} with what distinguishes the targets; steps that minimise the loss "
            f"have more than {FOLLOWING:g}. Such training earns no points."
        )


def expect_obedience(worker: Worker, rng: Random, n_playout: int) -> None:
    """Raise StudentFault unless the student's own search follows a random network, as any search that uses it does."""
    weights = random_weights(3, 3, BLOCK, rng.randrange(2**31))
    worker.call("net_create", width=3, height=3, block=BLOCK, weights=weights, by_file=False)
    positions = [random_position(rng, 3, 3, 3, rng.randrange(4)) for _ in range(12)]

    chosen = choose_moves(worker, positions, n_playout)
    differences, evaluate = [], remembered_evaluate(weights)
    for reply, position in zip(chosen, positions, strict=True):
        visits = visits_of(reply)
        answers = search_answers(position, evaluate, n_playout, 5.0)
        differences.append(SearchComparison(visits, position, n_playout, 5.0, answers).smallest_difference())
    mean = float(np.mean(differences))
    if mean > OBEDIENCE:
        raise StudentFault(
            f"With a network of random weights, {mean:.0%} of the player's visits went to other moves than in a search of "
            f"{n_playout} playouts with that network: the player does not play by its network."
        )


@dataclass(frozen=True)
class OwnPlay:
    """How the student's search plays with a network: the lines that it loses, and its visits in every position."""

    result: ExactResult
    asked: dict[Line, dict[int, float]]


def play_own(worker: Worker, trained: TrainedNetwork, n_playout: int) -> OwnPlay:
    """Play every line of replies against the student's search with a trained network."""
    worker.call("net_create", width=3, height=3, block=BLOCK, weights=trained.weights, by_file=False)
    asked: dict[Line, dict[int, float]] = {}
    return OwnPlay(play_all_replies(own_agent(worker, n_playout, asked)), asked)


def best_own_play(worker: Worker, trained: TrainedNetwork, n_playout: int) -> OwnPlay:
    """Run `play_own` with the best network; if it loses, try the next networks of the training run that lose no line.

    Correct searches differ a little: a network trained on few games may lose with one search and not with another.
    """
    played, attempt, tries = play_own(worker, trained, n_playout), trained.attempt, 0
    while played.result.losing_lines and trained.worst == 0 and attempt and not attempt.is_over and tries < MORE_TRIES:
        try:
            later = attempt.look(doubt=trained.doubt)
            if later.worst == 0:
                played = min(played, play_own(worker, later, n_playout), key=lambda each: each.result.losing_lines)
                tries += 1
        except StudentFault:
            break  # what was played so far counts
    return played


def own_ways(weights: dict[str, np.ndarray], asked: dict[Line, dict[int, float]], n_playout: int) -> dict[Line, float]:
    """Return line -> share of visits that went elsewhere, where a correct search with the same network moves differently."""
    lines, evaluate = list(asked), remembered_evaluate(weights)
    expected = network_agent(weights, n_playout)(lines)
    found = {}
    for line, move in zip(lines, expected, strict=True):
        if move not in most_visited(asked[line]):
            position = position_of(line)
            answers = search_answers(position, evaluate, n_playout, 5.0)
            found[line] = SearchComparison(asked[line], position, n_playout, 5.0, answers).smallest_difference()
    return {line: elsewhere for line, elsewhere in found.items() if elsewhere > OTHER_MOVE}


def remembered_evaluate(weights: dict[str, np.ndarray]) -> Callable[[Board], Evaluation]:
    """Return an evaluator by the network with these weights; it computes each state only once."""

    outputs_of = evaluator(weights)

    @cache
    def outputs(state: bytes) -> tuple[np.ndarray, float]:
        log_probs, values = outputs_of(np.frombuffer(state, dtype=np.float32).reshape(1, 9, 3, 3).copy())
        return np.exp(log_probs[0]), float(values[0, 0])

    def evaluate(leaf: Board) -> Evaluation:
        probs, value = outputs(leaf.current_state().astype(np.float32).tobytes())
        return [(move, float(probs[move])) for move in leaf.availables], value

    return evaluate


@pytest.mark.points("training.never_loses")
def test_never_loses(run: Run, trained: TrainedNetwork, ruling: Ruling) -> None:
    """Test the trained network with the grader's search.

    Accepts:
        A network that refuses all handles but the two for testing, in self-play too (network-as-handed-out)
        Self-play that returns the sharpened distribution used for the draw (reference, training-first-moves-of-its-own)
        Self-play sharpened from the fifth move on, whatever first_n_moves says (training-first-moves-of-its-own)
        Moves with priors as an iterator that can be read only once, or as a list (reference, training-losses-apart)
        Values as arrays or floats (network-as-handed-out, network-double-precision-outputs)
        Losses returned as numpy numbers or as tensors (network-mixed-precision, network-in-its-own-classes)
        Weight decay in place of the L2 term (training-weight-decay-everywhere)
    """
    profile = run.profile.training
    runs = f" (best of {profile.seeds} training runs)" if profile.seeds > 1 else ""
    ruling.expected = (
        f"Within {profile.max_games} games of self-play{runs}, a network that loses no line of replies when the grader's "
        f"search plays with it at {', '.join(map(str, profile.playouts))} playouts."
    )
    ruling.evidence.update(seed=trained.seed, curve=trained.curve, losing=trained.losing)
    ruling.evidence.update(watched=trained.watched, following=round(trained.following, 3))
    ruling.expect(bool(trained.losing), trained.fault)
    how = " with the grader's search in self-play, since checks of yours lost points" if trained.trusted_search else ""
    ruling.seen = (
        f"{trained.worst} losing lines after {trained.games} games{how} ({trained.seconds:.0f} s, seed {trained.seed})."
    )
    if trained.fault:
        ruling.seen += f" Further training failed: {trained.fault}"
    share = run.assignment.losing_lines_share(trained.worst)
    expect_trained(trained, share)
    if share < 1:
        ruling.partial(share, f"The best network has {ruling.seen}")


@pytest.mark.points("training.own_search")
def test_own_search(run: Run, worker: Worker, trained: TrainedNetwork, ruling: Ruling, rng: Random) -> None:
    """Test the trained network with the student's own search.

    Accepts:
        Any search that the mcts_alphazero checks accept (search-noise-at-every-expansion, search-follows-the-game)
        Boards copied by copy.deepcopy, and the value read as an array (training-first-moves-of-its-own)
        A network that refuses all handles but the two for testing (network-as-handed-out)
    """
    n_playout = run.profile.training.own_playouts
    ruling.expected = f"Your own search of {n_playout} playouts with the trained network loses no line of replies."
    ruling.expect(bool(trained.losing), trained.fault)
    run.progress("training: every line of replies against the student's search")
    if not trained.doubt:
        expect_obedience(worker, rng, n_playout)
    played = best_own_play(worker, trained, n_playout)
    result = played.result
    examples = result.examples(3)
    ruling.evidence["examples"] = examples
    ruling.seen = (
        f"{result.losing_lines} losing lines of {result.first.lines + result.second.lines}: {result.first.losses} as first, "
        f"{result.second.losses} as second player."
    )
    share = run.assignment.losing_lines_share(result.losing_lines)
    of_the_network = run.assignment.losing_lines_share(trained.worst)
    expect_trained(trained, share)
    if share < 1:
        ruling.partial(share, f"{ruling.seen} For example, it loses {examples[0]}.")
    if of_the_network < share and (other := own_ways(trained.weights, played.asked, n_playout)):
        line, elsewhere = max(other.items(), key=lambda item: item[1])
        ruling.partial(
            of_the_network,
            f"In {len(other)} of {len(played.asked)} positions the player's move is not that of a search of {n_playout} "
            f"playouts with its network, for example after moves {list(line)}, where {elsewhere:.0%} of the visits went to "
            f"other moves. The points are those of the network, which loses {trained.worst} lines with the grader's search.",
        )
