"""Part 2, AlphaZero MCTS in self-play: noise in the priors and the temperature of the draw (handout 5.4).

Both are random, so both are tested statistically: the noise by its concentration over many searches, the draw by the moves
played in many games. The visits are read from the tree, which the other checks of 5.4 test.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from random import Random
from typing import Any

import numpy as np
import pytest

from Board.game_board import Board
from grader.confinement.worker_client import Worker
from grader.errors import CouldNotGrade, StudentFault
from grader.judge.support.agreement import AGREEMENT_TOLERANCE, HUGE_C_PUCT, visits_by_bonus
from grader.judge.support.board_position import EMPTY_3X3, BoardPosition, board_at, drawn_at, shares_of
from grader.judge.support.drawn_positions import random_position, tictactoe_after
from grader.judge.support.draws import (
    fitting_alpha,
    log_improbability,
    log_improbability_of_count,
    noise_share,
    unevenness,
)
from grader.judge.support.root_priors import are_same, by_move, clean_priors, root_priors
from grader.judge.support.ruling import Ruling
from grader.judge.support.searches import call, expect_most_visited, player_under
from grader.judge.support.trees import Tree, most_visited, visit_difference

NOISE_SHARE = 0.25
NOISE_POSITION = (5, 5, 4, 4)  # width, height, n_in_row, plies: always 21 legal moves
NOISE_DRAWS = 64
# The mean sum of squares of 64 draws from Dirichlet(0.3) over 21 moves is 0.178 and lies outside these bounds in fewer than 2
# in 10^7 runs (Chernoff's bound, with the moments of 2 * 10^6 simulated draws). With an alpha below 0.15 or above 0.5, at
# least 97 % of the runs lie outside; with 0.03 and 3, all of them do.
UNEVENNESS = (0.142, 0.232)
# Of the 1344 entries of 64 draws from Dirichlet(0.3), some are so close to 0 that the share found is 0.2499 or more.
LEAST_NOISE_SHARE = 0.24
# With HUGE_C_PUCT the visits follow the root's priors. In a correct search, only the first visit may depend on the order of
# equal moves, and the second on priors from before the noise. With other noise, or none, about 13 visits differ on average.
FOLLOWED_SEARCHES, FOLLOWED_PLAYOUTS, FOLLOWED = 8, 100, 0.06
LATE_POSITION = (6, 6, 5, 13)  # more stones than the moves that are drawn at temperature 1

FIRST_N_MOVES = 4
GAMES = 40
KEPT_GAMES = 20  # games of one player, with reset_player between them, as in training
# The bound for each series of draws. Ten are tested, so a correct solution is accused in fewer than 2 in 10^7 runs.
LEAST_LOG_CHANCE = -18.5  # log(1e-8)
POSITIONS_IN_PLAY = 12
SAME_SHARES = 0.02


@pytest.mark.points("mcts_alphazero.noise")
def test_noise(worker: Worker, ruling: Ruling, rng: Random) -> None:
    """Check the priors of new roots in many searches and late in a game, and of kept roots in two games.

    Accepts:
        Each root gets noise before its search goes on, whether it is new or kept (reference, search-follows-the-game)
        Each expansion gets noise, so that a kept root has it already (search-noise-at-every-expansion)
        Each expansion gets noise, and a kept root gets it again (search-noise-twice-on-a-kept-root)
        The priors of a kept root are taken from the network again, then mixed (search-recursive)
        The network's prior is stored separately, and _P is mixed from it (search-clean-priors-kept)
        Each move of self-play begins with a new root, which gets noise (search-fresh-trees)
        A kept root gets noise before its first playout, or after it (reference, search-published-layout)
        Each player has random generators of its own, which it seeds itself (search-seeded-player)
    """
    ruling.expected = (
        "In self-play the root's priors are 0.75 p + 0.25 Dirichlet(0.3), drawn again for each move; in play they are p."
    )
    position, seed = random_position(rng, *NOISE_POSITION), rng.randrange(2**31)
    ruling.evidence["noise"] = {**position.to_json(), "seed": seed}
    board = board_at(position)
    player, clean = player_under(seed), clean_priors(board, seed)

    def searched(is_selfplay: int, **more: Any) -> np.ndarray:
        reply = call(worker, "search", position=position, n_playout=20, is_selfplay=is_selfplay, **player, **more)
        return root_priors(Tree.from_reply(reply["tree"]), board)

    def compared(priors: np.ndarray) -> list[dict[str, Any]]:
        return position.compared("the root's priors", by_move(board, clean), by_move(board, priors))

    in_play = searched(0)
    if not are_same(in_play, clean):
        again = [
            searched(0, kept=True) for _ in range(2)
        ]  # of one player, since a new one may begin with the same random numbers
        if not all(are_same(in_play, priors) for priors in again):
            raise StudentFault("In play (is_selfplay=0) there should be no noise in the priors.", compared(in_play))
        clean = in_play  # the same each time, so it is no noise; mcts_alphazero.tree compares it with the policy
    seen = [searched(1) for _ in range(NOISE_DRAWS)]
    if all(are_same(priors, clean) for priors in seen):
        with drawn_at(position, "Seen: the root's priors in self-play, the same as without noise", by_move(board, seen[0])):
            _expect_noise_elsewhere(worker, ruling, rng, position, player)
        return
    if any(are_same(*pair) for pair in pairwise(seen)):  # new players begin with the same random numbers
        seen = [searched(1, kept=True) for _ in range(NOISE_DRAWS)]
    draws = [(priors - (1 - NOISE_SHARE) * clean) / NOISE_SHARE for priors in seen]
    for priors, noise in zip(seen, draws, strict=True):
        if noise.min() < -1e-3 or abs(noise.sum() - 1) > 1e-2:
            raise StudentFault(
                "The root's priors in self-play are not a mixture of 0.75 p and 0.25 times a distribution.",
                compared(priors),
            )
    spread = max(float(np.abs(a - b).max()) for a, b in pairwise(draws))
    with drawn_at(position, "Seen: the noise of one search", by_move(board, draws[0])):
        ruling.expect(spread > 1e-3, "The noise is the same in each search; it should be drawn afresh each time.")
    share = noise_share(seen, clean)
    if share < LEAST_NOISE_SHARE and _unevenness((np.array(seen) - (1 - share) * clean) / share) >= UNEVENNESS[0]:
        raise StudentFault(
            f"The root's priors in self-play are a mixture of {1 - share:.2f} p and {share:.2f} times the noise, not of 0.75 p "
            "and 0.25 times the noise.",
            compared(seen[0]),
        )
    _expect_noise_followed(worker, position, player)
    _expect_concentration(ruling, draws)
    _expect_noise_on_kept_roots(worker, ruling, position, seed)
    _expect_noise_late(worker, rng)


def _unevenness(draws: Sequence[np.ndarray] | np.ndarray) -> float:
    return float(np.mean([unevenness(noise) for noise in draws]))


def _expect_concentration(ruling: Ruling, draws: list[np.ndarray]) -> None:
    """Deduct for another alpha: over twenty moves, 0.3 favours a few moves, a smaller alpha one move, a larger alpha none."""
    mean, entries = _unevenness(draws), len(draws[0])
    alpha = fitting_alpha(mean, entries)
    ruling.seen = f"The noise is as concentrated as Dirichlet({alpha:.2g}) over {entries} moves."
    if not UNEVENNESS[0] <= mean <= UNEVENNESS[1]:
        how = "flatter" if mean < UNEVENNESS[0] else "more concentrated"
        ruling.deduct(
            "concentration",
            f"The noise is {how} than Dirichlet(0.3): it is distributed like Dirichlet({alpha:.2g}).",
        )


def _expect_noise_followed(worker: Worker, position: BoardPosition, player: dict[str, Any]) -> None:
    """Raise StudentFault unless the visits follow the noisy priors: noise that comes after the playouts explores nothing.

    All values are 0, so the visits depend on the root's priors alone. A search whose visits are not those of the formula loses
    points in mcts_alphazero.agreement; here it is compared with itself in play, where it gets the noisy priors at the root.
    """

    def searched(is_selfplay: int, at_root: np.ndarray | None = None) -> Tree:
        evaluator = {**player["evaluator"], "kind": "hash priors", "at_root": at_root}
        settings = {**player, "n_playout": FOLLOWED_PLAYOUTS, "c_puct": HUGE_C_PUCT, "evaluator": evaluator}
        return Tree.from_reply(call(worker, "search", position=position, is_selfplay=is_selfplay, **settings)["tree"])

    trees = [searched(1) for _ in range(FOLLOWED_SEARCHES)]
    visits = [tree.root_visits for tree in trees]

    def difference(expected: Iterable[dict[int, float]]) -> float:
        return float(np.mean([visit_difference(*pair) for pair in zip(visits, expected, strict=True)]))

    if difference(visits_by_bonus(tree.root_priors, round(sum(tree.root_visits.values()))) for tree in trees) <= FOLLOWED:
        return
    board = board_at(position)
    in_play = [searched(0, root_priors(tree, board)).root_visits for tree in trees]
    if difference(in_play) > FOLLOWED:
        cause = "the search used other noise as well. Draw it once for each move, before the playouts"
        if difference([searched(0).root_visits] * len(trees)) <= FOLLOWED:
            cause = "the search still used the priors without it. Mix it in before the playouts, not after them"
        raise StudentFault(
            f"After a search in self-play the root's priors have noise, but the visits do not follow them: {cause}.",
            position.compared("the share of the visits that each move gets", shares_of(in_play[-1]), shares_of(visits[-1])),
        )


def _expect_noise_on_kept_roots(worker: Worker, ruling: Ruling, position: BoardPosition, seed: int) -> None:
    """Deduct for missing noise at a later move of self-play, where the root may be a kept node.

    A tree of another position, or a search that fails there, loses its points in mcts_alphazero.reuse.
    """
    for _ in range(2):
        try:
            steps = call(worker, "self_play", position=position, plies=4, n_playout=100, **player_under(seed))
        except StudentFault:
            return
        for number, step in enumerate(steps[1:], 2):  # the first root is always new
            board = board_at(position, [before["move"] for before in steps[: number - 1]])
            tree = Tree.from_reply(step["tree"])
            if set(tree.root_priors) != set(board.availables):
                return
            if are_same(root_priors(tree, board), clean_priors(board, seed)):
                caption = "Seen: the root's priors at this move, the same as without noise"
                now = replace(position, moves=tuple(board.states))
                ruling.evidence["boards"] = [now.pictured(caption, shares=by_move(board, root_priors(tree, board)))]
                ruling.deduct(
                    "fresh_root_only",
                    f"At move {number} of self-play there is no noise in the root's priors: noise is added to a new root, but "
                    "not to one that was kept from the move before.",
                )
                return


def _expect_noise_late(worker: Worker, rng: Random) -> None:
    """Raise StudentFault if a new root has no noise after the moves that are drawn at temperature 1."""
    position, seed = random_position(rng, *LATE_POSITION), rng.randrange(2**31)
    board = board_at(position)
    reply = call(worker, "search", position=position, n_playout=30, is_selfplay=1, first_n_moves=1, **player_under(seed))
    priors, clean = root_priors(Tree.from_reply(reply["tree"]), board), clean_priors(board, seed)
    if are_same(priors, clean):
        raise StudentFault(
            f"After {len(position.moves)} moves of self-play there is no noise in the root's priors. Only the temperature "
            "depends on first_n_moves; noise belongs in every move of self-play.",
            position.compared("the root's priors", by_move(board, clean), by_move(board, priors)),
        )


def _expect_noise_elsewhere(
    worker: Worker, ruling: Ruling, rng: Random, position: BoardPosition, player: dict[str, Any]
) -> None:
    """Find out what happens to the noise if `_P` has none: it may be missing, act on the draw of the move, or on the selection.

    Raises:
        StudentFault: there is no noise.
        CouldNotGrade: the noise acts within the selection, where it cannot be measured.
    """

    def visits(is_selfplay: int) -> dict[int, float]:
        reply = call(worker, "search", position=position, n_playout=60, is_selfplay=is_selfplay, **player)
        return Tree.from_reply(reply["tree"]).root_visits

    in_play = visits(0)
    usual = max(visit_difference(in_play, visits(0)) for _ in range(2))
    if float(np.mean([visit_difference(in_play, visits(1)) for _ in range(4)])) > usual + AGREEMENT_TOLERANCE:
        raise CouldNotGrade(
            "in self-play the search visits other moves than in play, although _P shows no noise. The noise seems to be added "
            "in the selection, where no program can see whether it is 0.25 Dirichlet(0.3), drawn once per move"
        )
    # With 10 playouts over at least 30 moves, noise at the draw picks an unvisited move in at least a sixth of the draws. The
    # probability that none of 80 draws does so is 1 in 10^6; without noise the probability of such a move is 1 in 10^11.
    unvisited = 0
    for number in range(80):
        start = random_position(rng, 6, 6, 5, number % 5)
        reply = call(worker, "search", position=start, n_playout=10, is_selfplay=1, first_n_moves=2, **player)
        unvisited += Tree.from_reply(reply["tree"]).root_visits.get(reply["move"]) == 0
    if not unvisited and _has_noise_on_a_kept_root(worker, position, player):
        ruling.deduct(
            "kept_root_only",
            "A root that was kept from the previous move gets noise, but a new one does not: expand it first, then add noise.",
        )
        return
    if not unvisited:
        raise StudentFault("In self-play the root's priors are the evaluator's: there is no Dirichlet noise.")
    ruling.deduct(
        "only_at_the_draw",
        "There is noise, but in the wrong place: it is added where the move is drawn, so the search itself never explores. It "
        "belongs in the root's priors.",
    )


def _has_noise_on_a_kept_root(worker: Worker, position: BoardPosition, player: dict[str, Any]) -> bool:
    """Return whether the second move of self-play has noise; a search that fails there is a matter for mcts_alphazero.reuse."""
    try:
        steps = call(worker, "self_play", position=position, plies=2, n_playout=100, **player)
    except StudentFault:
        return False
    if len(steps) < 2:
        return False
    board, tree = board_at(position, [steps[0]["move"]]), Tree.from_reply(steps[-1]["tree"])
    if set(tree.root_priors) != set(board.availables):
        return False
    return not are_same(root_priors(tree, board), clean_priors(board, player["evaluator"]["seed"]))


# ------------------------------------------------------------------------------------------------- temperature


@pytest.mark.points("mcts_alphazero.temperature")
def test_temperature(worker: Worker, ruling: Ruling, rng: Random) -> None:
    """Check the draw by the moves that are played, and `probs` by what the network may learn from.

    Accepts:
        Self-play returns the shares of the visits at every move (reference, search-published-layout)
        Self-play returns the distribution that the move was drawn from (search-fresh-tree-in-play, search-recursive)
        Play returns the distribution of the draw, or the shares of the visits (reference, search-shares-in-play)
        The most visited move is drawn at temperature 1e-3, or taken (reference, search-shares-in-play)
        Noise is mixed in at the draw, which costs a share of the points in the noise check (search-noise-at-the-draw)
        is_selfplay is compared with True, or taken for its truth (search-takes-moves-back, reference)
    """
    ruling.expected = (
        f"In self-play the first first_n_moves ({FIRST_N_MOVES}) moves are drawn in proportion to the visits, later moves are "
        "the most visited ones, and probs are the shares of the visits. In play the move is the most visited one. Taken "
        "points have probability 0."
    )
    _expect_most_visited_in_play(worker, ruling, rng)
    series = _series_of_draws(worker, ruling, rng)
    try:
        _expect_draws(series)
    except StudentFault as fault:  # each new player may begin with the same random numbers
        series = _series_of_draws(worker, ruling, rng, kept=True)
        try:
            _expect_draws(series)
        except StudentFault:
            raise fault from None
    else:
        _expect_draws_in_later_games(worker, ruling, rng)
    early, late = (list(chain(*part)) for part in (series[:FIRST_N_MOVES], series[FIRST_N_MOVES:]))
    top = sum(draw.is_most_visited for draw in early)
    ruling.seen = (
        f"In {GAMES} games of self-play the most visited move was played {top} times in {len(early)} draws among the first "
        f"{FIRST_N_MOVES} moves, and {sum(draw.is_most_visited for draw in late)} times in {len(late)} draws after that."
    )


def _expect_draws_in_later_games(worker: Worker, ruling: Ruling, rng: Random) -> None:
    """Raise StudentFault unless one player draws its moves in the same way in each of several games, as in training.

    If a later game fails, the player may have kept a tree, which costs points in mcts_alphazero.reuse.
    """
    try:
        series = _series_of_draws(worker, ruling, rng, KEPT_GAMES, kept=True)
    except StudentFault:
        return
    try:
        _expect_draws(series)
    except StudentFault as fault:
        raise StudentFault(
            f"{fault} One player played these games, with reset_player between them; with a new player for each game, the "
            "moves were right. What a player remembers of a game must not affect the next one.",
            fault.boards,
        ) from fault


def _series_of_draws(worker: Worker, ruling: Ruling, rng: Random, games: int = GAMES, **more: Any) -> list[list[Draw]]:
    """Return for each of the first plies the draws of all games; a series of later plies may be shorter."""
    series: list[list[Draw]] = [[] for _ in range(FIRST_N_MOVES + 2)]
    for _ in range(games):
        for draws, draw in zip(series, _drawn_moves(worker, ruling, rng, len(series), **more), strict=False):
            draws.append(draw)
    ruling.expect(len(series[0]) == games, "In self-play no move was made.")
    return series


def _expect_draws(series: list[list[Draw]]) -> None:
    """Raise StudentFault unless the moves were drawn, and probs returned, as the handout says."""
    noise_at_the_draw = all(draw.clean_priors for draws in series for draw in draws)
    for ply, draws in enumerate(series):
        _expect_probs(draws, ply)
    for ply in range(FIRST_N_MOVES):
        _expect_drawn_by_visits(series[ply], f"At move {ply + 1} of self-play", noise_at_the_draw)
    early, late = (list(chain(*part)) for part in (series[:FIRST_N_MOVES], series[FIRST_N_MOVES:]))
    _expect_drawn_by_visits(early, f"In the first {FIRST_N_MOVES} moves of self-play", noise_at_the_draw)
    _expect_most_visited_later(late, noise_at_the_draw)


def _drawn_moves(worker: Worker, ruling: Ruling, rng: Random, plies: int, **more: Any) -> list[Draw]:
    """Return the first moves of a game of self-play, or moves of new players in positions with as many stones.

    New players are used if a kept tree does not belong to the position; that fault costs points in mcts_alphazero.reuse.
    With kept=True, one player makes the moves of all games.
    """
    seed = rng.randrange(2**31)
    settings = {"n_playout": 30, "first_n_moves": FIRST_N_MOVES, **player_under(seed), **more}
    try:
        steps = call(worker, "self_play", position=EMPTY_3X3, plies=plies, **settings)
        ruling.evidence.setdefault("self_play", []).append({"seed": seed, "moves": [step["move"] for step in steps]})
        boards = [board_at(EMPTY_3X3, [before["move"] for before in steps[:ply]]) for ply in range(len(steps))]
        return [Draw.from_step(step, board, seed) for step, board in zip(steps, boards, strict=True)]
    except StudentFault:
        positions = [tictactoe_after(rng, ply) for ply in range(plies)]
        ruling.evidence.setdefault("positions", []).append({"seed": seed, "moves": [list(each.moves) for each in positions]})
        steps = [call(worker, "search", position=position, is_selfplay=1, **settings) for position in positions]
        return [Draw.from_step(step, board_at(position), seed) for step, position in zip(steps, positions, strict=True)]


@dataclass(frozen=True)
class Draw:
    """One move of self-play on 3x3.

    Attributes:
        position: where it was made.
        visits: the visits of the root's children, by move.
        shares: [9], each move's share of the visits.
        probs: [9], the probabilities that get_action returned.
        clean_priors: whether the root's priors are the evaluator's, without noise.
    """

    move: int
    position: BoardPosition
    visits: dict[int, float]
    shares: np.ndarray
    probs: np.ndarray
    clean_priors: bool

    @classmethod
    def from_step(cls, step: dict[str, Any], board: Board, seed: int) -> Draw:
        """Read a worker's reply; raise StudentFault if probs are not a distribution over the empty points."""
        _expect_distribution(step["probs"], 9, list(board.states))
        tree = Tree.from_reply(step["tree"])
        visits = tree.root_visits
        shares = np.array([visits.get(move, 0.0) for move in range(9)]) / max(1.0, sum(visits.values()))
        clean = are_same(root_priors(tree, board), clean_priors(board, seed))
        if step["move"] not in visits:
            raise StudentFault(f"get_action returned move {step['move']}, which is not a child of the root.")
        position = replace(EMPTY_3X3, moves=tuple(board.states))
        return cls(step["move"], position, visits, shares, np.asarray(step["probs"]), clean)

    def compared(self) -> list[dict[str, Any]]:
        """Return the shares of the visits and the probabilities, for a report."""
        return self.position.compared("probs", dict(enumerate(self.shares)), dict(enumerate(self.probs)))

    @property
    def is_most_visited(self) -> bool:
        return self.move in most_visited(self.visits)

    def chances(self, noise: bool) -> np.ndarray:
        """Return the probability [9] of each move at temperature 1, with or without noise."""
        if not noise:
            return self.shares
        even = np.array([1.0 if move in self.visits else 0.0 for move in range(9)]) / len(self.visits)
        return (1 - NOISE_SHARE) * self.shares + NOISE_SHARE * even


def _expect_probs(draws: list[Draw], ply: int) -> None:
    """Raise StudentFault unless probs are the shares of the visits or, in later moves, 1 on the most visited move."""
    for draw in draws:
        if np.abs(draw.probs - draw.shares).max() <= SAME_SHARES:
            continue
        if ply < FIRST_N_MOVES:
            message = f"At move {ply + 1} of self-play (temperature 1) probs are not the shares of the visits."
            raise StudentFault(message, draw.compared())
        if not _on_most_visited(draw.probs, draw.visits):
            raise StudentFault(
                f"At move {ply + 1} of self-play (after {FIRST_N_MOVES} moves) probs are neither the shares of the visits nor, "
                "as at temperature 1e-3, 1 on the most visited move.",
                draw.compared(),
            )


def _expect_drawn_by_visits(draws: list[Draw], where: str, noise_at_the_draw: bool) -> None:
    """Raise StudentFault if the most visited move is played too rarely or too often, or the moves do not follow the visits."""
    moves = [draw.move for draw in draws]
    ways = (False, True) if noise_at_the_draw else (False,)
    if max(log_improbability([draw.chances(noise) for draw in draws], moves) for noise in ways) >= LEAST_LOG_CHANCE:
        return
    top = sum(draw.is_most_visited for draw in draws)
    expected = sum(float(draw.shares[list(most_visited(draw.visits))].sum()) for draw in draws)
    raise StudentFault(
        f"{where} (temperature 1) the move should be drawn in proportion to the visits. In {len(draws)} draws it was the most "
        f"visited one {top} times; expected about {expected:.0f}."
    )


def _expect_most_visited_later(draws: list[Draw], noise_at_the_draw: bool) -> None:
    others = sum(not draw.is_most_visited for draw in draws)
    by_noise = noise_at_the_draw and log_improbability_of_count(others, len(draws), NOISE_SHARE) >= LEAST_LOG_CHANCE
    if others and not by_noise:
        raise StudentFault(
            f"After the first {FIRST_N_MOVES} moves of self-play (temperature 1e-3) the most visited move should be played; in "
            f"{others} of {len(draws)} draws another move was played."
        )


def _expect_most_visited_in_play(worker: Worker, ruling: Ruling, rng: Random) -> None:
    """Raise StudentFault for another move in any of several positions; in a single one, a random draw might hit by luck."""
    for _ in range(POSITIONS_IN_PLAY):
        position, seed = random_position(rng, 5, 4, 4, 3), rng.randrange(2**31)
        ruling.evidence.setdefault("in_play", []).append({**position.to_json(), "seed": seed})
        try:
            reply = call(worker, "search", position=position, n_playout=150, **player_under(seed))
        except StudentFault as fault:
            if "NaN" not in str(fault):
                raise
            raise StudentFault(f"{fault} The exponential of a large number overflows: log(visits) / 1e-3 is large.") from None
        tree = Tree.from_reply(reply["tree"])
        visits, probs = tree.root_visits, reply["probs"]
        with drawn_at(position, "The search began here"):
            _expect_distribution(probs, 20, position.moves)
        message = "In play (temperature 1e-3) the move should be the most visited one; another one was played."
        expect_most_visited(reply["move"], tree, position, message)
        shares = np.array([visits.get(move, 0.0) for move in range(20)]) / max(1.0, sum(visits.values()))
        if not _on_most_visited(probs, visits) and np.abs(probs - shares).max() > SAME_SHARES:
            raise StudentFault(
                "In play (temperature 1e-3) probs should be 1 on the most visited move.",
                position.compared("probs", dict.fromkeys(most_visited(visits), 1.0), dict(enumerate(probs))),
            )


def _expect_distribution(probs: Any, points: int, taken: Sequence[int]) -> None:
    if probs is None or np.asarray(probs).shape != (points,):
        raise StudentFault(f"get_action should return probs of length width * height = {points}.")
    probs = np.asarray(probs, dtype=float)
    if not np.all(np.isfinite(probs)) or probs.min() < -1e-9 or abs(probs.sum() - 1) > 1e-3:
        raise StudentFault("The probs of get_action should be a distribution: no negative entries, and a sum of 1.")
    if any(probs[move] > 1e-9 for move in taken):
        raise StudentFault("The probs of get_action should be 0 on taken points.")


def _on_most_visited(probs: np.ndarray, visits: dict[int, float]) -> bool:
    return float(probs[[move for move in most_visited(visits) if 0 <= move < len(probs)]].sum()) > 0.99
