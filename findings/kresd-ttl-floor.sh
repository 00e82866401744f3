#!/bin/sh
# Knot Resolver keeps a record with a TTL of 1 s for five seconds.
#
# One would guess: a resolver answers from its cache for a record's TTL, and queries the server again then. Records of balancers and
# failover tests have a TTL of 1 s for that.
# So it is: `cache.min_ttl` is 5 s. Of a client that sends a query each two seconds, for a record with a TTL of 1 s, the server sees one each six
# seconds; the first answer has a TTL of 5, the next ones 0. So a change of address shows up to five seconds late, and
# a test that relies on short TTLs to reach the server mostly tests the cache. `cache.min_ttl(0)` changes that.
#
# Needs root, for namespaces of its own (the resolver's files have fixed places). Uses knot-resolver 5.6.0-1+deb12u1 and libraries of
# Debian 12, with a server that the script has; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download knot-resolver=5.6.0-1+deb12u1 libknot13=3.2.6-1 libdnssec9=3.2.6-1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libzscanner4=3.2.6-1 libedit2=3.1-20221030-2 libjemalloc2=5.3.0-1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libluajit-5.1-2=2.1.0~beta3+git20220320+dfsg-4.1+deb12u1 libuv1=1.44.2-1+deb12u1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download liblmdb0=0.9.24-1 libprotobuf-c1=1.4.1-1+b1 libfstrm0=0.6.1-1 libxdp1=1.3.1-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
mkdir state
cat > try.py <<'END'
import os
import socket
import subprocess
import sys
import threading
import time

QUERIES = 8
QUERY = b"\1\0\0\1\0\0\0\0\0\0\3www\4test\0\0\1\0\1"
upstream = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
upstream.bind(("127.0.0.5", 53))
seen = []


def serve():
    """Answers queries for the address with a TTL of 1 s, all others with nothing."""
    while True:
        query, sender = upstream.recvfrom(4096)
        end = query.index(b"\0", 12) + 5
        question = query[12:end]
        if question.lower() == QUERY[10:]:
            seen.append(time.monotonic())
            counts, record = b"\0\1\0\1\0\0\0\0", b"\xc0\x0c" b"\0\1" b"\0\1" b"\0\0\0\1" b"\0\4" b"\xc0\0\2\1"
        else:
            counts, record = b"\0\1\0\0\0\0\0\0", b""
        upstream.sendto(query[:2] + b"\x84\x00" + counts + question + record, sender)


def trial(setting):
    """How many queries the server sees while a client sends one each 2.1 s, and the TTLs of the answers."""
    seen.clear()
    with open("conf", "w") as file:
        file.write(f"""net.listen('127.0.0.1', 5300, {{kind = 'dns'}})
for _, name in ipairs({{'ta_update', 'ta_signal_query', 'priming', 'detect_time_skew'}}) do modules.unload(name) end
trust_anchors.remove('.')
cache.size = 10 * MB
cache.clear()
{setting}
policy.add(policy.suffix(policy.STUB('127.0.0.5'), {{todname('test.')}}))
""")
    resolver = subprocess.Popen(["/usr/sbin/kresd", "-n", "-c", os.path.abspath("conf"), "state"], stdout=open("log", "w"),
                                stderr=subprocess.STDOUT)
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.settimeout(10)
    try:
        time.sleep(3)
        lives = []
        for number in range(QUERIES):
            client.sendto(bytes([0, number]) + QUERY, ("127.0.0.1", 5300))
            answer = client.recv(1000)
            lives.append(int.from_bytes(answer[len(QUERY) + 8 : len(QUERY) + 12], "big"))
            time.sleep(2.1)
    finally:
        resolver.terminate()
        resolver.wait()
    print(f"{setting or 'no setting'}: {QUERIES} queries of a client, 2.1 s apart, {len(seen)} at the server; TTLs {lives}")
    return len(seen), max(lives)


threading.Thread(target=serve, daemon=True).start()
floor, none = trial(""), trial("cache.min_ttl(0)")
sys.exit(not (floor[0] <= 4 and floor[1] == 5 and none == (QUERIES, 1)))
END
cat > try.sh <<'END'
mount -t overlay overlay -o "lowerdir=$PWD/usr:/usr" /usr
ip link set lo up
export LD_LIBRARY_PATH="/usr/lib/$(uname -m)-linux-gnu/knot-resolver"
/usr/sbin/kresd --version || exit 2
exec python3 try.py
END
unshare -m -n sh try.sh
