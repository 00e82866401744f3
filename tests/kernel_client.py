"""Clients on the Linux kernel's TCP, for servers under test. Runs in a namespace and prints the outcome as JSON.

Every one of them knows each byte that must come back.
"""

import errno
import hashlib
import json
import random
import socket
import struct
import sys
import threading
import time


def connected(address, port, buffer=0, source=0, timeout=20):
    """A connection; with `buffer` its receive buffer is as small."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    one = socket.socket(family, socket.SOCK_STREAM)
    one.settimeout(timeout)
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if buffer:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    if source:
        one.bind(("", source))
    while True:
        try:
            one.connect((address, port))
            return one
        except OSError as wrong:
            # The kernel itself is not done with the last connection from this port.
            if wrong.errno != errno.EADDRNOTAVAIL:
                raise
            time.sleep(0.001)


def receive(one, length):
    """So many bytes, or all until the other end closes."""
    parts = []
    while length > 0 and (part := one.recv(min(length, 1 << 16))):
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def digest(data):
    return hashlib.sha256(data).hexdigest()


def many(address, port, count, concurrent, size):
    """So many connections, `concurrent` at a time, each with an echo; what became of how many."""
    outcome = {}
    for first in range(0, count, concurrent):
        batch = range(first, min(first + concurrent, count))
        data = [random.Random(number).randbytes(size) for number in batch]
        try:
            sockets = begun(address, port, len(batch))
            for one, sent in zip(sockets, data, strict=True):
                one.sendall(sent)
            for one, sent in zip(sockets, data, strict=True):
                how = "ok" if receive(one, size) == sent else "other bytes"
                one.close()
                outcome[how] = outcome.get(how, 0) + 1
        except OSError as wrong:
            outcome[type(wrong).__name__] = outcome.get(type(wrong).__name__, 0) + 1
    return outcome


def begun(address, port, count):
    """So many connections, opened at the same time."""
    sockets = []
    for _ in range(count):
        one = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
        one.setblocking(False)
        one.connect_ex((address, port))
        sockets.append(one)
    for one in sockets:
        # Writing waits for the connection.
        one.settimeout(20)
    return sockets


def echoed(address, port, size, sleep=0.0, buffer=0, half_close=False):
    """A bulk of bytes sent while they come back; reads nothing for `sleep` seconds."""
    data, begin = random.Random(size).randbytes(size), time.monotonic()
    one = connected(address, port, buffer)

    def send():
        one.sendall(data)
        if half_close:
            one.shutdown(socket.SHUT_WR)

    sender = threading.Thread(target=send)
    sender.start()
    time.sleep(sleep)
    got = receive(one, size)
    sender.join()
    ended = receive(one, 1) == b"" if half_close else None
    retransmitted = struct.unpack_from("I", one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104), 100)[0]
    one.close()
    return {
        "same": got == data,
        "bytes": len(got),
        "ended": ended,
        "retransmitted": retransmitted,
        "seconds": time.monotonic() - begin,
    }


def fetched(address, port, length):
    """All that a server sends, of which `length` bytes are expected."""
    one = connected(address, port)
    got = receive(one, length)
    more = len(receive(one, 1 << 30))
    return {"bytes": len(got) + more, "sha256": digest(got)}


def reset(address, port, count):
    """Echoes that are ended by a reset."""
    for _ in range(count):
        one = connected(address, port)
        one.sendall(b"an eagre is a tidal bore")
        assert receive(one, 24) == b"an eagre is a tidal bore"
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        one.close()
    return {"reset": count}


def taken(address, port, path, count, length, sleep=0.0, finish=False):
    """Requests of HTTP, all at once, whose answers are read a piece at a time: `length` bytes in all, then a reset.

    With `finish` everything is read, and the connections are closed in good order. Says how much was read.
    """
    sockets = [connected(address, port, buffer=4096) for _ in range(count)]
    for one in sockets:
        one.sendall(f"GET {path} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n".encode())
    for _ in range(length // 1024):
        assert all(len(receive(one, 1024)) == 1024 for one in sockets)
        time.sleep(sleep)
    read = length // 1024 * 1024 * count
    for one in sockets:
        if finish:
            read += len(receive(one, 1 << 30))
        else:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        one.close()
    return {"bytes": read}


def again(address, port, count, source):
    """Requests of HTTP that the server closes after, each from the same port as the one before."""
    ends = []
    for _ in range(count):
        one = connected(address, port, source=source)
        one.sendall(b"GET /100 HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n")
        ends.append(len(receive(one, 1 << 20)))
        one.close()
    return {"answers": len(ends), "sizes": sorted(set(ends))}


def pipelined(address, port, count, path):
    """Requests of HTTP, all sent before the first is answered; how many answers begin, and how much came."""
    one = connected(address, port)
    ask = f"GET {path} HTTP/1.1\r\nHost: a.test\r\n"
    one.sendall((f"{ask}\r\n" * (count - 1) + f"{ask}Connection: close\r\n\r\n").encode())
    got = receive(one, 1 << 30)
    return {"answers": got.count(b"HTTP/1.1 200 "), "bytes": len(got)}


def held(address, port, seconds, keep_alive=False):
    """An echo on a connection that then stays idle for a while."""
    one = connected(address, port)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, int(keep_alive))
    one.sendall(b"still there")
    first = receive(one, 11)
    time.sleep(seconds)
    one.sendall(b"still there")
    return {"same": first == receive(one, 11) == b"still there"}


MODES = {mode.__name__: mode for mode in (many, echoed, fetched, reset, taken, again, pipelined, held)}


if __name__ == "__main__":
    mode, arguments = sys.argv[1], json.loads(sys.argv[2])
    json.dump(MODES[mode](**arguments), sys.stdout)
