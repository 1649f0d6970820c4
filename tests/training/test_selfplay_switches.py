"""A run of self-play with openings, capped and forced playouts, a mixed value target, resignation and a chosen backend."""

import json

import numpy as np
import torch
from selfplay_run_tools import arguments, games_of, resumed, state_of, table_of

from training.selfplay.workers import member_rng


def test_a_run_with_all_the_switches_learns_from_fewer_positions_and_says_what_resigning_would_cost(started, tmp_path):
    switches = {
        "full-share": 0.5, "fast-playouts": 2, "root-value-weight": 0.25, "opening-stones": 2, "resign-below": -0.05,
        "play-on-share": 1.0, "search": "puct", "forced-playouts-k": 2.0, "backend": "torch",
    }  # fmt: skip
    words = [word for name, value in switches.items() for word in (f"--{name}", value)]
    code, _, err = started(arguments(tmp_path, *words, games=60))
    assert code == 0 and err.count("In self-play, the network is computed by torch, ") == 1, err
    config, state, games = json.loads((tmp_path / "config.json").read_text()), state_of(tmp_path), games_of(tmp_path)
    assert {name: config[name.replace("-", "_")] for name in switches} == switches
    positions = sum(game["positions"] for game in games)
    assert 0.25 < positions / sum(len(game["moves"]) for game in games) < 0.75
    assert {game["opening"] for game in games} == {0, 1, 2} and not any(game["resigned"] for game in games)
    assert state["steps"] == (positions - 60) * 4 // 16
    would = [game for game in games if game["would_resign"] != -1]
    won = sum(game["winner"] == game["would_resign"] for game in would)
    last = table_of(tmp_path, "elo.csv")[-1]
    assert int(last["would_resign_won"]) == won and f"it won {won} (" in err and would
    assert int(last["would_resign_won"]) + int(last["would_resign_drawn"]) + int(last["would_resign_lost"]) == len(would)
    assert [row["start"] for row in state["computed_by"]] == [0]
    state["computed_by"][0]["by"] = "openvino, float32 on cpu"
    torch.save(state, tmp_path / "checkpoint.pt")
    code, _, err = started(resumed(tmp_path, "--games", 80, "--root-value-weight", 0, "--resign-below", -0.04))
    assert code == 0 and f"; until game {len(games)} it was openvino, float32 on cpu" in err, err
    assert state_of(tmp_path)["history"][1] == {
        "from_games": len(games), "resign_below": -0.04, "root_value_weight": 0.0, "games": 80,
    }  # fmt: skip
    for more in ((), ("--games", 88)):  # the counts belong to the new bound, also in a later start
        assert started(resumed(tmp_path, *more))[0] == 0
        would = [game for game in games_of(tmp_path)[len(games) :] if game["would_resign"] != -1]
        last = table_of(tmp_path, "elo.csv")[-1]
        assert sum(int(last[f"would_resign_{part}"]) for part in ("won", "drawn", "lost")) == len(would) > 0


def test_a_run_that_would_end_before_its_first_step_is_refused(started, tmp_path):
    code, _, err = started(arguments(tmp_path / "run", games=6))
    assert code == 2 and err == (
        "training.selfplay: expected --games for at least --start-positions, 60, since a run with fewer never learns; 6 games "
        "have at most 54\n"
    )
    assert not (tmp_path / "run").exists()


def test_no_member_draws_the_random_numbers_of_a_training_step():
    def drawn(rng):
        return tuple(rng.integers(2**32, size=8))

    of_steps = {drawn(np.random.default_rng([1, step])) for step in range(4)}  # see Learner
    of_members = [drawn(member_rng((1, start), number)) for start in range(4) for number in range(4)]
    assert len({*of_steps, *of_members}) == len(of_steps) + len(of_members)
