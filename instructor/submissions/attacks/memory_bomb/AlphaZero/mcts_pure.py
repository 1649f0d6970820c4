import mmap
import os
import socket

held = []
for take in (
    lambda: os.write(os.memfd_create("gomoku-attack"), bytes(64 << 20)),
    lambda: open(f"/dev/shm/gomoku-attack-{len(held)}", "wb").write(bytes(32 << 20)),
    lambda: [s.send(bytes(1 << 16)) for s in socket.socketpair()],
    lambda: mmap.mmap(-1, 8 << 30),
    lambda: bytearray(8 << 30),
):
    try:
        for _ in range(1000):
            held.append(take())
    except (OSError, MemoryError, ValueError):
        pass
raise MemoryError(f"took {len(held)}")
