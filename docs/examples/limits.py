"""The table of limits in the handout: time, memory and sizes, each read where the grader defines it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from arena.engine.engine_process import Limits
from arena.engine.stopwatch import cpu_allowance
from docs.examples.text import Language, chosen, table
from grader.assignment_file import load_assignment
from grader.judge.support.own_search import CALL_LIMIT_S
from grader.pipeline import archive, engine_build, notebook_cells, run, submission

PROFILES = ("check", "quick", "full")
"""The profiles that students use, in the order in which a row shows their values."""
MIB = 1 << 20
Text = tuple[str, str]  # in English and in Chinese

INIT_FAILED = ("`init_failed`: the game is lost", "`init_failed`：这一局判负")
TIMEOUT = ("`timeout`: the game is lost", "`timeout`：这一局判负")
NO_MEMORY = ("there is no more memory, and most programs end", "得不到更多内存，多数程序会因此退出")
NOT_COMPILED = ("the engine counts as not compiled", "视为编译失败")
FAILED = ("the check fails", "这个检查项不得分")
UNDECIDED = ("*could not be graded*", "*无法评分*")
ENDED = ("the program is ended", "程序被结束")
REFUSED = ("the archive is refused", "压缩包被拒收")
NOT_SHOWN = ("the person who marks does not see it", "评阅人看不到它")


class Limit(NamedTuple):
    """One limit.

    Attributes:
        values: a single one, or one for each of the profiles.
        unit: a key of UNITS.
        beyond: what happens beyond it.
    """

    what: Text
    values: Sequence[float]
    unit: str
    beyond: Text


UNITS = {
    "cpu": ("{} s of CPU time, {} s of wall-clock time", "CPU 时间 {} 秒，实际时间 {} 秒"),
    "s": ("{} s", "{} 秒"),
    "min": ("{} minutes", "{} 分钟"),
    "MiB": ("{} MiB", "{} MiB"),
    "": ("{}", "{}"),
}
"""Unit -> a limit in this unit; with "cpu", the second number is the wall-clock time that belongs to the CPU time."""


def limits() -> Iterator[Limit]:
    """Yield the limits that a student meets: of the engine, of Python, of grading as a whole, of an archive."""
    assignment = load_assignment()
    profiles = [assignment.profile(name) for name in PROFILES]
    matches, trainings = [profile.match for profile in profiles], [profile.training for profile in profiles]
    allowed = assignment.limits

    yield Limit(("compiling the engine (4.3)", "编译引擎 (4.3)"), [assignment.compile_limit_s], "cpu", NOT_COMPILED)
    yield Limit(("memory of the compiler", "编译器的内存"), [engine_build.COMPILER_MEMORY_MIB], "MiB", NOT_COMPILED)
    written = ("a file that the compiler writes", "编译器写出的一个文件")
    yield Limit(written, [engine_build.COMPILER_FILE_MIB], "MiB", NOT_COMPILED)
    yield Limit(("the engine's name, after its start (4.1)", "引擎启动后给出名字 (4.1)"), [Limits().init_s], "cpu", INIT_FAILED)
    answer = ("an answer of the engine (4.2)", "引擎的一次回答 (4.2)")
    yield Limit(answer, [match.limit_s for match in matches], "cpu", TIMEOUT)
    told = ("time per move to plan for, `GOMOKU_MOVE_TIME_S` (4.3)", "每步可以安排的时间，`GOMOKU_MOVE_TIME_S` (4.3)")
    up_to_the_answer = ("nothing, up to the limit of an answer", "在一次回答的时限之内没有影响")
    yield Limit(told, [match.move_s for match in matches], "s", up_to_the_answer)
    yield Limit(("memory of the engine (4.2)", "引擎的内存 (4.2)"), [allowed.engine_memory_mib], "MiB", NO_MEMORY)
    yield Limit(
        ("games of the match (4.4)", "比赛的局数 (4.4)"),
        [match.games for match in matches],
        "",
        ("the match is over", "比赛结束"),
    )
    yield Limit(("the whole match (4.4)", "整场比赛 (4.4)"), [match.minutes for match in matches], "min", UNDECIDED)

    call = ("a call of your Python (5.1 to 5.4)", "对你的 Python 的一次调用 (5.1 至 5.4)")
    yield Limit(call, [profile.call_limit_s for profile in profiles], "cpu", FAILED)
    part = ("a call of your Python in training, such as a game (5.5)", "训练中对你的 Python 的一次调用，例如下一局棋 (5.5)")
    yield Limit(part, [CALL_LIMIT_S], "cpu", FAILED)
    yield Limit(("memory of your Python", "你的 Python 的内存"), [allowed.worker_memory_mib], "MiB", NO_MEMORY)
    seeds = ("training runs, each with another seed (5.5)", "训练的次数，每次换一个种子 (5.5)")
    yield Limit(seeds, [training.seeds for training in trainings], "", ("the best network counts", "以最好的网络计分"))
    games = ("games of a training run (5.5)", "一次训练的局数 (5.5)")
    yield Limit(games, [training.max_games for training in trainings], "", ("the next run begins", "开始下一次训练"))
    each = ("each check of the training (5.5)", "训练的每个检查项 (5.5)")
    yield Limit(each, [training.minutes for training in trainings], "min", UNDECIDED)
    cell = ("a cell of a warm-up notebook (2)", "热身 notebook 的一个单元格 (2)")
    yield Limit(cell, [notebook_cells.CELL_LIMIT_S], "cpu", ("the cells below it do not run", "下面的单元格不再运行"))
    cells = ("CPU time of all cells of a notebook (2)", "一个 notebook 全部单元格的 CPU 时间 (2)")
    yield Limit(cells, [notebook_cells.CPU_LIMIT_S], "s", ENDED)

    other = ("every other check", "其他每个检查项")
    yield Limit(other, [profile.check_minutes for profile in profiles], "min", UNDECIDED)
    together = ("all checks together", "全部检查项合计")
    yield Limit(together, [profile.budget_minutes for profile in profiles], "min", UNDECIDED)
    yield Limit(("CPU time of one process", "一个进程的 CPU 时间"), [run.PROCESS_CPU_S / 60], "min", ENDED)
    threads = ("threads of your programs at the same time", "你的程序同时运行的线程数")
    yield Limit(threads, [allowed.processes], "", ("no further thread starts", "不能再启动线程"))
    written = ("a file that your program writes", "你的程序写出的一个文件")
    yield Limit(written, [allowed.file_size_mib], "MiB", ("it cannot grow further", "不能再增大"))

    ignored = ("the file is ignored", "这个文件被忽略")
    yield Limit(("a collected file (3)", "一个会被收取的文件 (3)"), [submission.MAX_FILE_BYTES / MIB], "MiB", ignored)
    collected = ("all collected files together (3)", "会被收取的文件合计 (3)")
    yield Limit(collected, [submission.MAX_TOTAL_BYTES / MIB], "MiB", REFUSED)
    yield Limit(("a file of the report (6)", "报告的一个文件 (6)"), [submission.MAX_REPORT_BYTES / MIB], "MiB", NOT_SHOWN)
    report = ("all files of the report together (6)", "报告的全部文件合计 (6)")
    yield Limit(report, [submission.MAX_REPORTS_BYTES / MIB], "MiB", NOT_SHOWN)
    yield Limit(("number of files of the report (6)", "报告的文件数 (6)"), [submission.MAX_REPORTS], "", NOT_SHOWN)
    entries = ("files and folders in the archive (3)", "压缩包里的文件和文件夹数 (3)")
    yield Limit(entries, [archive.MAX_ENTRIES], "", REFUSED)
    tar = ("the content of a `.tar`, compressed or not (3)", "`.tar` 的内容，无论是否压缩 (3)")
    yield Limit(tar, [archive.MAX_UNPACKED_BYTES / MIB], "MiB", REFUSED)


def table_of_limits(language: Language) -> str:
    """Return the limits as a table."""
    header = [
        chosen(language, "What", "限制什么"),
        chosen(language, "Limit", "限制"),
        chosen(language, "Beyond it", "超过之后"),
    ]
    rows = [(chosen(language, *each.what), _amount(each, language), chosen(language, *each.beyond)) for each in limits()]
    return table(header, rows, "lll")


def _amount(limit: Limit, language: Language) -> str:
    numbers = [_shown(limit.values)]
    if limit.unit == "cpu":
        numbers.append(_shown([cpu_allowance(seconds).wall_s for seconds in limit.values]))
    return chosen(language, *UNITS[limit.unit]).format(*numbers)


def _shown(values: Sequence[float]) -> str:
    """Return one number if all are equal, otherwise those of `check`, `quick` and `full`."""
    return " / ".join(f"{value:.10g}" for value in (values if len(set(values)) > 1 else values[:1]))
