#!/bin/sh
# Open vSwitch's flow counters lag behind its packets by up to half a second, its port counters do not.
#
# One would guess: `ovs-ofctl dump-flows` shows what the flow has matched so far, as `dump-ports` shows what the port has sent.
# So it is: a flow's n_packets grows when a thread next visits the flows of the datapath, each 500 ms. Asked right after 100 packets
# dump-flows knows of none, or of a part, while dump-ports has all 100; a second later both agree. A test that reads flow counters before
# and after a trial finds losses that are none, and too many packets in the next trial. Wait a second.
#
# Uses openvswitch-switch and openvswitch-common 3.1.0-2+deb12u1 of Debian 12, with a datapath in memory; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'for file in "$folder"/*.pid; do kill "$(cat "$file")" 2> /dev/null || true; done; sleep 1; rm -rf "$folder"' EXIT
cd "$folder"
for package in openvswitch-switch openvswitch-common; do
    apt-get -qq -o APT::Sandbox::User=root download "$package=3.1.0-2+deb12u1" || exit 2
done
for package in *.deb; do dpkg -x "$package" .; done
PATH=$folder/usr/bin:$folder/usr/sbin:$PATH
export OVS_RUNDIR="$folder" OVS_LOGDIR="$folder" OVS_DBDIR="$folder"
switch=$(find usr/lib usr/sbin -name 'ovs-vswitchd' | head -n 1)
"$switch" --version > version || exit 2
head -n 1 version
ovsdb-tool create db usr/share/openvswitch/vswitch.ovsschema
ovsdb-server db --detach --pidfile="$folder/server.pid" --remote="punix:$folder/db.sock" --log-file 2> server.log
"$switch" --enable-dummy=system --disable-system --detach --pidfile="$folder/switch.pid" --log-file "unix:$folder/db.sock" 2> switch.log
set -- add-br br0 -- set bridge br0 datapath-type=dummy fail-mode=secure
for port in 1 2; do set -- "$@" -- add-port br0 p$port -- set interface p$port type=dummy ofport_request=$port; done
ovs-vsctl --db="unix:$folder/db.sock" "$@"
ovs-ofctl add-flow "unix:$folder/br0.mgmt" in_port=1,actions=output:2
sleep 2
cat > try.py <<'END'
import re
import subprocess
import sys
import time

PACKET = ("in_port(1),eth(src=02:00:00:00:00:01,dst=02:00:00:00:00:02),eth_type(0x0800),"
          "ipv4(src=192.0.2.1,dst=192.0.2.2,proto=17,tos=0,ttl=64,frag=no),udp(src=5,dst=80)")
folder, pid = sys.argv[1:]


def ask(command):
    return subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout


def counters():
    flows = ask(f"ovs-ofctl dump-flows unix:{folder}/br0.mgmt")
    ports = ask(f"ovs-ofctl dump-ports unix:{folder}/br0.mgmt p2")
    return int(re.search(r"n_packets=(\d+)", flows)[1]), int(re.search(r"tx pkts=(\d+)", ports)[1])


def send():
    command = f"ovs-appctl -t {folder}/ovs-vswitchd.{pid}.ctl netdev-dummy/receive p1"
    subprocess.run(command.split() + [PACKET] * 100, check=True)


send()
time.sleep(2)
before, lags = counters(), []
for _ in range(5):
    send()
    at_once = counters()
    time.sleep(2)
    after = counters()
    lags.append(tuple(now - then for now, then in zip(at_once, before)) + tuple(now - then for now, then in zip(after, before)))
    print("100 packets: at once {} by dump-flows and {} by dump-ports; two seconds later {} and {}".format(*lags[-1]))
    before = after
agree = all(lag[1:] == (100, 100, 100) for lag in lags)
sys.exit(not (agree and any(lag[0] < 75 for lag in lags)))
END
python3 try.py "$folder" "$(cat switch.pid)"
