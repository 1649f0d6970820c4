"""The cases of the checks of Go, drawn with our own rules (`games/go/`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Self

import numpy as np

from games.go.position import GoPosition
from games.go.rules import GoRules
from games.protocol import NO_MOVE, NOBODY
from labs.support.cases import Case, bank_of
from labs.support.tables import table_of

SIZES = ((2, 3), (3, 3), (4, 3), (3, 5), (5, 5))
SMALL = ((3, 3), (4, 3), (3, 4), (4, 4))
REPEATING = ((2, 3), (3, 3), (4, 3))  # small enough that random games repeat arrangements of stones
KOMI = (-1.5, 0.0, 0.5, 2.0, 7.0)
LEGAL, TAKEN, SUICIDE, KO, SUPERKO, OVER = range(6)
UNLIMITED = 10_000  # actions; the lab has no such limit
LONGEST = 3  # plies of a random game for each point of the board
GREED = 0.3  # chance of a capture where there is one; captures make kos
PASSES, MANY_PASSES = 0.06, 0.45  # chance of a pass where another action is legal
MOST_FOLLOWING = 6_000  # positions in three actions from any position of a SMALL board
DEEP, SHALLOW, LAST_WORDS = 400, (3, 9), 3  # depth limits of simulations
MIDDLES = {(3, 3): 3, (4, 3): 2, (3, 4): 3, (4, 4): 2}  # depth limits of the simulations in which whole trees are judged


def why_illegal(position: GoPosition, plain: GoPosition) -> np.ndarray:
    """Return for each action whether the side to move may take it, or why not.

    Args:
        plain: the same position by the rules without superko.
    """
    found = np.full(position.width * position.height + 1, SUICIDE, dtype=np.int8)
    found[plain.availables] = SUPERKO
    if position.ko_point >= 0:
        found[position.ko_point] = KO
    for point in position.states:
        found[point] = TAKEN
    if position.game_end()[0]:
        found[:] = OVER
    found[position.availables] = LEGAL
    return found


def _stones(position: GoPosition) -> np.ndarray:
    stones = np.zeros(position.width * position.height, dtype=np.int8)
    for point, player in position.states.items():
        stones[point] = player
    return stones


def _chosen(rng: Random, position: GoPosition, passes: float) -> int:
    """Draw an action: a pass with this chance, otherwise any stone, and captures more often than by chance."""
    *points, pass_action = position.availables
    if not points or rng.random() < passes:
        return pass_action
    capturing = [point for point in points if _captures(position, point)] if rng.random() < GREED else []
    return rng.choice(capturing or points)


def _captures(position: GoPosition, point: int) -> bool:
    after = position.copy()
    after.do_move(point)
    return after.captures != position.captures


class _Story:
    """What our rules say about the positions of a line, in the arrays of a case."""

    def __init__(self, size: tuple[int, int], komi: float, superko: bool, start_player: int = 0) -> None:
        self.size, self.komi, self.superko, self.start_player = size, komi, superko, start_player
        self.position = GoRules(*size, komi=komi, superko=superko, move_limit=UNLIMITED).position()
        self._plain = GoRules(*size, komi=komi, move_limit=UNLIMITED).position()
        for position in (self.position, self._plain):
            position.init_board(start_player)
        self.moves: list[int] = []
        self._seen: list[tuple[np.ndarray, ...]] = []
        self._note()

    def _note(self) -> None:
        each = self.position
        values = (each.game_end(), each.current_player, each.score(), [each.captures[player] for player in each.players])
        worth = next(iter(each.grid.moves(each.points_worth_playing())), NO_MOVE)
        self._seen.append((why_illegal(each, self._plain), _stones(each), *map(np.array, (*values, worth))))

    @property
    def why(self) -> np.ndarray:
        """Whether each action is legal in the present position, or why not."""
        return self._seen[-1][0]

    def play(self, move: int) -> None:
        for position in (self.position, self._plain):
            position.do_move(move)
        self.moves.append(move)
        self._note()

    def before(self, plies: int) -> Self:
        """Return the same game after only this many actions."""
        other = type(self)(self.size, self.komi, self.superko, self.start_player)
        for move in self.moves[:plies]:
            other.play(move)
        return other

    def search(self, depth_limit: int) -> None:
        self.position, self._plain = self.position.for_search(depth_limit), self._plain.for_search(depth_limit)
        self._note()

    def case(self) -> dict[str, np.ndarray]:
        names = ("why", "stones", "ends", "players", "scores", "captures", "worth")
        told = {name: np.stack(column) for name, column in zip(names, zip(*self._seen, strict=True), strict=True)}
        rules = {"size": self.size, "komi": self.komi, "superko": self.superko, "start_player": self.start_player}
        start = {name: np.array(value) for name, value in rules.items()}
        return {**start, "moves": np.array(self.moves, dtype=int), **told}


def game(rng: Random, *, start_player: int = 0) -> Case:
    """A random game to its end, by passes at the latest after three times as many actions as there are points."""
    return _game(rng, rng.choice(SIZES), rng.random() < 0.5, start_player)


def drawn(rng: Random) -> Case:
    """A random game to its end with the komi that makes it a draw."""
    while True:
        seed, size = rng.getrandbits(64), rng.choice(SIZES)
        black_ahead = float(_game(Random(seed), size, False, 0, komi=0.0)["scores"][-1])
        if black_ahead >= 0:
            return _game(Random(seed), size, False, 0, komi=black_ahead)


def repetition(rng: Random) -> Case:
    """A game as above in which superko forbids a stone."""
    while True:
        case = _game(rng, rng.choice(REPEATING), True, 0)
        if (case["why"] == SUPERKO).any():
            return case


def _game(rng: Random, size: tuple[int, int], superko: bool, start_player: int, *, komi: float | None = None) -> Case:
    story = _Story(size, rng.choice(KOMI) if komi is None else komi, superko, start_player)
    while len(story.moves) < LONGEST * size[0] * size[1] and not story.position.game_end()[0]:
        story.play(_chosen(rng, story.position, PASSES))
    while not story.position.game_end()[0]:
        story.play(story.position.pass_action)
    return story.case()


def simulation(rng: Random, *, shallow: bool) -> Case:
    """A game that goes on as a simulation with many passes; `begin` actions come before, `depth` is the depth limit."""
    size = rng.choice(SIZES)
    story = _Story(size, rng.choice(KOMI), rng.random() < 0.5)
    wanted = rng.randrange(2 * size[0] * size[1])
    while len(story.moves) < wanted:
        action = _chosen(rng, story.position, PASSES)
        if story.position.last_move == story.position.pass_action == action:
            break  # the game would be over
        story.play(action)
    return _simulated(rng, story, rng.randrange(*SHALLOW) if shallow else DEEP)


def last(rng: Random) -> Case:
    """A simulation that two passes end exactly at the depth limit, with a winner."""
    while True:
        case = simulation(rng, shallow=False)
        over, winner = case["ends"][-1]
        if over and winner != NOBODY:
            return {**case, "depth": np.array(len(case["moves"]) - int(case["begin"]))}


def ko(rng: Random) -> Case:
    """A simulation from where a ko may not be taken back: both players pass at once, and the passes are taken back."""
    return _taken_back(rng, SIZES, superko=False, fits=lambda story: story.position.ko_point >= 0)


def new_ko(rng: Random) -> Case:
    """The same, but the simulation begins one action earlier, so that the ko arises in it."""
    return _taken_back(rng, SIZES, superko=False, fits=lambda story: story.position.ko_point >= 0, actions_before=1)


def recalled(rng: Random) -> Case:
    """The same, from where superko forbids a stone: `for_search` and the two passes keep the earlier arrangements."""
    return _taken_back(rng, REPEATING, superko=True, fits=lambda story: SUPERKO in story.why)


def barred(rng: Random) -> Case:
    """The same, from where superko forbids each point worth playing to both players, which does not matter to the passes."""
    return _taken_back(rng, REPEATING, superko=True, fits=_is_barred)


def _is_barred(story: _Story) -> bool:
    """Return whether superko or suicide forbids each point that is worth playing to both players."""
    position = story.position
    worth = list(position.grid.moves(position.points_worth_playing()))
    after = position.copy()
    after.do_move(position.pass_action)
    return not set(worth) & {*position.availables, *after.availables, position.ko_point}


def _taken_back(
    rng: Random,
    sizes: tuple[tuple[int, int], ...],
    *,
    superko: bool,
    fits: Callable[[_Story], bool],
    actions_before: int = 0,
) -> Case:
    """Return a simulation in which both players pass at once in a position that fits, and the passes are taken back.

    Args:
        actions_before: how many actions before that position the simulation begins.
    """
    while True:
        story = _Story(rng.choice(sizes), rng.choice(KOMI), superko)
        wanted = rng.randrange(2 * story.size[0] * story.size[1])
        while not story.position.game_end()[0]:
            position = story.position
            has_passed = position.last_move == position.pass_action
            if len(story.moves) >= wanted and not has_passed and position.points_worth_playing() and fits(story):
                begin = len(story.moves) - actions_before
                actions = (*story.moves[begin:], position.pass_action, position.pass_action)
                return _simulated(rng, story.before(begin), DEEP, actions)
            story.play(_chosen(rng, position, PASSES))
            if len(story.moves) > LONGEST * story.size[0] * story.size[1]:
                break


def after_a_pass(rng: Random, *, ends: bool, most_stones: int = 19) -> Case:
    """A simulation that begins after a pass of the real game, with a second pass, which ends it or is taken back."""
    while True:
        story = _Story(rng.choice(SMALL), rng.choice(KOMI), rng.random() < 0.5)
        wanted = rng.randint(0, most_stones)
        while len(story.moves) < wanted and not story.position.game_end()[0]:
            story.play(_chosen(rng, story.position, 0.0))
        position = story.position
        if position.last_move == position.pass_action or bool(position.points_worth_playing()) == ends:
            continue
        story.play(position.pass_action)
        return _simulated(rng, story, DEEP, [position.pass_action])


def _simulated(rng: Random, story: _Story, depth: int, actions: Sequence[int] = ()) -> Case:
    """Return the case of a game that goes on as a simulation, at first with these actions."""
    begin = len(story.moves)
    story.search(depth)
    for action in actions:
        story.play(action)
    while len(story.moves) < begin + 2 * story.size[0] * story.size[1] and not story.position.game_end()[0]:
        story.play(_chosen(rng, story.position, MANY_PASSES))
    return {**story.case(), "begin": np.array(begin), "depth": np.array(depth)}


def _last_word(rng: Random, *, ahead: bool) -> Case:
    """A position after the opponent's pass in which no point is worth playing: a second pass ends the game."""
    while True:
        story = _Story(rng.choice(SMALL), rng.choice(KOMI), False)
        wanted = rng.randrange(6, 20)
        while len(story.moves) < wanted and not story.position.game_end()[0]:
            story.play(_chosen(rng, story.position, 0.0))
        position = story.position
        if position.last_move == position.pass_action or position.points_worth_playing():
            continue
        story.play(position.pass_action)
        wins = (position.score() > 0) == (position.current_player == position.first_player)
        others = [action for action in position.availables if action != position.pass_action]
        if position.score() and others and wins == ahead:
            right = [position.pass_action] if ahead else others
            return {**_with_table(story, LAST_WORDS), "right": np.array(right)}


def _with_table(story: _Story, depth: int) -> Case:
    """Return a case that is searched from the end of the line on, with all positions that a search can reach."""
    case = {**story.case(), "begin": np.array(len(story.moves)), "depth": np.array(depth)}
    table = table_of(searched_position(case), most=MOST_FOLLOWING)
    assert table is not None, "no board is large enough for more positions within the depth limit"
    return {**case, **table}


def middle(rng: Random, *, size: tuple[int, int]) -> Case:
    """A position from which a search begins, with a depth limit that it reaches."""
    story = _Story(size, rng.choice(KOMI), False)
    wanted = rng.randrange(4, 12)
    while len(story.moves) < wanted:
        story.play(_chosen(rng, story.position, 0.0))
    return _with_table(story, MIDDLES[size])


FAMILIES: dict[str, Callable[[Random], Case]] = {
    "game": game,
    "second": partial(game, start_player=1),
    "drawn": drawn,
    "repetition": repetition,
    "deep": partial(simulation, shallow=False),
    "ko": ko,
    "new ko": new_ko,
    "recalled": recalled,
    "barred": barred,
    "ended": partial(after_a_pass, ends=True),
    "passed": partial(after_a_pass, ends=False),
    "empty": partial(after_a_pass, ends=False, most_stones=0),
    "last": last,
    "shallow": partial(simulation, shallow=True),
    "win": partial(_last_word, ahead=True),
    "loss": partial(_last_word, ahead=False),
    **{f"middle {width}x{height}": partial(middle, size=(width, height)) for width, height in SMALL},
}


def make_bank(seed: int, cases: int, jobs: int) -> bytes:
    """Return the bank of a kit; it is made in seconds, so one process makes it."""
    return bank_of(FAMILIES, seed, cases)


def searched_position(case: Case) -> GoPosition:
    """Return our board after the moves of a case, as a search plays on it."""
    width, height = map(int, case["size"])
    position = GoRules(width, height, float(case["komi"]), bool(case["superko"]), UNLIMITED).position()
    for move in case["moves"]:
        position.do_move(int(move))
    return position.for_search(int(case["depth"]))
