"""Scapy as profiles expect it: defaults that depend on no machine.

TRex brings its own Scapy in which addresses that a packet leaves out are constants. Scapy queries the machine instead:
its routes, interfaces and neighbors, so each machine gets other packets. This module puts TRex's constants in place, for the
whole process. `EAGRE_TREX_SCAPY=plain` keeps Scapy as it is.
"""

import importlib.util
import os
import platform
import sys

from trex.common.trex_exceptions import TRexError

DESTINATION_MAC = "00:00:00:01:00:00"
SOURCE_MAC = "00:00:00:02:00:00"
SOURCE_IP = "16.0.0.1"
DESTINATION_IP = "48.0.0.1"
SOURCE_IP6 = "::2"


def _constant(field, base, value):
    """Makes `value` the default of all fields of a class that queries the machine."""

    def i2h(self, pkt, x):
        return base.i2h(self, pkt, value if x is None else x)

    def i2m(self, pkt, x):
        return base.i2m(self, pkt, value if x is None else x)

    field.i2h, field.i2m = i2h, i2m


def apply():
    """Puts the defaults in place, once.

    Raises:
        TRexError: Scapy is missing.

    """
    if importlib.util.find_spec("scapy") is None:
        raise TRexError(
            f"Scapy is missing, which profiles build packets with, in {sys.executable} "
            f"(Python {platform.python_version()}): "
            f"{sys.executable} -m pip install scapy, or apt install python3-scapy for Debian's own python3; "
            "EAGRE_PYTHON names another interpreter"
        )
    import logging

    logging.getLogger("scapy").setLevel(logging.ERROR)
    import scapy.all
    from scapy import fields
    from scapy.layers import inet, l2

    if os.environ.get("EAGRE_TREX_SCAPY") == "plain" or getattr(scapy.all, "eagre_defaults", False):
        return
    scapy.all.eagre_defaults = True
    _constant(l2.DestMACField, fields.MACField, DESTINATION_MAC)
    _constant(l2.SourceMACField, fields.MACField, SOURCE_MAC)
    # A class of Scapy 2.5 alone.
    if hasattr(l2, "ARPSourceMACField"):
        _constant(l2.ARPSourceMACField, fields.MACField, SOURCE_MAC)
    _constant(fields.SourceIPField, fields.IPField, SOURCE_IP)
    _constant(fields.SourceIP6Field, fields.IP6Field, SOURCE_IP6)
    _constant(inet.DestIPField, fields.IPField, DESTINATION_IP)
    reader = scapy.all.RawPcapReader
    if not hasattr(reader, "read_all"):
        reader.read_all = lambda self, count=-1: [packet for _, packet in zip(range(count % (1 << 62)), self)]
