#!/bin/sh
# `nc -u -l` takes datagrams of its first sender only: another one's are refused as if the port were closed.
#
# One would guess: nc -u -l writes out each datagram that comes to its port, as a UDP socket takes them from any sender. It is at hand
# everywhere as a sink for test traffic.
# So it is: it connects its socket to the sender of the first datagram. Of two senders with five datagrams each it writes out one's five,
# and the other gets an ICMP error (connection refused). A generator with several source ports, or one that is started again and has a
# new port, sees a closed port. With `-k` it takes all.
#
# Needs root, for a network namespace of its own. Uses netcat-openbsd 1.219-1 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download netcat-openbsd=1.219-1 || exit 2
dpkg -x netcat-openbsd_*.deb .
echo "netcat-openbsd 1.219"
cat > try.py <<'END'
import collections
import socket
import subprocess
import sys
import time


def trial(*options):
    """Datagrams of each of two senders that nc writes out, and errors that they get."""
    command = ["bin/nc.openbsd", "-n", "-u", *options, "-l", "127.0.0.1", "9000"]
    nc = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    time.sleep(1)
    senders = {name: socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for name in "AB"}
    refused = collections.Counter()
    for sender in senders.values():
        sender.connect(("127.0.0.1", 9000))
    for _ in range(5):
        for name, sender in senders.items():
            try:
                sender.send(name.encode())
            except ConnectionRefusedError:
                refused[name] += 1
            time.sleep(0.1)
    nc.terminate()
    written = nc.communicate()[0].decode()
    print(f"{' '.join(command[1:])}: written {dict(collections.Counter(written))}, refused {dict(refused)}")
    return written.count("A"), written.count("B"), refused["B"] > 0


first, kept = trial(), trial("-k")
sys.exit(not (first == (5, 0, True) and kept == (5, 5, False)))
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
