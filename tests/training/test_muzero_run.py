"""MuZero: the file of games, the exact judgement, runs by the command."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from common.errors import UsageError
from games.catalog import rules_of
from training.matches import make_agent
from training.muzero import __main__ as command
from training.muzero import muzero_run
from training.muzero.exact_player import model_accuracy, random_games
from training.muzero.latent_model import MuZeroModel
from training.muzero.muzero_settings import MUZERO_PRESETS, MuZeroConfig
from training.muzero.whole_games import GamesFile, WholeGames, play_whole_games
from training.samples import unpack_states
from training.search.latent import LatentSearchModel
from training.search.puct import PuctSettings
from training.selfplay.worker_networks import to_bytes

TICTACTOE = rules_of("gomoku", 3, 3, n_in_row=3)


# ---------------------------------------------------------------------------------------------------------- games


def test_games_come_back_from_their_file_as_they_were(tmp_path):
    model = LatentSearchModel(MuZeroModel(TICTACTOE, filters=4, blocks=1))
    played = play_whole_games(TICTACTOE, model, PuctSettings(4, q_scale="tree"), 6, np.random.default_rng(1), random_moves=4)
    file = GamesFile(tmp_path / "games.jsonl", TICTACTOE)
    file.append(played[:4])
    file.append(played[4:])
    with open(tmp_path / "games.jsonl", "a", encoding="utf-8") as unfinished:
        unfinished.write('{"game": 6, "winner"')
    again = GamesFile(tmp_path / "games.jsonl", TICTACTOE)
    for before, after in zip(file.games, again.games, strict=True):
        assert (before.winner, before.random_moves) == (after.winner, after.random_moves)
        for name in ("moves", "policies", "states"):
            assert np.array_equal(getattr(before, name), getattr(after, name))
        assert np.array_equal(unpack_states(after.states, TICTACTOE)[0], TICTACTOE.batch(1).feature_planes()[0])
    again.keep(5)
    assert len(GamesFile(tmp_path / "games.jsonl", TICTACTOE).games) == 5


def test_moves_at_random_begin_a_game_and_are_learnt_from_by_the_search_all_the_same():
    model, settings = LatentSearchModel(MuZeroModel(TICTACTOE, filters=4, blocks=1)), PuctSettings(4, q_scale="tree")
    games = play_whole_games(TICTACTOE, model, settings, 200, np.random.default_rng(1), random_moves=4)
    # Four playouts visit few moves, so most random moves have hardly any share in the policy.
    unlikely = [[game.policies[ply, game.moves[ply]] < 0.05 for game in games] for ply in range(5)]
    shares = [float(np.mean(share)) for share in unlikely]
    assert shares[0] > shares[1] > shares[2] > shares[3] > shares[4]
    assert {int(game.moves[0]) for game in games} == set(range(9))
    assert {game.random_moves for game in games} == {0, 1, 2, 3, 4}
    moves_not_drawn = [
        share for ply in range(4) for game, share in zip(games, unlikely[ply], strict=True) if ply >= game.random_moves
    ]
    assert not any(moves_not_drawn)


# ------------------------------------------------------------------------------------------------ exact judgement


class KnowingModel:
    """A model that knows some games by heart: its latent state is the number of a position, plus the moves since then."""

    def __init__(self, games, mistake=False):
        self.games, self.mistake = games, mistake

    def represent(self, states):
        assert len(states) == len(self.games)
        return torch.stack([torch.arange(len(states)), torch.zeros(len(states), dtype=torch.int64)], dim=1)

    def step(self, latents, actions):
        return latents + torch.tensor([0, 1])

    def _real(self, latents):
        for position, k in latents.tolist():
            game = self.games.game[position]
            ply, length = int(self.games.ply[position]) + k, int(self.games.length[game])
            winner = int(self.games.winner[game])
            yield position + k, ply, length, 0 if winner == -1 else 1 if winner == 1 + ply % 2 else -1

    def predict(self, latents):
        logits, values = torch.zeros(len(latents), 9), torch.zeros(len(latents))
        for place, (position, ply, length, value) in enumerate(self._real(latents)):
            if ply < length:
                taken = list(self.games.line(position))
                logits[place, taken] = 100.0 if self.mistake and taken else -100.0
            values[place] = -value if self.mistake else value
        return logits, values

    def reward(self, latents):
        return torch.tensor([float(-value) if ply == length else 0.0 for _, ply, length, value in self._real(latents)])


def test_the_accuracy_of_a_model_that_knows_the_rules_is_perfect_and_that_of_its_opposite_is_not():
    config = MUZERO_PRESETS["tictactoe"]
    games = random_games(config, 50, np.random.default_rng(2))
    rows = model_accuracy(KnowingModel(games), games)
    for row in rows:
        assert row.positions == int(np.maximum(0, games.length - row.steps).sum())
        assert row.ends + row.draws == int((games.length >= row.steps).sum())
        assert row.illegal_mass < 1e-6
        assert (row.likeliest_legal, row.rewards_right, row.ends_seen, row.draws_seen) == (1, 1, 1, 1)
    wrong = model_accuracy(KnowingModel(games, mistake=True), games)
    assert [row.ends_seen for row in wrong] == [0] * 5 and all(row.illegal_mass > 0.99 for row in wrong)


# -------------------------------------------------------------------------------------------------------- command

SMALL = {
    "games": 40, "games_per_round": 10, "start_games": 20, "playouts": 4, "filters": 4, "blocks": 1, "batch_size": 8,
    "reuse": 1, "seed": 3,
}  # fmt: skip


def call(folder, *more, preset="tictactoe"):
    options = [f"--{name.replace('_', '-')}={value}" for name, value in SMALL.items()]
    return command.main([preset, "--run", str(folder), *options, *more])


def weights_of(folder):
    return torch.load(folder / "latest.model", weights_only=True)


def test_a_run_with_too_few_games_to_learn_is_refused(tmp_path, capsys):
    assert call(tmp_path / "run", "--games=19") == 2
    assert capsys.readouterr().err == (
        "training.muzero: expected --games of at least --start-games, 20, since a run with fewer never learns; got 19\n"
    )
    assert not (tmp_path / "run").exists()


def test_a_run_that_diverges_stops_and_goes_on_from_the_round_before(tmp_path, few_playouts, capsys):
    assert call(tmp_path, "--games=20") == 0
    before = (tmp_path / "checkpoint.pt").read_bytes(), (tmp_path / "latest.model").read_bytes()
    capsys.readouterr()
    assert call(tmp_path, "--learning-rate=1e30") == 2
    steps = torch.load(tmp_path / "checkpoint.pt", weights_only=True)["steps"]
    assert capsys.readouterr().err == (
        f"training.muzero: expected finite weights after step {steps + 1}; training has diverged, and the last finite ones are "
        f"in {tmp_path / 'checkpoint.pt'}: the same command with a smaller --learning-rate continues the run\n"
    )
    assert before == ((tmp_path / "checkpoint.pt").read_bytes(), (tmp_path / "latest.model").read_bytes())
    assert call(tmp_path, "--learning-rate=1e-3") == 0


@pytest.fixture
def few_playouts(monkeypatch):
    monkeypatch.setattr(muzero_run, "CHECKED_PLAYOUTS", (3,))


def test_a_run_that_was_interrupted_or_killed_ends_as_if_it_had_not_been(tmp_path, few_playouts, monkeypatch, capsys):
    assert call(tmp_path / "whole") == 0
    played, rounds = muzero_run.play_whole_games, []

    def press_ctrl_c(*arguments):
        rounds.append(1)
        if len(rounds) == 3:
            raise KeyboardInterrupt
        return played(*arguments)

    monkeypatch.setattr(muzero_run, "play_whole_games", press_ctrl_c)
    folder = tmp_path / "interrupted"
    assert call(folder) == 130
    assert "continues" in capsys.readouterr().err
    # What a kill in the middle of a round leaves: games and a row after the checkpoint, both incomplete.
    lines = (folder / "games.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    with open(folder / "games.jsonl", "a", encoding="utf-8") as file:
        file.write(lines[0].replace('"game":0', '"game":20') + lines[1][:30])
    with open(folder / "metrics.csv", "a", encoding="utf-8") as file:
        file.write("30,9,1,1,0")
    assert call(folder) == 0
    assert (folder / "games.jsonl").read_bytes() == (tmp_path / "whole" / "games.jsonl").read_bytes()
    for name, weights in weights_of(tmp_path / "whole").items():
        assert torch.equal(weights, weights_of(folder)[name])
    rows = (folder / "metrics.csv").read_text(encoding="utf-8").splitlines()
    assert [row.split(",")[0] for row in rows] == ["games", "10", "20", "30", "40"] and rows[-1].split(",")[-1].isdigit()


def test_the_same_command_on_a_run_that_has_ended_changes_nothing_and_more_games_go_on(tmp_path, few_playouts, capsys):
    folder = tmp_path / "run"
    assert call(folder) == 0
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert call(folder) == 0
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    assert command.main(["--run", str(folder), "--games", "50"]) == 0
    assert json.loads((folder / "config.json").read_text(encoding="utf-8"))["games"] == 50
    assert command.main(["--run", str(folder), "--judge", "--judged-playouts", "3"]) == 1  # a new model loses
    shown = capsys.readouterr().out
    assert "losing lines" in shown and "illegal probability" in shown
    assert command.main(["--run", str(folder), "--judge", "--board-width", "5"]) == 2
    assert "expected --board-width 3, as when" in capsys.readouterr().err


def test_a_run_without_its_checkpoint_keeps_its_games_unless_its_first_round_was_killed(tmp_path, few_playouts, capsys):
    folder = tmp_path / "run"
    assert call(folder, "--games", "20") == 0
    games = (folder / "games.jsonl").read_bytes()
    (folder / "checkpoint.pt").unlink()
    assert call(folder, "--games", "20") == 2
    assert "expected the checkpoint of the 20 games of" in capsys.readouterr().err
    assert (folder / "games.jsonl").read_bytes() == games
    (folder / "games.jsonl").write_bytes(b"".join(games.splitlines(keepends=True)[:10]))
    assert call(folder, "--games", "20") == 0
    assert (folder / "games.jsonl").read_bytes() == games


def test_a_run_that_goes_on_with_another_weight_decay_uses_it(tmp_path, few_playouts):
    folder = tmp_path / "run"
    assert call(folder, "--games", "20") == 0
    assert command.main(["--run", str(folder), "--games", "30", "--weight-decay", "0.5"]) == 0
    state = torch.load(folder / "checkpoint.pt", weights_only=True)
    assert [group["weight_decay"] for group in state["optimizer"]["param_groups"]] == [0.5]


def test_a_run_learns_from_the_window_of_its_latest_games(tmp_path, few_playouts, monkeypatch):
    seen = []

    class Seen(WholeGames):
        def __init__(self, rules, games):
            seen.append(len(games))
            super().__init__(rules, games)

    monkeypatch.setattr(muzero_run, "WholeGames", Seen)
    assert call(tmp_path / "run", "--games", "70", "--window-share", "0.4", "--buffer-games", "25") == 0
    assert seen == [20, 20, 20, 20, 24, 25]


def test_a_run_from_before_the_window_existed_goes_on_with_its_whole_buffer(tmp_path):
    command.MuZeroRun(replace(MUZERO_PRESETS["5x5x4"], **SMALL), tmp_path).write_config()
    recorded = json.loads((tmp_path / "config.json").read_text())
    assert recorded.pop("window_share") == 0.4
    (tmp_path / "config.json").write_text(json.dumps(recorded))
    assert muzero_run.read_muzero_settings(tmp_path).window_share == 1.0


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--filters", "8"], "expected --filters 4, as when"),
        (["--seed", "4"], "expected --seed 3, as when"),
        (["--reanalysed-share", "1.5"], "expected --reanalysed-share from 0 to 1; got 1.5"),
        (["--window-share", "1.5"], "expected --window-share above 0 and up to 1; got 1.5"),
        (["--playouts", "1"], "expected --playouts of at least 2; got 1"),
        (["--learning-rate", "0"], "expected --learning-rate above 0; got 0"),
        (["--reuse", "inf"], "expected --reuse above 0 and finite; got inf"),
    ],
)
def test_settings_that_cannot_be_are_refused_in_a_sentence(tmp_path, capsys, more, sentence):
    folder = tmp_path / "run"
    folder.mkdir()
    command.MuZeroRun(replace(MUZERO_PRESETS["tictactoe"], **SMALL), folder).write_config()
    assert command.main(["--run", str(folder), *more]) == 2
    assert sentence in capsys.readouterr().err


def test_folders_of_other_things_and_damaged_runs_are_refused_in_a_sentence(tmp_path, few_playouts, capsys):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "checkpoint.pt").write_bytes(b"something else")
    assert call(tmp_path / "other") == 2 and "holds other files" in capsys.readouterr().err
    assert command.main(["--run", str(tmp_path / "new")]) == 2 and "got no preset" in capsys.readouterr().err
    assert (
        command.main(["--run", str(tmp_path / "new"), "--judge"]) == 2
        and "expected the settings of a run" in capsys.readouterr().err
    )
    assert not (tmp_path / "new").exists()
    folder = tmp_path / "run"
    assert call(folder) == 0
    assert call(folder, preset="5x5x4") == 2 and "another game" in capsys.readouterr().err
    (folder / "games.jsonl").write_text('{"game": 0}\n', encoding="utf-8")
    assert call(folder, "--games", "50") == 2 and "one game of this run per line" in capsys.readouterr().err
    (folder / "checkpoint.pt").write_bytes(b"damaged")
    assert call(folder, "--games", "50") == 2 and "checkpoint" in capsys.readouterr().err
    (folder / "config.json").write_text('{"colour": 1}', encoding="utf-8")
    assert call(folder) == 2 and "expected the settings" in capsys.readouterr().err


def test_a_run_plays_matches_of_its_own_game_board_and_komi_only(tmp_path):
    config = MuZeroConfig(3, 3, game="go", komi=0.5, filters=4, blocks=1)
    run = command.MuZeroRun(config, tmp_path)
    run.write_config()
    (tmp_path / "latest.model").write_bytes(to_bytes(run.model))

    def agent(game, size, komi):
        return make_agent(f"muzero:{tmp_path}?playouts=2", rules_of(game, size, size, komi=komi), 1, np.random.default_rng(1))

    assert agent("go", 3, 0.5).choose(config.rules().batch(2)).shape == (2,)
    with pytest.raises(UsageError, match=r"expected a komi of 0\.5, with which .* was trained; got 7\.5"):
        agent("go", 3, 7.5)
    with pytest.raises(UsageError, match="it is a run of go on 3x3"):
        agent("go", 5, 0.5)
    with pytest.raises(UsageError, match="it is a run of go on 3x3"):
        agent("nogo", 3, 7.5)
