#!/bin/sh
# zenoh's put() drops messages that a subscriber is too slow for, over TCP and without an error: of 20,000 some thousands arrive.
#
# One would guess: over TCP, with a publisher that is "reliable", a put() waits while the subscriber is behind, or fails.
# So it is: data are published with CongestionControl.DROP unless declared otherwise. put() returns at once and without an error, and what
# does not fit into the queue at that moment is thrown away; no counter of the session shows it. A publisher's rate is that of its loop, not
# of the delivery. With `congestion_control=zenoh.CongestionControl.BLOCK` all 20,000 arrive, and sending takes as long as reading.
#
# Needs root, for a network namespace of its own. Uses eclipse-zenoh 1.10.2 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install eclipse-zenoh==1.10.2 || exit 2
cat > try.py <<'END'
import sys
import time
from importlib.metadata import version

import zenoh

MESSAGES = 20_000
print("eclipse-zenoh", version("eclipse-zenoh"))


def session(**settings):
    config = zenoh.Config()
    config.insert_json5("scouting/multicast/enabled", "false")
    for key, value in settings.items():
        config.insert_json5(key.replace("__", "/"), value)
    return zenoh.open(config)


publisher = session(listen__endpoints='["tcp/127.0.0.1:7447"]')
subscriber = session(mode='"client"', connect__endpoints='["tcp/127.0.0.1:7447"]')
seen = {}


def trial(name, **options):
    """How many messages arrive at a subscriber that takes some 0.2 ms for each."""
    got = []

    def read(sample):
        got.append(len(bytes(sample.payload)))
        time.sleep(0.0002)

    subscription = subscriber.declare_subscriber("test/" + name, read)
    time.sleep(1)
    sender = publisher.declare_publisher("test/" + name, **options)
    start = time.monotonic()
    for _ in range(MESSAGES):
        sender.put(bytes(1000))
    took = time.monotonic() - start
    last = -1
    for _ in range(120):
        if len(got) in (last, MESSAGES):
            break
        last = len(got)
        time.sleep(1)
    print(f"{name}: {sender.congestion_control}, {sender.reliability}: {MESSAGES:,} sent in {took:.2f} s, {len(got):,} arrived")
    sender.undeclare()
    subscription.undeclare()
    return len(got)


seen = trial("default"), trial("block", congestion_control=zenoh.CongestionControl.BLOCK)
subscriber.close()
publisher.close()
sys.exit(not (seen[0] < MESSAGES and seen[1] == MESSAGES))
END
cat > try.sh <<'END'
ip link set lo up
exec venv/bin/python try.py
END
unshare -n sh try.sh
