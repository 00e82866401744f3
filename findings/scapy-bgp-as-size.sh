#!/bin/sh
# Scapy writes the AS numbers of a BGP UPDATE with two bytes, even if the session has negotiated four.
#
# One would guess: an AS_PATH is built with four bytes for each AS, as all current routers send it to each other (RFC 6793), or
# Scapy takes the size from the OPEN messages it was given.
# So it is: `bgp_module_conf.use_2_bytes_asn` is True, for building and for reading. To a router that has negotiated four bytes a
# segment of two numbers ends after half of them: the AS_PATH is malformed. An AS above 65,535 cannot be built at all, unless
# BGPPAAS4BytesPath is used instead.
#
# Uses Scapy 2.8.0 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install scapy==2.8.0 || exit 2
"$folder/venv/bin/python" - <<'END'
import logging
import sys

import scapy

logging.getLogger("scapy").setLevel(logging.ERROR)
from scapy.contrib.bgp import BGPPAAS4BytesPath, BGPPAASPath, bgp_module_conf


def written(kind, numbers):
    """The bytes of an AS_PATH with one sequence."""
    try:
        return bytes(kind(segments=[kind.ASPathSegment(segment_type=2, segment_value=numbers)])).hex()
    except ValueError as error:
        return f"ValueError: {str(error).splitlines()[-2]}"


seen = [written(BGPPAASPath, [65001, 65002]), written(BGPPAAS4BytesPath, [65001, 65002]), written(BGPPAASPath, [4200000000])]
print("Scapy", scapy.__version__)
print("use_2_bytes_asn", bgp_module_conf.use_2_bytes_asn)
for what, text in zip(("AS_PATH 65001 65002", "the same, by BGPPAAS4BytesPath", "AS_PATH 4200000000"), seen):
    print(f"{what}: {text}")
as_described = bgp_module_conf.use_2_bytes_asn and seen[:2] == ["0202fde9fdea", "02020000fde90000fdea"] and "Error" in seen[2]
sys.exit(not as_described)
END
