#!/bin/sh
# The length in Scapy's IPFIX header is two bytes short: a collector cuts the last record, or drops the message.
#
# One would guess: NetflowHeaderV10 computes the message's length, as NetflowHeaderV9 computes its count of records, and IP its length.
# So it is: it computes the length of its part of the header and what follows, without the two bytes of the version that NetflowHeader
# holds before it, though RFC 7011, section 3.1, has them in. A message of 80 bytes says 78. Python's netflow refuses it as malformed,
# tshark shows a partial flow; nfdump 1.7.1 takes it. A test of a collector that loses all flows looks for the fault there. Set `length`
# by hand: the true one is len() of the whole message.
#
# Uses scapy 2.8.0 and netflow 0.12.2 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install scapy==2.8.0 netflow==0.12.2 || exit 2
cat > try.py <<'END'
import struct
import sys
import time

import netflow
import scapy
from netflow.ipfix import IPFIXMalformedPacket
from scapy.layers.netflow import NetflowDataflowsetV9, NetflowFlowsetV9, NetflowHeader, NetflowHeaderV10
from scapy.layers.netflow import NetflowTemplateFieldV9, NetflowTemplateV9

print("scapy", scapy.__version__)
FIELDS = ((8, 4), (12, 4), (4, 1), (2, 4), (1, 4), (7, 2), (11, 2))  # addresses, protocol, packets, bytes, ports
record = bytes([10, 0, 0, 1, 10, 0, 0, 2, 17]) + struct.pack("!IIHH", 10, 1000, 1000, 2000)


def message(**fields):
    template = NetflowTemplateV9(
        templateID=300, template_fields=[NetflowTemplateFieldV9(fieldType=kind, fieldLength=size) for kind, size in FIELDS]
    )
    return bytes(
        NetflowHeader() / NetflowHeaderV10(ExportTime=int(time.time()), flowSequence=0, ObservationDomainID=1, **fields)
        / NetflowFlowsetV9(flowSetID=2, templates=[template]) / NetflowDataflowsetV9(templateID=300, records=[record])
    )


def parsed(data):
    """How many flows a collector finds in a message."""
    try:
        return len(netflow.parse_packet(data, {"netflow": {}, "ipfix": {}}).flows)
    except IPFIXMalformedPacket as error:
        return type(error).__name__


seen = []
for data in (message(), message(length=len(message()))):
    length = struct.unpack("!H", data[2:4])[0]
    seen.append((len(data) - length, parsed(data)))
    print(f"a message of {len(data)} bytes says {length}; flows that netflow finds in it: {seen[-1][1]}")
sys.exit(seen != [(2, "IPFIXMalformedPacket"), (0, 1)])
END
venv/bin/python try.py 2> log || { status=$?; cat log >&2; exit $status; }
