#!/bin/sh
# The netflow library mixes the templates of exporters: one source's packets and bytes are read by the other's template.
#
# One would guess: a template belongs to the source ID of the header it came with (RFC 3954, section 5.1; RFC 7011, section 3.4.1),
# so two line cards of a router may both use template 256 for different fields.
# So it is: `parse_packet` keeps templates by their number alone. If source 2 announces 256 as packets, bytes after source 1 has
# announced it as bytes, packets, source 1's flow of 15,000 bytes in 10 packets is one of 10 bytes in 15,000 packets. No error.
#
# Uses netflow 0.12.2 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install netflow==0.12.2 || exit 2
"$folder/venv/bin/python" - <<'END'
import struct
import sys
from importlib.metadata import version

from netflow import parse_packet

BYTES, PACKETS = 1, 2


def packet(source, flowset, body):
    """A NetFlow v9 packet with one flow set."""
    return struct.pack("!HHIIIIHH", 9, 1, 1000, 1_700_000_000, 1, source, flowset, len(body) + 4) + body


def template(source, *fields):
    """Template 256 of a source, with fields of four bytes."""
    return packet(source, 0, struct.pack("!HH", 256, len(fields)) + b"".join(struct.pack("!HH", field, 4) for field in fields))


templates = {"netflow": {}, "ipfix": {}}
data, seen = packet(1, 256, struct.pack("!II", 15_000, 10)), []
parse_packet(template(1, BYTES, PACKETS), templates)
seen.append(parse_packet(data, templates).flows[0].data)
parse_packet(template(2, PACKETS, BYTES), templates)
seen.append(parse_packet(data, templates).flows[0].data)
print("netflow", version("netflow"))
print("source 1, template 256 (bytes, packets), data 15000, 10:", seen[0])
print("the same data after source 2 has announced template 256 (packets, bytes):", seen[1])
sys.exit(seen != [{"IN_BYTES": 15_000, "IN_PKTS": 10}, {"IN_PKTS": 15_000, "IN_BYTES": 10}])
END
