"""Waiting for what other processes do, however busy the machine is."""

import time

GUARDIAN_S = 10  # in which the engines of a match that a test beside this one kills are ended on a busy machine
PATIENCE_S = 60  # for what is sure to come, so that a test which waits in vain fails and does not hang


def eventually(condition, within_s=GUARDIAN_S):
    """Return whether the condition comes true in this time."""
    until = time.monotonic() + within_s
    while not (met := condition()) and time.monotonic() < until:
        time.sleep(0.01)
    return bool(met)
