#!/bin/sh
# Unbound throws away the first answers of a server that takes 0.6 s: 100 queries are 300 for it, and clients wait for 1.4 s.
#
# One would guess: a resolver waits a second or more for its first answer from a server, and gives the client the first answer that comes.
# So it is: a server that Unbound does not know yet has 376 ms, and all queries that begin before its first answer have that. Each is then
# sent again from another port, and the answer to the first try, which comes to the old one, is lost; so is that to the second. A test of
# a slow or far server through Unbound begins with three times the load, and with waits of twice 376 ms more than the server's. A server
# that answers after 0.1 s has 100 queries.
#
# Uses unbound 1.17.1-2+deb12u4 and libraries of Debian 12, on loopback ports; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download unbound=1.17.1-2+deb12u4 libevent-2.1-7=2.1.12-stable-8+deb12u1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libprotobuf-c1=1.4.1-1+b1 libpython3.11=3.11.2-6+deb12u9 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libnghttp2-14=1.52.0-1+deb12u3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/sbin/unbound -V > version || exit 2
head -n 1 version
cat > try.py <<'END'
import os
import select
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time

CLIENTS = 100


def query(port, number):
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    name = f"n{number}".encode()
    question = bytes([len(name)]) + name + b"\x07example\0" + struct.pack("!HH", 1, 1)
    client.sendto(struct.pack("!6H", number, 0x100, 1, 0, 0, 0) + question, ("127.0.0.1", port))
    return client


def burst(delay):
    """Clients of 100 that Unbound answers, their median wait, and queries that a server sees which answers after so many seconds."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    seen = []

    def answer(message, client):
        time.sleep(delay)
        end = message.index(0, 12) + 5
        record = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 60, 4) + bytes([10, 0, 0, 1])
        server.sendto(message[:2] + b"\x81\x80" + struct.pack("!4H", 1, 1, 0, 0) + message[12:end] + record, client)

    def serve():
        while True:
            message, client = server.recvfrom(2000)
            if b"example" in message:
                seen.append(message[:2])
            threading.Thread(target=answer, args=(message, client), daemon=True).start()

    with open("unbound.conf", "w") as file:
        file.write(f"""
server:
  interface: 127.0.0.1
  port: {port}
  chroot: ""
  username: ""
  directory: "{os.getcwd()}"
  pidfile: ""
  do-daemonize: no
  use-syslog: no
  logfile: "log"
  verbosity: 1
  do-not-query-localhost: no
  module-config: "iterator"
  outgoing-range: 400
forward-zone:
  name: "."
  forward-addr: 127.0.0.1@{server.getsockname()[1]}
""")
    threading.Thread(target=serve, daemon=True).start()
    open("log", "w").close()
    resolver = subprocess.Popen(["usr/sbin/unbound", "-c", "unbound.conf"])
    try:
        while "start of service" not in open("log").read():
            if resolver.poll() is not None:
                sys.exit(open("log").read())
            time.sleep(0.1)
        start, waits = time.monotonic(), []
        clients = [query(port, number) for number in range(CLIENTS)]
        end = time.monotonic() + 10
        while clients and time.monotonic() < end:
            for client in select.select(clients, [], [], 0.2)[0]:
                client.recv(2000)
                waits.append(time.monotonic() - start)
                clients.remove(client)
        time.sleep(1)
    finally:
        resolver.terminate()
        resolver.wait()
    wait = statistics.median(waits)
    print(f"a server that answers after {delay} s sees {len(seen)} queries of {CLIENTS} clients; {len(waits)} have answers, after {wait:.2f} s")
    return len(waits), wait, len(seen)


quick, slow = burst(0.1), burst(0.6)
sys.exit(not (min(quick[0], slow[0]) > 0.8 * CLIENTS and quick[2] < 1.8 * CLIENTS and slow[1] > 1.1 and slow[2] > 2.2 * CLIENTS))
END
python3 try.py
