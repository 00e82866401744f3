#!/bin/sh
# A reader that takes what 100 writes have brought gets one sample, the last: the depth of a DDS reader is 1.
#
# One would guess: a subscriber that is slower than the writer finds what it has not read yet, as with MQTT, ZeroMQ or a UDP socket, which
# buffer some hundred messages.
# So it is: the history of a DDS reader is "keep last 1" for each key, unless set. Of 100 samples written before the reader takes any it
# gets number 99, with nothing that says how many it has missed, and both ends in one process. Slow readers of a load test look fast and
# complete, as they do less. `Policy.History.KeepAll` at both ends with `Policy.Reliability.Reliable` keeps them.
#
# Needs root, for a network namespace of its own. Uses cyclonedds 11.0.1 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install cyclonedds==11.0.1 || exit 2
cat > try.py <<'END'
import sys
import time
from dataclasses import dataclass

import cyclonedds
from cyclonedds.core import Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

SAMPLES = 100


@dataclass
class Sample(IdlStruct):
    number: int


def trial(name, qos):
    """Samples that a reader takes after all have been written."""
    topic = Topic(participant, name, Sample)
    reader, writer = DataReader(participant, topic, qos=qos), DataWriter(participant, topic, qos=qos)
    time.sleep(1)
    for number in range(SAMPLES):
        writer.write(Sample(number))
    time.sleep(0.5)
    numbers = [sample.number for sample in reader.take(N=10 * SAMPLES)]
    print(f"{name}: {SAMPLES} written, then taken: {len(numbers)}, the first is number {numbers[0]}")
    return numbers


participant = DomainParticipant(0)
print("cyclonedds 11.0.1")
usual = trial("default", None)
kept = trial("keep_all", Qos(Policy.Reliability.Reliable(duration(seconds=10)), Policy.History.KeepAll))
sys.exit(not (usual == [SAMPLES - 1] and kept == list(range(SAMPLES))))
END
cat > try.sh <<'END'
ip link set lo up
exec venv/bin/python try.py
END
unshare -n sh try.sh
