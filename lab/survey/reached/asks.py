# SPDX-License-Identifier: MIT
"""Asks a server over its socket, by eight connections: asks.py memcached|http SOCKET."""

import socket
import sys
import threading
import time

ASKS = {
    "memcached": b"incr n 1\r\n",
    "http": b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
}
kind, path = sys.argv[1:]


def opened() -> socket.socket:
    for _ in range(600):
        try:
            one = socket.socket(socket.AF_UNIX)
            one.connect(path)
        except OSError:
            time.sleep(0.1)
            continue
        return one
    sys.exit("no answer")


def work() -> None:
    with opened() as one:
        for _ in range(200):
            one.sendall(ASKS[kind])
            assert one.recv(4096)


if kind == "memcached":
    with opened() as first:
        first.sendall(b"set n 0 0 1\r\n0\r\n")
        assert first.recv(100) == b"STORED\r\n"
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
