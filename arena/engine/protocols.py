"""The class that speaks each protocol."""

from __future__ import annotations

import threading

from arena.engine.engine_process import EngineProcess, EngineSpec, GameOffer, Limits
from arena.engine.gomocup_engine import GomocupEngine

BY_PROTOCOL: dict[str, type[EngineProcess]] = {"course": EngineProcess, "gomocup": GomocupEngine}


def open_engine(
    spec: EngineSpec, limits: Limits, offer: GameOffer | None = None, stopping: threading.Event | None = None
) -> EngineProcess:
    """Create the engine for a seat, without starting it."""
    return BY_PROTOCOL[spec.protocol](spec, limits, offer, stopping)
