#!/bin/sh
# On loopback a client's port is free again a second after its connection has closed, on any other link after a minute.
#
# One would guess: who closes first keeps the pair of ports for 60 s in TIME-WAIT, so that 28,232 ports allow 470 connections/s to one
# server, wherever that is.
# So it is: `tcp_tw_reuse` is 2, which means "loopback only": there a port is taken again after 1 s (`tcp_tw_reuse_delay`). A load that
# has passed for hours against a server on its own machine fails with "Cannot assign requested address" when the server is one
# hop away: with 200 ports after 200 connections. The rate that a link can do at length is the ports by 60 s. Let the server close first,
# use more addresses, or set `net.ipv4.tcp_tw_reuse` to 1.
#
# Needs root, for network namespaces of its own. Uses iproute2 6.1.0-3 of Debian 12; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/sbin:$folder/bin:$PATH"
ip -V && uname -sr || exit 2
cat > serve.py <<'END'
import socket
import sys

server = socket.create_server((sys.argv[1], 9000), backlog=100)
print("ready", flush=True)
while True:
    connection = server.accept()[0]
    connection.recv(1)
    connection.close()
END
cat > try.py <<'END'
import socket
import subprocess
import sys
import time

PORTS = 200


def connections(command, address):
    """How many connections a client makes one after another that it closes first, in 5 s of up to 100 a second, and the first error."""
    server = subprocess.Popen([*command.split(), "python3", "serve.py", address], stdout=subprocess.PIPE)
    server.stdout.readline()
    end = time.monotonic() + 5
    made, error = 0, None
    while time.monotonic() < end:
        try:
            with socket.create_connection((address, 9000)) as client:
                client.shutdown(socket.SHUT_WR)
                client.recv(1)
                made += 1
        except OSError as failure:
            error = error or failure.strerror
        time.sleep(0.01)
    server.kill()
    return made, error


def reuse(value):
    subprocess.run(["sysctl", "-qw", f"net.ipv4.tcp_tw_reuse={value}"], check=True)


subprocess.run(["sysctl", "-qw", f"net.ipv4.ip_local_port_range=40000 {40000 + PORTS - 1}"], check=True)
with open("/proc/sys/net/ipv4/tcp_tw_reuse") as setting:
    default = int(setting.read())
print(f"{PORTS} ports, tcp_tw_reuse {default}")
seen = [connections("env", "127.0.0.1"), connections("ip netns exec far", "10.0.0.2")]
reuse(1)
seen.append(connections("ip netns exec far", "10.0.0.2"))
for name, (made, error) in zip(("loopback", "a link", "a link, tcp_tw_reuse 1"), seen):
    print(f"{name}: {made} connections in 5 s, {error or 'no error'}")
fine = all(made > PORTS + 50 and not error for made, error in (seen[0], seen[2]))
sys.exit(not (default == 2 and fine and seen[1] == (PORTS, "Cannot assign requested address")))
END
cat > try.sh <<'END'
set -e
mount -t tmpfs none /run
ip netns add far
ip link set lo up
ip link add near type veth peer name near netns far
ip address add 10.0.0.1/24 dev near
ip link set near up
ip -n far address add 10.0.0.2/24 dev near
ip -n far link set near up
python3 try.py
END
unshare -nm sh try.sh
