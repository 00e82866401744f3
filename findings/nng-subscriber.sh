#!/bin/sh
# An nng subscriber that looks a moment too late has the first message and the last ones: of 1,000 published at once some 17 are there.
#
# One would guess: a subscriber over TCP gets what is published while it is connected, or misses the end once its buffer is full, as with
# ZeroMQ, where it holds 1,000 messages.
# So it is: the queue to a subscriber holds 16 messages, and a newer one throws the oldest out. send() succeeds, nothing counts the others.
# The messages that arrive are one or two from the start and the last 16, so whoever looks at the first and at the last one sees no loss. `send_buffer_size` of
# the publisher sets the queue.
#
# Needs root, for a network namespace of its own. Uses pynng 0.9.0 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install pynng==0.9.0 || exit 2
cat > try.py <<'END'
import sys
import time
from importlib.metadata import version

import pynng

MESSAGES = 1_000
print("pynng", version("pynng"))


def trial(port, **options):
    """Numbers of the messages that a subscriber finds after all were published."""
    address = f"tcp://127.0.0.1:{port}"
    with pynng.Pub0(listen=address, **options) as publisher, pynng.Sub0(topics=b"", recv_timeout=1000, recv_buffer_size=8192) as subscriber:
        subscriber.dial(address, block=True)
        time.sleep(1)
        for number in range(MESSAGES):
            publisher.send(b"%d" % number)
        time.sleep(1)
        found = []
        try:
            while True:
                found.append(int(subscriber.recv()))
        except pynng.Timeout:
            print(f"{options or 'defaults'}: of {MESSAGES} messages {len(found)}: {found[:2]} to {found[-2:]}")
            return found


short, long = trial(5555), trial(5556, send_buffer_size=2 * MESSAGES)
sys.exit(not (len(short) < MESSAGES / 2 and short[0] == 0 and short[-1] == MESSAGES - 1 and len(long) == MESSAGES))
END
cat > try.sh <<'END'
ip link set lo up
exec venv/bin/python try.py
END
unshare -n sh try.sh
