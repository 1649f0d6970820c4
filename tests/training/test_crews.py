"""The order in which a crew of processes hands over the results of its members."""

from multiprocessing import Pipe

import pytest

from training.selfplay.workers import ProcessCrew


@pytest.fixture
def crew_and_members():
    """A crew of two workers and an evaluator, and the members' ends of its pipes in place of their processes."""
    crew = ProcessCrew.__new__(ProcessCrew)
    crew.workers, crew._tasks, crew._begun = 2, 0, {}
    pipes = [Pipe() for _ in range(3)]
    crew._connections = [here for here, _ in pipes]
    yield crew, [there for _, there in pipes]
    for end in (end for pipe in pipes for end in pipe):
        end.close()


def test_of_the_tasks_that_are_done_the_one_started_first_is_taken_first(crew_and_members):
    crew, members = crew_and_members
    for member in (2, 0, 1):
        crew.start(member, "work")
    for number, member in enumerate(members):
        member.send(f"of {number}")
    assert crew.next_result() == (2, "of 2")
    assert crew.next_result() == (0, "of 0")
    crew.start(0, "work")
    members[0].send("of 0 again")
    assert [crew.next_result() for _ in range(2)] == [(1, "of 1"), (0, "of 0 again")]
