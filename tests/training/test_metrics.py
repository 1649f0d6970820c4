"""A run that continues keeps the rows of metrics.csv up to its checkpoint, and no row that a kill left incomplete."""

import pytest

from training.metrics import add_row, keep_rows


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "metrics.csv"
    for samples in (512, 5120):
        add_row(path, {"samples": samples, "loss": 0.5})
    return path


def test_rows_follow_one_heading(path):
    assert path.read_bytes() == b"samples,loss\n512,0.5\n5120,0.5\n"


@pytest.mark.parametrize(("last", "kept"), [(511, ""), (512, "512,0.5\n"), (5120, "512,0.5\n5120,0.5\n")])
def test_rows_after_the_checkpoint_are_removed(path, last, kept):
    keep_rows(path, samples=last)
    assert path.read_text() == f"samples,loss\n{kept}"


@pytest.mark.parametrize("cut", [1, 3, 5, 8])
def test_a_torn_row_is_removed_even_if_its_number_looks_small(path, cut):
    path.write_text(path.read_text()[:-cut])
    keep_rows(path, samples=5120)
    assert path.read_text() == "samples,loss\n512,0.5\n"
    add_row(path, {"samples": 5120, "loss": 0.25})
    assert path.read_text() == "samples,loss\n512,0.5\n5120,0.25\n"


@pytest.mark.parametrize("torn", ["", "samples,lo"])
def test_a_torn_heading_is_written_again(path, torn):
    path.write_text(torn)
    keep_rows(path, samples=0)
    add_row(path, {"samples": 512, "loss": 0.5})
    assert path.read_text() == "samples,loss\n512,0.5\n"


def test_a_run_without_rows_needs_none(tmp_path):
    keep_rows(tmp_path / "metrics.csv", samples=7)
    assert not any(tmp_path.iterdir())


def test_a_row_with_the_games_of_the_checkpoint_but_later_steps_is_removed(tmp_path):
    for steps in (40, 80):  # several checkpoints can be written between two games
        add_row(tmp_path / "metrics.csv", {"games": 20, "steps": steps})
    keep_rows(tmp_path / "metrics.csv", games=20, steps=40)
    assert (tmp_path / "metrics.csv").read_text() == "games,steps\n20,40\n"
