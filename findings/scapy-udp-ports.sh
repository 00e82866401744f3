#!/bin/sh
# Scapy's UDP()/BFD() goes to port 7784, DHCP from the server's port to the client's, and WireGuard to that of DNS.
#
# One would guess: a layer above UDP() sets the port that its protocol has, as VXLAN, NTP and RADIUS do: 3784 for BFD, 67 for a client's
# DHCP.
# So it is: the binding that was made last counts, and BFD's is that of S-BFD, 7784: no BFD peer listens there. BOOTP's source is 67 and its
# destination 68, as if a server sent it. WireGuard sets the source only, and the destination stays at UDP()'s own default, 53. GENEVE,
# STAMP, RoCE, CoAP and TFTP leave 53 as their source, so that tshark takes GENEVE for malformed DNS. Give both ports. The TTL is 64 in
# each; for BFD it has to be 255 (RFC 5881, section 5).
#
# Uses scapy 2.8.0 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install scapy==2.8.0 || exit 2
cat > try.py <<'END'
import sys

import scapy
from scapy.contrib.bfd import BFD
from scapy.contrib.coap import CoAP
from scapy.contrib.geneve import GENEVE
from scapy.contrib.roce import BTH
from scapy.contrib.stamp import STAMPSessionSenderTestUnauthenticated
from scapy.contrib.wireguard import Wireguard
from scapy.layers.dhcp import BOOTP, DHCP
from scapy.layers.inet import IP, UDP
from scapy.layers.ntp import NTP
from scapy.layers.radius import Radius
from scapy.layers.tftp import TFTP
from scapy.layers.vxlan import VXLAN

EXPECTED = {  # source and destination port
    "NTP": (NTP(), (123, 123)),
    "RADIUS": (Radius(), (1812, 1812)),
    "VXLAN": (VXLAN(), (4789, 4789)),
    "BFD, of port 3784": (BFD(), (7784, 7784)),
    "DHCP discover, of port 68 to 67": (BOOTP() / DHCP(options=[("message-type", "discover"), "end"]), (67, 68)),
    "WireGuard, of port 51820": (Wireguard(), (51820, 53)),
    "GENEVE, to port 6081": (GENEVE(), (53, 6081)),
    "STAMP, to port 862": (STAMPSessionSenderTestUnauthenticated(), (53, 862)),
    "RoCEv2, to port 4791": (BTH(), (53, 4791)),
    "CoAP, to port 5683": (CoAP(), (53, 5683)),
    "TFTP, to port 69": (TFTP(), (53, 69)),
}
print("Scapy", scapy.__version__)
as_described = True
for name, (layer, ports) in EXPECTED.items():
    packet = IP(bytes(IP(src="192.0.2.1", dst="192.0.2.2") / UDP() / layer))
    seen = packet[UDP].sport, packet[UDP].dport
    print(f"{name}: {seen[0]} to {seen[1]}, TTL {packet.ttl}, read back as {packet[UDP].payload.name}")
    as_described &= seen == ports and packet.ttl == 64
sys.exit(not as_described)
END
venv/bin/python try.py
