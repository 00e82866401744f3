"""The stateless client: TRex's calls over the HTTP API of `eagre serve`."""

import math
import re

from eagre_trex import SCHEMA
from eagre_trex.server import profile
from trex.common.trex_client import FOREVER_S, TRexClient
from trex.common.trex_exceptions import TRexError, TRexTypeError
from trex.stl import trex_stl_stats
from trex.stl.trex_stl_captures import Captures
from trex.stl.trex_stl_console import Console
from trex.stl.trex_stl_streams import STLFlowLatencyStats, STLProfile, STLStream, STLTXSingleBurst
from trex.utils.parsing_opts import decode_multiplier

UNITS = {"raw": "", "percentage": "%", "pps": "pps", "bps": "bps", "bpsl1": "bpsl1"}
# Packets that `map_ports` sends from each port to each other, and how many of them must arrive.
PROBES, PROBES_MIN = 10, 5


class STLClient(Console, Captures, TRexClient):
    """A client of a server, for streams."""

    MODE = "STL"
    # How TRex shares streams among its cores; Eagre sends the same whatever the core.
    CORE_MASK_SPLIT, CORE_MASK_PIN, CORE_MASK_SINGLE = 1, 2, 3

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.streams, self.sent, self.next_id = {}, {}, 1
        self.rates, self.scales, self.stream_scales = {}, {}, {}

    def connect(self):
        """Connects; nothing is leased yet."""
        super().connect()
        self.streams = {number: [] for number in self.ports}

    def reset(self, ports=None, restart=False):
        """Acquires ports, stops their traffic, removes their streams and clears counters."""
        ports = self._ports(ports, range(len(self.ports)))
        if self.run:
            self.stop()
        self.remove_all_captures()
        self.acquire(ports, force=True)
        self.set_service_mode(enabled=False)
        self.remove_all_streams(ports)
        self.clear_stats()

    # Streams

    def add_streams(self, streams, ports=None):
        """Adds streams to ports; returns their numbers."""
        streams = streams.get_streams() if isinstance(streams, STLProfile) else streams
        streams = streams if isinstance(streams, (list, tuple)) else [streams]
        ids = []
        for stream in streams:
            if not isinstance(stream, STLStream):
                raise TRexTypeError("streams", type(stream), (STLStream, STLProfile))
            number = stream.get_id() or self.next_id
            self.next_id = max(self.next_id, int(number)) + 1
            ids.append(number)
        for port in self._owned(ports):
            if port in self.active and self.run:
                raise TRexError(f"port {port} is sending; stop it before streams are added")
            self.streams[port].extend(zip(ids, streams))
        return ids[0] if len(ids) == 1 else ids

    def add_profile(self, filename, ports=None, **kwargs):
        """Adds the streams of a profile's file."""
        ids = []
        for port in self._owned(ports):
            loaded = STLProfile.load(filename, direction=port % 2, port_id=port, **kwargs)
            ids.append(self.add_streams(loaded, [port]))
        return ids

    def remove_streams(self, stream_id_list, ports=None):
        """Removes streams by number."""
        gone = stream_id_list if isinstance(stream_id_list, (list, tuple)) else [stream_id_list]
        gone = [item.get_id() if isinstance(item, STLStream) else item for item in gone]
        for port in self._owned(ports):
            self.streams[port] = [(number, stream) for number, stream in self.streams[port] if number not in gone]

    def remove_all_streams(self, ports=None):
        """Removes all streams of ports."""
        for port in self._owned(ports):
            self.streams[port] = []

    def get_stream_id_list(self, port):
        """Numbers of a port's streams."""
        return [number for number, _ in self.streams[port]]

    # Traffic

    def start(self, ports=None, mult="1", force=False, duration=-1, total=False, core_mask=None, synchronized=False):
        """Starts the traffic of ports.

        Raises:
            TRexError: ports send already, or their streams cannot be sent.

        """
        ports = self._owned(ports)
        self._free(force)
        ports = [port for port in ports if self.streams[port]]
        if not ports:
            raise TRexError("there are no streams; call add_streams first")
        self._send({port: self.streams[port] for port in ports}, _word(mult, len(ports) if total else 1), duration)

    def _free(self, force):
        """Stops what runs if that is forced.

        Raises:
            TRexError: traffic is running, and nothing is forced.

        """
        self._look()
        if self.run:
            if not force:
                raise TRexError(f"ports {self.active} are sending; stop them first, or start with force=True")
            self.stop()

    def _send(self, streams, mult, duration):
        """Starts a run of these streams by port."""
        self.sent = streams
        text = self._profile(mult, duration)
        self.rates, self.scales, self.stream_scales = _rates(text), dict.fromkeys(streams, 1.0), {}
        self._unlisten()
        self._begin(self._with_captures(text), streams)

    def _profile(self, mult, duration=-1):
        documents = {str(port): [stream.to_json() for _, stream in streams] for port, streams in self.sent.items()}
        document = {"schema": SCHEMA, "mode": "stl", "source": "streams", "ports": documents}
        used = {port: self.ports[port] for port in self.acquired}
        return profile(document, used, mult, duration if duration > 0 else FOREVER_S)

    def stop(self, ports=None, rx_delay_ms=None):
        """Stops the traffic of ports; with the last of them the run ends."""
        ports = self._ports(ports, self.active)
        left = [port for port in self.active if port not in ports]
        if self.run and left and ports:
            self._scale_ports(dict.fromkeys(set(ports) & set(self.active), 0.0))
            self.active = left
        elif not left:
            super().stop()

    def update(self, ports=None, mult="1", total=False, force=False):
        """Changes the rate of ports: a multiplier as of `start`, or relative to now ('+10%', '-5kpps')."""
        ports = self._ports(ports, self.active)
        parts = decode_multiplier(mult, allow_update=True, divide_count=len(ports) if total and ports else 1)
        if parts is None:
            raise TRexError(f"'{mult}' is not a multiplier; write 10%, 5kpps, 1gbps, 1gbpsl1 or 3; or +10%, -5kpps")
        self._running()
        sign = {"add": 1, "sub": -1, "abs": 0}[parts["op"]]
        if sign and parts["type"] == "percentage":
            scales = {port: self.scales[port] * (1 + sign * parts["value"] / 100) for port in ports}
        else:
            other = _rates(self._profile(_number(parts)))
            ratios = {port: self._ratio(port, other) for port in ports}
            scales = {port: ratio if not sign else self.scales[port] + sign * ratio for port, ratio in ratios.items()}
        if any(scale < 0 for scale in scales.values()):
            raise TRexError(f"update by '{mult}' would make a rate negative")
        self._scale_ports(scales)
        self.scales |= scales

    def _ratio(self, port, other):
        """How rates of another multiplier relate to those of the start; latency streams keep theirs."""
        ratios = [other[name] / rate for name, rate in self._own(port).items() if rate and name in other]
        return max(ratios, key=lambda ratio: abs(math.log(ratio)) if ratio else math.inf, default=1.0)

    def _own(self, port):
        """Rates of a port's streams at the start, by name."""
        if len(self.acquired) < 2:
            return self.rates
        return {name: rate for name, rate in self.rates.items() if name.startswith(f"p{port}-")}

    def pause(self, ports=None):
        """Pauses all streams of ports."""
        self._scale_ports(dict.fromkeys(self._ports(ports, self.active), 0.0), latency=True)

    def resume(self, ports=None):
        """Resumes all streams of ports."""
        self._scale_ports({port: self.scales.get(port, 1.0) for port in self._ports(ports, self.active)})
        for name in self._latencies(self._ports(ports, self.active)):
            self._scale(1.0, name)

    def pause_streams(self, port, stream_ids):
        """Pauses some streams of a port, by their numbers."""
        self._scale_streams(port, stream_ids, 0.0)

    def resume_streams(self, port, stream_ids):
        """Resumes streams of a port at the rate they had."""
        self._scale_streams(port, stream_ids, None)

    def update_streams(self, port, mult="1", force=False, stream_ids=None):
        """Changes the rate of some streams of a port, or all: a factor of the rate they were added with, or their sum."""
        parts = decode_multiplier(mult)
        if parts is None:
            raise TRexError(f"'{mult}' is not a multiplier; write 10%, 5kpps, 1gbps, 1gbpsl1 or 3")
        other = _rates(self._profile(_number(parts)))
        names = self._named(port, stream_ids if stream_ids is not None else self.get_stream_id_list(port))
        total = sum(other.get(name, 0.0) for name in self._own(self._ports([port], [])[0]))
        for name in names:
            if not self.rates.get(name):
                raise TRexError(f"stream '{name}' has no rate of its own: another starts it")
            share = 1.0 if parts["type"] == "raw" else total / (sum(other.get(one, 0.0) for one in names) or math.inf)
            self.stream_scales[name] = other.get(name, 0.0) * share / self.rates[name]
            self._scale(self.stream_scales[name], name)

    def _scale_streams(self, port, ids, scale):
        for name in self._named(port, ids):
            before = self.stream_scales.get(name, self.scales.get(self._ports([port], [])[0], 1.0))
            self._scale(before if scale is None else scale, name)

    def _named(self, port, ids):
        """Names in the profile that runs of a port's streams by their numbers."""
        self._running()
        port = self._ports([port], [])[0]
        names = {}
        for index, (number, stream) in enumerate(self.sent.get(port, [])):
            name = trex_stl_stats.plain(stream.get_name() or f"stream{index}")
            names[number] = f"p{port}-{name}" if len(self.acquired) > 1 else name
        ids = ids if isinstance(ids, (list, tuple)) else [ids]
        unknown = [number for number in ids if number not in names]
        if unknown or not ids:
            sent = ", ".join(map(str, names)) or "none"
            raise TRexError(f"port {port} sends no streams {unknown or 'to change'}; it sends: {sent}")
        return [names[number] for number in ids]

    def _running(self):
        if not self.run:
            raise TRexError("nothing is sending; call start first")

    def _latencies(self, ports):
        """Names of latency streams, whose rate is never multiplied."""
        rows = trex_stl_stats.members(self.sent, self.rates)
        return [name for name, port, (_, kind) in rows if kind == "latency" and port in ports]

    def _scale_ports(self, scales, latency=False):
        """Sends ports at factors of what was started; at 0, and if so said, latency streams, too."""
        self._running()
        fixed = [] if latency or not any(scales.values()) else self._latencies(scales)
        if set(scales) == set(self.sent) and len(set(scales.values())) == 1 and not fixed:
            self._scale(next(iter(scales.values())))
            return
        for port, scale in scales.items():
            for name in self._own(port):
                if name not in fixed:
                    self._scale(scale, name)

    def push_packets(self, pkts, ports=None, force=False, ipg_usec=0):
        """Sends packets (Scapy's, or bytes) once, beside a port's streams."""
        from trex.stl.trex_stl_packet_builder_scapy import STLPktBuilder

        pkts = pkts if isinstance(pkts, (list, tuple)) else [pkts]
        chain = []
        for index, packet in enumerate(pkts, 1):
            is_data = isinstance(packet, (bytes, bytearray))
            builder = STLPktBuilder(pkt_buffer=bytes(packet)) if is_data else STLPktBuilder(pkt=packet)
            following = str(index + 1) if index < len(pkts) else None
            stream = STLStream(
                name=str(index), packet=builder, mode=STLTXSingleBurst(total_pkts=1, pps=1000), self_start=index == 1,
                isg=ipg_usec if index > 1 else 0, next=following,
            )  # fmt: skip
            chain.append((index, stream))
        ports = self._owned(ports)
        self._free(force)
        self._send(dict.fromkeys(ports, chain), "1", -1)

    def push_pcap(
        self, pcap_filename, ports=None, ipg_usec=None, speedup=1.0, count=1, duration=-1, force=False, vm=None,
        packet_hook=None, is_dual=False, min_ipg_usec=None, src_mac_pcap=False, dst_mac_pcap=False,
    ):  # fmt: skip
        """Sends the packets of a capture instead of the ports' streams; with `is_dual` servers' ones from the next port."""
        ports = self._owned(ports)
        self._free(force)
        options = {
            "ipg_usec": ipg_usec, "speedup": speedup, "loop_count": count, "vm": vm, "packet_hook": packet_hook,
            "min_ipg_usec": min_ipg_usec, "src_mac_pcap": src_mac_pcap, "dst_mac_pcap": dst_mac_pcap,
        }  # fmt: skip
        if is_dual:
            peers = self._owned([port ^ 1 for port in ports])
            sides = STLProfile.load_pcap(pcap_filename, split_mode="MAC", **options)
            loaded = [(ports, sides[0]), (peers, sides[1])]
        else:
            loaded = [(ports, STLProfile.load_pcap(pcap_filename, **options))]
        for where, loads in loaded:
            self.remove_all_streams(where)
            self.add_streams(loads, where)
        self.start([port for where, _ in loaded for port in where], duration=duration)

    def push_remote(self, pcap_filename, ports=None, ipg_usec=None, speedup=1.0, count=1, duration=-1, is_dual=False,
                    min_ipg_usec=None, force=False, src_mac_pcap=False, dst_mac_pcap=False):  # fmt: skip
        """The same as `push_pcap`: the capture is read here, not by the server."""
        self.push_pcap(pcap_filename, ports, ipg_usec, speedup, count, duration, force, is_dual=is_dual,
                       min_ipg_usec=min_ipg_usec, src_mac_pcap=src_mac_pcap, dst_mac_pcap=dst_mac_pcap)  # fmt: skip

    # Statistics

    def _sum(self, document):
        """What was counted in the past and in this document: by port, and by group."""
        groups = {key: dict(group) for key, group in self.past.get("groups", {}).items()}
        rows = (document or {}).get("streams", {})
        for name, port, group in trex_stl_stats.members(self.sent, rows):
            groups[group, port] = trex_stl_stats.added(groups.get((group, port), {}), rows[name])
        return super()._sum(document) | {"groups": groups}

    def _group_rates(self, interval):
        rows, seconds = interval.get("streams", {}), interval.get("interval_s") or 1.0
        members = trex_stl_stats.members(self.sent, rows)
        return trex_stl_stats.rates([((group, port), rows[name]) for name, port, group in members], seconds)

    def get_stats(self, ports=None, sync_now=True):
        """Counters of ports, their sum, and the server's; of groups, too."""
        counted, interval = self._now()
        pgids = self._pgids(counted, interval)
        out = self._port_stats(ports, counted, interval)
        return out | {"flow_stats": pgids["flow_stats"], "latency": pgids["latency"]}

    def get_active_pgids(self):
        """Groups that are counted."""
        out = {"flow_stats": [], "latency": []}
        for streams in self.streams.values():
            for _, stream in streams:
                if stream.has_flow_stats():
                    out["latency" if stream.flow_stats.rule_type == "latency" else "flow_stats"].append(stream.get_pg_id())
        return out

    def get_pgid_stats(self, pgid_list=None):
        """What is counted of groups; those of `pgid_list`, or all."""
        return self._pgids(*self._now(), pgid_list)

    def _pgids(self, counted, interval, wanted=None):
        wanted = wanted if wanted is None or isinstance(wanted, (list, tuple)) else [wanted]
        zero = self.zero.get("groups", {})
        return trex_stl_stats.report(self.ports, counted["groups"], zero, self._group_rates(interval), wanted)

    def map_ports(self, ports=None, **_):
        """Which ports are connected: packets are sent from each, and what arrives says where to.

        Through a router ports need addresses (EAGRE_TREX_PORTS). If all ports reach each other, 0 and 1 are a pair, 2 and 3.
        Ports that are not acquired are for the time of it.
        """
        ports = self._ports(ports, self.acquired or self.ports)
        self._no_traffic("map ports")
        lent = [port for port in ports if port not in self.acquired]
        self.acquire(ports)
        sent, past, zero = self.sent, self.past, self.zero
        try:
            reached = {port: self._reached(port, ports) for port in ports}
        finally:
            self.sent, self.past, self.zero = sent, past, zero
            if lent:
                self.release(lent)
        table = {"map": {port: _nearest(port, reached[port]) for port in ports}, "bi": [], "unknown": []}
        paired = set()
        for port in ports:
            peers = [other for other in reached[port] if port in reached.get(other, ()) and other not in paired]
            peer = _nearest(port, peers)
            if port in paired or peer is None:
                continue
            paired |= {port, peer}
            table["bi"].append((port, peer))
            table["map"] |= {port: peer, peer: port}
        table["unknown"] = [port for port in ports if table["map"][port] is None]
        return table

    def _reached(self, port, ports):
        """Ports that test packets from a port arrive at."""
        from trex.stl.trex_stl_packet_builder_scapy import IP, UDP, Ether, STLPktBuilder

        own = self._address(port)[0]
        others = [self._address(other)[0] for other in ports if other != port]
        known = [other for other in others if own and other] or [None]
        streams = []
        for index, other in enumerate(known, 1):
            addresses = {"src": own, "dst": other} if other else {}
            packet = STLPktBuilder(pkt=Ether() / IP(**addresses) / UDP(sport=12345, dport=12345) / bytes(32))
            mode = STLTXSingleBurst(total_pkts=PROBES, pps=1000)
            streams.append((index, STLStream(packet=packet, mode=mode, flow_stats=STLFlowLatencyStats(index))))
        self._send({port: streams}, "1", -1)
        run = self.run["id"]
        self._wait(30)
        rows = self.server.ask("GET", f"/runs/{run}/result")["ports"]
        arrived = {other: rows[f"port{other}"]["rx_packets"] - rows[f"port{other}"]["rx_other"] for other in ports}
        return [other for other in ports if other != port and arrived[other] >= PROBES_MIN]

    INSTEAD = {
        "get_port": "use get_port_attr",
        **dict.fromkeys(
            ("enable_tpg", "disable_tpg", "get_tpg_stats", "clear_tpg_stats", "update_tpg_tags", "get_tpg_status"),
            "tag streams with STLFlowStats, or group them by VLAN with 'groups' of a profile (docs/reference.md)",
        ),
        "create_service_ctx": "write the traffic as sessions of a profile (docs/sessions.md)",
        "resolve": "give the port an address and a gateway in EAGRE_TREX_PORTS",
        "scan6": "use 'ping ff02::1' on the machine",
        "arp": "give the port an address and a gateway in EAGRE_TREX_PORTS",
        "set_l2_mode": "set the packet's addresses",
        "set_l3_mode": "give the port an address and a gateway in EAGRE_TREX_PORTS",
        "set_vlan": "add Dot1Q to the packets", "get_profiles_with_state": "ports have one profile each",
        "set_namespace_start": "give a port 'punt' in a profile (docs/routing.md)",
        "set_bird_node": "use 'protocols' of a profile (docs/routing.md)",
    }  # fmt: skip


def _word(mult, ports):
    """A multiplier of `start` as a word of the command line."""
    parts = decode_multiplier(mult, divide_count=ports)
    if parts is None:
        raise TRexError(f"'{mult}' is not a multiplier; write 10%, 5kpps, 1gbps, 1gbpsl1 or 3")
    return _number(parts)


def _number(parts):
    return f"{parts['value']:.9f}".rstrip("0").rstrip(".") + UNITS[parts["type"]]


def _rates(text):
    """Packets per second by stream of a profile's text."""
    out, name = {}, None
    for line in text.splitlines():
        key, _, value = line.strip().removeprefix("- ").partition(": ")
        if key == "name":
            name = value.strip('"')
            out[name] = 0.0
        elif key == "rate" and name and re.fullmatch(r"[\d.]+pps", value):
            out[name] = float(value.removesuffix("pps"))
    return out


def _nearest(port, others):
    """Of several ports the one of the same pair, else the first."""
    return port ^ 1 if port ^ 1 in others else next(iter(others), None)
