"""Which class speaks a seat's protocol."""

from __future__ import annotations

import threading

from arena.engine.engine_process import EngineProcess, EngineSpec, GameOffer, Limits
from arena.engine.gomocup_engine import GomocupEngine

SPEAKERS: dict[str, type[EngineProcess]] = {"course": EngineProcess, "gomocup": GomocupEngine}


def open_engine(
    spec: EngineSpec, limits: Limits, offer: GameOffer | None = None, stopping: threading.Event | None = None
) -> EngineProcess:
    """The engine of a seat, not started yet."""
    return SPEAKERS[spec.protocol](spec, limits, offer, stopping)
