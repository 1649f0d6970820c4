"""How the tests call a small run of self-play, and read its files."""

import csv
import json

import torch

SETTINGS = {
    "games-at-once": 8,
    "playouts": 4,
    "considered": 4,
    "start-positions": 60,
    "batch-size": 16,
    "reuse": 4,
    "check-every": 30,
    "rating-games": 2,
    "mcts-playouts": 4,
    "match-playouts": 4,
    "gate-games": 4,
    "save-every-s": 0.2,
    "backend": "torch",  # OpenVINO takes seconds to compile each network
    "seed": 1,
}
SMALL = [word for name, value in SETTINGS.items() for word in (f"--{name}", str(value))]


def arguments(folder, *more, games=60, workers=0):
    return ["tictactoe", "--run", str(folder), *SMALL, "--games", str(games), "--workers", str(workers), *map(str, more)]


def resumed(folder, *more, workers=0):
    return ["--run", str(folder), "--resume", "--workers", str(workers), *map(str, more)]


def games_of(folder):
    return [json.loads(line) for line in (folder / "games.jsonl").read_text().splitlines()]


def table_of(folder, name):
    with open(folder / name, encoding="utf-8") as file:
        return list(csv.DictReader(file))


def state_of(folder):
    return torch.load(folder / "checkpoint.pt", weights_only=True)
