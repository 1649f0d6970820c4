"""The time that a run of self-play says is left."""

from types import SimpleNamespace

import pytest

from training.selfplay import learner
from training.selfplay.learner import Learner


@pytest.fixture
def shown(monkeypatch, capsys):
    """Returns the line of progress of a run of 1000 games, evaluated every 100, after so many games and minutes."""
    monkeypatch.setattr(learner, "SHOW_EVERY_S", 0.0)

    def show(games, minutes, side_by_side=8, evaluating=()):
        monkeypatch.setattr(learner.time, "monotonic", lambda: 60.0 * minutes)
        run = Learner.__new__(Learner)
        run.config = SimpleNamespace(games=1000, cpu_minutes=0, games_at_once=8, check_every=100)
        run.replay = SimpleNamespace(games=games)
        run._side_by_side, run._evaluating_s = side_by_side, [60.0 * each for each in evaluating]
        run._began = run._shown_at = run._first_share = 0.0
        run._first_game = run._network_evaluations = 0
        run._losses = []
        run._show()
        return capsys.readouterr().err

    return show


def test_no_time_is_named_before_the_games_of_all_workers_may_have_ended(shown):
    assert "99 min left" in shown(10, 1.0)
    assert "left" not in shown(10, 1.0, side_by_side=15 * 8)


def test_the_first_evaluation_does_not_count_as_often_as_the_share_done_suggests(shown):
    # A minute of self-play for one game in a hundred, and three minutes for each of ten evaluations.
    assert "129 min left" in shown(10, 4.0, evaluating=[3.0])
    assert "65 min left" in shown(500, 65.0, evaluating=[3.0] * 5)
