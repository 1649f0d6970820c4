"""Measure how fast the rules of the games are: `python bench/game_rules.py` prints CPU microseconds for a move of random games.

A move is do_move and the list of legal moves. The batched form plays many games side by side, the single form one game after
another. A plain form of NoGo looks for every chain's liberties with a stack, as its definition says. All play random legal
moves from the empty board to the end, and start again.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from arena.match.records import machine
from common.program_ends import Parser
from games.catalog import GAMES, rules_of
from games.protocol import GameRules

GAMES_AT_ONCE = (64, 256, 1024)


def batched_us(rules: GameRules, games: int, moves: int, rng: np.random.Generator) -> float:
    """Return the CPU microseconds of one move in one of the games side by side."""
    batch = rules.batch(games)
    took, steps = 0.0, -(-moves // games)
    for step in range(-steps // 4, steps):  # games are at different moves before the clock starts
        legal = batch.legal
        actions = np.where(legal, rng.random(legal.shape), -1.0).argmax(axis=1)
        start = time.process_time()
        batch.play(actions)
        _ = batch.legal
        took += time.process_time() - start if step >= 0 else 0.0
        if batch.over.any():
            batch.restart(batch.over)
    return took / (steps * games) * 1e6


def single_us(rules: GameRules, moves: int, rng: random.Random) -> float:
    """Return the CPU microseconds of one move of the single form."""
    position, took = rules.position(), 0.0
    for _ in range(moves):
        action = rng.choice(position.availables)
        start = time.process_time()
        position.do_move(action)
        _ = position.availables
        took += time.process_time() - start
        if position.game_end()[0]:
            position.init_board()
    return took / moves * 1e6


def plain_nogo_us(width: int, height: int, moves: int, rng: random.Random) -> float:
    """Return the CPU microseconds of one move where every legal move is found from the definition."""
    points = range(width * height)
    beside: list[list[int]] = []
    for h, w in (divmod(point, width) for point in points):
        near = ((h, w - 1), (h, w + 1), (h - 1, w), (h + 1, w))
        beside.append([y * width + x for y, x in near if 0 <= y < height and 0 <= x < width])

    def breathes(stones: list[int], point: int) -> bool:
        chain, waiting = {point}, [point]
        while waiting:
            for other in beside[waiting.pop()]:
                if stones[other] == 0:
                    return True
                if stones[other] == stones[point] and other not in chain:
                    chain.add(other)
                    waiting.append(other)
        return False

    def legal_moves(stones: list[int], player: int) -> list[int]:
        found = []
        for point in points:
            if stones[point] == 0:
                stones[point] = player
                if all(breathes(stones, near) for near in (point, *beside[point]) if stones[near]):
                    found.append(point)
                stones[point] = 0
        return found

    took, stones, player = 0.0, [0] * len(points), 1
    legal = legal_moves(stones, player)
    for _ in range(moves):
        start = time.process_time()
        stones[rng.choice(legal)] = player
        player = 3 - player
        legal = legal_moves(stones, player)
        took += time.process_time() - start
        if not legal:
            stones, player = [0] * len(points), 1
            legal = legal_moves(stones, player)
    return took / moves * 1e6


def main() -> int:
    """Measure every game and print one table."""
    parser = Parser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--size", type=int, default=9, metavar="N", help="points a side (default 9)")
    parser.add_argument("--moves", type=int, default=40_000, metavar="N", help="moves of each measurement (default 40000)")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="repeats; the best counts (default 3)")
    options = parser.parse_args()
    for name, least in (("size", 5), ("moves", 100), ("repeats", 1)):
        if getattr(options, name) < least:
            parser.error(f"expected --{name} of at least {least}; got {getattr(options, name)}")
    here, size = machine(), options.size
    print(f"{here['processor']}, {here['cores']} cores, {here['system']}, Python {here['python']}, numpy {np.__version__}")
    print(f"{size}x{size}, CPU microseconds a move, best of {options.repeats} repeats\n")

    repeats = range(options.repeats)
    few = max(100, options.moves // 20)
    for game in GAMES:
        rules = rules_of(game, size, size)
        batched = []
        for games in GAMES_AT_ONCE:
            us = min(batched_us(rules, games, options.moves, np.random.default_rng(1)) for _ in repeats)
            batched.append(f"{games}: {us:.2f}")
        single = min(single_us(rules, few, random.Random(1)) for _ in repeats)
        print(f"{game:>7}  batched {', '.join(batched)}  single {single:.1f}", flush=True)
    print(f"   nogo  plain {min(plain_nogo_us(size, size, few, random.Random(1)) for _ in repeats):.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
