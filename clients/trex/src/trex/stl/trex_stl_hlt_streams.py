"""Cisco's HLTAPI: streams from keyword arguments. Sessions are in `trex_stl_hlt_session`."""

from eagre_trex import hlt_arguments as arguments
from trex.common.trex_exceptions import TRexArgumentError, TRexError, unsupported
from trex.stl.trex_stl_packet_builder_scapy import (
    STLVM,
    Dot1Q,
    Ether,
    IP,
    IPv6,
    STLPktBuilder,
    TCP,
    UDP,
)
from trex.stl.trex_stl_streams import (
    STLFlowStats,
    STLProfile,
    STLStream,
    STLTXCont,
    STLTXMultiBurst,
    STLTXSingleBurst,
)

FCS = 4
GAP = 20


def STLHltStream(**given):
    """A stream, or with length_mode 'imix' several."""
    merged = arguments.merge(given)
    if merged["direction"]:
        given = arguments.swap_direction(given, merged) | {"direction": 0}
        merged = arguments.merge(given)
    for name in [name for name in merged if name.startswith("mac_") and name in ("mac_src", "mac_dst")]:
        merged[name] = arguments.mac(merged[name])
    for name, value in merged.items():
        if name.endswith(("_size", "_size_min", "_size_max")) and isinstance(value, int):
            merged[name] = value - FCS
    if merged["length_mode"] == "imix":
        return _imix(given, merged)
    return _stream(given, merged)


def _imix(given, merged):
    """A stream for each length, which share the rate."""
    sizes = [(merged[f"l3_imix{n}_size"], merged[f"l3_imix{n}_ratio"]) for n in (1, 2, 3, 4)]
    sizes = [(size, ratio) for size, ratio in sizes if ratio > 0]
    if not sizes:
        raise TRexError("imix: all ratios are 0")
    name, value = _rate(given, merged)
    weight = {"pps": lambda size: 1, "bps_L2": lambda size: size + FCS, "percentage": lambda size: size + FCS + GAP}[name]
    total = sum(ratio * weight(size) for size, ratio in sizes)
    streams = []
    for number, (size, ratio) in enumerate(sizes, 1):
        share = value * ratio * weight(size) / total
        own = f"{merged['name']}_{number}" if merged["name"] else None
        streams.append(_stream(given, merged | {"length_mode": "fixed", "frame_size": size, "name": own}, (name, share)))
    return streams


def _rate(given, merged):
    """The kind of the rate, and its value."""
    for name, kind in (("rate_pps", "pps"), ("rate_bps", "bps_L2"), ("rate_percent", "percentage")):
        if given.get(name) is not None or (name == "rate_percent" and merged[name] is not None):
            return kind, float(merged[name])
    raise TRexError("the rate is missing: give rate_pps, rate_bps or rate_percent")


def _mode(merged, rate):
    kind, value = rate
    rate = {kind: value}
    how = merged["transmit_mode"]
    if how == "continuous":
        return STLTXCont(**rate)
    packets, bursts = int(merged["pkts_per_burst"]), int(merged["burst_loop_count"])
    if how == "single_burst":
        return STLTXSingleBurst(total_pkts=packets, **rate)
    if how == "multi_burst":
        return STLTXMultiBurst(pkts_per_burst=packets, count=bursts, ibg=float(merged["inter_burst_gap"]), **rate)
    raise TRexArgumentError("transmit_mode", how, ("continuous", "single_burst", "multi_burst"))


def _stream(given, merged, rate=None):
    pair = merged["flow_stats_id"] if not arguments.is_true(merged["disable_flow_stats"]) else None
    return STLStream(
        name=merged["name"],
        packet=_packet(given, merged),
        mode=_mode(merged, rate or _rate(given, merged)),
        flow_stats=STLFlowStats(int(pair)) if pair is not None else None,
        random_seed=1 if arguments.is_true(merged["consistent_random"]) else 0,
        stream_id=merged["stream_id"],
    )


def _headers(given, merged):
    """Headers, and the number of VLAN tags."""
    if merged["l2_encap"] not in ("ethernet_ii", "ethernet_ii_vlan"):
        raise TRexArgumentError("l2_encap", merged["l2_encap"], ("ethernet_ii", "ethernet_ii_vlan"))
    packet = Ether() if arguments.is_true(merged["ignore_macs"]) else Ether(src=merged["mac_src"], dst=merged["mac_dst"])
    tags = max(arguments.count_tags(given), merged["l2_encap"] == "ethernet_ii_vlan")
    layer = packet
    kinds = arguments.per_tag("vlan_protocol_tag_id", merged["vlan_protocol_tag_id"], tags, lambda item: int(str(item), 16))
    ids = arguments.per_tag("vlan_id", merged["vlan_id"], tags, int)
    priorities = arguments.per_tag("vlan_user_priority", merged["vlan_user_priority"], tags, int)
    bits = arguments.per_tag("vlan_cfi", merged["vlan_cfi"], tags, int)
    for kind, vlan, priority, bit in zip(kinds, ids, priorities, bits):
        if kind is not None:
            layer.type = kind
        layer = Dot1Q(vlan=vlan, prio=priority, id=bit)
        packet /= layer
        layer = packet.lastlayer()
    packet = _with_l3(packet, given, merged)
    return _with_l4(packet, merged), tags


def _with_l3(packet, given, merged):
    protocol = merged["l3_protocol"]
    if protocol is None:
        return packet
    if protocol == "ipv4":
        return packet / IP(
            tos=arguments.type_of_service(given, merged), id=merged["ip_id"], frag=merged["ip_fragment_offset"],
            ttl=merged["ip_ttl"], chksum=merged["ip_checksum"], src=merged["ip_src_addr"], dst=merged["ip_dst_addr"],
            **({"len": merged["l3_length"]} if merged["l3_length"] is not None else {}),
        )  # fmt: skip
    if protocol == "ipv6":
        header = IPv6(
            tc=merged["ipv6_traffic_class"], fl=merged["ipv6_flow_label"], plen=merged["ipv6_length"],
            hlim=merged["ipv6_hop_limit"], src=merged["ipv6_src_addr"], dst=merged["ipv6_dst_addr"],
        )  # fmt: skip
        if merged["ipv6_next_header"] is not None:
            header.nh = merged["ipv6_next_header"]
        return packet / header
    raise TRexArgumentError("l3_protocol", protocol, ("ipv4", "ipv6"))


def _with_l4(packet, merged):
    protocol = merged["l4_protocol"]
    if protocol is None:
        return packet
    if merged["l3_protocol"] is None:
        raise TRexError(f"l4_protocol '{protocol}' needs l3_protocol")
    if protocol == "udp":
        return packet / UDP(sport=merged["udp_src_port"], dport=merged["udp_dst_port"], len=merged["udp_length"])
    if protocol == "tcp":
        letters = (("F", "fin"), ("S", "syn"), ("R", "rst"), ("P", "psh"), ("A", "ack"), ("U", "urg"))
        flags = "".join(letter for letter, name in letters if merged[f"tcp_{name}_flag"])
        return packet / TCP(
            sport=merged["tcp_src_port"], dport=merged["tcp_dst_port"], seq=merged["tcp_seq_num"],
            ack=merged["tcp_ack_num"], dataofs=merged["tcp_data_offset"], flags=flags, window=merged["tcp_window"],
            chksum=merged["tcp_checksum"], urgptr=merged["tcp_urgent_ptr"],
        )  # fmt: skip
    raise TRexArgumentError("l4_protocol", protocol, ("udp", "tcp"))


class _Program:
    """The field program: variables of equal course are shared."""

    def __init__(self, split):
        self.vm, self.split, self.names = STLVM(), split, {}
        self.is_empty = True

    def variable(self, name, **options):
        """The variable with these options; its name."""
        key = tuple(sorted(options.items()))
        if options["op"] == "random" or key not in self.names:
            self.names[key] = name
            self.vm.var(name=name, split_to_cores=self.split, **options)
            self.is_empty = False
        return self.names[key]


def _packet(given, merged):
    packet, tags = _headers(given, merged)
    split = merged["split_by_cores"]
    if split not in ("split", "duplicate", "single"):
        raise TRexArgumentError("split_by_cores", split, ("split", "duplicate"))
    program = _Program(split == "split")
    length = _length(packet, given, merged, program)
    _vary_vlans(merged, tags, program)
    if not arguments.is_true(merged["ignore_macs"]):
        for name, offset in (("mac_src", "Ethernet.src"), ("mac_dst", "Ethernet.dst")):
            _vary(program, merged, name, merged[name], offset, 4, 2)
    if merged["l3_protocol"] == "ipv4":
        for name in ("ip_src", "ip_dst"):
            _vary(program, merged, name, merged[f"{name}_addr"], f"IP.{name[3:]}", 4, 0)
    if merged["l3_protocol"] == "ipv6":
        for name in ("ipv6_src", "ipv6_dst"):
            _vary(program, merged, name, merged[f"{name}_addr"], f"IPv6.{name[5:]}", 4, 12)
    if merged["l4_protocol"]:
        for end in ("src", "dst"):
            name = f"{merged['l4_protocol']}_{end}_port"
            _vary(program, merged, name, merged[name], f"{merged['l4_protocol'].upper()}.{end[0]}port", 2, 0)
    if merged["l3_protocol"] == "ipv4" and merged["ip_checksum"] is None and not program.is_empty:
        program.vm.fix_chksum("IP")
    packet = packet / ("!" * max(0, length - len(packet)))
    return STLPktBuilder(pkt=packet, vm=program.vm)


def _vary(program, merged, name, start, offset, size, fixup):
    """A field that counts or is drawn: `size` bytes, `fixup` behind its beginning."""
    mode, count = merged[f"{name}_mode"], int(merged[f"{name}_count"])
    if mode == "fixed" or (mode != "random" and count <= 1):
        return
    if mode == "random":
        var = program.variable(f"{name}_random", size=size, op="random", min_value=0, max_value=(1 << 8 * size) - 1)
        program.vm.write(var, offset, offset_fixup=fixup)
        return
    op, step, last = _course(name, mode, count, arguments.whole(f"{name}_step", merged[f"{name}_step"]))
    first = arguments.whole(name, start)
    add = first if op == "inc" else first - last
    if size == 4 or last < 1 << 16:
        var = program.variable(f"{op}_{size}_{last}_{step}", size=size, op=op, step=step, min_value=0, max_value=last)
        program.vm.write(var, offset, offset_fixup=fixup, add_val=_signed(add))
        return
    raise TRexError(f"{name}: {count} values with a step of {step} do not fit the field")


def _course(name, mode, count, step):
    """Direction, step, and the last value counted from 0."""
    if mode not in ("increment", "decrement"):
        raise TRexArgumentError(f"{name}_mode", mode, ("fixed", "increment", "decrement", "random"))
    op = "inc" if mode == "increment" else "dec"
    if step < 0:
        op, step = ("dec" if op == "inc" else "inc"), -step
    last = (count - 1) * step
    if last >= 1 << 32:
        raise TRexError(f"{name}: {count} values with a step of {step} do not fit 32 bits")
    return op, step, last


def _signed(value):
    """A number of 32 bits as TRex writes it."""
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def _vary_vlans(merged, tags, program):
    for field, word, mask, shift in (("vlan_id", "vlan_id", 0x0FFF, 0), ("vlan_priority", "vlan_user_priority", 0xE000, 13)):
        starts = arguments.per_tag(word, merged[word], tags, int)
        parts = {
            part: arguments.per_tag(f"{field}_{part}", merged[f"{field}_{part}"], tags) for part in ("mode", "step", "count")
        }
        for tag, start in enumerate(starts):
            mode, count = parts["mode"][tag], int(parts["count"][tag])
            if mode == "fixed" or (mode != "random" and count <= 1):
                continue
            offset = f"802|1Q:{tag}.vlan"
            if mode == "random":
                top = mask >> shift
                var = program.variable(f"{field}{tag}_random", size=2, op="random", min_value=0, max_value=top)
                program.vm.write_mask(var, offset, pkt_cast_size=2, mask=mask, shift=shift)
                continue
            op, step, last = _course(field, mode, count, arguments.whole(f"{field}_step", parts["step"][tag]))
            var = program.variable(f"{op}_2_{last}_{step}", size=2, op=op, step=step, min_value=0, max_value=last)
            program.vm.write_mask(
                var, offset, pkt_cast_size=2, mask=mask, shift=shift, add_value=start if op == "inc" else start - last
            )


def _length(packet, given, merged, program):
    """The template's length without FCS; with a varying length also the instructions for it."""
    mode = merged["length_mode"]
    l2 = len(packet) - len(packet.getlayer((merged["l3_protocol"] == "ipv6" and IPv6) or IP) or b"")
    l2 = l2 if merged["l3_protocol"] else 14
    if mode == "fixed":
        return l2 + int(merged["l3_length"]) if merged["l3_length"] is not None else int(merged["frame_size"])
    if mode == "auto":
        return len(packet)
    ops = {"increment": "inc", "decrement": "dec", "random": "random"}
    if mode not in ops:
        raise TRexArgumentError("length_mode", mode, ("fixed", "auto", *ops, "imix"))
    by_l3 = any(given.get(name) is not None for name in ("l3_length_min", "l3_length_max", "l3_length_step"))
    prefix, more = ("l3_length", l2) if by_l3 else ("frame_size", 0)
    low, high = int(merged[f"{prefix}_min"]) + more, int(merged[f"{prefix}_max"]) + more
    if low > high:
        raise TRexError(f"{prefix}_min is above {prefix}_max")
    name = program.variable(
        f"length_{ops[mode]}", size=2, op=ops[mode], step=int(merged[f"{prefix}_step"]), min_value=low, max_value=high
    )
    program.vm.trim(name)
    if merged["l3_protocol"] == "ipv4":
        program.vm.write(name, "IP.len", add_val=-l2)
    elif merged["l3_protocol"] == "ipv6":
        program.vm.write(name, "IPv6.plen", add_val=-l2 - 40)
    if merged["l4_protocol"] == "udp":
        program.vm.write(name, "UDP.len", add_val=-l2 - (20 if merged["l3_protocol"] == "ipv4" else 40))
    return high


__all__ = ["STLHltStream"]
