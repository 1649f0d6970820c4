"""The measurement of the rules runs, and refuses calls that cannot work."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_every_game_is_measured(load_module, monkeypatch, capsys):
    bench = load_module(ROOT / "bench" / "game_rules.py")
    monkeypatch.setattr(bench, "GAMES_AT_ONCE", (4,))
    monkeypatch.setattr("sys.argv", ["game_rules.py", "--size", "5", "--moves", "100", "--repeats", "1"])
    assert bench.main() == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if "single" in line or "plain" in line]
    assert [row[0] for row in rows] == ["gomoku", "nogo", "go", "nogo"] and all(float(row[-1]) > 0 for row in rows)
    monkeypatch.setattr("sys.argv", ["game_rules.py", "--size", "2"])
    with pytest.raises(SystemExit) as ended:
        bench.main()
    assert ended.value.code == 2
