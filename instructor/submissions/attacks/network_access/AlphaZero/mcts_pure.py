import socket

reached = []
for family, kind, address in (
    (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 27011)),
    (socket.AF_INET, socket.SOCK_STREAM, ("1.1.1.1", 53)),
    (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 27011)),
    (socket.AF_UNIX, socket.SOCK_STREAM, "\0gomoku-attack"),
):
    try:
        with socket.socket(family, kind) as out:
            out.settimeout(1)
            out.connect(address)
            out.send(b"hidden")
            reached.append(address)
    except OSError:
        pass
raise ValueError(f"SECRET reached {reached}" if [a for a in reached if a[1] != 27011] else "nothing reached")
