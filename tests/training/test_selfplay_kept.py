"""Which network a run of self-play keeps: after a kill the one that counted, and never one that is broken."""

import torch
from selfplay_run_tools import arguments, resumed, state_of


def is_sound(weights):
    return all(tensor.isfinite().all() for tensor in weights.values())


def test_a_training_that_diverges_stops_and_goes_on_from_its_checkpoint(started, tmp_path):
    code, _, err = started(arguments(tmp_path, "--learning-rate", 1e30, games=40))
    assert code == 2 and err.splitlines()[-1] == (
        "training.selfplay: expected finite weights after step 1; training has diverged, and the last finite ones are in "
        f"{tmp_path / 'checkpoint.pt'}: continue with --resume and a smaller --learning-rate"
    )
    assert is_sound(state_of(tmp_path)["model"]) and state_of(tmp_path)["steps"] == 0
    assert started(resumed(tmp_path, "--learning-rate", 1e-3))[0] == 0
    assert is_sound(torch.load(tmp_path / "best.model", weights_only=True)) and state_of(tmp_path)["steps"] > 0


def test_a_new_run_writes_over_no_file_of_another_program(started, tmp_path):
    for name in ("config.json", "metrics.csv", "checkpoint.pt", "games.jsonl"):
        folder = tmp_path / name.partition(".")[0]
        folder.mkdir()
        (folder / name).write_text("of another program")
        code, _, err = started(arguments(folder, games=8))
        assert code == 2 and f"expected a new folder without --resume; {folder} already holds a run" in err
        assert [(path.name, path.read_text()) for path in folder.iterdir()] == [(name, "of another program")]


def test_a_network_that_was_accepted_just_before_a_kill_does_not_stay_the_best_without_its_match(started, tmp_path):
    assert started(arguments(tmp_path, games=30))[0] == 0
    state = state_of(tmp_path)
    best = tmp_path / "networks" / f"{state['evaluations'][state['best']]['games']:07}.model"
    (tmp_path / "best.model").write_bytes(b"accepted, and then the run was killed before its checkpoint")
    assert started(resumed(tmp_path))[0] == 0
    assert state_of(tmp_path)["evaluations"] == state["evaluations"]
    assert (tmp_path / "best.model").read_bytes() == best.read_bytes()
