#!/bin/sh
# DogStatsD's `timed` sends seconds where `timing` sends milliseconds, both of the type `ms`: a call of 200 ms is 0.2.
#
# One would guess: a timer of StatsD has milliseconds, as its type says, and the decorator that measures sends what `timing` would.
# So it is: `@statsd.timed("call")` and `with statsd.timed("call")` send seconds, `0.2|ms`, unless the client has `use_ms=True`. Servers of
# StatsD take the type's word and show 0.2 ms, a thousandth; so calls measured by hand and by the decorator under one name mix. With
# use_ms=True the value is rounded to whole milliseconds, and calls of 0.4 ms are 0.
#
# Uses datadog 0.56.0 from PyPI, with a UDP socket on a loopback port for a server; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install datadog==0.56.0 || exit 2
"$folder/venv/bin/python" - <<'END'
import socket
import sys
import time
from importlib.metadata import version

from datadog.dogstatsd.base import DogStatsd

print("datadog", version("datadog"))
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 0))
server.settimeout(5)


def sent(act, **options):
    """Value of the timer that `act` makes a client send."""
    client = DogStatsd(host="127.0.0.1", port=server.getsockname()[1], **options)
    act(client)
    client.flush()
    line = server.recv(2000).decode().strip()
    print(options or "defaults", line)
    value, kind = line.split(":")[1].split("|")[:2]
    return float(value), kind


def measured(seconds):
    def act(client):
        with client.timed("call"):
            time.sleep(seconds)
    return act


by_hand = sent(lambda client: client.timing("call", 200))
by_itself = sent(measured(0.2))
rounded = sent(measured(0.2), use_ms=True)
short = sent(measured(0.0001), use_ms=True)
sys.exit(not (
    by_hand == (200, "ms") and 0.2 <= by_itself[0] < 5 and by_itself[1] == "ms"
    and rounded[0] >= 200 and rounded[0] == int(rounded[0]) and short[0] == int(short[0])
))
END
