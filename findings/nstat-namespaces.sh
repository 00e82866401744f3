#!/bin/sh
# nstat in one network namespace subtracts the counters of another one: of 150 pings there it shows 50.
#
# One would guess: nstat shows what a counter has grown by since its last call in the same namespace, or since the start at the first call.
# So it is: the last values are in one file for each user, /tmp/.nstat.u0, whatever the namespace. After a call where IcmpInEchos is 100 a
# first call in another namespace shows 150 pings as 50, and the next one in the first namespace shows none at all. A test with hosts in
# namespaces that reads each one's counters by nstat mixes them up. Give each its own NSTAT_HISTORY, or use `nstat -as`.
#
# Needs root, for network namespaces of its own. Uses iproute2 6.1.0-3 of Debian 12; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
dpkg -x iproute2_*.deb .
# By relative paths, as the script covers /tmp in a mount namespace of its own.
export PATH="sbin:bin:usr/bin:$PATH"
ip -V && uname -r || exit 2
cat > try.py <<'END'
import ctypes
import os
import socket
import struct
import subprocess
import sys

libc = ctypes.CDLL(None)


def ping(count):
    """Sends echo requests to 127.0.0.1 in this process's namespace."""
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    for number in range(count):
        echo = struct.pack("!BBHHH", 8, 0, 0, 7, number)
        total = sum(struct.unpack("!4H", echo))
        total = (total & 0xFFFF) + (total >> 16)
        raw.sendto(echo[:2] + struct.pack("!H", ~total & 0xFFFF) + echo[4:], ("127.0.0.1", 0))


def nstat(name, *options, **environment):
    """Growth of IcmpInEchos that nstat shows."""
    lines = subprocess.run(["nstat", "-z", *options, "IcmpInEchos"], capture_output=True, text=True, check=True, env=os.environ | environment).stdout
    count = int(lines.split("IcmpInEchos")[1].split()[0])
    print(f"{name}: {count}")
    return count


def enter():
    subprocess.run("ip link set lo up".split(), check=True)


subprocess.run("mount -t tmpfs none /tmp".split(), check=True)
enter()
ping(100)
seen = [nstat("west, 100 pings, nstat")]
first = os.open("/proc/self/ns/net", os.O_RDONLY)
assert libc.unshare(0x40000000) == 0
enter()
ping(150)
seen.append(nstat("east, 150 pings, nstat"))
seen.append(nstat("east, nstat -as", "-as"))
seen.append(nstat("east, nstat with a file of its own", NSTAT_HISTORY="/tmp/east"))
assert libc.setns(first, 0) == 0
ping(20)
seen.append(nstat("west, 20 pings more, nstat"))
print("files:", [name for name in os.listdir("/tmp") if name.startswith(".nstat")])
sys.exit(not (seen[:4] == [100, 50, 150, 150] and seen[4] != 20))
END
unshare -n -m python3 try.py
