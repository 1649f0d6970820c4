"""How long a submission may occupy the grader: a deadline for each check, and a budget for all checks in total.

The time limit of a single answer is enforced where the answer is requested (`arena.engine.stopwatch`). A program that stays
just below each of those limits could still hold up a class for a day, so the process that started the checks keeps count too.
Its count hardly depends on how busy the machine is: it is wall-clock time less the share that other programs withheld. That
share is the time for which threads waited for a core, divided by the time for which they waited or ran. A sleeping program
does neither.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic

from arena.engine.process import Descendants
from arena.engine.withheld import Core, core_times, has_run_delays, most_withheld_s, run_delays, used_since

LOOK_S = 1.0
LONGEST_STEP_S = 10.0  # between two looks; if a step takes longer, the machine has been asleep
LEAST_SHARE = 0.1  # share of the wall-clock time that is always charged, so that every run ends


@dataclass
class Spending:
    """The time that a tree of processes has used; call `look` often.

    Attributes:
        used_s: wall-clock seconds used, minus those that other programs withheld.
    """

    tree: Descendants
    used_s: float = 0.0
    _at_s: float = field(default_factory=lambda: monotonic())
    _cpu_s: float = 0.0
    _cores: dict[int, Core] = field(default_factory=lambda: core_times())
    _delays: dict[int, float] = field(default_factory=dict)

    def look(self) -> None:
        """Count the time since the last look, once it is long enough to be measured."""
        now = monotonic()
        if now - self._at_s < LOOK_S:
            return
        cpu_s, cores, delays = self.tree.cpu_s(), core_times(), dict(run_delays(self.tree.members()))
        passed_s, own_s = min(now - self._at_s, LONGEST_STEP_S), max(0.0, cpu_s - self._cpu_s)
        withheld_s = most_withheld_s(used_since(self._cores, cores), own_s)
        if has_run_delays():
            waited_s = sum(delay - self._delays.get(thread, 0.0) for thread, delay in delays.items())
            withheld_s = min(withheld_s, passed_s * max(0.0, waited_s) / max(waited_s + own_s, 1e-9))
        self.used_s += max(LEAST_SHARE * passed_s, passed_s - withheld_s)
        self._at_s, self._cpu_s, self._cores, self._delays = now, cpu_s, cores, delays


class Budget:
    """The deadlines of one grading run: one for all checks in total, and one for the check that is running.

    Args:
        budget_s: seconds for all checks in total.
        deadlines_s: check -> seconds.
        used_s: seconds that the run used before it was killed.
    """

    def __init__(self, budget_s: float, deadlines_s: dict[str, float], used_s: float = 0.0) -> None:
        self.budget_s = budget_s
        self._deadlines_s = deadlines_s
        self._used_s = used_s  # by the process trees that have ended
        self._spending = Spending(Descendants(0))
        self._check, self._begun_s = "", 0.0

    @property
    def used_s(self) -> float:
        """Seconds used so far."""
        return self._used_s + self._spending.used_s

    def watch(self, pid: int) -> None:
        """From now on, count the time that this process and its descendants use."""
        self._used_s, self._spending, self._check = self.used_s, Spending(Descendants(pid)), ""

    def overrun(self, check: str) -> str:
        """Return why the running check must be stopped, as the end of a sentence, or an empty string if it may go on.

        Args:
            check: the running check; an empty string before the first one.
        """
        self._spending.look()
        if check != self._check:
            self._check, self._begun_s = check, self.used_s
        if self.spent:
            return f"the submission used up its budget of {minutes(self.budget_s)}"
        deadline_s = self._deadlines_s.get(check, self.budget_s)
        if self.used_s - self._begun_s > deadline_s:
            return f"it used up its limit of {minutes(deadline_s)}"
        return ""

    @property
    def spent(self) -> bool:
        """Whether the budget is used up."""
        return self.used_s > self.budget_s


def minutes(seconds: float) -> str:
    """Return a duration in words, such as `90 minutes`; durations below two minutes are given in seconds."""
    return f"{seconds / 60:g} minutes" if seconds >= 120 else f"{seconds:g} seconds"
