#!/bin/sh
# Answers from Unbound's own configuration are cache hits, and refused queries are no queries: an empty cache has a hit rate of 100 %.
#
# One would guess: `num.cachehits` counts answers from the cache and `num.queries` all queries; local data and blocked names are neither
# hits nor misses, or have a counter of their own.
# So it is: each query that needs no other server is a hit. Ten queries for a name of `local-data` and ten for a blocked zone are 20
# queries and 20 cache hits, while the cache has no message in it. Five queries that `access-control` refuses are no queries at all, but
# five REFUSED among the answers. A hit rate beside a block list is largely that of the list, and a rate of queries lacks those refused.
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
cat > unbound.conf <<END
server:
  interface: 127.0.0.1
  port: 5301
  chroot: ""
  username: ""
  directory: "$folder"
  pidfile: "$folder/pid"
  use-syslog: no
  do-daemonize: no
  module-config: "iterator"
  extended-statistics: yes
  access-control: 127.0.0.2/32 refuse
  local-zone: "blocked.example." always_nxdomain
  local-data: "host.example. A 192.0.2.1"
remote-control:
  control-enable: yes
  control-interface: 127.0.0.1
  control-port: 5302
  control-use-cert: no
END
cat > try.py <<'END'
import socket
import subprocess
import sys
import time

SERVER = ("127.0.0.1", 5301)


def control(command):
    """Output of unbound-control."""
    command = ["usr/sbin/unbound-control", "-c", "unbound.conf", command]
    return subprocess.run(command, capture_output=True, text=True).stdout


def queries(count, host, source="127.0.0.1"):
    """Sends queries for an A record, each after the answer to the last one; the codes of the answers."""
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.bind((source, 0))
    client.settimeout(10)
    name = b"".join(bytes([len(label)]) + label for label in host.encode().split(b".")) + b"\0"
    codes = []
    for _ in range(count):
        client.sendto(b"\0\1\1\0\0\1\0\0\0\0\0\0" + name + b"\0\1\0\1", SERVER)
        codes.append(client.recv(1000)[3] & 15)
    return codes


def counters():
    """Queries, cache hits, cached messages, REFUSED answers, of which all but the cached ones since the last call."""
    values = dict(line.split("=") for line in control("stats").split())
    names = "total.num.queries", "total.num.cachehits", "msg.cache.count", "num.answer.rcode.REFUSED"
    return tuple(int(values[name]) for name in names)


unbound = subprocess.Popen(["usr/sbin/unbound", "-c", "unbound.conf"], stdout=open("log", "w"), stderr=subprocess.STDOUT)
try:
    for _ in range(100):
        if "is running" in control("status"):
            break
        time.sleep(0.1)
    counters()
    codes = queries(10, "host.example") + queries(10, "www.blocked.example")
    local = counters()
    refused_codes = queries(5, "host.example", "127.0.0.2")
    refused = counters()
finally:
    unbound.terminate()
    unbound.wait()
print(f"10 queries for local data, 10 for a blocked zone: {local[0]} queries, {local[1]} cache hits, {local[2]} messages in the cache")
print(f"5 queries from an address to refuse: {refused[0]} queries, {refused[1]} cache hits, {refused[3]} answers REFUSED")
as_described = local[:3] == (20, 20, 0) and refused[:2] == (0, 0) and refused[3] == 5
sys.exit(not (as_described and codes == [0] * 10 + [3] * 10 and refused_codes == [5] * 5))
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
