"""The games of a run on the disk: what comes back is what was put in, turned; torn ends harm nothing; wrong files are told."""

import errno
import json
import os
from dataclasses import replace

import numpy as np
import pytest

from common.errors import UsageError
from games.gomoku.rules import GomokuRules
from games.protocol import NOBODY
from training.samples import FinishedGame, pack_states
from training.selfplay.presets import RunConfig
from training.selfplay.replay_buffer import Origin, ReplayBuffer

POINTS = 9


def game(length, seed):
    """States, policies and results that name their game: the result of position t is z of a game that player 1 has won."""
    rng = np.random.default_rng(seed)
    states = rng.integers(0, 2, (length, 9, 3, 3))
    policies = rng.random((length, POINTS)).astype(np.float16)
    plies, values = np.arange(length, dtype=np.int16), rng.uniform(-1, 1, length).astype(np.float16)
    return FinishedGame(rng.permutation(POINTS)[:length].astype(np.int16), plies, pack_states(states), policies, values, 1)


def origin(number, start=0):
    return Origin(start=start, worker=0, number=number, steps=0, cpu_s=0.25)


def opened(folder, capacity=30):
    return ReplayBuffer(folder, GomokuRules(3, 3, 3), capacity)


def filled(folder, lengths, capacity=30):
    replay = opened(folder, capacity)
    for number, length in enumerate(lengths):
        replay.append(game(length, number), origin(number))
    return replay


def fingerprints(replay, count=2000):
    """The parts of a sample that no symmetry changes: its sorted policy, the number of stones in each plane, and its result."""
    states, policies, results = replay.sample(count, np.random.default_rng(0), 400)
    assert states.shape == (count, 9, 3, 3) and (states.dtype, policies.dtype, results.dtype) == (np.float32,) * 3
    return {
        (*np.sort(policy).tolist(), *state.sum(axis=(1, 2)).astype(int).tolist(), float(result))
        for state, policy, result in zip(states, policies, results, strict=True)
    }


def expected(numbers, lengths):
    found = set()
    for number in numbers:
        one = game(lengths[number], number)
        planes = np.unpackbits(one.states, axis=1, count=81).reshape(-1, 9, 9).sum(axis=2)
        for policy, plane, result in zip(one.policies.astype(np.float32), planes, one.results, strict=True):
            found.add((*np.sort(policy).tolist(), *plane.tolist(), float(result)))
    return found


def test_samples_are_the_latest_positions_through_symmetries(tmp_path):
    lengths = [9, 5, 7, 8, 9, 6]
    replay = filled(tmp_path, lengths)
    assert (replay.games, replay.positions, len(replay)) == (6, 44, 30)
    # The last 30 positions: games 2 to 5, of which game 2 has 7 of 7.
    assert fingerprints(replay) == expected([2, 3, 4, 5], lengths)
    turned = replay.sample(400, np.random.default_rng(1), 400)[0].reshape(400, -1)
    assert len(np.unique(turned, axis=0)) > 30 * 4


def test_policies_are_turned_with_their_states(tmp_path):
    """Every policy here is all on one point, where the state's first plane, whose first row is the last one, has its stone."""
    points = np.arange(POINTS)
    states = np.zeros((POINTS, 9, POINTS), dtype=np.int64)
    states[points, 0, points] = 1
    policies = np.eye(POINTS, dtype=np.float16)
    replay = opened(tmp_path)
    packed = pack_states(states.reshape(POINTS, 9, 3, 3)[:, :, ::-1])
    replay.append(replace(game(POINTS, 0), states=packed, policies=policies), origin(0))
    states, policies, _ = replay.sample(400, np.random.default_rng(1), 400)
    assert np.array_equal(states[:, 0, ::-1].reshape(-1, POINTS), policies) and len(np.unique(policies, axis=0)) == POINTS


def test_samples_come_from_the_window_of_the_latest_positions_alone(tmp_path):
    replay = filled(tmp_path, [9, 5, 7])
    replay.append(replace(game(8, 3), winner=NOBODY), origin(3))
    drawn = replay.sample(400, np.random.default_rng(1), 8)[2]
    assert not drawn.any() and replay.sample(400, np.random.default_rng(1), 9)[2].any()


def test_the_window_grows_with_the_run_between_two_bounds():
    config = RunConfig(3, 3, 3, window_share=0.4, start_positions=100, buffer_positions=1000)
    assert [config.window(positions) for positions in (50, 250, 500, 2500, 9000)] == [100, 100, 200, 1000, 1000]


def test_a_replay_opened_again_is_the_same_and_goes_on(tmp_path):
    lengths = [9, 5, 7, 8]
    before = fingerprints(filled(tmp_path, lengths))
    replay = opened(tmp_path)
    assert (replay.games, replay.positions, replay.starts) == (4, 29, 1) and fingerprints(replay) == before
    replay.append(game(6, 9), origin(0, start=1))
    assert opened(tmp_path).starts == 2
    lines = [json.loads(line) for line in (tmp_path / "games.jsonl").read_text().splitlines()]
    assert [line["game"] for line in lines] == [0, 1, 2, 3, 4] and [line["start"] for line in lines] == [0, 0, 0, 0, 1]
    assert lines[1]["moves"] == game(5, 1).moves.tolist() and lines[1]["winner"] == 1


def test_a_game_that_was_being_written_when_the_process_was_killed_has_not_happened(tmp_path):
    lengths = [9, 9, 9, 9, 9]
    replay = filled(tmp_path, lengths[:4])
    before = fingerprints(replay)
    replay.append(game(9, 4), origin(4))  # its positions overwrite the oldest ones of the ring
    path = tmp_path / "games.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    again = opened(tmp_path)
    assert (again.games, again.positions) == (4, 36) and fingerprints(again) == before
    again.append(game(9, 4), origin(4))
    assert opened(tmp_path).games == 5
    assert expected([2, 3, 4], lengths) <= fingerprints(again) <= expected([1, 2, 3, 4], lengths)


def test_the_value_learns_a_mixture_of_the_result_and_the_value_of_the_search(tmp_path):
    """Player 1 has won: z is 1 at plies 0 and 2, and -1 at ply 1."""
    one = replace(game(3, 1), values=np.array([0.5, 0.25, -1.0], dtype=np.float16))
    replay = opened(tmp_path)
    replay.append(one, origin(0))

    def targets(weight):
        return set(replay.sample(200, np.random.default_rng(1), 400, weight)[2].tolist())

    assert targets(0.0) == {1.0, -1.0} and targets(1.0) == {0.5, 0.25, -1.0}
    assert targets(0.25) == {0.875, -0.6875, 0.5}  # 3/4 + 1/8, -3/4 + 1/16, 3/4 - 1/4
    replay.flush()
    (tmp_path / "values.bin").unlink()  # as an earlier version left it
    replay = opened(tmp_path)
    assert targets(0.25) == {1.0, -1.0}
    replay.append(one, origin(1))
    assert targets(0.25) == {1.0, -1.0, 0.875, -0.6875, 0.5}


def test_only_the_positions_of_full_searches_are_learnt(tmp_path):
    whole = game(9, 0)
    some = [1, 4, 8]
    part = replace(
        whole,
        **{name: getattr(whole, name)[some] for name in ("plies", "states", "policies", "values")},
        opening=1,
    )
    assert part.results.tolist() == [-1, 1, 1]
    replay = opened(tmp_path)
    replay.append(part, origin(0))
    assert (replay.positions, len(replay), opened(tmp_path).positions) == (3, 3, 3)
    assert fingerprints(replay) < expected([0], [9]) and len(fingerprints(replay)) == 3
    line = json.loads((tmp_path / "games.jsonl").read_text())
    assert (line["moves"], line["positions"], line["opening"]) == (whole.moves.tolist(), 3, 1)


def test_games_that_a_side_would_have_resigned_are_counted_by_its_result(tmp_path):
    replay = opened(tmp_path)
    for number, (player, winner) in enumerate([(1, 1), (2, 1), (2, 1), (2, -1), (-1, 1), (2, 2)]):
        replay.append(replace(game(5, 1), would_resign=player, winner=winner), origin(number))
    assert replay.would_resign == opened(tmp_path).would_resign == [2, 1, 2]


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda folder: (folder / "positions.bin").unlink(), "expected 39 positions of gomoku on 3x3"),
        (lambda folder: (folder / "positions.bin").write_bytes(b"short"), "expected 39 positions of gomoku on 3x3"),
        (lambda folder: (folder / "games.jsonl").write_text("not a game\n"), "expected one game per line"),
        (lambda folder: (folder / "games.jsonl").write_text('{"game":1,"start":0,"moves":[1]}\n'), "expected game 0 next"),
    ],
)
def test_damaged_files_are_told_in_a_sentence(tmp_path, spoil, sentence):
    filled(tmp_path, [9, 9])
    spoil(tmp_path)
    with pytest.raises(UsageError, match=sentence):
        opened(tmp_path)


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="this system cannot allocate blocks before they are written")
def test_a_new_run_reserves_its_room_and_refuses_a_disk_that_lacks_it(tmp_path, monkeypatch):
    opened(tmp_path, capacity=100_000)
    files = [tmp_path / name for name in ("positions.bin", "values.bin")]
    assert all(path.stat().st_blocks * 512 >= path.stat().st_size > 100_000 for path in files)

    def fails(code):
        def allocate(*_):
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(os, "posix_fallocate", allocate)

    fails(errno.EOPNOTSUPP)
    assert opened(tmp_path, capacity=200).positions == 0
    fails(errno.ENOSPC)
    with pytest.raises(OSError, match="No space left on device") as refused:
        opened(tmp_path, capacity=200)
    assert refused.value.filename == str(files[0]) and not files[0].exists()
