#!/bin/sh
# A Linux client of MPTCP does not use the second address that a server announces: `add_addr_accepted` is 0.
#
# One would guess: with MPTCP in both kernels and a server that signals its second address, the client opens a second subflow to it: up to
# two more are allowed, as `ip mptcp limits` shows.
# So it is: the limits are "add_addr_accepted 0 subflows 2". The client gets the address, confirms it, counts it (MPTcpExtAddAddr) and opens
# nothing: a connection stays on one path, and nothing says that a limit was the reason. After `ip mptcp limits set add_addr_accepted 1` in
# the client's namespace the next connection has two.
#
# Needs root, for network namespaces of its own. Uses iproute2 6.1.0-3 and libbpf1 1:1.1.2-0+deb12u1 of Debian 12 and the Linux it runs on
# (seen with 6.18); no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 libbpf1=1:1.1.2-0+deb12u1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/sbin:$folder/bin:$PATH" LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
ip -V || exit 2
[ -e /proc/sys/net/mptcp/enabled ] || { echo "this kernel has no MPTCP" >&2; exit 2; }
echo "Linux $(uname -r)"
cat > try.py <<'END'
import json
import os
import socket
import subprocess
import sys
import time


def run(command):
    return subprocess.run(command.split(), check=True, capture_output=True, text=True).stdout.strip()


SERVER = """
import socket
listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP)
listener.bind(("0.0.0.0", 7000))
listener.listen(5)
print("ready", flush=True)
while True:
    client, _ = listener.accept()
    while client.recv(100000):
        pass
"""
run("ip link set lo up")
inside = subprocess.Popen(["unshare", "-n", "sh", "-c", "echo $$; read line; exec python3 -c \"$0\"", SERVER], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True)
try:
    server = int(inside.stdout.readline())
    for number in (1, 2):
        run(f"ip link add near{number} type veth peer name far{number}")
        run(f"ip link set far{number} netns {server}")
        run(f"ip addr add 10.0.{number}.1/24 dev near{number}")
        run(f"ip link set near{number} up")
        run(f"nsenter -t {server} -n ip addr add 10.0.{number}.2/24 dev far{number}")
        run(f"nsenter -t {server} -n ip link set far{number} up")
    run(f"nsenter -t {server} -n ip mptcp endpoint add 10.0.2.2 dev far2 signal")
    inside.stdin.write("go\n")
    inside.stdin.flush()
    assert inside.stdout.readline() == "ready\n"

    def trial():
        """Subflows of a connection that sends for two seconds, and addresses announced to it."""
        before = json.loads(run("nstat -aszj"))["kernel"]["MPTcpExtAddAddr"]
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP) as client:
            client.connect(("10.0.1.2", 7000))
            for _ in range(20):
                client.send(bytes(10_000))
                time.sleep(0.1)
            subflows = [line for line in run("ss -tHn state established").splitlines() if ":7000" in line]
        announced = json.loads(run("nstat -aszj"))["kernel"]["MPTcpExtAddAddr"] - before
        print(f"{run('ip mptcp limits')}: {announced} address announced, {len(subflows)} subflows")
        return announced, len(subflows)

    default = trial()
    run("ip mptcp limits set add_addr_accepted 1 subflows 2")
    accepting = trial()
finally:
    inside.kill()
    inside.wait()
sys.exit(not (default == (1, 1) and accepting[1] == 2))
END
unshare -n python3 try.py
