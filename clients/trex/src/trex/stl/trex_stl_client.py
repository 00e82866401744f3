"""The stateless client: TRex's calls over the HTTP API of `eagre serve`.

Streams started while others send are added to the run; streams stopped before others are removed from it.
"""

import contextlib
import math
import re
import time

from eagre_trex import SCHEMA
from eagre_trex.server import Refused, profile
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
# The profile of a port that has no name, and that of packets that are pushed beside its streams.
DEFAULT, PUSHED = "_", "pushed"
# How often to look which of several profiles have ended, s.
LOOK_S = 0.2


class STLClient(Console, Captures, TRexClient):
    """A client of a server, for streams."""

    MODE = "STL"
    # How TRex shares streams among its cores; Eagre sends the same whatever the core.
    CORE_MASK_SPLIT, CORE_MASK_PIN, CORE_MASK_SINGLE = 1, 2, 3

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        # Streams by port and profile; what is sent of them; port and stream of each row of the run's result.
        self.streams, self.jobs, self.rows = {}, {}, {}
        self.next_id, self.batches, self.looked = 1, 0, 0.0

    def connect(self):
        """Connects; nothing is leased yet."""
        super().connect()
        self.streams = {}

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
        keys = self._keys(ports, self.acquired)
        self._look()
        for key in keys:
            if key in self.jobs:
                raise TRexError(
                    f"{_said([key])} is sending; stop it before streams are added, or add them to another profile of "
                    f"the port, such as '{key[0]}.more'"
                )
        for key in keys:
            self.streams.setdefault(key, []).extend(zip(ids, streams))
        return ids[0] if len(ids) == 1 else ids

    def add_profile(self, filename, ports=None, **kwargs):
        """Adds the streams of a profile's file."""
        ids = []
        for port, name in self._keys(ports, self.acquired):
            loaded = STLProfile.load(filename, direction=port % 2, port_id=port, **kwargs)
            ids.append(self.add_streams(loaded, [f"{port}.{name}"]))
        return ids

    def remove_streams(self, stream_id_list, ports=None):
        """Removes streams by number."""
        gone = stream_id_list if isinstance(stream_id_list, (list, tuple)) else [stream_id_list]
        gone = [item.get_id() if isinstance(item, STLStream) else item for item in gone]
        for key in self._with(ports, self.streams, self.acquired):
            self.streams[key] = [(number, stream) for number, stream in self.streams[key] if number not in gone]

    def remove_all_streams(self, ports=None):
        """Removes all streams of ports, or of profiles of ports."""
        for key in self._with(ports, self.streams, self.acquired):
            del self.streams[key]

    def get_stream_id_list(self, port):
        """Numbers of the streams of a port, or of a profile of it."""
        return [number for key in self._with(port, self.streams, ()) for number, _ in self.streams[key]]

    def get_profiles_with_state(self, state):
        """Profiles that send ('active', 'transmitting'), that have streams and do not ('idle', 'streams'), or 'all'."""
        self._look()
        wanted = {"active": self.jobs, "transmitting": self.jobs, "all": {**self.streams, **self.jobs}}
        rest = [key for key in self.streams if key not in self.jobs]
        return [f"{port}.{name}" for port, name in wanted.get(state, rest)]

    # Profiles of ports: a port has several, each with its streams; a plain number means that without a name.

    def _keys(self, ports, default):
        """Ports and profiles that are named; all must be acquired."""
        ports = default if ports is None else ports
        ports = ports if isinstance(ports, (list, tuple, range, dict, set)) else [ports]
        keys = []
        for text in ports:
            number, _, name = str(text).partition(".")
            keys.append((self._owned([number])[0], name or DEFAULT))
        if not keys:
            raise TRexError("ports to use are not acquired; call acquire or reset first")
        return keys

    def _with(self, ports, those, default):
        """Which of `those` ports and profiles are meant: a plain number, or '0.*', means all profiles of a port."""
        ports = default if ports is None else ports
        ports = ports if isinstance(ports, (list, tuple, range, dict, set)) else [ports]
        keys = []
        for text in ports:
            number, _, name = str(text).partition(".")
            port = self._ports([number], [])[0]
            keys += [key for key in those if key[0] == port and name in ("", "*", key[1])]
        return keys

    def _ports(self, ports, default):
        ports = default if ports is None else ports
        ports = ports if isinstance(ports, (list, tuple, range, dict, set)) else [ports]
        numbers = dict.fromkeys(str(port).partition(".")[0] for port in ports)
        return super()._ports(list(numbers), [])

    # Traffic

    def start(self, ports=None, mult="1", force=False, duration=-1, total=False, core_mask=None, synchronized=False):
        """Starts the traffic of ports.

        Raises:
            TRexError: ports send already, or their streams cannot be sent.

        """
        keys = self._keys(ports, self.acquired)
        self._free(keys, force)
        keys = [key for key in keys if self.streams.get(key)]
        if not keys:
            raise TRexError("there are no streams; call add_streams first")
        self._send({key: self.streams[key] for key in keys}, _word(mult, len(keys) if total else 1), duration)

    def _free(self, keys, force):
        """Stops these ports and profiles where they send, if that is forced.

        Raises:
            TRexError: some send, and nothing is forced.

        """
        self._look()
        busy = [key for key in keys if key in self.jobs]
        if busy:
            if not force:
                raise TRexError(f"{_said(busy)} are sending; stop them first, or start with force=True")
            self.stop([f"{port}.{name}" for port, name in busy])

    def _send(self, streams, mult, duration):
        """Sends these streams by port and profile: in a new run, or in the one there is."""
        layers = {}
        for (port, name), those in streams.items():
            layers.setdefault(name, {})[port] = those
        prepared = []
        for name, ports in layers.items():
            prefix = f"s{self.batches}-" if self.batches else ""
            self.batches += 1
            prepared.append((name, ports, prefix, self._profile(ports, mult, duration, prefix)))
        for name, ports, prefix, text in prepared:
            self._begin_or_add(text, ports, mult, duration, prefix)
            rates = _rates(text)
            for port, those in ports.items():
                job = Job(those, self._names(port, those, prefix), self._own(rates, port, prefix), prefix)
                self.jobs[port, name] = job
                self.rows |= {job.names[number]: (port, stream) for number, stream in those}
        self.active = sorted({port for port, _ in self.jobs})

    def _begin_or_add(self, text, ports, mult, duration, prefix):
        if self.run:
            try:
                self.server.ask("POST", f"/runs/{self.run['id']}/streams", {"profile": text})
                return
            except Refused as refused:
                if "has ended" not in str(refused):
                    raise
            # Its last stream has just ended.
            self._wait(30)
        self._unlisten()
        self.rows = {}
        if duration > 0:
            # More may be added that lasts longer.
            text = self._profile(ports, mult, -1, prefix)
        self._begin(self._with_captures(text), ports)
        if duration > 0:
            self.server.ask("DELETE", f"/runs/{self.run['id']}/streams", {"when_s": duration})

    def _profile(self, ports, mult, duration=-1, prefix=""):
        """The text of the profile that sends these streams by port."""
        documents = {str(port): [stream.to_json() for _, stream in streams] for port, streams in ports.items()}
        document = {"schema": SCHEMA, "mode": "stl", "source": "streams", "ports": documents}
        used = {port: self.ports[port] for port in self.acquired}
        more = ["--prefix", prefix] if prefix else []
        return profile(document, used, mult, duration if duration > 0 else FOREVER_S, more)

    def _names(self, port, streams, prefix):
        """Names in the profile that runs, by the streams' numbers."""
        prefix += f"p{port}-" if len(self.acquired) > 1 else ""
        names = (trex_stl_stats.plain(stream.get_name() or f"stream{index}") for index, (_, stream) in enumerate(streams))
        return {number: prefix + name for (number, _), name in zip(streams, names)}

    def _own(self, rates, port, prefix):
        """Rates by name, of one port."""
        prefix += f"p{port}-" if len(self.acquired) > 1 else ""
        return {name: rate for name, rate in rates.items() if name.startswith(prefix)}

    def stop(self, ports=None, rx_delay_ms=None):
        """Stops the traffic of ports, or of profiles of ports; with the last of them the run ends."""
        gone = list(self.jobs) if ports is None else self._with(ports, self.jobs, ())
        if self.run and gone and len(gone) < len(self.jobs):
            names = [name for key in gone for name in self.jobs[key].rates]
            with contextlib.suppress(Refused):
                self.server.ask("DELETE", f"/runs/{self.run['id']}/streams", {"streams": names})
            self._done(gone)
        elif gone or (ports is None and self.run):
            super().stop()

    def _done(self, keys):
        """Takes down what is not sent any more."""
        for key in keys:
            del self.jobs[key]
            self.events.append(Event(f"Profile {key[0]}.{key[1]} job done"))
        self.active = sorted({port for port, _ in self.jobs})

    def _look(self):
        """Looks what has ended: the run, or some of what is sent."""
        try:
            super()._look()
        finally:
            if not self.run:
                self._done(list(self.jobs))
                self.batches = 0
        if self.run and len(self.jobs) > 1 and time.monotonic() > self.looked + LOOK_S:
            self.looked = time.monotonic()
            snapshot = self.server.ask("GET", f"/runs/{self.run['id']}/snapshot")
            rows = snapshot["total"]["streams"]
            self._done([key for key, job in self.jobs.items() if job.is_over(rows, snapshot["at_s"])])

    def wait_on_traffic(self, ports=None, timeout=None, rx_delay_ms=None):
        """Waits until all bursts of ports have been sent or their duration is over.

        Raises:
            TRexTimeoutError: not so within `timeout` seconds.

        """
        self._wait(timeout, lambda: ports is not None and self.run and not self._with(ports, self.jobs, ()))

    def update(self, ports=None, mult="1", total=False, force=False):
        """Changes the rate of ports: a multiplier as of `start`, or relative to now ('+10%', '-5kpps')."""
        keys = self._sending(ports)
        parts = decode_multiplier(mult, allow_update=True, divide_count=len(keys) if total and keys else 1)
        if parts is None:
            raise TRexError(f"'{mult}' is not a multiplier; write 10%, 5kpps, 1gbps, 1gbpsl1 or 3; or +10%, -5kpps")
        sign = {"add": 1, "sub": -1, "abs": 0}[parts["op"]]
        scales = {}
        for key in keys:
            scale = self.jobs[key].scale
            if sign and parts["type"] == "percentage":
                scales[key] = scale * (1 + sign * parts["value"] / 100)
            else:
                ratio = self._ratio(key, _number(parts))
                scales[key] = scale + sign * ratio if sign else ratio
        if any(scale < 0 for scale in scales.values()):
            raise TRexError(f"update by '{mult}' would make a rate negative")
        self._scale_jobs(scales)
        for key, scale in scales.items():
            self.jobs[key].scale = scale

    def _ratio(self, key, mult):
        """Ratio of another multiplier's rates to the start's; latency streams keep theirs."""
        job = self.jobs[key]
        other = _rates(self._profile({key[0]: job.streams}, mult, prefix=job.prefix))
        ratios = [other[name] / rate for name, rate in job.rates.items() if rate and name in other]
        return max(ratios, key=lambda ratio: abs(math.log(ratio)) if ratio else math.inf, default=1.0)

    def pause(self, ports=None):
        """Pauses all streams of ports."""
        self._scale_jobs(dict.fromkeys(self._sending(ports), 0.0), latency=True)

    def resume(self, ports=None):
        """Resumes all streams of ports."""
        keys = self._sending(ports)
        self._scale_jobs({key: self.jobs[key].scale for key in keys})
        for key in keys:
            for name in self._latencies(key):
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
        key, job = self._job(port)
        other = _rates(self._profile({key[0]: job.streams}, _number(parts), prefix=job.prefix))
        names = _named(key, job, stream_ids if stream_ids is not None else list(job.names))
        total = sum(other.get(name, 0.0) for name in job.rates)
        for name in names:
            if not job.rates.get(name):
                raise TRexError(f"stream '{name}' has no separate rate: another starts it")
            share = 1.0 if parts["type"] == "raw" else total / (sum(other.get(one, 0.0) for one in names) or math.inf)
            job.stream_scales[name] = other.get(name, 0.0) * share / job.rates[name]
            self._scale(job.stream_scales[name], name)

    def _scale_streams(self, port, ids, scale):
        key, job = self._job(port)
        for name in _named(key, job, ids):
            before = job.stream_scales.get(name, job.scale)
            self._scale(before if scale is None else scale, name)

    def _job(self, port):
        """Streams that a port, or a profile of it, sends."""
        self._running()
        key = self._keys(port, ())[0]
        if key not in self.jobs:
            raise TRexError(f"{_said([key])} sends no streams")
        return key, self.jobs[key]

    def _sending(self, ports):
        """Ports and profiles that send, of those named, or all."""
        self._running()
        return self._with(ports, self.jobs, self.acquired)

    def _running(self):
        self._look()
        if not self.run:
            raise TRexError("nothing is sending; call start first")

    def _latencies(self, key):
        """Names of latency streams, whose rate is never multiplied."""
        rows = trex_stl_stats.members(self.rows, self.jobs[key].rates)
        return [name for name, _, (_, kind) in rows if kind == "latency"]

    def _scale_jobs(self, scales, latency=False):
        """Sends at factors of the started rates; at 0, and if requested, latency streams, too."""
        keeps = not latency and any(scales.values())
        fixed = [name for key in scales for name in self._latencies(key)] if keeps else []
        if set(scales) == set(self.jobs) and len(set(scales.values())) == 1 and not fixed:
            self._scale(next(iter(scales.values())))
            return
        for key, scale in scales.items():
            for name in self.jobs[key].rates:
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
        keys = [(port, PUSHED) for port in self._owned(ports)]
        self._free(keys, force)
        self._send(dict.fromkeys(keys, chain), "1", -1)

    def push_pcap(
        self, pcap_filename, ports=None, ipg_usec=None, speedup=1.0, count=1, duration=-1, force=False, vm=None,
        packet_hook=None, is_dual=False, min_ipg_usec=None, src_mac_pcap=False, dst_mac_pcap=False,
    ):  # fmt: skip
        """Sends the packets of a capture instead of the ports' streams; with `is_dual` servers' ones from the next port."""
        ports = self._owned(ports)
        self._free([(port, DEFAULT) for port in ports], force)
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
        """Counts of the past and of this document: by port, and by group."""
        groups = {key: dict(group) for key, group in self.past.get("groups", {}).items()}
        rows = (document or {}).get("streams", {})
        for name, port, group in trex_stl_stats.members(self.rows, rows):
            groups[group, port] = trex_stl_stats.added(groups.get((group, port), {}), rows[name])
        return super()._sum(document) | {"groups": groups}

    def _group_rates(self, interval):
        rows, seconds = interval.get("streams", {}), interval.get("interval_s") or 1.0
        members = trex_stl_stats.members(self.rows, rows)
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
        """Counters of groups: of `pgid_list`, or of all."""
        return self._pgids(*self._now(), pgid_list)

    def _pgids(self, counted, interval, wanted=None):
        wanted = wanted if wanted is None or isinstance(wanted, (list, tuple)) else [wanted]
        zero = self.zero.get("groups", {})
        return trex_stl_stats.report(self.ports, counted["groups"], zero, self._group_rates(interval), wanted)

    def map_ports(self, ports=None, **_):
        """Which ports are connected: packets are sent from each, and arrivals show where to.

        Through a router ports need addresses (EAGRE_TREX_PORTS). If all ports reach each other, 0 and 1 are a pair, 2 and 3.
        Ports that are not acquired are for the time of it.
        """
        ports = self._ports(ports, self.acquired or self.ports)
        self._no_traffic("map ports")
        lent = [port for port in ports if port not in self.acquired]
        self.acquire(ports)
        past, zero = self.past, self.zero
        try:
            reached = {port: self._reached(port, ports) for port in ports}
        finally:
            self.rows, self.past, self.zero = {}, past, zero
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
        self._send({(port, PUSHED): streams}, "1", -1)
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
        "set_vlan": "add Dot1Q to the packets",
        "set_namespace_start": "give a port 'punt' in a profile (docs/routing.md)",
        "set_bird_node": "use 'protocols' of a profile (docs/routing.md)",
    }  # fmt: skip


class Event:
    """Something that happened."""

    def __init__(self, msg):
        self.msg, self.origin, self.ev_type, self.ts = msg, "server", "info", time.time()

    def __str__(self):
        return self.msg


class Job:
    """Streams of a port's profile that are sent: their names in the run, by number, and their rates by name."""

    def __init__(self, streams, names, rates, prefix):
        self.streams, self.names, self.rates, self.prefix = streams, names, rates, prefix
        self.scale, self.stream_scales = 1.0, {}

    def is_over(self, rows, at_s):
        """Whether all was sent, by the run's totals: the time is over, or all counts are reached."""
        return all(self._is_sent(stream, rows.get(self.names[number])) for number, stream in self.streams) or all(
            (rows.get(name) or {}).get("removed_s", math.inf) <= at_s for name in self.rates
        )

    def _is_sent(self, stream, row):
        counts = stream.mode.counts()
        total = counts.get("total_pkts") or counts.get("pkts_per_burst", 0) * counts.get("count", 0)
        # Streams that others start may be sent again.
        is_chained = stream.next or not stream.self_start
        return bool(total) and not is_chained and row is not None and row["tx"] >= total


def _said(keys):
    names = ", ".join(str(port) if name == DEFAULT else f"{port}.{name}" for port, name in keys)
    return f"port {names}" if len(keys) == 1 else f"ports {names}"


def _named(key, job, ids):
    """Names in the profile that runs of streams by their numbers."""
    ids = ids if isinstance(ids, (list, tuple)) else [ids]
    unknown = [number for number in ids if number not in job.names]
    if unknown or not ids:
        sent = ", ".join(map(str, job.names)) or "none"
        raise TRexError(f"{_said([key])} sends no streams {unknown or 'to change'}; it sends: {sent}")
    return [job.names[number] for number in ids]


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
