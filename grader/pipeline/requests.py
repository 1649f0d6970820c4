"""Requests to grade finished submissions again (`grade --again`): the same command continues one that was interrupted.

`.again` in the folder of the results holds each unfinished request, named by a digest of what it asks for. The id of a request
is in `run.json` of each run that was made for it, so that no submission is graded twice for one request.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from common.files import write_whole
from grader.pipeline.order import Order

REQUESTS = ".again"


def interrupted_request(names: Sequence[str], order: Order) -> str:
    """Return the id of the interrupted request that this command would continue with `--again`, or an empty string."""
    return _interrupted(order.out).get(_asked(names, order), "")


@contextmanager
def keeping_request(names: Sequence[str], order: Order) -> Iterator[Order]:
    """Yield the order with the id of its request, if it is one; the request is kept unless the block comes to its end.

    Args:
        order: with the id of the interrupted request, if there is one.
    """
    if not order.again:
        yield order
        return
    request = order.request or secrets.token_hex(8)
    _write(order.out, {**_interrupted(order.out), _asked(names, order): request})
    yield replace(order, request=request)
    others = {asked: one for asked, one in _interrupted(order.out).items() if one != request}
    _write(order.out, others)


def _asked(names: Sequence[str], order: Order) -> str:
    """Return a digest of the submissions and of everything in an order that says how they are graded."""
    how = (order.assignment.id, order.profile, order.sandbox.level, order.seed, order.looked_at, order.whole_match)
    return hashlib.sha256(json.dumps([sorted(names), *how, str(order.regrade)]).encode()).hexdigest()


def _interrupted(out: Path) -> dict[str, str]:
    """Return what was asked -> the id of the request; empty if there is no record or it is damaged."""
    try:
        found = json.loads((out / REQUESTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(out: Path, requests: dict[str, str]) -> None:
    if requests:
        write_whole(out / REQUESTS, json.dumps(requests, indent=1))
    else:
        (out / REQUESTS).unlink(missing_ok=True)
