#!/bin/sh
# Scapy's IGMPv3()/IGMPv3mr(…), as scripts have it, makes two messages in one packet with 2.8.0: a report without groups.
#
# One would guess: scripts for `scapy.contrib.igmpv3` go on as they did; the module still has all its names, "for compatibility".
# So it is: IGMPv3 was the header of the messages, and is now a dispatcher that makes a whole message; what follows is one more message,
# as payload. With 2.7.0 a report of one group is 16 bytes, with 2.8.0 24, of which a switch reads the first 8: "0 groups". No error, and
# a warning only where Python shows deprecations. A query's group becomes its list of sources. A test of snooping joins nothing. Use
# `scapy.layers.igmp`, and IGMPv3_MR(…) alone.
#
# Uses scapy 2.7.0 and 2.8.0 from PyPI, and tshark 4.0.17-0+deb12u3 of Debian 12 to read the packets; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv 2.7.0 && 2.7.0/bin/pip -q install scapy==2.7.0 || exit 2
python3 -m venv 2.8.0 && 2.8.0/bin/pip -q install scapy==2.8.0 || exit 2
for package in tshark libwireshark16 libwiretap13 libwsutil14; do
    apt-get -qq -o APT::Sandbox::User=root download "$package=4.0.17-0+deb12u3" || exit 2
done
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/bin/tshark --version 2> log | grep -m 1 '^TShark' || exit 2
cat > try.py <<'END'
import sys

from scapy.all import IP, Ether, wrpcap
from scapy.contrib.igmpv3 import IGMPv3, IGMPv3gr, IGMPv3mr

report = IGMPv3(type=0x22) / IGMPv3mr(records=[IGMPv3gr(rtype=4, maddr="239.1.1.1")])
wrpcap(sys.argv[1], Ether(dst="01:00:5e:00:00:16") / IP(src="192.0.2.1", dst="224.0.0.22") / report)
END
for version in 2.7.0 2.8.0; do
    "$version/bin/python" try.py $version.pcap 2> log
    usr/bin/tshark -r $version.pcap -T fields -e ip.len -e ip.hdr_len -e igmp.num_grp_recs -e igmp.maddr 2> log > $version.txt
    echo "Scapy $version: IP length, header, groups of the report:" $(cat $version.txt)
done
python3 - <<'END'
import sys

old, new = (open(f"{version}.txt").read().split() for version in ("2.7.0", "2.8.0"))
groups = old[2:] == ["1", "239.1.1.1"] and new[2:] == ["0"]
sys.exit(not (groups and int(old[0]) - int(old[1]) == 16 and int(new[0]) - int(new[1]) == 24))
END
