"""Streams, their modes and profiles of them."""

import base64
import copy
import inspect
import itertools
import json
import os

from eagre_trex import SCHEMA
from eagre_trex.profiles import Helped, arguments, registered, told, words_of
from trex.common.trex_exceptions import TRexArgumentError, TRexError, TRexTypeError
from trex.stl.trex_stl_packet_builder_scapy import Ether, STLPktBuilder, _folders, read_capture

RATES = ("pps", "bps_L1", "bps_L2", "percentage")


# Where a packet's destination comes from: the port, the packet, ARP.
STLStreamDstMAC_CFG_FILE, STLStreamDstMAC_PKT, STLStreamDstMAC_ARP = 0, 1, 2


class STLTXMode:
    """When packets leave."""

    kind = None

    def __init__(self, pps=None, bps_L1=None, bps_L2=None, percentage=None):
        given = {name: value for name, value in zip(RATES, (pps, bps_L1, bps_L2, percentage)) if value is not None}
        if len(given) > 1:
            raise TRexArgumentError("rate", ", ".join(given), RATES, "give one of them")
        self.rate_type, value = next(iter(given.items()), ("pps", 1))
        try:
            self.rate = float(value)
        except (TypeError, ValueError):
            raise TRexTypeError(self.rate_type, type(value), float) from None
        if not self.rate > 0:
            raise TRexArgumentError(self.rate_type, value, "numbers above 0")

    def to_json(self):
        """The mode as a mapping."""
        return {"type": self.kind, "rate": {"type": self.rate_type, "value": self.rate}, **self.counts()}

    def counts(self):
        """Packets that the mode counts."""
        return {}

    def get_rate(self):
        """The rate's value."""
        return self.rate

    @staticmethod
    def from_json(mode):
        """The mode a mapping describes."""
        rate = {mode["rate"]["type"]: mode["rate"]["value"]}
        kind = mode.get("type")
        if kind == "continuous":
            return STLTXCont(**rate)
        if kind == "single_burst":
            return STLTXSingleBurst(total_pkts=mode["total_pkts"], **rate)
        if kind == "multi_burst":
            keys = ("pkts_per_burst", "ibg", "count")
            return STLTXMultiBurst(**{key: mode[key] for key in keys if key in mode}, **rate)
        raise TRexArgumentError("mode.type", kind, ("continuous", "single_burst", "multi_burst"))


def _count(name, value):
    if not isinstance(value, int) or isinstance(value, bool):
        raise TRexTypeError(name, type(value), int)
    if value < 1:
        raise TRexArgumentError(name, value, "numbers from 1")
    return value


class STLTXCont(STLTXMode):
    """Without end."""

    kind = "continuous"

    def __str__(self):
        return "Continuous"


class STLTXSingleBurst(STLTXMode):
    """A number of packets."""

    kind = "single_burst"

    def __init__(self, total_pkts=1, **kwargs):
        self.total_pkts = _count("total_pkts", total_pkts)
        super().__init__(**kwargs)

    def counts(self):
        return {"total_pkts": self.total_pkts}

    def __str__(self):
        return "Single Burst"


class STLTXMultiBurst(STLTXMode):
    """Bursts with pauses (ibg, µs) from the last packet of one to the first of the next."""

    kind = "multi_burst"

    def __init__(self, pkts_per_burst=1, ibg=0.0, count=1, **kwargs):
        self.pkts_per_burst, self.count = _count("pkts_per_burst", pkts_per_burst), _count("count", count)
        self.ibg = float(ibg)
        super().__init__(**kwargs)

    def counts(self):
        return {"pkts_per_burst": self.pkts_per_burst, "ibg": self.ibg, "count": self.count}

    def __str__(self):
        return "Multi Burst"


class STLFlowStatsInterface:
    """Counters of a stream."""

    rule_type = "stats"

    def __init__(self, pg_id, vxlan=False, ieee_1588=False):
        if not isinstance(pg_id, int):
            raise TRexTypeError("pg_id", type(pg_id), int)
        self.pg_id, self.vxlan, self.ieee_1588 = pg_id, bool(vxlan), bool(ieee_1588)

    def get_pg_id(self):
        """The number of its group."""
        return self.pg_id

    def to_json(self):
        """The mapping."""
        out = {"enabled": True, "stream_id": self.pg_id, "rule_type": self.rule_type}
        return out | {key: True for key in ("vxlan", "ieee_1588") if getattr(self, key)}

    @staticmethod
    def defaults():
        """Nothing is counted."""
        return {"enabled": False}


class STLFlowStats(STLFlowStatsInterface):
    """Packets and bytes, sent and received."""


class STLFlowLatencyStats(STLFlowStatsInterface):
    """Packets, order and latency."""

    rule_type = "latency"


class STLTaggedPktGroup(STLFlowStatsInterface):
    """Packets by tag; Eagre refuses it when a profile is run."""

    rule_type = "tpg"

    def __init__(self, tpgid):
        super().__init__(tpgid)


class STLStream:
    """A packet, how it varies, when it leaves, and which stream follows."""

    def __init__(
        self, name=None, packet=None, mode=None, enabled=True, self_start=True, isg=0.0, flow_stats=None, next=None,
        stream_id=None, action_count=0, random_seed=0, mac_src_override_by_pkt=None, mac_dst_override_mode=None,
        dummy_stream=False, start_paused=False, core_id=-1,
    ):  # fmt: skip
        for key, value, kind in (("mode", mode, STLTXMode), ("packet", packet, STLPktBuilder)):
            if value is not None and not isinstance(value, kind):
                raise TRexTypeError(key, type(value), kind)
        self.mode = mode or STLTXCont(pps=1)
        if isinstance(self.mode, STLTXCont) and next is not None:
            raise TRexError(f"stream '{name}': a continuous stream never ends, so none can follow it; use a burst")
        if flow_stats is not None and not isinstance(flow_stats, STLFlowStatsInterface):
            raise TRexTypeError("flow_stats", type(flow_stats), STLFlowStatsInterface)
        self.name, self.next, self.id = name, next, stream_id
        self.packet = packet or STLPktBuilder(pkt=Ether() / ("\0" * 46))
        self.enabled, self.self_start, self.isg = bool(enabled), bool(self_start), float(isg)
        self.flow_stats, self.action_count, self.random_seed = flow_stats, int(action_count), int(random_seed)
        self.dummy_stream, self.start_paused, self.core_id = bool(dummy_stream), bool(start_paused), int(core_id)
        said = not self.packet.is_default_src_mac()
        self.src_by_packet = said if mac_src_override_by_pkt is None else bool(mac_src_override_by_pkt)
        default = STLStreamDstMAC_CFG_FILE if self.packet.is_default_dst_mac() else STLStreamDstMAC_PKT
        self.dst_mode = default if mac_dst_override_mode is None else int(mac_dst_override_mode)
        # Built now, so that an error points to the line that made the stream.
        self.bytes, self.program = self.packet.bytes(), self.packet.program()

    def get_id(self):
        """Its number at the port."""
        return self.id

    def set_id(self, stream_id):
        """Sets its number at the port."""
        self.id = stream_id

    def get_name(self):
        """Its name."""
        return self.name

    def get_next(self):
        """The stream that follows, by name."""
        return self.next

    def has_flow_stats(self):
        """Whether it is counted."""
        return self.flow_stats is not None

    def get_pg_id(self):
        """The group it is counted in."""
        return self.flow_stats.pg_id if self.flow_stats else None

    def get_pkt(self):
        """Its bytes."""
        return self.bytes

    def get_pkt_len(self, count_crc=True):
        """Its length, with FCS unless stated otherwise."""
        return len(self.bytes) + (4 if count_crc else 0)

    def get_pkt_type(self):
        """Names of its headers."""
        from eagre_trex.offsets import headers

        return ":".join(header.name for _, header in headers(Ether(self.bytes)))

    def get_mode(self):
        """Its mode as text."""
        return str(self.mode)

    def get_rate(self):
        """Its rate as a mapping."""
        return {"type": self.mode.rate_type, "value": self.mode.rate}

    def is_dummy(self):
        """Whether it takes time and sends nothing."""
        return self.dummy_stream

    def is_explicit_dst_mac(self):
        """Whether the packet's destination is kept."""
        return self.dst_mode == STLStreamDstMAC_PKT

    def to_json(self):
        """The stream as TRex's documents have it."""
        stream = {
            "enabled": self.enabled, "self_start": self.self_start, "start_paused": self.start_paused,
            "isg": self.isg, "action_count": self.action_count, "random_seed": self.random_seed,
            "core_id": self.core_id, "flags": int(self.src_by_packet) | self.dst_mode << 1,
            "packet": {"binary": base64.b64encode(self.bytes).decode(), "meta": ""},
            "mode": self.mode.to_json(), "vm": self.program,
            "flow_stats": self.flow_stats.to_json() if self.flow_stats else STLFlowStatsInterface.defaults(),
        }  # fmt: skip
        if self.dummy_stream:
            stream["dummy_stream"] = True
        out = {"stream": stream}
        if self.name is not None:
            out["name"] = self.name
        if self.id is not None:
            out["id"] = self.id
        if self.next is not None:
            out["next"] = self.next
        return out

    @classmethod
    def from_json(cls, document):
        """The stream that a mapping describes."""
        inner = document["stream"]
        new = cls.__new__(cls)
        new.name, new.next, new.id = (
            document.get("name"),
            document.get("next"),
            document.get("id", document.get("stream_id")),
        )
        flags = inner.get("flags", 0)
        new.enabled, new.self_start = inner.get("enabled", True), inner.get("self_start", True)
        new.isg, new.action_count = float(inner.get("isg", 0.0)), inner.get("action_count", 0)
        new.random_seed, new.core_id = inner.get("random_seed", 0), inner.get("core_id", -1)
        new.dummy_stream, new.start_paused = inner.get("dummy_stream", False), inner.get("start_paused", False)
        new.src_by_packet, new.dst_mode = bool(flags & 1), flags >> 1 & 3
        new.bytes = base64.b64decode(inner["packet"]["binary"])
        new.packet = STLPktBuilder(pkt_buffer=new.bytes)
        new.program = inner.get("vm") or {"instructions": []}
        new.mode = STLTXMode.from_json(inner["mode"])
        rule = inner.get("flow_stats") or {}
        kinds = {"latency": STLFlowLatencyStats, "stats": STLFlowStats}
        counted = kinds.get(rule.get("rule_type", "stats"), STLFlowStats)
        new.flow_stats = counted(rule["stream_id"]) if rule.get("enabled") else None
        return new

    def clone(self):
        """A copy."""
        return copy.deepcopy(self)


class STLProfile:
    """Streams of a port."""

    def __init__(self, streams=None):
        streams = [] if streams is None else streams
        streams = streams if isinstance(streams, (list, tuple)) else [streams]
        for stream in streams:
            if not isinstance(stream, STLStream):
                raise TRexTypeError("streams", type(stream), STLStream)
        self.streams = list(streams)
        self.meta = None

    def get_streams(self):
        """The streams."""
        return self.streams

    def __len__(self):
        return len(self.streams)

    def has_flow_stats(self):
        """Whether a stream is counted."""
        return any(stream.has_flow_stats() for stream in self.streams)

    def is_pauseable(self):
        """Whether all streams are continuous."""
        return all(isinstance(stream.mode, STLTXCont) for stream in self.streams)

    def to_json(self):
        """The streams as mappings."""
        return [stream.to_json() for stream in self.streams]

    def dump_to_yaml(self, yaml_file=None):
        """Writes the streams as YAML; returns its text."""
        import yaml

        text = yaml.safe_dump(self.to_json(), default_flow_style=False)
        if yaml_file:
            with open(yaml_file, "w") as file:
                file.write(text)
        return text

    def dump_to_code(self, profile_file=None):
        """Not supported."""
        raise TRexError("dump_to_code is not supported by Eagre; 'eagre trex convert FILE' prints a profile to keep")

    @classmethod
    def from_json(cls, streams):
        """Streams from mappings."""
        return cls([STLStream.from_json(stream) for stream in streams])

    @staticmethod
    def get_module_tunables(module):
        """Names and defaults of a profile's keyword arguments (of the old kind)."""
        parameters = inspect.signature(module.register().get_streams).parameters.values()
        known = ("direction", "port_id", "tunables", "kwargs")
        return {item.name: item.default for item in parameters if item.name not in known and item.default is not item.empty}

    @classmethod
    def load_py(cls, python_file, direction=0, port_id=0, **kwargs):
        """Streams of a Python profile.

        Raises:
            TRexError: the file is missing, or its code failed.

        """
        tunables = kwargs.pop("tunables", None)
        words = list(tunables) if tunables is not None else words_of(kwargs)
        try:
            with told(python_file, words):
                return cls(_streams(python_file, direction, port_id, words, kwargs))
        except Helped:
            return None

    @classmethod
    def load_json(cls, json_file):
        """Streams of a JSON file."""
        with open(json_file) as file:
            return cls.from_json(_list_of(json.load(file)))

    @classmethod
    def load_yaml(cls, yaml_file):
        """Streams of a YAML file."""
        import yaml

        with open(yaml_file) as file:
            return cls.from_json(_list_of(yaml.safe_load(file)))

    @classmethod
    def load(cls, filename, direction=0, port_id=0, **kwargs):
        """Streams of a file: .py, .json, .yaml, .pcap or .cap."""
        if not os.path.isfile(filename):
            raise TRexError(f"file '{filename}' does not exist")
        suffix = os.path.splitext(filename)[1].lower()
        if suffix == ".py":
            profile = cls.load_py(filename, direction, port_id, **kwargs)
        elif suffix == ".json":
            profile = cls.load_json(filename)
        elif suffix in (".yaml", ".yml"):
            profile = cls.load_yaml(filename)
        elif suffix in (".pcap", ".cap"):
            profile = cls.load_pcap(filename, speedup=1, ipg_usec=1e6)
        else:
            raise TRexError(f"file '{filename}': unknown kind; profiles end in .py, .json, .yaml, .pcap or .cap")
        if profile is not None:
            profile.meta = {"type": suffix[1:]}
        return profile

    @classmethod
    def load_pcap(
        cls, pcap_file, ipg_usec=None, speedup=1.0, loop_count=1, vm=None, packet_hook=None, split_mode=None,
        min_ipg_usec=None, src_mac_pcap=False, dst_mac_pcap=False,
    ):  # fmt: skip
        """A capture as a chain of single packets; with `split_mode` ('MAC' or 'IP') two profiles, one for each direction."""
        if not os.path.isfile(pcap_file):
            raise TRexError(f"file '{pcap_file}' does not exist")
        if not speedup > 0:
            raise TRexArgumentError("speedup", speedup, "numbers above 0")
        packets = read_capture(pcap_file)
        if not packets:
            raise TRexError(f"capture '{pcap_file}' has no packets")
        times, now, before = [], 0.0, packets[0][1]
        for _, at in packets:
            gap = ipg_usec if ipg_usec is not None else (at - before) * 1e6
            now, before = now + max(gap / speedup, min_ipg_usec or 0), at
            times.append(now)
        timed = [(data, at) for (data, _), at in zip(packets, times)]
        options = (vm, packet_hook, loop_count, src_mac_pcap, dst_mac_pcap)
        if split_mode is None:
            return cls(_chain(timed, 0.0, *options))
        if split_mode not in ("MAC", "IP"):
            raise TRexArgumentError("split_mode", split_mode, ("MAC", "IP"))
        first = _source(packets[0][0], split_mode)
        sides = [[], []]
        for packet in timed:
            sides[_source(packet[0], split_mode) != first].append(packet)
        if not sides[1]:
            raise TRexError(f"capture '{pcap_file}' has one direction only; leave 'split_mode' out")
        end = times[-1]
        return tuple(cls(_chain(side, end - side[-1][1], *options)) for side in sides)


def _source(data, split_mode):
    packet = Ether(data)
    if split_mode == "MAC":
        return packet.src
    from scapy.all import IP, IPv6

    header = packet.getlayer(IP) or packet.getlayer(IPv6)
    if header is None:
        raise TRexError("a packet of the capture has no IP header; use split_mode='MAC'")
    return header.src


def _chain(packets, rest, vm, packet_hook, loop_count, src_by_packet, dst_by_packet):
    """Streams of one packet each; `rest` is the time from the last packet to the capture's end, µs."""
    streams, before, count = [], 0.0, len(packets)
    for index, (data, at) in enumerate(packets, 1):
        last = index == count
        if packet_hook:
            data = bytes(packet_hook(data))
        streams.append(
            STLStream(
                name=str(index),
                packet=STLPktBuilder(pkt_buffer=data, vm=vm),
                self_start=index == 1,
                mode=STLTXSingleBurst(total_pkts=1, percentage=100),
                isg=at - before,
                mac_src_override_by_pkt=src_by_packet,
                mac_dst_override_mode=STLStreamDstMAC_PKT if dst_by_packet else STLStreamDstMAC_CFG_FILE,
                action_count=loop_count if last else 0,
                next=(None if loop_count == 1 else "1") if last else str(index + 1),
            )
        )
        before = at
    streams[0].isg += rest if loop_count != 1 and rest else 0
    return streams


def _list_of(streams):
    if isinstance(streams, dict) and streams.get("schema") == SCHEMA:
        streams = next(iter(streams["ports"].values()))
    if not isinstance(streams, list) or not all(isinstance(item, dict) and "stream" in item for item in streams):
        raise TRexError("not a list of streams: each is a mapping with the key 'stream'")
    return streams


def _streams(path, direction, port_id, words, kwargs):
    """Runs a profile's code."""
    _folders.append(os.path.dirname(os.path.abspath(path)))
    try:
        with registered(path) as profile:
            if not hasattr(profile, "get_streams"):
                instead = "; it is an ASTF profile" if hasattr(profile, "get_profile") else ""
                raise TRexError(f"profile '{path}' has no 'get_streams'{instead}")
            given = {"direction": direction, "port_id": port_id, "tunables": words}
            streams = profile.get_streams(**arguments(profile.get_streams, given, kwargs))
    finally:
        _folders.pop()
    return streams.get_streams() if isinstance(streams, STLProfile) else streams
