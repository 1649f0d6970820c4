import os

while True:
    os.write(1, b"\x1b[2J\x1b]0;owned\x07" * 4096)
    os.write(2, b"x" * 65536)
