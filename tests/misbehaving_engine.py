"""An engine that plays by the rules until the answer at which it is to break them: `misbehaving_engine.py FAULT [ANSWER]`.

Its stones lie apart from each other, so that they do not make five by accident early in the game. ANSWER is the number of the
engine's answer, from 1.
"""

import os
import signal
import subprocess
import sys
import threading
import time

fault = sys.argv[1] if len(sys.argv) > 1 else "none"
at = int(sys.argv[2]) if len(sys.argv) > 2 else 2


THOUGHT_S = 0.4
BURN = "while True: pass"


def think():
    until = time.process_time() + THOUGHT_S
    while time.process_time() < until:
        pass


def say(text):
    sys.stdout.write(text)
    sys.stdout.flush()


if fault == "crash_at_init":
    sys.exit("no memory for my tables")
if fault == "silent_at_init":
    time.sleep(60)
if fault == "ignore_sigterm":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if fault == "leave_child":
    subprocess.Popen(["sleep", "60"], start_new_session=True)
if fault == "flood_stderr":
    os.write(2, b"noise\n" * 200_000)

if fault == "ponder":
    threading.Thread(target=exec, args=(BURN, {}), daemon=True).start()
if fault == "daemon":
    # Twice removed and in a session of its own; only its environment still tells whose it is.
    code = f"import os\nos.setsid()\nif os.fork() == 0: os.execvp({sys.executable!r}, ['py', '-S', '-c', {BURN!r}])"
    subprocess.run([sys.executable, "-S", "-c", code], check=True)
if fault == "wiped":
    # Only its parent still tells whose it is.
    subprocess.Popen([sys.executable, "-S", "-c", BURN], env={}, start_new_session=True)

side = int(sys.stdin.readline())
name = {"nameless": "", "empty_line": "\n" + fault}.get(fault, fault)
say(name + "\n" + ("7 7\n" if fault == "early_word" else ""))

# Knight's moves apart: no two of these points lie on a line of five.
points = [((4 + 3 * i + 5 * (i // 5)) % 15, (5 + 7 * i) % 15) for i in range(225)]
if side == 1:
    points = [(y, x) for x, y in points]
points.insert(0, (7, 7 - side))
taken, answers, mine = set(), 0, []
for line in sys.stdin:
    x, y = map(int, line.split())
    if (x, y) != (-1, -1):
        taken.add((x, y))
    answers += 1
    move = next(point for point in points if point not in taken)
    if fault == "win":
        move = next((10, y) for y in range(4, 11) if (10, y) not in taken)
    if answers == at:
        if fault == "occupied":
            move = next(iter(taken))
        elif fault == "off_board":
            move = (15, 3)
        elif fault == "negative":
            move = (-2, 3)
        elif fault in ("swap", "swap_twice"):
            move = (-1, -1)
        elif fault == "corner":
            move = (0, 0)
        elif fault == "words":
            say("my move is 3 3\n")
            continue
        elif fault == "three_numbers":
            say("3 3 3\n")
            continue
        elif fault == "no_newline":
            say("3 3")
            continue
        elif fault == "huge_line":
            say("3" * 100_000 + "\n")
            continue
        elif fault in ("late", "ignore_sigterm"):
            time.sleep(60)
        elif fault == "think":
            think()
        elif fault == "think_and_sleep":
            think()
            time.sleep(60)
        elif fault == "child_thinks":
            subprocess.run([sys.executable, "-S", "-c", f"import time\nwhile time.process_time() < {THOUGHT_S}: pass"])
        elif fault == "children_forgotten":
            # The kernel waits for the children itself, and counts their time nowhere.
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            for _ in range(3):
                reading, writing = os.pipe()
                if os.fork() == 0:
                    think()
                    os._exit(0)
                os.close(writing)
                os.read(reading, 1)  # until the child has ended
                os.close(reading)
        elif fault == "allocate":
            memory = bytearray(1 << 30)
        elif fault == "exit":
            sys.exit(3)
        elif fault == "exit_but_child":
            subprocess.Popen(["sleep", "60"])
            sys.exit(3)
        elif fault == "abort":
            os.abort()
        elif fault == "close_stdout":
            os.close(1)
            time.sleep(60)
    if fault == "swap_twice" and answers == at + 1:
        move = (-1, -1)
    if move != (-1, -1):
        taken.add(move)
    say(f"{move[0]} {move[1]}\n")
