"""A profile for TRex: 254 clients send UDP to one server, in frames of a length that can be chosen."""

import argparse

from trex_stl_lib.api import *


class Flows:
    def get_streams(self, direction, tunables, **kwargs):
        parser = argparse.ArgumentParser()
        parser.add_argument("--fsize", type=int, default=64, help="frame length with FCS")
        parser.add_argument("--pps", type=float, default=1000, help="packets per second")
        options = parser.parse_args(tunables)
        source, destination = ("16.0.0.1", "48.0.0.1") if direction == 0 else ("48.0.0.1", "16.0.0.1")
        packet = Ether() / IP(src=source, dst=destination) / UDP(sport=1025, dport=12)
        packet /= "x" * max(0, options.fsize - 4 - len(packet))
        vm = STLVM()
        vm.var(name="client", min_value="16.0.0.1", max_value="16.0.0.254", size=4, op="inc")
        vm.write(fv_name="client", pkt_offset="IP.src" if direction == 0 else "IP.dst")
        vm.fix_chksum()
        return STLStream(packet=STLPktBuilder(pkt=packet, vm=vm), mode=STLTXCont(pps=options.pps))


def register():
    return Flows()
