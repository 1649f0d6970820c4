"""What an answer is charged, and when it is no longer waited for: the one place that decides this.

An answer has three limits (`Allowance`). CPU time is the first, and nobody but the program itself can use that up. The second
ends a program that sleeps or hangs: wall-clock time, less what other programs withheld (`arena.engine.withheld`), so that a
busy machine makes no answer late. The third is wall-clock time without any reduction, so that nothing waits for ever. Where
an answer reaches the third one and neither of the others, nobody can tell whether it would have been in time: that is doubtful
and nobody's fault.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from time import monotonic
from typing import Protocol

from arena.engine.process import has_cpu_clock
from arena.engine.withheld import Withheld

LOOK_S = 0.2
SHORTEST_PAUSE_S = 0.01
# Times the second limit: the third. Nine other programs that want the core leave a tenth of it.
PATIENCE = 10


class Timed(Protocol):
    """A running program whose answers are timed."""

    withheld: Withheld

    @property
    def known(self) -> set[int]:
        """Its process ids as far as they are known without a search."""

    def cpu_s(self) -> float:
        """CPU seconds used so far by all its processes."""


@dataclass(frozen=True)
class Allowance:
    """What one answer may take.

    Attributes:
        cpu_s: seconds of CPU time; None where wall-clock time is what counts, and then none of it is taken off.
        wall_s: seconds of wall clock without those that other programs withheld.
        longest_s: seconds of wall clock in all.
    """

    cpu_s: float | None
    wall_s: float
    longest_s: float


@cache
def cpu_allowance(cpu_s: float, wall_s: float | None = None) -> Allowance:
    """An answer of so many CPU seconds; of wall clock twice as many and a second, or `wall_s`.

    Where the system does not show CPU time, so many seconds by the wall clock.
    """
    if not has_cpu_clock():
        return wall_allowance(cpu_s)
    wall_s = 2 * cpu_s + 1 if wall_s is None else wall_s
    return Allowance(cpu_s, wall_s, PATIENCE * wall_s)


def wall_allowance(wall_s: float) -> Allowance:
    """An answer of so many seconds by the wall clock alone."""
    return Allowance(None, wall_s, wall_s)


@dataclass(frozen=True)
class Spent:
    """Seconds that one answer took; the last two are 0 where the system does not tell.

    Attributes:
        wall_s: from the question to the answer.
        cpu_s: CPU time of all the program's processes.
        withheld_s: of `wall_s`, the time in which the program wanted a core and other programs had it.
    """

    wall_s: float = 0.0
    cpu_s: float = 0.0
    withheld_s: float = 0.0


class OutOfTime(Exception):
    """An answer is no longer waited for.

    Attributes:
        spent: on waiting for it.
        doubtful: whether other programs may be to blame.
    """

    def __init__(self, spent: Spent, doubtful: bool) -> None:
        super().__init__(f"no answer after {spent.wall_s:.1f} s of wall clock and {spent.cpu_s:.2f} s of CPU time")
        self.spent, self.doubtful = spent, doubtful


class Stopwatch:
    """Times one answer; it runs from the moment it is made.

    Args:
        tree: the program.
        allowance: of the answer.
        charged_s: CPU seconds of the program that are not this answer's; those that it has used by now if None.

    Attributes:
        charged_s: the same, `stop` adding this answer's.
    """

    def __init__(self, tree: Timed, allowance: Allowance, charged_s: float | None = None) -> None:
        self.allowance = allowance
        self.charged_s = tree.cpu_s() if charged_s is None else charged_s
        self._tree = tree
        self._looked = self._overdue = False
        self._due_s = min(LOOK_S, allowance.wall_s, allowance.cpu_s or LOOK_S)
        tree.withheld.begin(tree.known)
        self._started_s = monotonic()

    @property
    def passed_s(self) -> float:
        """Seconds of wall clock since it was made."""
        return monotonic() - self._started_s

    @property
    def pause_s(self) -> float:
        """Seconds until the next look is due; 0 if it is."""
        return max(0.0, self._due_s - self.passed_s)

    def look(self) -> None:
        """See whether there is time left for the answer, if it is due to be seen again.

        Read what has come between two looks. This process may itself have waited for a core while the answer came in time, so
        that the first look for which there is no wall clock left lets it be read.

        Raises:
            OutOfTime: there is none.
        """
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
        """What the answer took; the program rests from now on."""
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
