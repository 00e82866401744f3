#!/bin/sh
# snmpd counts broadcasts as unicast packets, and what an interface sends as multicast, too: the counters for them stay 0.
#
# One would guess: ifHCInBroadcastPkts, ifHCOutBroadcastPkts and ifHCOutMulticastPkts count what RFC 2863 gives them, or are not there.
# So it is: they are there and 0. After 100 unicast, 100 multicast and 100 broadcast frames ifHCOutUcastPkts of the sender has grown by
# 300; on the receiver's side a bridge's ifHCInMulticastPkts has the 100 multicasts, if its driver counts them, as a veth does not, and
# its ifHCInUcastPkts the broadcasts. The kernel has no other counters. A storm, or a test of flooding, looks like unicast traffic: use
# packets of all kinds together, or the devices' own counters.
#
# Needs root, for a network namespace of its own. Uses snmpd, snmp and libsnmp40 5.9.3+dfsg-2+deb12u1 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in snmpd snmp libsnmp40; do
    apt-get -qq -o APT::Sandbox::User=root download "$package=5.9.3+dfsg-2+deb12u1" || exit 2
done
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/sbin/snmpd -v > version && usr/bin/snmpget --version 2>> version || exit 2
grep -m 1 NET-SNMP version
printf 'rocommunity public\nagentaddress udp:127.0.0.1:1161\n' > snmpd.conf
cat > try.py <<'END'
import socket
import subprocess
import sys
import time

FRAMES = 100
COLUMNS = {"InUcast": 7, "InMulticast": 8, "InBroadcast": 9, "OutUcast": 11, "OutMulticast": 12, "OutBroadcast": 13}
KINDS = {"unicast": "020000000002", "multicast": "01005e010101", "broadcast": "ffffffffffff"}


def ask(name):
    """The six counters of an interface, ifHCInUcastPkts to ifHCOutBroadcastPkts."""
    index = socket.if_nametoindex(name)
    wanted = [f"1.3.6.1.2.1.31.1.1.1.{column}.{index}" for column in COLUMNS.values()]
    command = [*"usr/bin/snmpget -v 2c -c public -O qv 127.0.0.1:1161".split(), *wanted]
    return list(map(int, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()))


def grown(name, before):
    return dict(zip(COLUMNS, (after - start for after, start in zip(ask(name), before))))


sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sender.bind(("near", 0))
seen = {}
for kind, destination in KINDS.items():
    before = {name: ask(name) for name in ("near", "bridge")}
    for _ in range(FRAMES):
        sender.send(bytes.fromhex(destination + "020000000001 88b5") + bytes(50))
    time.sleep(7)  # snmpd reads the kernel's counters each three seconds
    out, into = grown("near", before["near"]), grown("bridge", before["bridge"])
    seen[kind] = [out[f"Out{column}"] for column in ("Ucast", "Multicast", "Broadcast")]
    seen[kind] += [into[f"In{column}"] for column in ("Ucast", "Multicast", "Broadcast")]
    print(f"{FRAMES} {kind} frames: Ucast, Multicast, Broadcast grow by {seen[kind][:3]} sent, and by {seen[kind][3:]} received by a bridge")
expected = {"unicast": [100, 0, 0, 0, 0, 0], "multicast": [100, 0, 0, 0, 100, 0], "broadcast": [100, 0, 0, 100, 0, 0]}
sys.exit(seen != expected)
END
cat > try.sh <<'END'
ip link set lo up
sysctl -q -w net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
ip link add name near type veth peer name far
ip link add bridge type bridge mcast_snooping 0
ip link set far master bridge
for end in near far bridge; do ip link set $end up; done
usr/sbin/snmpd -f -C -c snmpd.conf -Lf snmpd.log -p snmpd.pid &
daemon=$!
sleep 5
python3 try.py && code=0 || code=$?
kill $daemon
wait $daemon || true
exit $code
END
unshare -n sh try.sh
