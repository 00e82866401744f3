#!/bin/sh
# dig's query time leaves out the tries that got no answer: a name resolved after 1.01 s has a "Query time" of a few milliseconds.
#
# One would guess: the query time is that from the question to the answer, with what the lost packet cost, as drill shows it.
# So it is: dig and kdig show the time of the last try. A server that drops each first packet looks as fast as one that drops none.
# dig tells of the time-out in a comment on a line of its own, and not at all with +yaml; kdig in a warning. drill shows the whole
# time, with its time-out of 5 s. For a distribution of times ask once (`+tries=1`), and count what fails, or take the time yourself.
#
# Uses bind9-dnsutils 9.18.49-1~deb12u3, knot-dnsutils 3.2.6-1, ldnsutils 1.8.3-1+b1 of Debian 12 and libraries of theirs, with a
# server on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download bind9-dnsutils=1:9.18.49-1~deb12u3 bind9-libs=1:9.18.49-1~deb12u3 || exit 2
apt-get -qq -o APT::Sandbox::User=root download knot-dnsutils=3.2.6-1 libknot13=3.2.6-1 libdnssec9=3.2.6-1 libzscanner4=3.2.6-1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download ldnsutils=1.8.3-1+b1 libldns3=1.8.3-1+b1 libpcap0.8=1.10.3-1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libuv1=1.44.2-1+deb12u1 libjemalloc2=5.3.0-1 liblmdb0=0.9.24-1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libmaxminddb0=1.7.1-1 libfstrm0=0.6.1-1 libprotobuf-c1=1.4.1-1+b1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libjson-c5=0.16-2 libnghttp2-14=1.52.0-1+deb12u3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu:$folder/lib/$(uname -m)-linux-gnu" PATH="$folder/usr/bin:$PATH"
dig -v 2>&1 && kdig -V && drill -v | head -n 1 || exit 2
cat > try.py <<'END'
import re
import socket
import subprocess
import sys
import threading
import time
from datetime import datetime

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 0))
port = server.getsockname()[1]
queries = 0


def answer():
    """Leaves the first query of a program unanswered, and answers each later one at once."""
    global queries
    while True:
        query, client = server.recvfrom(4096)
        queries += 1
        if queries > 1:
            question = query[12 : query.index(b"\0", 12) + 5]
            record = b"\xc0\x0c" b"\0\1" b"\0\1" b"\0\0\0\x3c" b"\0\4" b"\xc0\0\2\1"
            server.sendto(query[:2] + b"\x81\x80" b"\0\1" b"\0\1" b"\0\0" b"\0\0" + question + record, client)


threading.Thread(target=answer, daemon=True).start()
TRIED = "timed out|timeout"
as_described = True
for command, shown, only_last, told in (
    (f"dig @127.0.0.1 -p {port} www.example.com +timeout=1", r"Query time: (\d+) msec", True, True),
    (f"dig @127.0.0.1 -p {port} www.example.com +timeout=1 +yaml", r"_time: !!timestamp (\S+)", True, False),
    (f"kdig @127.0.0.1 -p {port} www.example.com +timeout=1", r" in ([\d.]+) ms", True, True),
    (f"drill -p {port} www.example.com @127.0.0.1", r"Query time: (\d+) msec", False, False),
):
    queries, start = 0, time.monotonic()
    ran = subprocess.run(command.split(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    whole = time.monotonic() - start
    times = re.findall(shown, ran.stdout)
    if len(times) == 2:
        begun, ended = (datetime.fromisoformat(each.replace("Z", "+00:00")) for each in times)
        says = (ended - begun).total_seconds()
    else:
        says = float(times[0]) / 1000
    tells = bool(re.search(TRIED, ran.stdout))
    print(f"{command}: {queries} queries, took {whole:.2f} s, says {says * 1000:.0f} ms{', and that a try timed out' if tells else ''}")
    as_described &= ran.returncode == 0 and queries == 2 and "192.0.2.1" in ran.stdout and tells is told
    as_described &= whole > 1 and (says < whole - 0.9) is only_last
sys.exit(not as_described)
END
python3 try.py
