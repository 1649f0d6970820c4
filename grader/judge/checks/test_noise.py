"""Part 2, AlphaZero MCTS in self-play: Dirichlet noise in the root's priors (handout 5.4).

Noise is random, so it is tested statistically, by its concentration over many searches. It is read from the root's priors in
the tree, or, where a solution keeps it elsewhere, from the visits of searches that follow the priors alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest

from Board.game_board import Board
from grader.confinement.worker_client import Worker
from grader.errors import CouldNotGrade, StudentFault
from grader.judge.support.agreement import AGREEMENT_TOLERANCE, HUGE_C_PUCT, visits_by_bonus
from grader.judge.support.board_position import BoardPosition, board_at, drawn_at, shares_of
from grader.judge.support.drawn_positions import random_position
from grader.judge.support.draws import fitting_alpha, noise_share, unevenness
from grader.judge.support.root_priors import NOISE_SHARE, are_same, by_move, clean_priors, root_priors
from grader.judge.support.ruling import Ruling
from grader.judge.support.searches import call, player_under
from grader.judge.support.trees import Tree, visit_difference

NOISE_POSITION = (5, 5, 4, 4)  # width, height, n_in_row, plies: always 21 legal moves
NOISE_DRAWS = 64
# The mean sum of squares of 64 draws from Dirichlet(0.3) over 21 moves is 0.178 and lies outside these bounds in fewer than 2
# in 10^7 runs (Chernoff's bound, with the moments of 2 * 10^6 simulated draws). With an alpha below 0.15 or above 0.5, at
# least 97 % of the runs lie outside; with 0.03 and 3, all of them do.
UNEVENNESS, USUAL_UNEVENNESS = (0.142, 0.232), 0.178
# Of the 1344 entries of 64 draws from Dirichlet(0.3), some are so close to 0 that the share found is 0.2499 or more.
LEAST_NOISE_SHARE = 0.24
# With HUGE_C_PUCT the visits follow the root's priors. In a correct search, only the first visit may depend on the order of
# equal moves, and the second on priors from before the noise. With other noise, or none, about 13 visits differ on average.
FOLLOWED_SEARCHES, FOLLOWED_PLAYOUTS, FOLLOWED = 8, 100, 0.06
LATE_POSITION = (6, 6, 5, 13)  # more stones than the moves that are drawn at temperature 1


class Reading(NamedTuple):
    """How exactly the noisy priors of a root are known.

    Attributes:
        least_entry: the smallest entry that noise may seem to have.
        least_share: the smallest share that noise of 0.25 may seem to have.
        found: shares to consider, as parts of the one that is found, which looks too large if some priors look too large.
    """

    least_entry: float
    least_share: float
    found: Sequence[float]


FROM_PRIORS = Reading(-1e-3, LEAST_NOISE_SHARE, (1.0,))
# Where _P shows no noise, the noisy priors are read from the visits of SHOWING_PLAYOUTS, which follow them: an entry of the
# noise is then known to within 0.004. In simulations the share of correct noise seemed 0.236 or more. Such noise changes a
# twentieth of the visits and more, even with an alpha of 3.
SHOWING_PLAYOUTS, SHOWN_ALIKE = 800, 0.02
FROM_VISITS = Reading(-0.01, 0.2, np.linspace(0.7, 1.0, 13).tolist())


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
    draws = _expect_mixture(ruling, position, seen, clean, FROM_PRIORS)
    _expect_noise_followed(worker, position, player)
    _expect_concentration(ruling, draws)
    _expect_noise_on_kept_roots(worker, ruling, position, seed)
    _expect_noise_late(worker, rng)


def _expect_mixture(
    ruling: Ruling, position: BoardPosition, seen: list[np.ndarray], clean: np.ndarray, reading: Reading
) -> list[np.ndarray]:
    """Return the noise in each of these priors; raise StudentFault unless it is drawn each time and has the share 0.25."""
    board = board_at(position)

    def compared(priors: np.ndarray) -> list[dict[str, Any]]:
        return position.compared("the root's priors", by_move(board, clean), by_move(board, priors))

    def wrong_share(priors: np.ndarray, share: float, advice: str = "") -> StudentFault:
        return StudentFault(
            f"The root's priors in self-play are a mixture of {1 - share:.2f} p and {share:.2f} times the noise, not of 0.75 p "
            f"and 0.25 times the noise.{advice}",
            compared(priors),
        )

    draws, found = [(priors - (1 - NOISE_SHARE) * clean) / NOISE_SHARE for priors in seen], noise_share(seen, clean)
    for priors, noise in zip(seen, draws, strict=True):
        if abs(noise.sum() - 1) > 1e-2:
            raise StudentFault(
                f"The root's priors in self-play add up to {priors.sum():.3f}; 0.75 p + 0.25 eta adds up to {clean.sum():.3f}, "
                "as p does. Scale p by 0.75, and draw eta as one distribution with an entry for each legal move.",
                compared(priors),
            )
        if noise.min() < reading.least_entry:
            raise wrong_share(priors, found, " Mixing it in several times for a move leaves less of p each time.")
    spread = max(float(np.abs(a - b).max()) for a, b in pairwise(draws))
    with drawn_at(position, "Seen: the noise of one search", by_move(board, draws[0])):
        ruling.expect(spread > 1e-3, "The noise is the same in each search; it should be drawn afresh each time.")
    uneven = {
        part * found: _unevenness((np.array(seen) - (1 - part * found) * clean) / (part * found)) for part in reading.found
    }
    share = min(uneven, key=lambda share: abs(uneven[share] - USUAL_UNEVENNESS))
    if share < reading.least_share and uneven[share] >= UNEVENNESS[0]:
        raise wrong_share(seen[0], share)
    return draws


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


@dataclass(frozen=True)
class _Shown:
    """The priors that visits show: with values of 0 and HUGE_C_PUCT, the visits of a search are in proportion to its priors."""

    worker: Worker
    player: dict[str, Any]

    @property
    def settings(self) -> dict[str, Any]:
        evaluator = {**self.player["evaluator"], "kind": "hash priors"}
        settings = {"n_playout": SHOWING_PLAYOUTS, "c_puct": HUGE_C_PUCT, "first_n_moves": 1, "evaluator": evaluator}
        return {**self.player, **settings}

    def priors(self, position: BoardPosition, is_selfplay: int, **more: Any) -> np.ndarray:
        """Return the priors of a new root, in ascending order of moves."""
        reply = call(self.worker, "search", position=position, is_selfplay=is_selfplay, **self.settings, **more)
        return _by_visits(Tree.from_reply(reply["tree"]), board_at(position))

    def are_clean(self, priors: np.ndarray, position: BoardPosition) -> bool:
        """Return whether these are the evaluator's priors, without noise."""
        clean = clean_priors(board_at(position), self.player["evaluator"]["seed"])
        return float(np.abs(priors - clean).sum()) / 2 <= SHOWN_ALIKE


def _by_visits(tree: Tree, board: Board) -> np.ndarray:
    visits = tree.root_visits
    counts = np.array([visits.get(move, 0.0) for move in board.availables]) + 0.5
    return np.asarray(counts / counts.sum())


def _expect_noise_elsewhere(
    worker: Worker, ruling: Ruling, rng: Random, position: BoardPosition, player: dict[str, Any]
) -> None:
    """Find out what happens to the noise if `_P` has none: it may be missing, act on the draw of the move, or on the selection.

    Raises:
        StudentFault: there is no noise, or not as it should be.
        CouldNotGrade: noise acts on the search, but the visits do not show it, since they do not follow the priors.
    """
    shown = _Shown(worker, player)
    if not shown.are_clean(shown.priors(position, 0), position):
        _expect_the_same_visits_as_in_play(worker, position, player)
    elif not shown.are_clean(shown.priors(position, 1), position):
        _expect_noise_in_the_visits(shown, ruling, rng, position)
        return
    # With 10 playouts over at least 30 moves, noise at the draw picks an unvisited move in at least a sixth of the draws. The
    # probability that none of 80 draws does so is 1 in 10^6; without noise the probability of such a move is 1 in 10^11.
    unvisited = 0
    for number in range(80):
        start = random_position(rng, 6, 6, 5, number % 5)
        settings: dict[str, Any] = {"n_playout": 10, "is_selfplay": 1, "first_n_moves": 2, "own": ("move",)}
        reply = call(worker, "search", position=start, **settings, **player)
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


def _expect_the_same_visits_as_in_play(worker: Worker, position: BoardPosition, player: dict[str, Any]) -> None:
    """Raise CouldNotGrade if noise acts within a selection whose visits do not follow the formula."""

    def visits(is_selfplay: int) -> dict[int, float]:
        reply = call(worker, "search", position=position, n_playout=60, is_selfplay=is_selfplay, **player)
        return Tree.from_reply(reply["tree"]).root_visits

    in_play = visits(0)
    usual = max(visit_difference(in_play, visits(0)) for _ in range(2))
    if float(np.mean([visit_difference(in_play, visits(1)) for _ in range(4)])) > usual + AGREEMENT_TOLERANCE:
        raise CouldNotGrade(
            "in self-play the search visits other moves than in play, but _P shows no noise after it, and in play the visits "
            "do not follow the formula, so that they cannot show the noise either"
        )


def _expect_noise_in_the_visits(shown: _Shown, ruling: Ruling, rng: Random, position: BoardPosition) -> None:
    """Check noise that _P does not show after the search, as it is added in the selection or taken out again."""
    seen = [shown.priors(position, 1) for _ in range(NOISE_DRAWS)]
    if any(are_same(*pair) for pair in pairwise(seen)):  # new players begin with the same random numbers
        seen = [shown.priors(position, 1, kept=True) for _ in range(NOISE_DRAWS)]
    clean = clean_priors(board_at(position), shown.player["evaluator"]["seed"])
    draws = _expect_mixture(ruling, position, seen, clean, FROM_VISITS)
    _expect_concentration(ruling, draws)
    ruling.seen += " It was read from the visits, since _P does not show it."
    steps = call(shown.worker, "self_play", position=position, plies=4, **shown.settings)
    for number, step in enumerate(steps[1:], 2):  # the first root is always new
        now = replace(position, moves=(*position.moves, *(before["move"] for before in steps[: number - 1])))
        if shown.are_clean(_by_visits(Tree.from_reply(step["tree"]), board_at(now)), now):
            ruling.deduct(
                "fresh_root_only",
                f"At move {number} of self-play the visits show no noise: noise is added to a new root, but not to one that "
                "was kept from the move before.",
            )
            return
    late = random_position(rng, *LATE_POSITION)
    if shown.are_clean(shown.priors(late, 1), late):
        raise StudentFault(
            f"After {len(late.moves)} moves of self-play the visits show no noise. Only the temperature depends on "
            "first_n_moves; noise belongs in every move of self-play."
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
