"""Every sentence of the window and the terminal, in English and Chinese.

`say` fills a sentence in; what it mentions may come from players and files, so it is made harmless for a screen.
"""

from __future__ import annotations

import locale
import os

from common.harmless_text import on_screen

LANGUAGES = ("en", "zh")
MOST_OF_A_VALUE = 220  # characters of a name or an error that are shown

# The commands of the terminal that all games have.
COMMANDS = (
    "u takes back, r plays again, i gives a hint, w writes the game as SGF, o FILE opens one (o alone: the latest), n starts a "
    "new game, x one with the sides switched, q quits",
    "u 悔棋，r 重做，i 提示，w 保存为 SGF，o FILE 打开一局（只输入 o 则打开最近保存的），n 新对局，x 交换先后后新对局，q 退出",
)
WORDS: dict[str, tuple[str, str]] = {
    # who, and how the game stands
    "you": ("You", "你"),
    "ai": ("AI", "AI"),
    "person": ("Player {number}", "棋手 {number}"),
    "black": ("Black", "黑方"),
    "white": ("White", "白方"),
    "draws": ("Draws", "和棋"),
    "score": ("Score", "比分"),
    "not_counted": ("Not counted in the score", "本局不计入比分"),
    "your_turn": ("Your turn", "轮到你了"),
    "turn_of": ("{name} to move", "轮到{name}"),
    "thinking": ("{name} is thinking", "{name}正在思考"),
    "hinting": ("Looking for a hint", "正在寻找提示"),
    "you_win": ("You win", "你赢了"),
    "wins": ("{name} wins", "{name}获胜"),
    "draw": ("A draw", "和棋"),
    "is_paused": ("Paused", "已暂停"),
    "swapped": ("{name} swapped: all stones changed colour", "{name}选择了交换：所有棋子换了颜色"),
    "passes": ("{name} passes", "{name}停一手"),
    "resigns": ("{name} resigns", "{name}认输"),
    "black_cannot_move": ("Black has no legal move left and loses", "黑方已无合法着法，判负"),
    "white_cannot_move": ("White has no legal move left and loses", "白方已无合法着法，判负"),
    "black_by_points": (
        "Black {black}, White {white} + komi {komi} = {total}: Black wins by {margin}",
        "黑 {black}，白 {white} + 贴目 {komi} = {total}：黑方胜 {margin}",
    ),
    "white_by_points": (
        "Black {black}, White {white} + komi {komi} = {total}: White wins by {margin}",
        "黑 {black}，白 {white} + 贴目 {komi} = {total}：白方胜 {margin}",
    ),
    "equal_points": (
        "Black {black}, White {white} + komi {komi} = {total}: a draw",
        "黑 {black}，白 {white} + 贴目 {komi} = {total}：和棋",
    ),
    "captures": ("Captured: by Black {black}, by White {white}", "提子：黑方 {black}，白方 {white}"),
    "captured": ("captured {count}", "提子 {count}"),
    "move_of": ("Move {ply} of {all}", "第 {ply} 手，共 {all} 手"),
    "hint_is": ("Hint: {point}", "提示：{point}"),
    "hint_swap": ("Hint: swap", "提示：交换"),
    "hint_pass": ("Hint: pass", "提示：停一手"),
    "hint_resign": ("Hint: resign", "提示：认输"),
    "seconds": ("{seconds} s", "{seconds} 秒"),
    "playouts": ("{count} playouts", "{count} 次模拟"),
    # buttons
    "new": ("New game", "新对局"),
    "switch": ("Switch sides", "交换先后"),
    "undo": ("Undo", "悔棋"),
    "redo": ("Redo", "重做"),
    "hint": ("Hint", "提示"),
    "swap": ("Swap", "交换"),
    "pass": ("Pass", "停一手"),
    "pause": ("Pause", "暂停"),
    "go_on": ("Go on", "继续"),
    "save": ("Save", "保存"),
    "open": ("Open", "打开"),
    "shot": ("Picture", "截图"),
    "first": ("|<", "|<"),
    "back": ("<", "<"),
    "forward": (">", ">"),
    "last": (">|", ">|"),
    "overlay": ("Search", "搜索"),
    "reset": ("Reset score", "比分清零"),
    "help": ("Keys", "按键"),
    # overlays
    "visits": ("Visits", "访问次数"),
    "priors": ("Priors", "先验概率"),
    "values": ("Values", "价值"),
    "line": ("Line", "主要变化"),
    "caption": ("{what}: {of}", "{what}：{of}"),
    "search_before": ("the search before the last move", "上一手之前的搜索"),
    "search_now": ("the search of this position", "本局面的搜索"),
    "numbers_at": (
        "{point}: {visits} visits, prior {prior} %, value {value}",
        "{point}：访问 {visits} 次，先验 {prior} %，价值 {value}",
    ),
    "no_tree": ("no search tree to show yet", "还没有可以显示的搜索树"),
    "says": ("{name} says: {words}", "{name}报告：{words}"),
    "curve": ("Value for Black", "黑方价值"),
    # help
    "help_title": ("Keys", "按键"),
    "key_new": ("new game", "新对局"),
    "key_switch": ("switch sides", "交换先后"),
    "key_undo": ("take back", "悔棋"),
    "key_redo": ("play it again", "重做"),
    "key_hint": ("hint", "提示"),
    "key_swap": ("swap (white's second turn)", "交换（白方第二手）"),
    "key_pass": ("pass", "停一手"),
    "key_pause": ("pause, go on", "暂停，继续"),
    "key_step": ("step through the game", "逐手回看"),
    "key_here": ("play on from the move shown", "从显示的这一手继续"),
    "key_save": ("save the game as SGF", "保存为 SGF"),
    "key_open": ("open a saved game (or drop a file)", "打开保存的对局（或拖入文件）"),
    "key_shot": ("save a picture", "保存截图"),
    "key_overlay": ("visits, priors, values", "访问次数、先验、价值"),
    "key_line": ("principal line", "主要变化"),
    "key_numbers": ("move numbers", "显示手数"),
    "key_coordinates": ("coordinates", "显示坐标"),
    "key_help": ("this help", "本帮助"),
    "key_line_short": (
        "F1 keys   Z undo   Y redo   H hint   arrows: step   V search",
        "F1 按键   Z 悔棋   Y 重做   H 提示   方向键：回看   V 搜索",
    ),
    # what happened
    "saved": ("Saved as {path}", "已保存为 {path}"),
    "loaded": ("Opened {path}; press {button} to play on", "已打开 {path}；按 {button} 继续下"),
    "opened": ("Opened {path}", "已打开 {path}"),
    "open_title": ("Open a game", "打开对局"),
    "open_none": ("There are no .sgf files in {folder}", "{folder} 中没有 .sgf 文件"),
    "open_how": ("Press a number or click; Esc closes this list", "按数字键或点击；Esc 关闭列表"),
    "fault": ("{name} cannot go on: {error}. Undo, or start a new game.", "{name}无法继续：{error}。请悔棋或开始新对局。"),
    "illegal": (
        "{name} answered with an illegal move: {error}. Undo, or start a new game.",
        "{name}给出了非法着法：{error}。请悔棋或开始新对局。",
    ),
    # why something cannot be done
    "taken": ("The point {h},{w} is taken", "{h},{w} 处已有棋子"),
    "point_taken": ("The point {point} is taken", "{point} 处已有棋子"),
    "suicide": ("{point} would be suicide: your stone would have no liberty", "{point} 是自杀：落子后没有气"),
    "ko": ("{point} would retake the ko at once: play elsewhere first", "{point} 立即提回劫：请先在别处下"),
    "would_capture": ("{point} would capture, which NoGo forbids", "{point} 会提子，不围棋禁止提子"),
    "no_liberty": ("{point} would have no liberty, which NoGo forbids", "{point} 落子后没有气，不围棋禁止自杀"),
    "off_board": ("That is not a point of the {width}x{height} board", "那不是 {width}x{height} 棋盘上的点"),
    "not_central": (
        "Black's first stone must lie in the central 7x7 (rows and columns {first} to {last})",
        "黑方第一手必须在中央 7x7 内（行列 {first} 到 {last}）",
    ),
    "has_ended": ("The game has ended: start a new one, or undo", "对局已结束：请开始新对局或悔棋"),
    "in_trouble": ("The game cannot go on: undo, or start a new game", "对局无法继续：请悔棋或开始新对局"),
    "not_your_turn": ("It is not your turn", "还没有轮到你"),
    "viewing": (
        "You are looking at an earlier move: End returns, Enter plays on from here",
        "正在回看：End 返回，Enter 从这里继续",
    ),
    "not_viewing": ("Step back with the arrow keys first", "请先用方向键回看"),
    "no_swap": ("Only white may swap, as its answer to black's second stone", "只有白方可以交换，且只在黑方第二手之后"),
    "no_swap_here": ("There is no swap in this game", "本对局没有交换规则"),
    "no_pass_here": ("There is no pass in this game", "本对局不能停一手"),
    "nothing_to_undo": ("There is nothing to take back", "没有可以悔的棋"),
    "nothing_to_redo": ("Nothing was taken back", "没有可以重做的棋"),
    "no_hint": ("No player can give a hint here", "没有可以给出提示的棋手"),
    "hint_failed": ("No hint: {error}", "无法给出提示：{error}"),
    "other_board": ("This board is {wanted}; the game was played on {found}", "本棋盘为 {wanted}，该对局为 {found}"),
    "other_komi": ("The komi here is {wanted}; the game was played with {found}", "此处贴目为 {wanted}，该对局为 {found}"),
    "open_other_board": (
        "This board is {wanted}; the game was played on {found}: to open it, give --board {found}",
        "本棋盘为 {wanted}，该对局为 {found}；要打开它，请加上 --board {found}",
    ),
    "open_other_komi": (
        "The komi here is {wanted}; the game was played with {found}: to open it, give --komi {found}",
        "此处贴目为 {wanted}，该对局为 {found}；要打开它，请加上 --komi {found}",
    ),
    "bad_file": ("{error}", "{error}"),
    # the terminal
    "prompt": ("Your move ({typed} or ?): ", "请落子（{typed} 或 ?）："),
    "prompt_of": ("Move of {name} ({typed} or ?): ", "{name}请落子（{typed} 或 ?）："),
    "prompt_end": ("n, x, u, o, w, q or ?: ", "n、x、u、o、w、q 或 ?："),
    "terminal_help_nogo": (
        "d4 places a stone (column d, row 4 from the bottom); " + COMMANDS[0],
        "d4 落子（d 列，从下数第 4 行）；" + COMMANDS[1],
    ),
    "terminal_help_go": (
        "d4 places a stone (column d, row 4 from the bottom), pass passes; two passes in a row end the game, and all stones "
        "on the board then count as alive; " + COMMANDS[0],
        "d4 落子（d 列，从下数第 4 行），pass 停一手；连续两次停手终局，此时盘上的棋子都算活棋；" + COMMANDS[1],
    ),
    "terminal_help_gomoku": (
        "h,w places a stone (row from the bottom, column from the left); s swaps; " + COMMANDS[0],
        "h,w 落子（h 为从下数的行，w 为从左数的列）；s 交换；" + COMMANDS[1],
    ),
    "expected_move": (
        'expected an empty point such as "{example}", or ? for help; got {text}',
        "应输入空点，例如 “{example}”，或 ? 看帮助；收到 {text}",
    ),
    "plays": ("{name} plays {point}", "{name}下在 {point}"),
    "left": ("The game was left unfinished.", "对局未下完。"),
    "game_end": ("Game end. {result}", "对局结束。{result}"),
}


def say(language: str, key: str, **values: object) -> str:
    """Return a sentence with these values, which become harmless on a screen."""
    text = WORDS[key][LANGUAGES.index(language)]
    return text.format(**{name: on_screen(str(value))[:MOST_OF_A_VALUE] for name, value in values.items()})


def language_of_the_locale() -> str:
    """Return the language of this person's environment: zh if it says so, otherwise en."""
    said = next((text for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (text := os.environ.get(name))), None)
    if said is None:
        said = locale.getlocale()[0] or ""
    return "zh" if said.lower().startswith(("zh", "chinese")) else "en"
