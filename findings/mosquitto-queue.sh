#!/bin/sh
# mosquitto acknowledges 2,000 messages of QoS 1 for a session that is away and keeps 1,000: the rest is gone without a word.
#
# One would guess: QoS 1 is "at least once": what the broker has acknowledged reaches each subscriber with a session, or the broker lets
# the publisher wait, or answers with a reason (MQTT 5 has "quota exceeded").
# So it is: 1,000 messages per client may wait, `max_queued_messages`. The broker acknowledges what comes beyond, with MQTT 5, too, and
# drops the newest. The log has one line for each client. A test of failover that stops subscribers for a while sees a loss that no
# publisher knows of.
#
# Uses mosquitto, mosquitto-clients and libmosquitto1 2.0.11-1.2+deb12u2 and libraries of Debian 12, on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download mosquitto=2.0.11-1.2+deb12u2 mosquitto-clients=2.0.11-1.2+deb12u2 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libmosquitto1=2.0.11-1.2+deb12u2 libcjson1=1.7.15-1+deb12u4 libdlt2=2.18.8-6 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu" PATH="$folder/usr/bin:$folder/usr/sbin:$PATH"
mosquitto_sub --help | head -2 | tail -1 || exit 2
cat > try.py <<'END'
import subprocess
import sys
import time

MESSAGES = 2000


def run(command, text=None):
    return subprocess.run(command.split(), input=text, capture_output=True, text=True)


broker = subprocess.Popen(["mosquitto", "-v"], stdout=open("log", "w"), stderr=subprocess.STDOUT)
seen = {}
try:
    for version in ("mqttv311", "mqttv5"):
        expiry = " -x 3600" if version == "mqttv5" else ""
        subscribe = f"mosquitto_sub -V {version} -i {version} -c{expiry} -q 1 -t {version}"
        while run(subscribe + " -E").returncode:  # the broker may not be there yet
            time.sleep(0.2)
        lines = "".join(f"{number}\n" for number in range(MESSAGES))
        output = run(f"mosquitto_pub -V {version} -t {version} -q 1 -l -d", lines).stdout
        kept = run(subscribe + " -W 10").stdout.split()
        seen[version] = output.count("received PUBACK"), len(kept), kept[-1]
        print(f"{version}: {seen[version][0]} of {MESSAGES} acknowledged, {len(kept)} kept, the last one is number {kept[-1]}")
finally:
    broker.terminate()
    broker.wait()
print("the log has", sum("dropped" in line for line in open("log")), "lines about it")
sys.exit(any(found != (MESSAGES, 1000, "999") for found in seen.values()))
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
