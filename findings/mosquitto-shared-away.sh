#!/bin/sh
# mosquitto goes on giving messages of a shared subscription to a member that is away: of 100, 50 wait for it, while another one is idle.
#
# One would guess: the members of `$share/group/topic` that are connected share the messages, and what an absent one would have had goes to
# them.
# So it is: a member whose session lasts beyond its connection (`-c`) stays in the round, and its share of the messages of QoS 1 is
# queued for it, up to `max_queued_messages`. MQTT 5.0 (section 4.8.2) leaves that to the server. A test that takes away one of two workers
# sees half of the messages missing, with all of them acknowledged, until that worker comes back or its session expires. A member
# with a clean session leaves the round at once.
#
# Uses mosquitto, mosquitto-clients and libmosquitto1 2.0.11-1.2+deb12u2 and libraries of Debian 12, in a network namespace, for which it
# needs root; no Eagre.
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

MESSAGES = 100


def run(command, text=None):
    return subprocess.run(command.split(), input=text, capture_output=True, text=True)


def subscribe(name, clean):
    """A member of the group of its version of a name."""
    kept = "" if clean else " -c -x 3600"
    return f"mosquitto_sub -V mqttv5 -i {name}-{clean}{kept} -q 1 -t $share/workers/{clean}"


broker = subprocess.Popen(["mosquitto"], stderr=subprocess.DEVNULL)
seen = {}
try:
    for clean in (False, True):
        while run(subscribe("away", clean) + " -E").returncode:  # the broker may not be there yet; then the member leaves
            time.sleep(0.2)
        present = subprocess.Popen(subscribe("present", clean).split(), stdout=subprocess.PIPE, text=True)
        time.sleep(1)
        lines = "".join(f"{number}\n" for number in range(MESSAGES))
        acknowledged = run(f"mosquitto_pub -V mqttv5 -t {clean} -q 1 -l -d", lines).stdout.count("received PUBACK")
        time.sleep(2)
        present.terminate()
        got = present.communicate()[0].split()
        later = run(subscribe("away", clean) + " -W 2").stdout.split()
        seen[clean] = acknowledged, len(got), len(later)
        kind = "clean sessions" if clean else "lasting sessions"
        print(f"{kind}: {acknowledged} acknowledged, {len(got)} for the member that is there, {len(later)} for the other one when it is back")
finally:
    broker.terminate()
    broker.wait()
sys.exit(seen != {False: (MESSAGES, MESSAGES // 2, MESSAGES // 2), True: (MESSAGES, MESSAGES, 0)})
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
