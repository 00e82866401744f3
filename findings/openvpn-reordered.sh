#!/bin/sh
# OpenVPN over UDP drops packets that come more than 64 others late, as replays.
#
# One would guess: a tunnel over UDP delivers packets in the order in which they come, as a path without a tunnel does; a test of reordering
# through it counts reordered packets, and no loss.
# So it is: a window of 64 packets (`--replay-window 64 15`) tells replays from late packets, and those behind it are dropped, with a line in
# the log. With each tenth packet 90 others late, as by a second and slower path, 10 % are lost. Below 64 none is.
#
# Needs root, for network namespaces of its own. Uses openvpn 2.6.14-0+deb12u2, liblzo2-2 2.10-2, libpkcs11-helper1 1.29.0-1 and iproute2
# 6.1.0-3 of Debian 12, Linux 6.18, with a path that the script has; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download openvpn=2.6.14-0+deb12u2 liblzo2-2=2.10-2 libpkcs11-helper1=1.29.0-1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/sbin:$folder/bin:$PATH" LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu:$folder/lib/$(uname -m)-linux-gnu"
usr/sbin/openvpn --version > version || true
head -1 version | grep OpenVPN || exit 2
usr/sbin/openvpn --genkey secret key > /dev/null
cat > receive.py <<'END'
import socket

receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("10.9.0.2", 7000))
receiver.settimeout(4)
print("ready", flush=True)
count = 0
try:
    while True:
        receiver.recv(100)
        count += 1
except TimeoutError:
    print(count)
END
cat > send.py <<'END'
import socket
import time

sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(1000):
    sender.sendto(bytes(50), ("10.9.0.2", 7000))
    time.sleep(0.001)
END
cat > try.py <<'END'
import os
import select
import socket
import subprocess
import sys
import time

PACKETS = 1000


def run(command):
    subprocess.run(command.split(), check=True)


def path(number):
    """The end of the path at one of the two hosts, each in a namespace, which lives as long as its process."""
    host = subprocess.Popen(["unshare", "-n", "sh", "-c", "echo; exec sleep 100"], stdout=subprocess.PIPE)
    host.stdout.readline()
    run(f"ip link add dev wire{number} type veth peer name eth netns {host.pid}")
    run(f"ip address add 10.0.{number}.1/24 dev wire{number}")
    run(f"ip link set wire{number} up")
    for command in (f"ip address add 10.0.{number}.2/24 dev eth", "ip link set eth up", "ip link set lo up"):
        run(f"nsenter -n -t {host.pid} {command}")
    end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    end.bind((f"10.0.{number}.1", 2000))
    return host, end


def relay(seconds, late):
    """Sends packets on; each tenth one of the first host waits until so many later ones have passed."""
    until, waiting, count = time.monotonic() + seconds, [], 0
    while time.monotonic() < until:
        for end in select.select(ends, [], [], 0.05)[0]:
            packet = end.recv(65535)
            if end is ends[1]:
                ends[0].sendto(packet, ("10.0.1.2", 1194))
                continue
            count += 1
            if late and count % 10 == 0:
                waiting.append((count + late, packet))
            else:
                ends[1].sendto(packet, ("10.0.2.2", 1194))
            while waiting and waiting[0][0] <= count:
                ends[1].sendto(waiting.pop(0)[1], ("10.0.2.2", 1194))
    for _, packet in waiting:
        ends[1].sendto(packet, ("10.0.2.2", 1194))



def trial(late, option):
    """Packets that arrive through the tunnel."""
    tunnels = []
    try:
        for number, host in enumerate(hosts, 1):
            command = f"""nsenter -n -t {host.pid} {os.getcwd()}/usr/sbin/openvpn --dev tun --proto udp --local 10.0.{number}.2 --lport 1194
            --remote 10.0.{number}.1 2000 --ifconfig 10.9.0.{number} 10.9.0.{3 - number} --secret key --cipher AES-256-CBC {option}"""
            tunnels.append(subprocess.Popen(command.split(), stdout=open(f"log{number}", "w"), stderr=subprocess.STDOUT))
        relay(5, 0)
        receiver = subprocess.Popen(["nsenter", "-n", "-t", str(hosts[1].pid), "python3", "receive.py"], stdout=subprocess.PIPE, text=True)
        receiver.stdout.readline()
        sender = subprocess.Popen(["nsenter", "-n", "-t", str(hosts[0].pid), "python3", "send.py"])
        relay(4, late)
        sender.wait()
        count = int(receiver.communicate()[0])
    finally:
        for tunnel in tunnels:
            tunnel.terminate()
            tunnel.wait()
    with open("log2") as log:
        replays = log.read().count("may be a replay")
    print(f"openvpn {option or '(no option)'}, each tenth packet {late} others late: {count} of {PACKETS} arrive, "
          f"{replays} are replays in the log")
    return count


hosts, ends = zip(path(1), path(2))
try:
    seen = trial(40, ""), trial(90, ""), trial(90, "--replay-window 512 15")
finally:
    for host in hosts:
        host.kill()
        host.wait()
sys.exit(not (seen[0] > 985 and seen[1] < 920 and seen[2] > 985))
END
unshare -n python3 try.py
