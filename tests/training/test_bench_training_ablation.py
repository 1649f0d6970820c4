"""bench/training_ablation.py: trains and plays what is missing, at equal CPU time, and refuses what it cannot compare."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import network_tables
import recording
import tables
import training_ablation

from common.errors import UsageError

SMALL = "--games-at-once 4 --playouts 10 --start-positions 20 --batch-size 8 --reuse 2 --mcts-playouts 2 --backend torch"


def call(folder, *more):
    """Measure in this process, where the package AlphaZero is the reference already."""
    words = [folder, "--preset", "tictactoe", "--settings", SMALL, "--seeds", 7, "--cpu-minutes", 0.005, "--games", 2, *more]
    options = training_ablation.parse_options([str(word) for word in (*words, "--playouts", 2)])
    record = {"command": "the command", "machine": {}, "rows": []}
    return training_ablation.measure(options, record, recording.earlier_record(options.record, "the command"))


@pytest.fixture
def reference_network(reference):
    reference("policy_value_net_torch")


@pytest.mark.usefixtures("reference_network")
def test_each_switch_gets_the_cpu_time_of_the_plain_run_and_nothing_is_done_twice(tmp_path, monkeypatch, capsys):
    record = tmp_path / "record.json"
    asked = ("--record", record, "--switches", "forced", "mixed-value")

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:  # killed in the match, after the plain run and that with the first switch
        patched.setattr(training_ablation, "play_lockstep_match", killed)
        with pytest.raises(KeyboardInterrupt):
            call(tmp_path, *asked)
    assert not record.exists() and not (tmp_path / "mixed-value_7").exists()
    calls, main = [], training_ablation.long_run.main
    monkeypatch.setattr(training_ablation.long_run, "main", lambda words, advice: calls.append(words) or main(words, advice))
    assert call(tmp_path, *asked) == 0
    assert [words[words.index("--run") + 1] for words in calls] == [str(tmp_path / "mixed-value_7")]
    rows = recording.read_json(record)["rows"]
    assert [(row["switch"], row["seed"], row["games"], row["playouts"]) for row in rows] == [
        ("forced", 7, 2, 2),
        ("mixed-value", 7, 2, 2),
    ]
    for row in rows:
        assert min(row["run_cpu_s"]) >= 0.3 and row["won"] + row["drawn"] + row["lost"] == 2
        assert row["run_samples"][1] == rows[0]["run_samples"][1] > 0 and min(row["run_games"]) > 0
    settings = recording.read_json(tmp_path / "forced_7" / "config.json")
    assert (settings["forced_playouts_k"], settings["search"], settings["seed"], settings["gate"]) == (2.0, "puct", 7, False)

    before = record.read_bytes()
    monkeypatch.setattr(training_ablation, "play_lockstep_match", killed)
    assert call(tmp_path, *asked) == 0 and len(calls) == 1 and record.read_bytes() == before
    assert "| `--forced-playouts-k 2` | 7 | 2 |" in capsys.readouterr().out
    with pytest.raises(UsageError, match=r"expected a run with the same settings in .*plain_7; it differs in cpu_minutes"):
        call(tmp_path, "--cpu-minutes", 1)


def test_switches_that_cannot_work_are_refused_before_anything_is_trained(tmp_path):
    for switch, option in (("forced", "--forced-playouts-k"), ("sharpened", "--sharpened-targets")):
        with pytest.raises(UsageError, match=f"expected --search puct with {option}; got gumbel"):
            call(tmp_path, "--settings", "--search gumbel", "--switches", "openings", switch)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", [("--cpu-minutes", 0), ("--games", 3)])
def test_a_wrong_call_is_refused(tmp_path, capsys, wrong):
    with pytest.raises(SystemExit) as ended:
        call(tmp_path, *wrong)
    assert ended.value.code == 2 and "expected --cpu-minutes above 0, --playouts of at least 2" in capsys.readouterr().err


# ------------------------------------------------------------------------------------------- switches of self-play


def switch_row(seed, won, drawn, lost, low, high, options="--gate"):
    counts = {"games": won + drawn + lost, "distinct_games": 9, "won": won, "drawn": drawn, "lost": lost}
    row = {"switch": "gate", "options": options, "seed": seed, **counts, "score": (won + drawn / 2) / counts["games"]}
    row |= {"low_95": low, "high_95": high}
    return row | {"run_games": [120, 100], "run_samples": [5000, 4000], "run_cpu_s": [60.2, 60.4]}


def test_the_switches_of_self_play_have_a_row_for_each_seed_and_their_mean(tmp_path, monkeypatch):
    rows = [switch_row(2, 4, 4, 2, 0.3, 0.8), switch_row(1, 8, 0, 2, 0.5, 0.95), switch_row(1, 1, 0, 1, 0.1, 0.9, "--off 2")]
    monkeypatch.setattr(tables, "ROOT", tmp_path)
    assert tables.rendered("training-ablation") == "Not measured yet.\n"
    recording.write_record(tmp_path / "bench" / "records" / "training_ablation.json", {"rows": rows})
    costs = ["120 / 100", "5000 / 4000", "60 / 60"]
    assert [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in tables.rendered("training-ablation").splitlines()[2:]
    ] == [
        ["`--gate`", "1", "10", "9", "8 / 0 / 2", ".80, .50 to .95", *costs],
        ["", "2", "10", "9", "4 / 4 / 2", ".60, .30 to .80", *costs],
        ["", "mean", "20", "18", "12 / 4 / 4", ".70, .00 to 1", "", "", ""],
        ["`--off 2`", "1", "2", "9", "1 / 0 / 1", ".50, .10 to .90", *costs],
    ]


def test_the_interval_of_the_mean_follows_from_how_far_the_seeds_differ():
    mean, low, high = network_tables.mean_over_seeds([switch_row(seed, 6 + seed, 0, 4 - seed, 0.5, 0.7) for seed in (0, 1, 2)])
    # The standard deviation is 0.1, and Student's t with two degrees of freedom exceeds 4.303 with 2.5 %.
    assert (mean, low, high) == pytest.approx((0.7, 0.7 - 4.303 * 0.1 / 3**0.5, 0.7 + 4.303 * 0.1 / 3**0.5), abs=1e-3)
    same = network_tables.mean_over_seeds([switch_row(seed, 6, 0, 4, 0.4, 0.8) for seed in (0, 1)])
    assert same == pytest.approx((0.6, 0, 1))  # as wide as the games alone make it
