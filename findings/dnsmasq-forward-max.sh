#!/bin/sh
# dnsmasq refuses what it cannot forward at once: of 400 queries to a slow server 250 come back as REFUSED.
#
# One would guess: a forwarder keeps queries until its server answers, or drops what is too much; REFUSED is for clients it does not
# serve.
# So it is: 150 queries may wait for an answer of the server, `--dns-forward-max`. Each one beyond is answered REFUSED at once, and each
# name counts, cached ones apart. With a server 100 ms away that is a rate of 1,500 queries/s, above which a load test sees errors within
# a millisecond, which makes its latencies better. Set `--dns-forward-max` to the rate times the delay.
#
# Uses dnsmasq-base 2.90-4~deb12u2 of Debian 12, and a server on a loopback port that never answers; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download dnsmasq-base=2.90-4~deb12u2 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
usr/sbin/dnsmasq --version > version || exit 2
head -n 1 version
cat > try.py <<'END'
import collections
import socket
import struct
import subprocess
import sys
import time

QUERIES, REFUSED = 400, 5
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 5399))
server.settimeout(0.5)
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.settimeout(2)
command = "usr/sbin/dnsmasq -k -p 5398 --no-resolv --server=127.0.0.1#5399 --no-hosts -u root --pid-file= -C /dev/null"
dnsmasq = subprocess.Popen(command.split(), stderr=open("log", "w"))
time.sleep(1)
try:
    for number in range(QUERIES):
        name = b"host%d" % number
        question = bytes([len(name)]) + name + b"\x07example\x03com\0\0\x01\0\x01"
        client.sendto(struct.pack("!HHHHHH", number, 0x0100, 1, 0, 0, 0) + question, ("127.0.0.1", 5398))
        time.sleep(0.001)
    codes, forwarded = collections.Counter(), set()
    for receiver, found in ((client, lambda data: codes.update([data[3] & 15])), (server, lambda data: forwarded.add(data[12:]))):
        try:
            while True:
                found(receiver.recv(1000))
        except TimeoutError:
            pass
finally:
    dnsmasq.terminate()
    dnsmasq.wait()
print(f"{QUERIES} queries, each for another name: {len(forwarded)} forwarded, {codes[REFUSED]} refused, {codes.total()} responses in all")
sys.exit((len(forwarded), codes) != (150, {REFUSED: 250}))
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
