"""A run of self-play draws its curves where the packages for them are installed, and else says how to get them."""

import pytest
from selfplay_run_tools import arguments

from training.selfplay import long_run, run_report
from training.selfplay.run_report import OPTIONAL, missing_packages


@pytest.mark.skipif(bool(missing_packages()), reason="needs requirements-runs.txt")
def test_curves_and_events_are_drawn_where_there_is_something_to_draw_with(curves, started, tmp_path):
    code, _, err = started(arguments(tmp_path, games=30))
    assert code == 0 and "pip install" not in err
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    (events,) = (tmp_path / "tensorboard").iterdir()
    assert b"run/loss" in events.read_bytes() and b"evaluation/elo" in events.read_bytes()


def test_without_the_packages_for_curves_a_sentence_says_once_how_to_get_them(started, tmp_path, monkeypatch):
    for module in (run_report, long_run):
        monkeypatch.setattr(module, "missing_packages", lambda: list(OPTIONAL))
    code, _, err = started(arguments(tmp_path, games=30))
    assert code == 0 and err.count("-m pip install -r requirements-runs.txt") == 1
    assert not (tmp_path / "curves.png").exists() and not (tmp_path / "tensorboard").exists()
