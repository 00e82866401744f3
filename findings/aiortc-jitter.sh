#!/bin/sh
# The jitter of aiortc jumps to 268 million when an RTP timestamp wraps around, and its statistics are not in seconds.
#
# One would guess: the jitter of a stream whose packets arrive evenly is 0 all along, and `getStats()` shows it in seconds, as W3C's names
# that it uses have it.
# So it is: the difference of two timestamps is not taken modulo 2^32 (RFC 3550, appendix A.8), so at the wrap a sixteenth of 2^32 is added
# to the jitter: 268,435,456. Timestamps begin anywhere, so at 90 kHz a video of an hour wraps with a chance of 1 in 13. It takes some 200
# packets to get below 1,000 units again, and goes to the sender in RTCP reports, too. The unit is that of the stream's clock: 900 are
# 10 ms of video.
#
# Uses aiortc 1.9.0 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install aiortc==1.9.0 || exit 2
cat > try.py <<'END'
import sys
from importlib.metadata import version
from unittest import mock

from aiortc.rtcrtpreceiver import StreamStatistics
from aiortc.rtp import RtpPacket

CLOCK, STEP = 90_000, 3000


def jitters(first, packets, late=0.0):
    """Jitter after each packet of a stream of 30 packets a second, each second one late by some seconds."""
    statistics, found = StreamStatistics(CLOCK), []
    for number in range(packets):
        arrival = 1_000_000_000 + number * STEP / CLOCK + number % 2 * late
        with mock.patch("aiortc.rtcrtpreceiver.time.time", return_value=arrival + 1e-6):
            statistics.add(RtpPacket(sequence_number=number, timestamp=(first + number * STEP) % 2**32))
        found.append(statistics.jitter)
    return found


print("aiortc", version("aiortc"))
even, wrapped, late = jitters(0, 400), jitters(2**32 - 100 * STEP, 400), jitters(0, 400, 0.01)
below = next(number for number in range(100, 400) if wrapped[number] < 1000) - 100
print(f"30 packets a second, evenly: jitter at most {max(even)}")
print(f"the same, the timestamp wraps at packet 100: {max(wrapped[:100])} before, {wrapped[100]:,} then, below 1,000 after {below} packets")
print(f"each second packet 10 ms late: {late[-1]}, in units of 1/{CLOCK} s")
sys.exit(not (max(even) < 2 and wrapped[100] > 268_000_000 and 100 < below < 300 and 890 <= late[-1] <= 905))
END
venv/bin/python try.py
