"""A fourth game is small, and follows the protocol as the others do."""

import random
from pathlib import Path

import connect_four
import pytest
from connect_four import ConnectFourRules


def test_a_fourth_game_takes_less_than_150_lines():
    lines = Path(connect_four.__file__).read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if line.strip()]) < 150


def test_random_games_agree_with_openspiel():
    pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed (requirements-test.txt)")
    rng, game, endings = random.Random(1), pyspiel.load_game("connect_four"), set()
    for _ in range(150):
        position, state = ConnectFourRules().position(), game.new_initial_state()
        while not state.is_terminal():
            assert position.availables == state.legal_actions() and not position.game_end()[0]
            action = rng.choice(position.availables)
            position.do_move(action)
            state.apply_action(action)
        winner = {1: 1, -1: 2, 0: -1}[state.returns()[0]]
        assert position.game_end() == (True, winner)
        endings.add(winner)
    assert endings >= {1, 2}
