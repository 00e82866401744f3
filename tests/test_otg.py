"""Open Traffic Generator with unmodified snappi: frames on the wire and metrics."""

import json
import os
import struct
import subprocess
import sys
import time

import otg
import pytest
from hosts import Trunk
from lab import REPO, call, need, wait_until
from server import Server, inside


@pytest.fixture(scope="module")
def client(shared):
    """A server in a namespace with a veth pair, v0 and v1, and snappi."""
    otg.install()
    namespace = shared.netns("otg")
    namespace.ip("link", "set", "lo", "up")
    shared.veth(namespace, "v0", namespace, "v1")
    for end in ("v0", "v1"):
        namespace.sysctl({f"net.ipv6.conf.{end}.disable_ipv6": 1})
    server = Server(shared, "--grpc", "127.0.0.1:40051", ns=namespace)
    return otg.Client(server)


def source(index):
    """The hardware address by which frames of a flow are known."""
    return f"02:00:00:00:01:{index:02x}"


class Frames:
    """Flows, each with the frames Scapy makes for it."""

    def __init__(self, config):
        self.config, self.wanted = config, {}

    def ether(self, **fields):
        """Scapy's Ethernet header of the flow that is added next."""
        from scapy.layers.l2 import Ether

        return Ether(**({"src": source(len(self.wanted)), "dst": "00:00:00:00:00:00"} | fields))

    def add(self, name, *headers, size=200):
        """A flow; its Ethernet header has its source already."""
        _, parts = otg.flow(self.config, name, *headers, size=size)
        if headers[0] != "custom":
            parts[0].src.value = source(len(self.wanted))
        return parts

    def expect(self, name, *packets, size=200):
        """Its frames, again and again."""
        self.wanted[name] = [otg.frame(packet, size) for packet in packets]


def layers_two(frames):
    """VLAN, ARP, MPLS, pause, PFC, LACP, CFM, PPP, custom."""
    from scapy.contrib.mpls import MPLS
    from scapy.layers.inet import IP
    from scapy.layers.l2 import ARP, Dot1Q
    from scapy.packet import Raw

    _, vlan, ipv4 = frames.add("vlan", "ethernet", "vlan", "ipv4")
    vlan.id.value, vlan.priority.values, vlan.cfi.value = 100, [3, 4, 5], 1
    ipv4.src.value, ipv4.dst.value = "1.2.3.4", "5.6.7.8"
    ip = IP(src="1.2.3.4", dst="5.6.7.8", id=0, proto=61)
    tags = [Dot1Q(prio=n, id=1, vlan=100) for n in (3, 4, 5)]
    frames.expect("vlan", *(otg.padded(frames.ether() / tag / ip) for tag in tags))

    _, arp = frames.add("arp", "ethernet", "arp")
    arp.sender_protocol_addr.value = "10.0.0.1"
    arp.target_protocol_addr.increment.start, arp.target_protocol_addr.increment.count = "10.0.0.2", 2
    ask = {"psrc": "10.0.0.1", "hwsrc": "00:00:00:00:00:00", "hwdst": "00:00:00:00:00:00"}
    frames.expect("arp", *(frames.ether() / ARP(pdst=f"10.0.0.{n}", **ask) for n in (2, 3, 2)))

    _, outer, inner, _ = frames.add("mpls", "ethernet", "mpls", "mpls", "ipv4")
    outer.label.value, inner.label.decrement.start, inner.label.decrement.count = 100, 201, 2
    ip = IP(src="0.0.0.0", dst="0.0.0.0", id=0, proto=61)
    labels = [MPLS(label=100, s=0, ttl=64) / MPLS(label=n, s=1, ttl=64) for n in (201, 200, 201)]
    frames.expect("mpls", *(otg.padded(frames.ether(type=0x8847) / label / ip) for label in labels))

    (pause,) = frames.add("pause", "ethernetpause")
    pause.time.value = 77
    mac_control = {"dst": "01:80:c2:00:00:01", "type": 0x8808}
    frames.expect("pause", *[frames.ether(**mac_control) / Raw(struct.pack(">HH", 1, 77))] * 3)

    (pfc,) = frames.add("pfc", "pfcpause")
    pfc.class_enable_vector.value, pfc.pause_class_0.value, pfc.pause_class_7.values = 0x81, 1000, [1, 2, 3]
    words = [struct.pack(">10H", 0x101, 0x81, 1000, 0, 0, 0, 0, 0, 0, n) for n in (1, 2, 3)]
    frames.expect("pfc", *(frames.ether(**mac_control) / Raw(word) for word in words))

    ethernet, lacp = frames.add("lacp", "ethernet", "lacp")
    ethernet.dst.value = "01:80:c2:00:00:02"
    actor = lacp.lacpdu.actor
    actor.system_id.value, actor.key.value = "00:01:02:03:04:05", 13
    actor.actor_state.activity.value, actor.actor_state.aggregation.value = 1, 1
    first = struct.pack(">BBBBH6sHHHB3x", 1, 1, 1, 20, 0, bytes(range(6)), 13, 0, 0, 5)
    rest = struct.pack(">BB18xBBH12x52x", 2, 20, 3, 16, 0)
    frames.expect("lacp", *[frames.ether(dst="01:80:c2:00:00:02", type=0x8809) / Raw(first + rest)] * 3)

    ethernet, cfm = frames.add("cfm", "ethernet", "cfm")
    ethernet.ether_type.value, cfm.md_level = 0x8902, 5
    ccm = cfm.op_code.ccm
    ccm.sequence_number.values = [1, 2, 3]
    names = ccm.ethernet_oam_protocol.cfm
    names.md_name.char_str, names.short_ma_name.char_str = "dom", "ma1"
    name = (b"\x04\x03dom" + b"\x02\x03ma1").ljust(48, b"\0")
    heads = [bytes([0xA0, 1, 4, 70]) + struct.pack(">IH", n, 1) + name + bytes(17) for n in (1, 2, 3)]
    frames.expect("cfm", *(frames.ether(type=0x8902) / Raw(head) for head in heads))

    frames.add("ppp", "ethernet", "ppp", "ipv4")
    ip = IP(src="0.0.0.0", dst="0.0.0.0", id=0, proto=61)
    whole = otg.padded(frames.ether(type=0xFFFF) / Raw(b"\xff\x03\x00\x21") / ip)
    frames.expect("ppp", *[whole] * 3)

    (custom,) = frames.add("custom", "custom")
    head = bytes(frames.ether(type=0x1234)) + b"any bytes"
    custom.bytes = head.hex()
    frames.expect("custom", *[Raw(head)] * 3)


def layers_three(frames):
    """IPv4 with all its parts and options, IPv6 with segment routing, IGMP, ICMP."""
    from scapy.layers.inet import ICMP, IP, UDP, IPOption
    from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6, IPv6ExtHdrSegmentRouting
    from scapy.packet import Raw

    nowhere = {"src": "0.0.0.0", "dst": "0.0.0.0", "id": 0}
    _, ipv4 = frames.add("ipv4", "ethernet", "ipv4")
    ipv4.priority.dscp.phb.value, ipv4.priority.dscp.ecn.value = 46, 2
    ipv4.identification.increment.start, ipv4.identification.increment.count = 65535, 3
    ipv4.dont_fragment.value, ipv4.time_to_live.value, ipv4.protocol.value = 1, 9, 200
    ipv4.src.decrement.start, ipv4.src.decrement.step, ipv4.src.decrement.count = "10.0.1.0", "0.0.0.1", 3
    ids = [(65535, "10.0.1.0"), (0, "10.0.0.255"), (1, "10.0.0.254")]
    ips = [IP(src=src, dst="0.0.0.0", id=n, tos=46 << 2 | 2, flags="DF", ttl=9, proto=200) for n, src in ids]
    frames.expect("ipv4", *(otg.padded(frames.ether() / ip) for ip in ips))

    _, ipv4 = frames.add("tos", "ethernet", "ipv4")
    ipv4.priority.tos.precedence.value, ipv4.priority.tos.delay.values = 5, [0, 1]
    frames.expect("tos", *(otg.padded(frames.ether() / IP(tos=t, proto=61, **nowhere)) for t in (0xA0, 0xB0, 0xA0)))

    _, ipv4 = frames.add("options", "ethernet", "ipv4")
    ipv4.options.add().choice = "router_alert"
    option = ipv4.options.add().custom
    option.type.copied_flag.value, option.type.option_number.value, option.value = 1, 5, "112233445566"
    stamp = ipv4.options.add().timestamp
    stamp.overflow.value = 2
    stamp.format.timestamps.add().timestamp.value = 99
    raw = b"".join([b"\x94\x04\0\0", b"\x85\x08\x11\x22\x33\x44\x55\x66", b"\x44\x08\x05\x20\0\0\0\x63"])
    ip = IP(proto=61, ihl=10, options=[IPOption(raw)], **nowhere)
    frames.expect("options", *[otg.padded(frames.ether() / ip)] * 3)

    _, ipv6, _ = frames.add("ipv6", "ethernet", "ipv6", "udp")
    ipv6.traffic_class.value, ipv6.flow_label.value, ipv6.hop_limit.value = 0xB9, 0x12345, 7
    ipv6.src.value = "2001:db8::1"
    ipv6.dst.increment.start, ipv6.dst.increment.step, ipv6.dst.increment.count = "2001:db8::ff", "::1:0", 3
    head = {"tc": 0xB9, "fl": 0x12345, "hlim": 7, "src": "2001:db8::1"}
    ends = ["2001:db8::ff", "2001:db8::1:ff", "2001:db8::2:ff"]
    frames.expect("ipv6", *(otg.padded(frames.ether() / IPv6(dst=d, **head) / UDP(sport=0, dport=0)) for d in ends))

    _, _, routing, _ = frames.add("segments", "ethernet", "ipv6", "ipv6_extension_header", "udp")
    segments = routing.routing.segment_routing
    segments.tag.value = 9
    for last in ("2001:db8::1", "2001:db8::2"):
        segments.segment_list.add().segment.value = last
    header = IPv6ExtHdrSegmentRouting(addresses=["2001:db8::1", "2001:db8::2"], segleft=1, lastentry=1, tag=9)
    packet = otg.padded(frames.ether() / IPv6(src="::", dst="::") / header / UDP(sport=0, dport=0))
    frames.expect("segments", *[packet] * 3)

    _, ipv4, igmp = frames.add("igmp", "ethernet", "ipv4", "igmpv1")
    igmp.group_address.value = "224.1.2.3"
    body = bytearray(b"\x11\0\0\0\xe0\x01\x02\x03")
    total = sum(struct.unpack(">4H", bytes(body)))
    body[2:4] = struct.pack(">H", ~(total + (total >> 16)) & 0xFFFF)
    packet = otg.padded(frames.ether() / IP(proto=2, **nowhere) / Raw(bytes(body)))
    frames.expect("igmp", *[packet] * 3)

    _, _, icmp = frames.add("icmp", "ethernet", "ipv4", "icmp")
    icmp.echo.identifier.value = 5
    icmp.echo.sequence_number.increment.start, icmp.echo.sequence_number.increment.count = 1, 100
    echoes = [ICMP(type=8, id=5, seq=n) for n in (1, 2, 3)]
    frames.expect("icmp", *(otg.padded(frames.ether() / IP(**nowhere) / echo) for echo in echoes))

    _, _, icmpv6 = frames.add("icmpv6", "ethernet", "ipv6", "icmpv6")
    icmpv6.echo.type.value, icmpv6.echo.identifier.value = 128, 6
    packet = otg.padded(frames.ether() / IPv6(src="::", dst="::") / ICMPv6EchoRequest(id=6, seq=0))
    frames.expect("icmpv6", *[packet] * 3)


def layers_four(frames):
    """TCP, UDP with good, bad and given checksums, tunnels, SNMP, RSVP."""
    from scapy.contrib.gtp import GTP_U_Header
    from scapy.layers.inet import IP, TCP, UDP
    from scapy.layers.l2 import GRE, Ether
    from scapy.layers.snmp import SNMP, SNMPget, SNMPvarbind
    from scapy.layers.vxlan import VXLAN
    from scapy.packet import Raw

    ip = IP(src="0.0.0.0", dst="0.0.0.0", id=0)
    _, _, tcp = frames.add("tcp", "ethernet", "ipv4", "tcp")
    tcp.src_port.value, tcp.dst_port.values, tcp.seq_num.value = 80, [1, 2, 3], 4_000_000_000
    tcp.ecn_ns.value, tcp.ctl_syn.value, tcp.ctl_ack.values, tcp.window.value = 1, 1, [0, 1], 512
    heads = [(1, "NS"), (2, "NSA"), (3, "NS")]
    tcps = [TCP(sport=80, dport=port, seq=4_000_000_000, window=512, flags=flags) for port, flags in heads]
    for segment in tcps:
        segment.reserved = 0
    flags = {"NS": 0x102, "NSA": 0x112}
    tcps = [TCP(sport=80, dport=port, seq=4_000_000_000, window=512, flags=flags[word]) for port, word in heads]
    # Padding of a SYN is not TCP data.
    frames.expect("tcp", *(otg.padded_below(frames.ether() / ip / segment) for segment in tcps))

    for name, checksum in (("udp", None), ("given", 0x1234)):
        _, _, udp = frames.add(name, "ethernet", "ipv4", "udp")
        udp.src_port.value, udp.dst_port.increment.start, udp.dst_port.increment.step = 7, 65535, 2
        udp.dst_port.increment.count = 3
        more = {}
        if checksum is not None:
            udp.checksum.custom, more = checksum, {"chksum": checksum}
        udps = [UDP(sport=7, dport=port, **more) for port in (65535, 1, 3)]
        frames.expect(name, *(otg.padded(frames.ether() / ip / part) for part in udps))

    _, _, outer, vxlan, inner, _, _ = frames.add("vxlan", "ethernet", "ipv4", "udp", "vxlan", "ethernet", "ipv4", "udp")
    outer.dst_port.value, inner.src.value = 4789, "02:02:02:02:02:02"
    vxlan.vni.increment.start, vxlan.vni.increment.count = 7, 3
    tunnelled = Ether(src="02:02:02:02:02:02", dst="00:00:00:00:00:00") / ip / UDP(sport=0, dport=0)
    tunnels = [ip / UDP(sport=0, dport=4789) / VXLAN(vni=n, flags=8) / tunnelled for n in (7, 8, 9)]
    frames.expect("vxlan", *(otg.padded(frames.ether() / tunnel) for tunnel in tunnels))

    _, _, gre, _ = frames.add("gre", "ethernet", "ipv4", "gre", "ipv4")
    gre.checksum_present.value = 1
    frames.expect(
        "gre", *[otg.padded(frames.ether() / ip / GRE(chksum_present=1) / IP(**ip.fields | {"proto": 61}))] * 3
    )

    _, _, udp, gtp, _ = frames.add("gtpv1", "ethernet", "ipv4", "udp", "gtpv1", "ipv4")
    udp.dst_port.value, gtp.message_type.value, gtp.teid.values = 2152, 255, [5, 6, 7]
    gtps = [GTP_U_Header(gtp_type=255, teid=n) / IP(**ip.fields | {"proto": 61}) for n in (5, 6, 7)]
    frames.expect("gtpv1", *(otg.padded(frames.ether() / ip / UDP(sport=0, dport=2152) / part) for part in gtps))

    _, _, udp, gtp = frames.add("gtpv2", "ethernet", "ipv4", "udp", "gtpv2")
    udp.dst_port.value, gtp.teid_flag.value, gtp.teid.values = 2123, 1, [1, 2, 3]
    gtp.message_type.value, gtp.message_length.value, gtp.sequence_number.value = 32, 8, 77
    heads = [Raw(struct.pack(">BBHII", 0x48, 32, 8, n, 77 << 8)) for n in (1, 2, 3)]
    frames.expect("gtpv2", *(otg.padded(frames.ether() / ip / UDP(sport=0, dport=2123) / head) for head in heads))

    _, _, udp, snmp = frames.add("snmp", "ethernet", "ipv4", "udp", "snmpv2c")
    udp.dst_port.value, snmp.community = 161, "public"
    get = snmp.data.get_request
    get.request_id.value = 1234
    get.variable_bindings.add().object_identifier = "1.3.6.1.2.1.1.1.0"
    body = SNMP(version=1, community="public", PDU=SNMPget(id=1234, varbindlist=[SNMPvarbind(oid="1.3.6.1.2.1.1.1.0")]))
    packet = frames.ether() / ip / UDP(sport=0, dport=161) / Raw(bytes(body))
    frames.expect("snmp", *[otg.padded(packet)] * 3)

    _, ipv4, rsvp = frames.add("rsvp", "ethernet", "ipv4", "rsvp")
    ipv4.protocol.value = 46
    hop = rsvp.message_type.path.objects.add().class_num.rsvp_hop.c_type.ipv4
    hop.ipv4_address.value, hop.logical_interface_handle.value = "1.1.1.1", 3
    head = struct.pack(">BBHBBH", 0x10, 1, 0, 64, 0, 20) + struct.pack(">HBB4sI", 12, 3, 1, b"\1\1\1\1", 3)
    total = sum(struct.unpack(f">{len(head) // 2}H", head))
    head = head[:2] + struct.pack(">H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF) + head[4:]
    frames.expect("rsvp", *[otg.padded(frames.ether() / IP(**ip.fields | {"proto": 46}) / Raw(head))] * 3)


def split(capture):
    """Frames of a pcap file by the last byte of their source."""
    magic = struct.unpack("<I", capture[:4])[0]
    assert magic in (0xA1B2C3D4, 0xA1B23C4D), hex(magic)
    at, found = 24, {}
    while at < len(capture):
        length = struct.unpack("<I", capture[at + 8 : at + 12])[0]
        data = capture[at + 16 : at + 16 + length]
        if data[6:11] == bytes.fromhex("0200000001"):
            found.setdefault(data[11], []).append(data)
        at += 16 + length
    return found


def captured(client, frames):
    """Sends all flows and takes the frames back that port q captured, by flow."""
    client.capturing("start")
    client.transmit("start")
    wait_until(lambda: client.ports()["q"].frames_rx >= 3 * len(frames.wanted), "the frames", 15, 0.1)
    client.transmit("stop")
    client.capturing("stop")
    request = client.api.capture_request()
    request.port_name = "q"
    return split(client.call("get_capture", request).read())


@pytest.mark.parametrize("layers", [layers_two, layers_three, layers_four])
def test_frames_over_grpc(lab, layers):
    """The same configurations, control, metrics and captures over the other transport."""
    otg.install()
    import snappi

    server = Server(lab, "--grpc", "127.0.0.1:40053")
    client = otg.Client(server)
    client.api = snappi.api(location="127.0.0.1:40053", transport=snappi.Transport.GRPC, version_check=True)
    config = client.config("ring:a", "ring:b")
    frames = Frames(config)
    layers(frames)
    config.captures.add(name="c", port_names=["q"], format="pcap")
    client.set(config)
    found = captured(client, frames)
    for index, (name, wanted) in enumerate(frames.wanted.items()):
        assert [data.hex() for data in found.get(index, [])] == [data.hex() for data in wanted], name


@pytest.mark.parametrize("layers", [layers_two, layers_three, layers_four])
def test_frames_are_those_of_scapy(client, shared, layers, tmp_path):
    """Every header type and field pattern, byte for byte; tcpdump sees the same frames."""
    need("tcpdump")
    config = client.config()
    frames = Frames(config)
    layers(frames)
    config.captures.add(name="c", port_names=["q"], format="pcap")
    client.set(config)
    witness = tmp_path / "witness.pcap"
    tcpdump = shared.start(
        "tcpdump",
        "-i",
        "v1",
        "-w",
        witness,
        "-U",
        "--immediate-mode",
        "-Q",
        "in",
        ns=client.server.ns,
        stderr=subprocess.PIPE,
    )
    wait_until(lambda: witness.exists() and witness.stat().st_size >= 24, "tcpdump")
    found, sent = captured(client, frames), 3 * len(frames.wanted)
    wait_until(lambda: sum(map(len, split(witness.read_bytes()).values())) >= sent, "the frames at tcpdump", 10, 0.1)
    tcpdump.terminate()
    tcpdump.communicate(timeout=10)
    seen = split(witness.read_bytes())
    for index, (name, wanted) in enumerate(frames.wanted.items()):
        assert [data.hex() for data in found.get(index, [])] == [data.hex() for data in wanted], name
        assert [data + wanted[0][-4:] for data in seen[index]][0][:-4] == wanted[0][:-4], f"tcpdump: {name}"
        assert len(seen[index]) == 3, f"tcpdump: {name}"


def test_bad_checksums_are_bad(client):
    """`generated: bad` is neither right nor none."""
    import scapy.layers.inet  # noqa: F401, teaches Ether what IP is
    from scapy.layers.l2 import Ether

    config = client.config()
    _, (ethernet, ipv4, udp) = otg.flow(config, "bad", "ethernet", "ipv4", "udp")
    ethernet.src.value, ipv4.header_checksum.generated, udp.checksum.generated = source(0), "bad", "bad"
    config.captures.add(name="c", port_names=["q"])
    client.set(config)
    client.capturing("start")
    client.transmit("start")
    wait_until(lambda: client.ports()["q"].frames_rx >= 3, "the frames", 15, 0.1)
    client.transmit("stop")
    client.capturing("stop")
    request = client.api.capture_request()
    request.port_name = "q"
    packet = Ether(split(client.call("get_capture", request).read())[0][0][:-4])
    given = packet["IP"].chksum, packet["UDP"].chksum
    del packet["IP"].chksum, packet["UDP"].chksum
    right = Ether(bytes(packet))
    assert given[0] != right["IP"].chksum and given[1] not in (right["UDP"].chksum, 0)


def test_sizes_rates_and_durations(client):
    """The counts are as requested."""
    config = client.config()
    kinds = {}

    def new(name, frames, **more):
        made, (ethernet, _, _) = otg.flow(config, name, "ethernet", "ipv4", "udp", measure=True, **more)
        ethernet.dst.value = "02:00:00:00:00:99"
        made.metrics.loss = made.metrics.latency.enable = True
        kinds[name] = frames
        return made

    new("packets", 50, packets=50)
    seconds = new("seconds", 500)
    seconds.duration.fixed_seconds.seconds = 0.5
    bits = new("bits", 100, size=105)
    bits.rate.kbps, bits.duration.fixed_seconds.seconds = 200, 0.5
    share = new("share", 500, size=105)
    share.rate.percentage, share.duration.fixed_seconds.seconds = 0.01, 0.5
    burst = new("burst", 20)
    burst.duration.burst.bursts, burst.duration.burst.packets = 4, 5
    burst.duration.burst.inter_burst_gap.nanoseconds = 50e6
    late = new("late", 10, packets=10)
    late.duration.fixed_packets.delay.microseconds = 1_500_000
    for name, key in (("sweep", "increment"), ("random", "random"), ("pairs", "weight_pairs")):
        made = new(name, 60, packets=60)
        getattr(made.size, key)
        made.size.choice = key
    speed = config.layer1.add(name="l", port_names=["p", "q"], speed="speed_10_gbps")
    speed.mtu = 1500
    client.set(config)
    client.transmit("start")
    assert client.flows("late")["late"].frames_tx == 0
    client.over()
    rows = client.flows()
    assert {name: row.frames_tx for name, row in rows.items()} == kinds
    for name, row in rows.items():
        assert row.frames_rx == row.frames_tx and row.loss == 0, name
        assert 0 < row.latency.minimum_ns <= row.latency.average_ns <= row.latency.maximum_ns, name
    assert rows["packets"].bytes_tx == 50 * 200 and rows["sweep"].bytes_tx == rows["sweep"].bytes_rx > 60 * 64
    ports = client.ports()
    assert ports["p"].frames_tx == sum(kinds.values()) and ports["p"].transmit == "stopped"
    assert ports["q"].link == "up" and ports["q"].frames_rx >= sum(kinds.values())


def test_a_share_of_a_link_without_a_speed_does_not_start(client):
    """The error names the flow, why, and what helps."""
    config = client.config()
    made, (ethernet, _, _) = otg.flow(config, "half", "ethernet", "ipv4", "udp", measure=True)
    ethernet.dst.value, made.rate.percentage = "02:00:00:00:00:99", 50
    client.set(config)
    with pytest.raises(Exception) as raised:
        client.transmit("start")
    error = client.api.from_exception(raised.value)
    assert error.code == 400 and error.kind == "validation", error
    assert "half: 50% needs a link speed, and port p has none" in error.errors[0], error.errors
    config.layer1.add(name="l", port_names=["p", "q"], speed="speed_1_gbps")
    made.rate.percentage, made.duration.fixed_packets.packets = 0.1, 10
    client.set(config)
    client.transmit("start")
    client.over()
    assert client.flows()["half"].frames_tx == 10


def test_a_run_that_fails_after_its_start_is_told(client):
    """Nobody is at a gateway: metrics give the reason, and so do the warnings of a stop."""
    config = client.config()
    ethernet = config.devices.add(name="d").ethernets.add(name="e", mac="02:00:00:00:00:01")
    ethernet.connection.port_name = "p"
    ethernet.ipv4_addresses.add(name="p4", address="10.0.0.2", gateway="10.0.0.77", prefix=24)
    other = config.devices.add(name="o").ethernets.add(name="oe", mac="02:00:00:00:00:02")
    other.connection.port_name = "q"
    other.ipv4_addresses.add(name="q4", address="10.0.1.2", gateway="10.0.1.77", prefix=24)
    made, (_, ipv4, _) = otg.flow(config, "f", "ethernet", "ipv4", "udp")
    made.tx_rx.device.tx_names, made.tx_rx.device.rx_names = ["p4"], ["q4"]
    ipv4.src.value, ipv4.dst.value = "10.0.0.2", "10.0.1.2"
    client.set(config)
    client.transmit("start")

    def told():
        try:
            client.flows()
        except Exception as raised:
            error = client.api.from_exception(raised)
            return error.code == 500 and "10.0.0.77" in error.errors[0]
        return False

    wait_until(told, "the failure", 15, 0.2)
    control = client.api.control_state()
    control.traffic.flow_transmit.state = "stop"
    warnings = client.call("set_control_state", control).warnings
    assert any("10.0.0.77" in warning for warning in warnings), warnings


def test_flows_begin_pause_and_go_on_by_themselves(client):
    """Subsets of flows; columns and tags."""
    config = client.config()
    for name in ("one", "two"):
        made, (ethernet, vlan, _) = otg.flow(config, name, "ethernet", "vlan", "ipv4", measure=True)
        ethernet.dst.value = "02:00:00:00:00:99"
        vlan.id.values = [5, 6, 7]
        vlan.id.metric_tags.add(name="id", offset=4, length=8)
        made.duration.continuous.gap = 12
    otg.flow(config, "dark", "ethernet", "ipv4")
    client.set(config)
    client.transmit("start", "one")
    wait_until(lambda: client.flows("one")["one"].frames_tx > 300, "the first flow", 10, 0.1)
    rows = client.flows()
    assert set(rows) == {"one", "two"}, "a flow without metrics has none"
    assert rows["one"].transmit == "started" and rows["one"].frames_tx > 300
    assert rows["two"].transmit == "stopped" and rows["two"].frames_tx == 0
    client.transmit("start", "two")
    client.transmit("pause", "one")
    wait_until(lambda: client.flows("two")["two"].frames_tx > 0, "the second flow", 10, 0.1)
    time.sleep(0.3)
    paused = client.flows("one")["one"]
    time.sleep(0.3)
    rows = client.flows()
    assert rows["one"].transmit == "paused" and rows["one"].frames_tx == paused.frames_tx
    assert rows["two"].transmit == "started" and rows["two"].frames_tx > 0
    client.transmit("resume", "one")
    wait_until(lambda: client.flows("one")["one"].frames_tx > paused.frames_tx, "the flow to go on", 10, 0.1)
    client.transmit("stop")
    row = client.flows("one", metric_names=["frames_tx"])["one"]
    assert row.frames_rx is None and row.frames_tx > 300
    tags = {tagged.tags[0].value.hex: tagged.frames_tx for tagged in row.tagged_metrics}
    assert set(tags) == {"05", "06", "07"} and sum(tags.values()) == row.frames_tx
    assert max(tags.values()) - min(tags.values()) <= 3, tags


def test_flows_that_are_over_are_sent_anew(client):
    """Their counters begin at zero, and no other flow notices."""
    config = client.config()
    otg.flow(config, "short", "ethernet", "ipv4", "udp", packets=500, measure=True)
    otg.flow(config, "cut", "ethernet", "ipv4", "udp", packets=100_000, measure=True)
    otg.flow(config, "long", "ethernet", "ipv4", "udp", measure=True)[0].duration.continuous.gap = 12
    tagged, _ = otg.flow(config, "tagged", "ethernet", "ipv4", "udp", packets=5, measure=True)
    tagged.egress_packet.ethernet()
    (ip,) = tagged.egress_packet.ipv4()[-1:]
    ip.dst.metric_tags.add(name="low", offset=24, length=8)
    for made in config.flows:
        made.metrics.loss, made.metrics.latency.enable = True, True
    client.set(config)
    client.transmit("start", "short", "long", "cut")
    for _ in range(3):
        client.over("short")
        wait_until(lambda: client.flows("short")["short"].frames_rx == 500, "the last packets", 5, 0.1)
        row = client.flows("short")["short"]
        assert (row.frames_tx, row.loss) == (500, 0) and row.latency.minimum_ns > 0, row
        before = client.flows("long")["long"].frames_tx
        client.transmit("start", "short")
        row = client.flows("short")["short"]
        assert row.transmit == "started" and row.frames_tx < 500, row
    client.transmit("stop", "short", "cut")
    cut = client.flows("cut")["cut"].frames_tx
    assert cut > 500, cut
    client.transmit("start")
    rows = client.flows("cut", "long")
    assert rows["cut"].transmit == "started" and rows["cut"].frames_tx < cut and rows["long"].frames_tx >= before > 500, rows
    client.over("short", "tagged")
    with pytest.raises(Exception, match="flow ''tagged'' was sent and"):
        client.transmit("start", "tagged")
    client.transmit("stop")
    rows = client.flows()
    assert rows["long"].loss == rows["short"].loss == 0 and rows["short"].frames_rx == 500, rows
    assert rows["long"].frames_tx > before, rows


def test_flows_that_have_all_ended_are_started_at_once(client):
    """The run before may still wait for late packets."""
    config = client.config()
    for name in ("one", "two"):
        otg.flow(config, name, "ethernet", "ipv4", "udp", packets=100, measure=True)
    client.set(config)
    for _ in range(4):
        client.transmit("start")
        client.over()
        wait_until(lambda: {row.frames_rx for row in client.flows().values()} == {100}, "the last packets", 5, 0.02)
        client.transmit("start", "two")
        client.over()
        rows = client.flows()
        assert (rows["one"].frames_tx, rows["two"].frames_tx) == (0, 100), rows


def test_devices_answer(client):
    """A gateway is resolved by ARP, and its hardware address goes into frames."""
    config = client.config()
    for port, last in (("p", 1), ("q", 2)):
        device = config.devices.add(name=f"d{port}")
        ethernet = device.ethernets.add(name=f"e{port}", mac=f"02:00:00:00:00:0{last}")
        ethernet.connection.port_name = port
        other = f"10.9.0.{3 - last}"
        ethernet.ipv4_addresses.add(name=f"i{port}", address=f"10.9.0.{last}", gateway=other, prefix=24)
    made = config.flows.add(name="f")
    made.tx_rx.device.tx_names, made.tx_rx.device.rx_names = ["ip"], ["iq"]
    made.packet.ethernet().ipv4().udp()
    ethernet, ipv4, _ = made.packet
    ethernet.src.value, ipv4.src.value, ipv4.dst.value = "02:00:00:00:00:01", "10.9.0.1", "10.9.0.2"
    made.rate.pps, made.metrics.enable = 1000, True
    made.duration.fixed_packets.packets = 20
    config.captures.add(name="c", port_names=["q"])
    client.set(config)
    control = client.api.control_state()
    control.protocol.all.state = "start"
    client.call("set_control_state", control)
    client.capturing("start")
    client.transmit("start")
    client.over()
    client.transmit("stop")
    assert client.flows("f")["f"].frames_rx == 20
    request = client.api.capture_request()
    request.port_name = "q"
    frames = split_all(client.call("get_capture", request).read())
    sent = [data for data in frames if data[12:14] == b"\x08\x00"]
    assert {data[:12].hex() for data in sent} == {"020000000002020000000001"}
    request = client.api.states_request()
    request.ipv4_neighbors.ethernet_names = ["ep"]
    states = client.call("get_states", request).ipv4_neighbors
    assert [(state.ethernet_name, state.ipv4_address) for state in states] == [("ep", "10.9.0.2")]


def test_a_kernel_reaches_a_device(lab):
    """While protocols are on it replies to ARP, neighbour discovery and ping; before and after it does not."""
    need("ping")
    tester, host = lab.netns("tester"), lab.netns("host", forwarding=True)
    lab.veth(tester, "v0", host, "h0")
    for address in ("10.9.0.2/24", "2001:db8::2/64"):
        host.ip("address", "add", address, "dev", "h0")
    client = otg.Client(Server(lab, ns=tester))
    config = client.api.config()
    config.ports.add(name="p", location="afpacket:v0")
    device = config.devices.add(name="d")
    ethernet = device.ethernets.add(name="e", mac="02:00:00:00:00:01")
    ethernet.connection.port_name = "p"
    ethernet.ipv4_addresses.add(name="i4", address="10.9.0.1", gateway="10.9.0.2", prefix=24)
    ethernet.ipv6_addresses.add(name="i6", address="2001:db8::1", gateway="2001:db8::2", prefix=64)
    client.set(config)

    def pings(address):
        return "1 received" in host.run("ping", "-c", "1", "-W", "1", address, check=False)

    control = client.api.control_state()
    control.protocol.all.state = "start"
    client.call("set_control_state", control)
    wait_until(lambda: pings("10.9.0.1"), "an answer over IPv4", 15)
    wait_until(lambda: pings("2001:db8::1"), "an answer over IPv6", 15)
    request = client.api.states_request()
    request.ipv4_neighbors.ethernet_names = []

    def states():
        found = client.call("get_states", request).ipv4_neighbors
        return [(state.ipv4_address, state.link_layer_address) for state in found]

    wait_until(lambda: states() == [("10.9.0.2", host.mac("h0"))], "the gateway's address", 10, 0.1)
    control.protocol.all.state = "stop"
    client.call("set_control_state", control)
    wait_until(lambda: not pings("10.9.0.1"), "silence", 15)


def several_devices(client, trunk):
    """A configuration of one port with devices in two VLANs, two of them in one of those, and flows between them."""
    config = client.api.config()
    config.ports.add(name="p", location="afpacket:veth0")
    for name, vlan, last in (("a", 10, 2), ("b", 20, 2), ("c", 20, 3)):
        ethernet = config.devices.add(name=name).ethernets.add(name=f"e{name}", mac=f"02:00:00:00:{vlan}:0{last}")
        ethernet.connection.port_name = "p"
        ethernet.vlans.add(name=f"v{name}", id=vlan)
        ethernet.ipv4_addresses.add(name=f"i{name}", address=f"10.0.{vlan}.{last}", gateway=f"10.0.{vlan}.1", prefix=24)
        if name == "a":
            v6 = {"address": "2001:2:0:10::2", "gateway": "2001:2:0:10::1", "prefix": 64}
            ethernet.ipv6_addresses.add(name="sa", **v6)
            ethernet.ipv4_addresses.add(name="ja", address="10.0.10.9", gateway="10.0.10.1", prefix=24)
    given = config.devices[2].ethernets[0].ipv4_addresses[0].gateway_mac
    given.value = trunk.router.mac("r20")
    for source, target, vlan, src, dst in (
        ("ia", "b", 10, "10.0.10.2", "10.0.20.2"),
        ("b", "ja", 20, "10.0.20.2", "10.0.10.9"),
        ("ec", "a", 20, "10.0.20.3", "10.0.10.2"),
    ):
        made = config.flows.add(name=f"{source}-{target}")
        made.tx_rx.device.tx_names, made.tx_rx.device.rx_names = [source], [target]
        made.packet.ethernet().vlan().ipv4().udp()
        _, tag, ipv4, _ = made.packet
        tag.id.value, ipv4.src.value, ipv4.dst.value = vlan, src, dst
        made.rate.pps, made.metrics.enable = 200, True
        made.duration.fixed_packets.packets = 40
    return config


@pytest.mark.unsteady("the router runs on the cores the tester uses, and can drop a packet there")
def test_a_port_has_many_devices(lab):
    """Each has its own addresses, VLAN and gateway, over a kernel's router; what can't be is named with its path."""
    otg.install()
    trunk = Trunk(lab)
    client = otg.Client(Server(lab, ns=trunk.tester))
    config = several_devices(client, trunk)
    config.devices[2].ethernets[0].mac = config.devices[1].ethernets[0].mac
    clash = "devices[2].ethernets[0]: 02:00:00:00:20:02 is already used by host 'eb' in VLAN 20"
    assert client.refused(config) == [clash]
    config = several_devices(client, trunk)
    client.set(config)
    client.transmit("start")
    client.over()
    rows = client.flows()
    assert {name: (row.frames_tx, row.frames_rx) for name, row in rows.items()} == {
        flow.name: (40, 40) for flow in config.flows
    }
    request = client.api.states_request()
    request.ipv4_neighbors.ethernet_names = []
    states = client.call("get_states", request).ipv4_neighbors
    at = {vlan: trunk.router.mac(f"r{vlan}") for vlan in (10, 20)}
    wanted = [("ea", "10.0.10.1", at[10]), ("eb", "10.0.20.1", at[20]), ("ec", "10.0.20.1", at[20])]
    assert [(row.ethernet_name, row.ipv4_address, row.link_layer_address) for row in states] == wanted
    request.ipv6_neighbors.ethernet_names = ["ea"]
    states = client.call("get_states", request).ipv6_neighbors
    assert [(row.ipv6_address, row.link_layer_address) for row in states] == [("2001:2:0:10::1", at[10])]
    client.transmit("stop")
    seen = trunk.seen()
    sent = {vlan: {mac for mac, count in seen[vlan, 0x0800].items() if count == 40} for vlan in (10, 20)}
    assert sent == {10: {"02:00:00:00:10:02"}, 20: {"02:00:00:00:20:02", "02:00:00:00:20:03"}}
    assert "02:00:00:00:20:03" not in seen[20, 0x0806], "it has been told its gateway's address and asks nobody"


def split_all(capture):
    """All frames of a pcap file."""
    at, found = 24, []
    while at < len(capture):
        length = struct.unpack("<I", capture[at + 8 : at + 12])[0]
        found.append(capture[at + 16 : at + 16 + length])
        at += 16 + length
    return found


def test_what_is_not_supported_is_named(client):
    """All at once, each with its path."""
    config = client.config()
    made, (ethernet, _) = otg.flow(config, "f", "ethernet", "ipv4")
    ethernet.pfc_queue.value = 3
    device = config.devices.add(name="d")
    device.rsvp.name = "rsvp router"
    paths = {error.split(":")[0] for error in client.refused(config)}
    assert paths == {"flows[0].packet[0].ethernet.pfc_queue.value", "devices[0].rsvp"}
    config.devices.clear()
    ethernet.pfc_queue.value = 0
    made.tx_rx.port.tx_name = "nobody"
    assert client.refused(config) == ["flows[0].tx_rx.port.tx_name: unknown port 'nobody'"]


def test_latency_of_bit_forwarding_devices(client):
    """The time of a frame on the link is taken off, where the speed of that is known; where it is not, a warning says so."""
    config = client.config()
    speed = config.layer1.add(name="l", port_names=["p", "q"], speed="speed_10_gbps")
    for name, mode in (("whole", "store_forward"), ("cut", "cut_through")):
        made, _ = otg.flow(config, name, "ethernet", "ipv4", "udp", size=250, packets=200, measure=True)
        made.metrics.latency.enable, made.metrics.latency.mode = True, mode
    assert not [warning for warning in client.set(config) if "latency" in warning]
    client.transmit("start")
    client.over()
    rows = client.flows()
    client.transmit("stop")
    run = client.server.get("/api/v1/runs")[0]["id"]
    streams = client.server.get(f"/api/v1/runs/{run}/result")["streams"].values()
    measured = sorted(stream["latency_ns"]["min"] for stream in streams)
    # 250 bytes at 10 Gbit/s are 0.2 µs, less than a frame takes through two rings.
    told = {name: row.latency.minimum_ns for name, row in rows.items()}
    assert sorted([told["whole"], told["cut"] + 200]) == pytest.approx(measured, abs=1), (told, measured)
    assert rows["cut"].latency.average_ns > 0 and rows["cut"].latency.maximum_ns >= rows["cut"].latency.average_ns
    speed.port_names = ["p"]
    config.ports[1].location = "ring:b"
    config.ports[0].location = "ring:a"
    (warning,) = [warning for warning in client.set(config) if "latency" in warning]
    assert warning.startswith("flows[1].metrics.latency.mode") and "the speed of port 'q' is not known" in warning, warning
    config.flows[1].size.random.min, config.flows[1].size.random.max = 100, 300
    assert any("frames have several lengths" in warning for warning in client.set(config))


def test_a_flow_may_arrive_at_several_ports(lab):
    """Frames count as received at each of them; a bridge knows which are behind which."""
    otg.install()
    tester, bridge = lab.netns("tester"), lab.netns("bridge")
    bridge.ip("link", "add", "name", "joint", "type", "bridge")
    bridge.ip("link", "set", "joint", "up")
    for name in "abc":
        lab.veth(tester, f"{name}0", bridge, f"{name}1")
        bridge.ip("link", "set", f"{name}1", "master", "joint")
    behind = {"b1": "02:00:00:00:0b:01", "c1": "02:00:00:00:0c:01"}
    for port, mac in behind.items():
        bridge.run("bridge", "fdb", "add", mac, "dev", port, "master", "static")
    client = otg.Client(Server(lab, ns=tester))
    config = client.config("afpacket:a0", "afpacket:b0")
    config.ports.add(name="r", location="afpacket:c0")
    made, (ethernet, *_) = otg.flow(config, "f", "ethernet", "ipv4", "udp", packets=300, measure=True)
    made.tx_rx.port.rx_name = None
    made.tx_rx.port.rx_names, made.metrics.loss = ["q", "r"], True
    ethernet.src.value, ethernet.dst.values = "02:00:00:00:0a:01", list(behind.values())
    client.set(config)
    client.transmit("start")
    client.over()
    (row,) = client.flows().values()
    client.transmit("stop")
    assert (row.frames_tx, row.frames_rx, row.port_rx, row.loss) == (300, 300, "q,r", 0), row
    run = client.server.get("/api/v1/runs")[0]["id"]
    (stream,) = client.server.get(f"/api/v1/runs/{run}/result")["streams"].values()
    assert sorted(path["rx"] for path in stream["paths"].values()) == [150, 150], stream["paths"]
    made.tx_rx.port.rx_names = ["q", "nobody"]
    assert client.refused(config) == ["flows[0].tx_rx.port.rx_names: unknown port 'nobody'"]


def test_configurations_change_in_parts(client):
    """Get, update, append, delete, reset."""
    config = client.config()
    otg.flow(config, "one", "ethernet", "ipv4", "udp", measure=True)
    client.set(config)
    update = client.api.config_update()
    update.flows.property_names = ["rate"]
    changed = update.flows.flows.add(name="one")
    changed.tx_rx.port.tx_name = "p"
    changed.rate.pps = 77
    client.call("update_config", update)
    kept = client.call("get_config")
    assert kept.flows[0].rate.pps == 77 and kept.flows[0].size.fixed == 200
    append = client.api.config_append()
    more = client.api.config()
    new, _ = otg.flow(more, "two", "ethernet")
    append.config_append_list.add().flows.append(new)
    client.call("append_config", append)
    assert [made.name for made in client.call("get_config").flows] == ["one", "two"]
    delete = client.api.config_delete()
    delete.config_delete_list.add().flows = ["one"]
    client.call("delete_config", delete)
    assert [made.name for made in client.call("get_config").flows] == ["two"]
    leases = client.server.get("/api/v1/leases")
    assert [(lease["ports"], lease["holder"]) for lease in leases] == [(["v0", "v1"], "local (otg)")]
    client.set(client.api.config())
    assert client.server.get("/api/v1/leases") == []


@pytest.mark.unsteady("measures how long a poll takes")
def test_a_thousand_flows_are_polled_quickly(client):
    """Figures of a thousand flows within a fraction of a second."""
    config = client.config("ring:a", "ring:b")
    for number in range(1000):
        made, _ = otg.flow(config, f"f{number}", "ethernet", "ipv4", "udp", measure=True, pps=5)
        made.duration.continuous.gap = 12
    client.set(config)
    client.transmit("start")
    time.sleep(1)
    times, body = [], json.dumps({"choice": "flow"})
    for _ in range(10):
        begun = time.perf_counter()
        answer = client.server.ask("POST", "/monitor/metrics", body=body)
        times.append(time.perf_counter() - begun)
        time.sleep(0.05)
    client.transmit("stop")
    assert len(answer.json()["flow_metrics"]) == 1000
    print(f"1,000 flows: {min(times) * 1e3:.1f} ms at best, {sorted(times)[5] * 1e3:.1f} ms in the middle")
    assert min(times) < 0.3, times
    client.set(client.api.config())


@pytest.mark.parametrize("transport", ["http", "grpc"])
def test_the_example(client, transport):
    """examples/snappi-flows.py, over both transports."""
    server = client.server.url if transport == "http" else "grpc://127.0.0.1:40051"
    said = client.server.ns.run(
        "env", f"PYTHONPATH={otg.FOLDER}", sys.executable, REPO / "examples/snappi-flows.py", server, "ring:a", "ring:b"
    )
    assert "west to east: sent 1000, received 1000, lost 0.0%" in said, said


def test_errors_over_grpc(client):
    """The model's error is in the status."""
    script = (
        "import snappi\n"
        "api = snappi.api(location='127.0.0.1:40051', transport='grpc')\n"
        "config = api.config()\n"
        "config.ports.add(name='p', location='ring:a')\n"
        "config.devices.add(name='d').rsvp.name = 'r'\n"
        "try:\n"
        "    api.set_config(config)\n"
        "except Exception as raised:\n"
        "    error = api.from_exception(raised)\n"
        "    print(error.code, error.errors)\n"
    )
    said = client.server.ns.run("env", f"PYTHONPATH={otg.FOLDER}", sys.executable, "-c", script)
    assert "400 ['devices[0].rsvp: not supported'" in said, said
    with inside(client.server.ns):
        assert client.api.get_version().sdk_version == otg.SNAPPI


@pytest.mark.long
def test_the_client_of_go(lab, tmp_path):
    """gosnappi through the Go module proxy, its sums pinned: to compile it takes minutes."""
    need("go")
    environment = {"GOFLAGS": "-mod=readonly", "CGO_ENABLED": "0"}
    program = tmp_path / "gosnappi"
    call("go", "build", "-o", program, ".", cwd=REPO / "tests/gosnappi", env={**os.environ, **environment}, timeout=900)
    server = Server(lab, "--grpc", "127.0.0.1:40052")
    for location in (server.url, "grpc://127.0.0.1:40052"):
        assert call(program, location, "ring:a", "ring:b").split() == ["1000", "1000"]
