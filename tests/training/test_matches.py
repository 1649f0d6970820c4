"""Matches: fair pairs, games by the rules, the same however many run at once; agents that play as their names say."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from Board.game_board import Board
from common.errors import UsageError
from games.gomoku.batch import GomokuBatch
from games.gomoku.rules import GomokuRules
from training import matches
from training.exact import board_after
from training.inference.networks import new_model
from training.matches import MatchSettings, PolicyAgent, SearchAgent, make_agent, play_lockstep_match
from training.search.gumbel import GumbelSettings
from training.search.puct import PuctSettings
from training.search.rollouts import RandomRollouts

ROOT = Path(__file__).resolve().parents[2]
SMALL = (5, 4, 4)


class Scripted:
    """Plays the first or the last empty point, and remembers in which seat it was asked."""

    def __init__(self, last=False):
        self.last, self.seats = last, set()

    def choose(self, boards):
        self.seats.update(boards.side_to_move.tolist())
        legal = boards.legal[:, ::-1] if self.last else boards.legal
        chosen = legal.argmax(axis=1)
        return boards.geometry.points - 1 - chosen if self.last else chosen


class EndAfter:
    def __init__(self, games):
        self.games, self.seen = games, []

    def add(self, result):
        self.seen.append(result)
        return "enough" if len(self.seen) == self.games else None


def match(games=12, seed=1, side_by_side=64, **more):
    settings = MatchSettings(GomokuRules(*SMALL), games, side_by_side=side_by_side)
    return play_lockstep_match((Scripted(), Scripted(last=True)), settings, np.random.default_rng(seed), **more)


def test_games_are_games_of_the_board_and_each_opening_is_played_in_both_seats():
    first, second = Scripted(), Scripted(last=True)
    result = play_lockstep_match(
        (first, second), MatchSettings(GomokuRules(*SMALL), 12, opening_stones=3), np.random.default_rng(1)
    )
    assert first.seats == second.seats == {1, 2}
    assert [game.number for game in result.games] == list(range(12)) and result.verdict is None
    for game in result.games:
        board = Board(*SMALL)
        board.init_board()
        for ply, move in enumerate(game.moves):
            assert not board.game_end()[0]
            if ply >= 3:
                is_first = (ply + game.number) % 2 == 0
                assert move == (min if is_first else max)(board.availables)
            board.do_move(move)
        assert board.game_end() == (True, game.winner)
        value = 0.5 if game.winner == -1 else 1 if game.winner == 1 + game.number % 2 else 0
        assert game.result.value == value
    for one, other in zip(result.games[::2], result.games[1::2], strict=True):
        assert one.moves[:3] == other.moves[:3] and one.result.pair == other.result.pair
    assert len({game.moves[:3] for game in result.games}) > 3
    seen = result.statistics
    assert (seen.games, seen.wins + seen.draws + seen.losses) == (12, 12)


def test_a_match_is_the_same_however_many_games_run_at_once():
    whole = match()
    assert match(side_by_side=4) == whole and match(side_by_side=2) == whole
    assert match(seed=2) != whole


def test_a_rule_sees_the_games_in_order_and_those_after_its_word_do_not_count():
    rule = EndAfter(5)
    result = match(side_by_side=8, stop=rule)
    assert result.verdict == "enough" and result.games == match().games[:5]
    assert rule.seen == [game.result for game in result.games]
    asked = []
    match(side_by_side=4, stop=EndAfter(5), progress=lambda ended, running: asked.append(ended + running))
    assert max(asked) == 8


def test_openings_lie_near_the_middle_and_can_be_no_row():
    rng = np.random.default_rng(1)
    drawn = np.array([GomokuRules(11, 9, 5).draw_opening(8, rng) for _ in range(200)])
    assert all(len(set(opening)) == 8 for opening in drawn.tolist())
    assert set((drawn // 11).ravel()) == {2, 3, 4, 5, 6} and set((drawn % 11).ravel()) == {3, 4, 5, 6, 7}
    assert GomokuRules(3, 3, 3).draw_opening(0, rng) == []
    for stones in (-1, 5):
        with pytest.raises(UsageError, match="expected openings of 0 to 4 stones on 3x3"):
            GomokuRules(3, 3, 3).draw_opening(stones, rng)


@pytest.mark.parametrize(("games", "side_by_side"), [(0, 2), (3, 2), (4, 3), (4, 0)])
def test_numbers_that_leave_a_pair_unfinished_are_refused(games, side_by_side):
    with pytest.raises(UsageError, match="expected an even number of games"):
        match(games=games, side_by_side=side_by_side)


# ------------------------------------------------------------------------------------------------------- agents


@pytest.mark.parametrize(("moves", "what"), [([0, 4, 1], "block"), ([0, 4, 1, 8], "win")])
def test_pure_search_by_rollouts_blocks_and_wins(moves, what):
    boards = GomokuBatch(3, 3, 3, 3)
    for move in moves:
        boards.play([move] * 3)
    before = boards.stones.copy()
    agent = SearchAgent(RandomRollouts(3, np.random.default_rng(1)), PuctSettings(400), np.random.default_rng(2))
    assert agent.choose(boards).tolist() == [2, 2, 2], what
    assert np.array_equal(boards.stones, before)


def test_more_playouts_win_against_fewer():
    def agent(playouts):
        return SearchAgent(RandomRollouts(4, np.random.default_rng(playouts)), PuctSettings(playouts), np.random.default_rng(1))

    seen = play_lockstep_match(
        (agent(300), agent(10)), MatchSettings(GomokuRules(6, 6, 4), 24), np.random.default_rng(1)
    ).statistics
    assert seen.wins > 18


def test_the_policy_plays_the_likeliest_point_that_is_empty(fixed_evaluator):
    boards = GomokuBatch(6, 4, 3, 3)
    evaluate = fixed_evaluator(12)
    boards.play(np.arange(6))
    for _ in range(4):
        probs, _ = evaluate(boards.feature_planes())
        moves = PolicyAgent(evaluate).choose(boards)
        for row, legal, move in zip(probs, boards.legal, moves, strict=True):
            assert legal[move] and row[move] == row[legal].max()
        boards.play(moves)


@pytest.mark.parametrize(
    ("text", "kind", "settings"),
    [
        ("alphazero:{}?playouts=30", SearchAgent, PuctSettings(30)),
        ("gumbel:{}?playouts=16&considered=8", SearchAgent, GumbelSettings(16, 8)),
        ("gumbel:{}", SearchAgent, GumbelSettings(400, 16)),
        ("policy:{}", PolicyAgent, None),
        ("mcts:playouts=50", SearchAgent, PuctSettings(50)),
    ],
)
def test_agents_are_named_as_in_the_arena(make_network, tmp_path, text, kind, settings):
    path = tmp_path / "weights.pt"
    network = make_network(4, 3, 2)
    network.save_model(path)
    agent = make_agent(text.format(path), GomokuRules(4, 3, 3), 2, np.random.default_rng(1))
    assert bool(agent.computed_by) == (not text.startswith("mcts"))
    assert isinstance(agent, kind) and getattr(agent, "settings", None) == settings
    boards = GomokuBatch(2, 4, 3, 3)
    if not text.startswith("mcts"):
        answers = [agent.evaluate(boards.feature_planes()), network.policy_value(boards.feature_planes(), 2, 3)]
        for given, expected in zip(*answers, strict=True):
            assert given == pytest.approx(expected.reshape(given.shape), abs=0.05)
    assert boards.legal[[0, 1], agent.choose(boards)].all()


def test_gomoku_is_played_by_a_plain_network_too(tmp_path):
    rules, path = GomokuRules(4, 3, 3), tmp_path / "plain.model"
    torch.manual_seed(1)
    model = new_model("plain", rules, 0, 0).eval()
    torch.save(model.state_dict(), path)
    boards = GomokuBatch(2, 4, 3, 3)
    probs, _ = make_agent(f"policy:{path}", rules, 2, np.random.default_rng(1), "torch").evaluate(boards.feature_planes())
    expected = model(torch.from_numpy(boards.feature_planes()))[0].exp().detach().numpy()
    assert np.abs(probs - expected).max() < 0.02


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("alphabeta:x", "expected alphazero:FILE"),
        ("alphazero:nothing.pt", "expected weights at nothing.pt; no file is there"),
        ("alphazero:{small}", "expected weights for the board 11x11; those in .* have 9 points"),
        ("gumbel:", "expected gumbel:FILE; got 'gumbel:', which names nothing"),
        ("mcts:playouts=1", "with N of at least 2"),
        ("mcts:playouts=many", "expected options such as playouts=400"),
        ("policy:{small}?playouts=4", "expected no option"),
        ("gumbel:{small}?c_puct=4", "expected playouts=N with N of at least 2 and considered=N"),
    ],
)
def test_a_call_that_is_wrong_is_told_in_a_sentence(make_network, tmp_path, capsys, text, words):
    small = tmp_path / "small.pt"
    make_network(3, 3, 1).save_model(small)
    assert matches.main([text.format(small=small), "mcts:playouts=2"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("training.matches: ") and told.count("\n") == 1
    with pytest.raises(UsageError, match=words):
        make_agent(text.format(small=small), GomokuRules(11, 11, 5), 1, np.random.default_rng(1))


def test_the_command_plays_a_match_and_writes_its_games(make_network, tmp_path, capsys):
    path, out = tmp_path / "weights.pt", tmp_path / "deeper" / "match.json"
    make_network(3, 3, 1).save_model(path)
    call = [f"alphazero:{path}?playouts=20", "mcts:playouts=20", "--board", "3x3x3", "--games", "6", "--opening-stones", "1"]
    assert matches.main([*call, "--seed", "4", "--out", str(out)]) == 0
    said = capsys.readouterr()
    assert "6 games" in said.out and said.err.count("the network is computed by ") == 1
    record = json.loads(out.read_text())
    assert record["computed_by"][0] in said.err and record["computed_by"][1] == ""
    assert record["seed"] == 4 and record["statistics"]["games"] == 6
    values = []
    for game in record["games"]:
        assert board_after(game["moves"], (3, 3, 3)).game_end() == (True, game["winner"])
        values.append(0.5 if game["winner"] == -1 else game["winner"] == 1 + game["number"] % 2)
    assert np.mean(values) == pytest.approx(record["statistics"]["score_rate"])
    assert matches.main([*call, "--board", "3x3x4"]) == 2
    assert "4 in a row" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        matches.main([*call, "--board", "3x3x3x3"])
    assert ended.value.code == 2


def test_a_seed_below_zero_and_a_file_that_cannot_be_written_are_refused_before_the_games(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(matches, "play_lockstep_match", lambda *_, **__: pytest.fail("games were played"))
    call = ["mcts:playouts=2", "mcts:playouts=2", "--board", "3x3x3", "--games", "2"]
    assert matches.main([*call, "--out", str(tmp_path)]) == 2
    assert "expected a file that can be written for --out; " in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        matches.main([*call, "--seed", "-1"])
    assert ended.value.code == 2 and "expected --seed of at least 0; got -1" in capsys.readouterr().err


def test_a_match_whose_output_nobody_reads_ends_quietly():
    call = [sys.executable, "-m", "training.matches", "mcts:playouts=2", "mcts:playouts=2", "--board", "3x3x3", "--games", "2"]
    with subprocess.Popen(call, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        program.stdout.close()  # as `| head -1` does
        assert b"Error" not in program.stderr.read() and program.wait() == 141


def test_ctrl_c_ends_a_match_without_a_result(monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(SearchAgent, "choose", interrupted)
    assert matches.main(["mcts:playouts=2", "mcts:playouts=3"]) == 130
    assert "Interrupted" in capsys.readouterr().err
