"""How much time an answer is charged, and how long to wait for it; nothing else decides this.

An answer has three limits (`Allowance`). The first is CPU time, which only the program itself can use up. The second ends a
program that sleeps or hangs: it is wall-clock time minus the time that other programs withheld (`arena.engine.withheld`), so
a busy machine does not make an answer late. The third is plain wall-clock time, so that nothing waits forever. If an answer
reaches the third limit but neither of the others, nobody can tell whether it would have been in time: it is doubtful, and
nobody is to blame. Time in which this process itself stood still counts for none of them: a container or a virtual machine
that is paused stops the program as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import Protocol

from arena.engine.process import has_cpu_clock
from arena.engine.withheld import Withheld

LOOK_S = 0.2
SHORTEST_PAUSE_S = 0.01
LONGEST_STEP_S = 2.0  # between two looks; if a step takes longer, this process stood still, and perhaps the whole machine
LEAST_S = 0.1  # a question is not sent with less time than this left for it
# The third limit is this many times the second. If nine other programs want the core, a tenth of it is left.
PATIENCE = 10


class TimedProgram(Protocol):
    """A running program whose answers are timed."""

    withheld: Withheld

    @property
    def known(self) -> set[int]:
        """The process ids of the program that are known without a search."""

    def cpu_s(self) -> float:
        """Return the CPU seconds used so far by all processes of the program."""


@dataclass(frozen=True)
class Spent:
    """The seconds that an answer took; `cpu_s` and `withheld_s` are 0 if the system does not report them.

    Attributes:
        wall_s: from the question to the answer, without time in which this process stood still.
        cpu_s: CPU time of all processes of the program.
        withheld_s: the part of `wall_s` in which the program wanted a core that other programs had.
    """

    wall_s: float = 0.0
    cpu_s: float = 0.0
    withheld_s: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        """Return what two parts of an answer took together."""
        return Spent(self.wall_s + other.wall_s, self.cpu_s + other.cpu_s, self.withheld_s + other.withheld_s)


@dataclass(frozen=True)
class Allowance:
    """How much time one answer may take.

    Attributes:
        cpu_s: seconds of CPU time; None if only wall-clock time counts, in which case withheld time counts too.
        wall_s: wall-clock seconds, not counting those that other programs withheld.
        longest_s: wall-clock seconds in total.
    """

    cpu_s: float | None
    wall_s: float
    longest_s: float

    def after(self, spent: Spent) -> Allowance:
        """Return what is left for the rest of an answer, at least LEAST_S of each, when its first parts have taken `spent`."""
        charged_s = spent.wall_s if self.cpu_s is None else spent.wall_s - spent.withheld_s
        return Allowance(
            None if self.cpu_s is None else max(LEAST_S, self.cpu_s - spent.cpu_s),
            max(LEAST_S, self.wall_s - charged_s),
            max(LEAST_S, self.longest_s - spent.wall_s),
        )


def cpu_allowance(cpu_s: float, wall_s: float | None = None) -> Allowance:
    """Allow an answer `cpu_s` CPU seconds, and `wall_s` wall-clock seconds (by default twice `cpu_s` plus one).

    If the system does not report CPU time, allow `cpu_s` wall-clock seconds.
    """
    if not has_cpu_clock():
        return wall_allowance(cpu_s)
    wall_s = 2 * cpu_s + 1 if wall_s is None else wall_s
    return Allowance(cpu_s, wall_s, PATIENCE * wall_s)


def wall_allowance(wall_s: float) -> Allowance:
    """Allow an answer `wall_s` wall-clock seconds, whatever CPU time it takes."""
    return Allowance(None, wall_s, wall_s)


class OutOfTime(Exception):
    """Raised when an answer has used up its time.

    Attributes:
        spent: the time spent so far.
        doubtful: whether other programs may be to blame.
    """

    def __init__(self, spent: Spent, doubtful: bool) -> None:
        super().__init__(f"no answer after {spent.wall_s:.1f} s of wall-clock time and {spent.cpu_s:.2f} s of CPU time")
        self.spent, self.doubtful = spent, doubtful


class Stopwatch:
    """A stopwatch for one answer, which starts when it is created.

    Args:
        tree: the program.
        allowance: how much time the answer may take.
        charged_s: CPU seconds that the program has already been charged for; None for all that it has used so far.

    Attributes:
        charged_s: the argument of this name; `stop` adds the CPU seconds of this answer.
    """

    def __init__(self, tree: TimedProgram, allowance: Allowance, charged_s: float | None = None) -> None:
        self.allowance = allowance
        self.charged_s = tree.cpu_s() if charged_s is None else charged_s
        self._tree = tree
        self._looked = self._overdue = False
        self._due_s = min(LOOK_S, allowance.wall_s, allowance.cpu_s or LOOK_S)
        tree.withheld.begin(tree.known)
        self._started_s = self._noticed_s = monotonic()
        self._stood_still_s = 0.0

    @property
    def passed_s(self) -> float:
        """The wall-clock seconds since the start, without those in which this process is known to have stood still."""
        return monotonic() - self._started_s - self._stood_still_s

    def _notice(self) -> None:
        """Notice whether this process has stood still since the last call; callers wait no longer than `pause_s`."""
        now = monotonic()
        self._stood_still_s += max(0.0, now - self._noticed_s - LONGEST_STEP_S)
        self._noticed_s = now

    @property
    def pause_s(self) -> float:
        """The seconds until the next look is due; 0 if it is due now."""
        return max(0.0, self._due_s - self.passed_s)

    def look(self) -> None:
        """If a look is due, check whether the answer has time left.

        Callers must read the program's output between two looks. This process may itself have waited for a core although the
        answer arrived in time, so the first look that finds no wall-clock time left does not raise yet.

        Raises:
            OutOfTime: the answer has no time left.
        """
        self._notice()
        if self.pause_s > 0:
            return
        self._looked = True
        allowance, cpu_s = self.allowance, self._cpu_s
        self._tree.withheld.look(cpu_s)
        spent = self._spent(cpu_s, exact=False)
        if spent.wall_s - spent.withheld_s > allowance.wall_s:
            spent = self._spent(cpu_s, exact=True)
        charged_s = spent.wall_s if allowance.cpu_s is None else spent.wall_s - spent.withheld_s
        out_of_cpu = allowance.cpu_s is not None and spent.cpu_s > allowance.cpu_s
        late, doubtful = charged_s > allowance.wall_s, spent.wall_s > allowance.longest_s
        if out_of_cpu or (self._overdue and (late or doubtful)):
            raise OutOfTime(spent, doubtful=not (out_of_cpu or late))
        self._overdue = late or doubtful
        left_s = [LOOK_S, allowance.wall_s - charged_s, allowance.longest_s - spent.wall_s]
        if allowance.cpu_s is not None:
            left_s.append(allowance.cpu_s - spent.cpu_s)
        self._due_s = spent.wall_s + max(SHORTEST_PAUSE_S, min(left_s))

    def stop(self) -> Spent:
        """End the timing, once the program has been stopped, and return how much time the answer took."""
        self._notice()
        cpu_s = self._cpu_s
        self._tree.withheld.glance(cpu_s)
        spent = self._spent(cpu_s, exact=self._looked)
        self.charged_s += spent.cpu_s
        return spent

    @property
    def _cpu_s(self) -> float:
        return max(0.0, self._tree.cpu_s() - self.charged_s)

    def _spent(self, cpu_s: float, exact: bool) -> Spent:
        wall_s = self.passed_s
        return Spent(wall_s, cpu_s, max(0.0, min(self._tree.withheld.seconds(cpu_s, exact), wall_s - cpu_s)))
