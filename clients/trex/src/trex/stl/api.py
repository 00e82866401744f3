"""The stateless API: Scapy's names, streams, packet builders, the client."""

import base64
import binascii
import collections
import copy
import importlib
import json
import math
import os
import random
import re
import socket
import string
import struct
import sys
import time

from trex.common import trex_exceptions
from trex.common.trex_exceptions import *
from trex.common.trex_exceptions import unsupported as _unsupported
from trex.stl import (
    trex_stl_client as _client,
    trex_stl_exceptions,
    trex_stl_packet_builder_scapy as _packets,
    trex_stl_streams as _streams,
)
from trex.stl.trex_stl_packet_builder_scapy import *
from trex.stl.trex_stl_packet_builder_scapy import ipv4_str_to_num, is_valid_ipv4_ret
from trex.stl.trex_stl_streams import *
from trex.stl.trex_stl_client import STLClient
from trex.stl.trex_stl_exceptions import *
from trex.utils.common import *
from trex.utils.text_opts import bold, format_num, format_text, underline

import scapy.all
import contextlib

# What profiles use of Scapy wins over equal names above.
_own = {name for module in (_packets, _streams) for name in vars(module) if name.startswith(("STL", "CTRex"))}
globals().update({name: value for name, value in vars(scapy.all).items() if not name.startswith("_") and name not in _own})

with contextlib.suppress(ImportError):
    import yaml


def stl_map_ports(client, ports=None):
    """Which ports are connected."""
    return client.map_ports(ports)


_SERVICES = "write the traffic as sessions of a profile (docs/sessions.md)"
ServiceMode = _unsupported("ServiceMode", _SERVICES)
STLServiceARP = _unsupported("STLServiceARP", "ports of a profile with 'ip' resolve neighbors themselves")
STLServiceDHCP = _unsupported("STLServiceDHCP", _SERVICES)
STLServiceICMP = _unsupported("STLServiceICMP", "use 'pings' of the HTTP API (docs/api.md)")
STLServiceIPv6ND = _unsupported("STLServiceIPv6ND", "ports of a profile with 'ip' resolve neighbors themselves")

__all__ = [name for name in globals() if not name.startswith("_")]
