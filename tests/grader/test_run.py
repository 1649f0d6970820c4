"""What a run records of its checks, whatever a submission makes of a verdict and whatever a kill leaves."""

import numpy as np
import pytest

from grader.confinement.sandbox import Sandbox
from grader.pipeline.order import Identity
from grader.pipeline.results import FAILED, PASSED, VERDICTS, Verdict
from grader.pipeline.run import Run, RunRecord


@pytest.fixture
def run(assignment, tmp_path):
    checks = tuple(check.id for check in assignment.checks)
    RunRecord(Identity("work", "digest", "smoke", "namespaces", "grader", checks), 1).write(tmp_path)
    return Run(tmp_path, assignment, Sandbox("namespaces", False))


def recursive():
    evidence = {}
    evidence["itself"] = evidence
    return evidence


@pytest.mark.parametrize("evidence", [{"played": [np.int64(4)]}, {1.5j: 0}, recursive()], ids=["number", "key", "circle"])
def test_evidence_that_cannot_be_written_costs_no_verdict(run, assignment, evidence):
    first, second = assignment.checks[:2]
    run.record(Verdict.of(first, FAILED, "A child on a stone.", evidence=evidence))
    run.record(Verdict.of(second, PASSED, "As expected.", second.points))
    assert [verdict.status for verdict in run.verdicts.values()] == [FAILED, PASSED]
    assert set(run.verdicts[first.id].evidence) == {"unwritable"}


def test_a_line_that_a_kill_cut_off_does_not_swallow_the_next_verdict(run, assignment):
    first, second = assignment.checks[:2]
    run.record(Verdict.of(first, PASSED, "As expected.", first.points))
    (run.folder / VERDICTS).write_bytes((run.folder / VERDICTS).read_bytes() + b'{"id": "cut')
    run.record(Verdict.of(second, PASSED, "As expected.", second.points))
    assert list(run.verdicts) == [first.id, second.id]
