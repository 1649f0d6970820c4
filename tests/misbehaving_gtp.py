"""A GTP engine that follows the protocol until the genmove at which it is to break it: `misbehaving_gtp.py FAULT [ANSWER]`.

It plays the points of the board in order and does not look at the game. ANSWER is the number of the genmove, from 1. The fault
`small_letters` and others that a client must accept hold for all answers.
"""

import os
import subprocess
import sys
import time

fault = sys.argv[1] if len(sys.argv) > 1 else "none"
at = int(sys.argv[2]) if len(sys.argv) > 2 else 1
COMMANDS = ["protocol_version", "name", "version", "list_commands", "boardsize", "clear_board", "play", "genmove", "quit"]
VALUES = {"protocol_version": "2", "name": "Fault", "version": "1.0\x07"}
LETTERS = "ABCDEFGHJ"


def say(text):
    sys.stdout.write(text)
    sys.stdout.flush()


if fault == "flood_stderr":
    os.write(2, b"noise\n" * 200_000)
if fault == "child":
    subprocess.Popen(["sleep", "60"], start_new_session=True)
if fault == "version_1":
    VALUES["protocol_version"] = "1"
if fault == "few_commands":
    COMMANDS.remove("genmove")

taken, answers, size = set(), 0, 9
for line in sys.stdin:
    number, name, *arguments = line.split()
    if fault == "slow":
        time.sleep(0.15)
    text = VALUES.get(name, "")
    if name == "list_commands":
        text = "\n".join(COMMANDS)
    elif name == "boardsize":
        size = int(arguments[0])
    elif name == "play":
        if fault == "refuse_play":
            say(f"?{number} illegal move\n\n")
            continue
        taken.add(arguments[1].upper())
    elif name == "genmove":
        points = [f"{column}{row + 1}" for row in range(size) for column in LETTERS[:size]]
        text = next((point for point in points if point not in taken), "pass")
        answers += 1
        if answers == at:
            if fault == "no_blank_line":
                say(f"={number} {text}\n")
                continue
            if fault == "wrong_id":
                number = int(number) + 7
            elif fault == "no_id":
                number = ""
            elif fault == "giant_line":
                text = "A" * 1_000_000
            elif fault == "giant_answer":
                text = "\n".join(["A1"] * 100_000)
            elif fault == "exit":
                sys.exit(3)
            elif fault == "flood":
                while True:
                    os.write(1, b"\n" * 4096)
            elif fault == "sleep":
                time.sleep(60)
            elif fault == "words":
                text = "my move is A1"
            elif fault == "off_board":
                text = "T19"
            elif fault == "letter_i":
                text = "I5"
            elif fault == "taken":
                text = sorted(taken)[0] if taken else text
            elif fault == "resign":
                text = "RESIGN"
            elif fault == "pass":
                text = "Pass"
            elif fault == "refuse":
                say(f"?{number} unknown command\n\n")
                continue
            elif fault == "no_sign":
                say(f"{text}\n\n")
                continue
        taken.add(text.upper())
    if fault == "small_letters":
        text = text.lower()
    if fault == "carriage_returns":
        say("\r\n" + f"={number} {text}\r\n\r\n\r\n")
        continue
    say(f"={number} {text}\n\n")
    if fault == "unasked" and name == "genmove" and answers == at:
        say("= A9\n\n")
    if name == "quit":
        break
