"""The profile document as data classes. Made by tools/generate.py from `eagre schema profile`; not to be edited.

Every part can also be given as a plain dictionary. Texts with a meaning ('1Mpps', '64B', '10s') are checked by the server,
which names the path of each error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from eagre.documents import Written


@dataclass(kw_only=True)
class Profile(Written):
    """What to send where, how fast, for how long, and what must hold for the run to pass."""

    ports: Mapping[str, Port | Mapping[str, Any]]
    """Ports by name. The names are used in 'from', 'to', 'criteria' and the result."""
    seed: int | None = None
    """Seed of everything random. The same seed, profile and version give the same packets. Without it every run
    draws its own and reports it.
    """
    streams: Sequence[Stream | Mapping[str, Any]] | None = None
    """Streams of packets. If the list is empty, what arrives at the ports is counted, and captured if they say so.
    May be left out beside 'sessions', or if a port captures.
    """
    sessions: Sequence[Sessions | Mapping[str, Any]] | None = None
    """Sessions: clients that open connections to servers, and what they say."""
    load: Load | Mapping[str, Any] | None = None
    """How long, and how much."""
    criteria: Mapping[str, str] | None = None
    """Conditions on numbers of the result, by path: 'streams.small.loss_ratio: < 0.1%', 'sessions.web.failed_ratio:
    < 0.001%'. If one fails, the run fails. A condition on a stream with copies holds for each of them.
    """
    groups: Mapping[str, str] | None = None
    """What to add streams up by, by name: 'tag', or a field such as 'ipv4.dscp'. The result then has a row for each
    tag, or for each value of the field, with the streams that have it added up.
    """
    sim: Sim | Mapping[str, Any] | None = None
    """What lies between the ports when the run is simulated; ignored on real ports."""


@dataclass(kw_only=True)
class Port(Written):
    """A port and the hosts the tester plays behind it. Its own keys 'ip', 'gateway', 'mac' and 'vlan' make the
    first host, which is called like the port.
    """

    device: str
    """Which device: 'veth0', 'afxdp:veth0', 'memif:/run/x.sock', '0000:03:00.0', 'ring:a', …"""
    ip: str | Sequence[str] | None = None
    """The host's addresses with prefix length, the first of a family before the others. With an address the port
    answers ARP, neighbour discovery and ping, and asks for the hardware addresses of next hops.
    """
    gateway: str | Sequence[str] | None = None
    """Routers for destinations that are not on the host's networks, at most one for each network."""
    gateway_mac: Mapping[str, str] | None = None
    """Hardware addresses of gateways, by the gateway's address. Nobody is asked for these."""
    mac: str | None = None
    """Hardware address to use instead of the port's own."""
    vlan: int | Sequence[int] | None = None
    """VLAN the host lives in, or a list from the outermost in. ARP, neighbour discovery and ping are tagged with
    it, and so is every packet of the port's streams that has no vlan header of its own.
    """
    hosts: Sequence[Host | Mapping[str, Any]] | None = None
    """Further hosts behind the port, each with addresses, hardware address, VLANs and gateways of its own: 4,096
    with the port's own at most. A stream or session is sent by the host whose address it has as its source.
    """
    speed: str | None = None
    """Layer-1 speed of the link, for devices that do not know theirs. Shares such as '40%' are of this."""
    checksum: Literal["software", "offload"] | None = None
    """Who computes checksums that change from packet to packet. Default: software."""
    capture: Capture | Mapping[str, Any] | None = None
    """Write what crosses the port into a capture file while traffic runs."""
    allow_default_route: bool | None = None
    """Allow an interface that carries the machine's default route. Everyone on that network gets the traffic (RFC
    6815): leave it off outside a lab.
    """


@dataclass(kw_only=True)
class Host(Written):
    """A further host behind a port, or 'count' of them."""

    ip: str | Sequence[str]
    """Its addresses with prefix length."""
    name: str | None = None
    """What it is called in 'from_host' and 'to_host' of streams, in errors, and where neighbours are told; 'host1'
    for the first of the list unless said otherwise, and so on. With 'count': 'name[0]', 'name[1]', …
    """
    gateway: str | Sequence[str] | None = None
    """Routers for destinations that are not on its networks, at most one for each network."""
    gateway_mac: Mapping[str, str] | None = None
    """Hardware addresses of gateways, by the gateway's address. Nobody is asked for these."""
    mac: str | None = None
    """Its hardware address. Without it one is made of the port's own, locally administered and nobody else's here."""
    vlan: int | Sequence[int] | None = None
    """VLAN it lives in, or a list from the outermost in; without it frames are untagged, whatever the port's own
    'vlan'.
    """
    count: int | None = None
    """So many hosts instead of one: the first as it is written, each of the others with the next addresses, and the
    next hardware address if 'mac' gives the first.
    """
    ip_step: int | float | str | Sequence[int | float | str] | None = None
    """From one host's addresses to the next one's: a number for all of them, or an address as difference for those
    of its family ('0.0.1.0'). Without it 1.
    """
    gateway_step: int | float | str | Sequence[int | float | str] | None = None
    """From one host's gateways to the next one's, likewise. Without it all have the same."""
    vlan_step: int | None = None
    """From one host's innermost VLAN to the next one's. Without it all are in the same."""


@dataclass(kw_only=True)
class Capture(Written):
    """A capture on a port: pcapng with nanoseconds. What the disk or memory was too slow for is counted."""

    file: str
    """The file, '.pcapng'. With 'rotate_size' or 'rotate_time' a number goes before the dot. Relative to where the
    command is run.
    """
    filter: str | None = None
    """Which packets, in the syntax of libpcap (tcpdump): 'udp port 53'. Without it: all."""
    snap: str | None = None
    """At most so many bytes of each packet."""
    direction: Literal["rx", "tx", "both"] | None = None
    """Received packets, sent ones, or both. Default: rx."""
    rotate_size: str | None = None
    """Begin a new file when one is so large."""
    rotate_time: str | None = None
    """Begin a new file after so long."""
    files: int | None = None
    """Keep only the newest so many files."""
    ring: str | None = None
    """Keep the newest so many bytes in memory and write them at the end."""
    buffer: str | None = None
    """Memory between the worker and the disk. Default: 64MB."""


@dataclass(kw_only=True)
class Stream(Written):
    """A stream of packets."""

    name: str
    """The stream's name, used in 'criteria' and the result."""
    from_: str
    """Port the stream is sent from."""
    to: str | None = None
    """Port the stream should arrive at. Leave it out if nobody here receives it."""
    from_host: str | None = None
    """Host of the port 'from' that sends it: its hardware address, VLANs and gateways. Without it the one whose
    address is the packet's outermost source, in the VLANs of the packet if that has vlan headers, or else the first
    that can.
    """
    to_host: str | None = None
    """Host of the port 'to' that it goes to. Without it the one with the packet's destination, or the first that
    can.
    """
    packet: Sequence[PacketElementOr] | None = None
    """Headers from the outside in, then, if wanted, the first bytes of the payload. 'ethernet' may be left out. An
    outermost ipv4 or ipv6 header gets its 'src' from the port it is sent from and its 'dst' from the port it goes
    to; hardware addresses come from the ports and their neighbours. Lengths, checksums and 'type' fields are
    computed. What you set stays as you set it, even if it is wrong. Either this or 'replay'.
    """
    replay: Replay | Mapping[str, Any] | None = None
    """Send what a capture file has, instead of 'packet'."""
    size: SizesOr | None = None
    """Frame lengths with FCS. Without it: the shortest that holds packet and signature."""
    vary: Mapping[str, VaryOr] | None = None
    """Fields whose values vary from packet to packet: 'ipv4.src', 'vlan[1].id', 'vxlan.inner.ipv4.dst', or raw
    'bytes[42..44]', 'payload[0..4]', 'bits[336..340]'. All advance together unless 'after' says otherwise.
    Checksums stay right.
    """
    per_copy: Mapping[str, VaryOr] | None = None
    """Fields that differ from copy to copy of 'copies' and are constant within one."""
    flows: Flows | Mapping[str, Any] | None = None
    """Flows: the fields of 'vary' keep their values for the packets of a flow."""
    rate: str | None = None
    """Packets per second, bits per second, a share of the link, packets per second of each flow ('100pps/flow'), or
    'max' for as fast as the port takes. Required unless the command line gives a rate, or the pattern is one.
    """
    pattern: PatternOr | None = None
    """How sending times are arranged. Default: continuous."""
    then: str | Then | Mapping[str, Any] | None = None
    """The stream that begins when this one has sent its count. The first stream of such a chain has 'start_delay'
    and 'loops'; each needs a count and a rate.
    """
    loops: int | None = None
    """How often the chain that begins with this stream is gone through. Without it: for ever if the last stream
    names this one in 'then', else once.
    """
    count: int | None = None
    """Stop after so many packets. Without it: until the duration ends. Each copy sends so many."""
    start_delay: str | None = None
    """From the start of traffic to the stream's first packet. Default: 0s."""
    measure: bool | None = None
    """Whether every packet carries the 18-byte signature and is measured. Replayed packets never are."""
    copies: int | None = None
    """This many equal streams instead of one, named 'name[0]', 'name[1]', … Each has the given rate and is measured
    by itself.
    """
    tag: str | Sequence[str] | None = None
    """Words to add streams up by: see 'groups'."""


PacketElementOr: TypeAlias = (
    'Literal["ethernet", "vlan", "llc", "snap", "mpls", "mpls_control_word", "pause", "pfc", "lacp", "lldp", '
    '"lldp_port_id", "lldp_ttl", "lldp_port_description", "lldp_system_name", "lldp_system_description", '
    '"lldp_capabilities", "lldp_organization", "lldp_end", "lldp_tlv", "pppoe_discovery", "pppoe_service_name",'
    ' "pppoe_tag", "pppoe", "ppp", "arp", "ipv4", "ipv4_nop", "ipv4_router_alert", "ipv4_record_route", '
    '"ipv4_timestamp", "ipv4_option", "ipv6", "ipv6_hop_by_hop", "ipv6_destination", "ipv6_router_alert", '
    '"ipv6_tunnel_limit", "ipv6_padn", "ipv6_option", "ipv6_fragment", "srh", "srh_segment", "srh_tlv", '
    '"ipv6_routing", "ah", "esp", "icmp", "icmp_unreachable", "icmp_redirect", "icmp_time_exceeded", '
    '"igmpv3_query", "igmpv3_report", "igmpv3_record", "igmp_source", "igmp", "icmpv6", "icmpv6_unreachable", '
    '"icmpv6_packet_too_big", "icmpv6_time_exceeded", "nd_solicit", "nd_advert", "nd_router_solicit", '
    '"nd_router_advert", "nd_source_lladdr", "nd_prefix", "nd_mtu", "nd_option", "mldv2_query", "mld", '
    '"mldv2_report", "mldv2_record", "mld_source", "udp", "tcp", "tcp_nop", "tcp_mss", "tcp_wscale", '
    '"tcp_sack_permitted", "tcp_sack", "tcp_sack_block", "tcp_timestamps", "tcp_fast_open", "tcp_option", '
    '"sctp", "sctp_data", "sctp_init", "gre", "gre_checksum", "gre_key", "nvgre", "gre_sequence", "erspan2", '
    '"erspan3", "vxlan", "vxlan_gpe", "geneve", "geneve_option", "gtpu", "gtpu_options", "gtpu_pdu_session", '
    '"l2tp", "l2tpv3", "ptp", "bfd", "dns", "dns_question", "dns_a", "dns_aaaa", "dns_record", "bytes"] | '
    "Mapping[str, Any]"
)
"""A header with defaults ('udp'), a header with fields ('udp: {dst: 9}'), or, as the last elements, the payload's
first bytes ('payload: text' or 'hex: 00ff') and what fills the rest of it ('fill: counter').
"""


@dataclass(kw_only=True)
class Replay(Written):
    """A capture file to send: pcap or pcapng, with micro- or nanoseconds, Ethernet. With the stream's 'rate' the
    packets are sent at that rate; without, as they were captured. They carry no signature, so what arrives is
    counted at the port and not measured.
    """

    file: str
    """The file. Relative to the profile."""
    speed: str | None = None
    """How many times as fast as captured, such as '2x' or '0.5x'."""
    loops: int | None = None
    """How often the file is sent; once unless given. 'count' ends it, too."""
    loop_gap: str | None = None
    """From the last packet of one loop to the first of the next. Without it: the capture's mean gap."""
    split: Literal["first_source"] | SplitBy | Mapping[str, Any] | None = None
    """Send only one direction from 'from', the other from 'to'. Without it everything is sent from 'from'."""
    rewrite: Mapping[str, int | str | Sequence[int | str]] | None = None
    """Fields to change, in packets that have them: a value ('udp.dst: 53'), or one for another ('ipv4.src:
    10.0.0.0/8 -> 192.168.0.0/8'). 'addresses' and 'ports' change both ends, whichever field they stand in. 'port'
    as 'ethernet.src' is the port's own, 'next_hop' as 'ethernet.dst' that of its gateway or of the port at the
    other end. Checksums that were right stay right.
    """
    push_vlan: int | None = None
    """VLAN tag to put before all others."""
    pop_vlan: bool | None = None
    """Take the outermost VLAN tag away first."""


@dataclass(kw_only=True)
class SplitBy(Written):
    """Who the clients are, whose packets are sent from 'from'. One of the three."""

    clients: str | Sequence[str] | None = None
    """Networks of the clients."""
    macs: str | Sequence[str] | None = None
    """Hardware addresses of the clients."""
    interface: int | None = None
    """Number of the capture's interface on which clients were seen."""


SizesOr: TypeAlias = "str | Sequence[str] | Mapping[str, int]"
"""Frame length with FCS: one ('64B'), a sweep ('64B..1518B step 64B'), at random ('random 64B..1518B'), a mix by
name ('imix'), an RFC 6985 genome ('genome abceg'), a list taken in turn, or lengths with weights ('{64B: 7, 594B:
4, 1518B: 1}').
"""


VaryOr: TypeAlias = "str | Sequence[int | str] | Generator | Mapping[str, Any]"
"""The values a field takes: 'counter', 'random', a range such as '10.0.0.1..10.0.0.9' or '0..100 step 4', a list of
values, or a generator.
"""


@dataclass(kw_only=True)
class Generator(Written):
    """A generator of values. Exactly one of 'from', 'random', 'list', 'file', 'weights' and 'same_as' says which
    kind.
    """

    from_: int | str | None = None
    """First value of a range. With 'to' or 'count'."""
    to: int | str | None = None
    """Last value of the range. Below 'from' the range counts down."""
    count: int | None = None
    """Values in the range, instead of 'to'. Beyond the field's largest value it goes on at zero."""
    step: int | str | None = None
    """Distance from one value of the range to the next; 1 unless given."""
    random: int | str | None = None
    """Values drawn at random from a range such as '1024..65535', or 'all' that the field holds."""
    distinct: int | None = None
    """Draw from only so many different values of the range. Which ones is fixed by the seed."""
    seed: int | None = None
    """Seed of this field's own. Without it one that follows from the profile's seed, the stream and the field."""
    list: Sequence[int | str] | None = None
    """The values, in turn."""
    file: str | None = None
    """A text file with a value on each line; empty lines and what follows a '#' are ignored. Relative to the
    profile.
    """
    order: Literal["sequential", "random"] | None = None
    """In which order the values of 'list' or 'file' come."""
    weights: Mapping[str, int] | None = None
    """Values drawn at random, each as often as its weight says."""
    same_as: str | None = None
    """The value of another varying field, given before this one."""
    shift: int | None = None
    """Shift the value of 'same_as' left by so many bits, or right if negative. First of all."""
    plus: int | str | None = None
    """Then add this."""
    mask: int | str | None = None
    """Write only these bits of the field; the others keep what the packet says."""
    every: int | None = None
    """Packets for which a value is kept."""
    after: str | None = None
    """Take the next value whenever this other varying field, given before, has gone through all of its own:
    together they go through all pairs. Without it the fields advance together, packet by packet.
    """


@dataclass(kw_only=True)
class Flows(Written):
    """Flows: packets of one flow have the same values, so the fields of 'vary' advance from flow to flow instead of
    from packet to packet.
    """

    count: int
    """Flows at any time."""
    length: int | None = None
    """Packets of a flow before a new one takes its place. Without it flows last as long as the stream."""
    order: Literal["sequential", "random"] | None = None
    """'sequential': all packets of a flow, then those of the next. 'random': each packet is of a flow drawn at
    random, and after count × length packets all flows are new. Default: sequential.
    """


@dataclass(kw_only=True)
class Pattern(Written):
    """How sending times are arranged: 'continuous' (evenly spaced), 'poisson' (gaps at random, exponentially
    distributed), or a mapping with one of the keys below.
    """

    burst: int | None = None
    """So many packets at the stream's rate ('max': back to back), once."""
    bursts: int | None = None
    """Groups of so many packets back to back, spaced so that the stream's rate is met on average."""
    multi_burst: MultiBurst | Mapping[str, Any] | None = None
    """Bursts with silence between them. The stream's rate is that inside a burst."""
    on_off: OnOff | Mapping[str, Any] | None = None
    """Packets at the stream's rate for a while, nothing for a while, and again. (Not plain 'on' and 'off': older
    YAML takes these words for true and false.)
    """
    gaps: Gaps | Mapping[str, Any] | None = None
    """The time from each packet to the next, from a list. The stream needs no rate: the gaps are one."""
    curve: Curve | Mapping[str, Any] | None = None
    """A load curve: the rate over time. The stream needs no rate of its own."""


PatternOr: TypeAlias = 'Literal["continuous", "poisson"] | Pattern | Mapping[str, Any]'
"""How sending times are arranged: 'continuous' (evenly spaced), 'poisson' (gaps at random, exponentially
distributed), or a mapping with one of the keys below.
"""


@dataclass(kw_only=True)
class MultiBurst(Written):
    """Bursts with silence between them. The stream's rate is that inside a burst."""

    packets: int
    """Packets in a burst."""
    every: str | None = None
    """From the start of a burst to the start of the next. Not needed for a single burst."""
    bursts: int | None = None
    """How many bursts. Without it: until the duration ends."""


@dataclass(kw_only=True)
class OnOff(Written):
    """Packets at the stream's rate for a while, nothing for a while, and again. (Not plain 'on' and 'off': older
    YAML takes these words for true and false.)
    """

    on_for: str
    """How long packets are sent."""
    off_for: str
    """How long none are."""


@dataclass(kw_only=True)
class Gaps(Written):
    """The time from each packet to the next, from a list. The stream needs no rate: the gaps are one."""

    list: Sequence[str]
    """The gaps."""
    order: Literal["sequential", "random"] | None = None
    """In which order they come. Default: sequential."""


@dataclass(kw_only=True)
class Curve(Written):
    """A load curve: the rate over time. The stream needs no rate of its own."""

    points: Sequence[CurvePoint | Mapping[str, Any]]
    """Points of the curve, at increasing times. Before the first its rate holds, behind the last its rate."""
    shape: Literal["linear", "steps"] | None = None
    """What is between two points. Default: linear."""
    repeat: bool | None = None
    """Begin again from the first point when the last is reached."""


@dataclass(kw_only=True)
class CurvePoint(Written):
    """A point of a load curve."""

    at: str
    """Since the stream's start."""
    rate: str
    """The rate there; zero is allowed."""


@dataclass(kw_only=True)
class Then(Written):
    """The stream that follows when this one has sent its count."""

    stream: str
    """Its name; that of the chain's first stream closes a loop."""
    gap: str | None = None
    """From the end of this stream to the start of the next. A stream ends one of its gaps behind its last packet.
    Default: 0s.
    """


@dataclass(kw_only=True)
class Sessions(Written):
    """Sessions: clients that open connections to servers, and what they say to each other. An end with a 'port' is
    played here; an end without is someone else's.
    """

    name: str
    """The entry's name, used in 'criteria' and the result."""
    app: AppOr
    """What is said."""
    client: Client | Mapping[str, Any] | None = None
    """The end that opens sessions. Without it, or without its 'port', clients are someone else's."""
    server: Server | Mapping[str, Any] | None = None
    """The end that waits for sessions. Without its 'port', servers are someone else's, and 'addresses' says where."""
    transport: Literal["tcp", "udp"] | None = None
    """What carries sessions. Without it: what the application goes over, or TCP."""
    tls: bool | Tls | Mapping[str, Any] | None = None
    """Encryption around the application. TCP only."""
    open: OpenOr | None = None
    """How fast sessions are opened, all clients together. Without it, and with 'concurrent': as fast as can be
    until so many are there.
    """
    close: str | None = None
    """Rate of closing sessions that have lasted 'hold', all clients together. Default: no limit."""
    request_rate: str | None = None
    """Rate of requests, or of a program's sends, all clients together; a session waits for its turn. Default: no
    limit.
    """
    concurrent: int | None = None
    """Sessions there may be at a time. Those due beyond that are withheld, and counted. With 'open: max' it is the
    number that is reached and held.
    """
    count: int | None = None
    """Stop opening after so many sessions. Without it: until the duration ends."""
    bytes: str | None = None
    """Stop opening when clients' applications have sent and received so many bytes."""
    for_: str | None = None
    """Stop opening after so long, counted from 'start_delay'."""
    hold: str | None = None
    """How long a session lasts once it is established. A session that finishes sooner stays open; one that takes
    longer is closed after its transaction. Default: as long as the application takes.
    """
    idle: str | None = None
    """Idle time between the end of a session and the session that takes its place in 'concurrent'. Default: 0s."""
    start_delay: str | None = None
    """From the start of traffic to the first session. Default: 0s."""
    at_end: Literal["close", "reset"] | None = None
    """What becomes of open sessions when the run ends. Default: close."""
    response_timeout: str | None = None
    """How long clients wait for the next byte of a response, and for the handshake of TLS. Longer is the failure
    'response_timeout'. Default: 30s.
    """
    idle_timeout: str | None = None
    """How long servers wait for something from a client. Longer is the failure 'idle_timeout'. Default: none."""
    verify: bool | None = None
    """Compare what is received with what the other end is known to send, byte by byte. Both ends must be played
    here.
    """
    order: Literal["sequential", "random"] | None = None
    """In which order pairs of client and server address are gone through. Default: sequential."""
    tcp: Tcp | Mapping[str, Any] | None = None
    """TCP of both ends."""
    udp: Udp | Mapping[str, Any] | None = None
    """UDP of both ends."""
    ip: Ip | Mapping[str, Any] | None = None
    """IP of both ends."""
    mtu: int | None = None
    """Largest IP packet of both ends, bytes."""
    vlan: int | Sequence[int] | None = None
    """VLAN of both ends, or a list from the outermost in. Without it: those of the ports."""


@dataclass(kw_only=True)
class Client(Written):
    """The end that opens sessions."""

    port: str | None = None
    """Port clients are played on. Leave it out if they are someone else's."""
    addresses: AddressesOr | None = None
    """Addresses of clients. Without them: the port's own. The port answers for all of them."""
    ports: int | float | str | None = None
    """Ports clients open from: 1024..65535 unless given."""
    mac: str | None = None
    """Hardware address to send to, instead of asking for that of the next hop."""
    tcp: Tcp | Mapping[str, Any] | None = None
    """TCP of clients; wins over what both ends have."""
    udp: Udp | Mapping[str, Any] | None = None
    """UDP of clients; wins over what both ends have."""
    ip: Ip | Mapping[str, Any] | None = None
    """IP of clients; wins over what both ends have."""
    mtu: int | None = None
    """Largest IP packet of clients, bytes."""
    vlan: int | Sequence[int] | None = None
    """VLAN of clients, or a list from the outermost in."""


AddressesOr: TypeAlias = "str | Sequence[str] | Mapping[str, int]"
"""Addresses of one end, all IPv4 or all IPv6: one ('10.0.0.10'), a range ('10.0.0.10..10.0.0.250'), the hosts of a
network ('10.1.0.0/16'), a list of those, or those with how many sessions each address has in relation to the others
('{10.0.0.10: 3, 10.0.0.11..10.0.0.20: 1}').
"""


@dataclass(kw_only=True)
class Tcp(Written):
    """TCP of one end or of both."""

    mss: int | None = None
    """Largest segment offered and sent, bytes of payload. Without it what fits 'mtu'."""
    window: str | None = None
    """Receive window offered: 262140B unless given."""
    window_scaling: bool | None = None
    """Whether windows may be scaled (RFC 7323): yes unless given. Needed for windows above 65535B."""
    timestamps: bool | None = None
    """Whether timestamps are offered and taken (RFC 7323): yes unless given."""
    sack: bool | None = None
    """Whether selective acknowledgements are offered and taken (RFC 2018): yes unless given."""
    ecn: bool | None = None
    """Whether explicit congestion notification is offered and taken (RFC 3168): no unless given."""
    initial_window: int | None = None
    """Segments that may be sent before the first acknowledgement (RFC 6928): 10 unless given."""
    congestion: Literal["cubic", "newreno", "none"] | None = None
    """How congestion is controlled: cubic unless given."""
    no_delay: bool | None = None
    """Whether small segments are sent at once instead of waiting for acknowledgements (Nagle): yes unless given."""
    ack_delay: str | None = None
    """How long an acknowledgement may wait for data to go with: 40ms unless given; 0s acknowledges at once."""
    rto_initial: str | None = None
    """Time until a retransmission before the round trip is known (RFC 6298): 1s unless given."""
    rto_min: str | None = None
    """Shortest time until a retransmission: 200ms unless given."""
    rto_max: str | None = None
    """Longest time until a retransmission: 60s unless given."""
    syn_retries: int | None = None
    """How often a SYN is repeated: 6 times unless given."""
    syn_ack_retries: int | None = None
    """How often a SYN-ACK is repeated: 5 times unless given."""
    data_retries: int | None = None
    """How often data or a FIN is repeated: 15 times unless given."""
    fin_timeout: str | None = None
    """Longest wait for the other end's FIN: 60s unless given."""
    time_wait: str | None = None
    """How long the end that closed first remembers a session: 1s unless given, or 'skip'."""
    keep_alive: str | None = None
    """Silence after which the other end is asked whether it is there: 'none' unless given."""
    close_by: Literal["fin", "reset"] | None = None
    """Whether the end that closes first sends a FIN or a reset: fin unless given."""


@dataclass(kw_only=True)
class Udp(Written):
    """UDP of one end or of both."""

    idle_timeout: str | None = None
    """Silence after which a session ends: 30s unless given."""


@dataclass(kw_only=True)
class Ip(Written):
    """IP of one end or of both."""

    ttl: int | None = None
    """Time to live, or hop limit: 64 unless given."""
    dscp: int | None = None
    """Class of service (RFC 2474): 0 unless given."""
    tos: int | None = None
    """The whole byte around 'dscp', in place of it. Its lower two bits are those of ECN and must be zero."""


@dataclass(kw_only=True)
class Server(Written):
    """The end that waits for sessions."""

    port: str | None = None
    """Port servers are played on. Leave it out if they are someone else's."""
    addresses: AddressesOr | None = None
    """Addresses of servers. Without them: the port's own. The port answers for all of them."""
    ports: int | float | str | None = None
    """Ports servers are reached at. Without them the application's: 80 for http (443 with TLS), 53 for dns, 7 for
    echo, 9 for discard, 19 for chargen, the capture's for pcap.
    """
    tcp: Tcp | Mapping[str, Any] | None = None
    """TCP of servers; wins over what both ends have."""
    udp: Udp | Mapping[str, Any] | None = None
    """UDP of servers; wins over what both ends have."""
    ip: Ip | Mapping[str, Any] | None = None
    """IP of servers; wins over what both ends have."""
    mtu: int | None = None
    """Largest IP packet of servers, bytes."""
    vlan: int | Sequence[int] | None = None
    """VLAN of servers, or a list from the outermost in."""


@dataclass(kw_only=True)
class App(Written):
    """What is said on sessions: a word for an application with nothing set, or a mapping with one application and
    what is set of it.
    """

    raw: Raw | Mapping[str, Any] | None = None
    """Requests and responses of so many bytes."""
    echo: Echo | Mapping[str, Any] | None = None
    """The server sends back what it gets."""
    http: Http | Mapping[str, Any] | None = None
    """HTTP/1.1."""
    dns: Dns | Mapping[str, Any] | None = None
    """DNS, over UDP or TCP."""
    bulk: Bulk | Mapping[str, Any] | None = None
    """One end sends, the other throws away: for goodput. TCP only."""
    program: Program | Mapping[str, Any] | None = None
    """A program for each end."""
    pcap: Conversation | Mapping[str, Any] | None = None
    """A conversation from a capture file."""
    mix: Sequence[Member | Mapping[str, Any]] | None = None
    """Several applications by weight."""


AppOr: TypeAlias = 'Literal["echo", "discard", "chargen", "http"] | App | Mapping[str, Any]'
"""What is said on sessions: a word for an application with nothing set, or a mapping with one application and what
is set of it.
"""


@dataclass(kw_only=True)
class Raw(Written):
    """Requests and responses without meaning."""

    request: AmountOr
    """Bytes of a request."""
    response: AmountOr | None = None
    """Bytes of a response. Without it: as many as the request."""
    requests: Literal["endless"] | int | None = None
    """Requests of a session, one after the other. Default: 1."""
    think: str | None = None
    """From a response to the next request."""


AmountOr: TypeAlias = "str | Mapping[str, int]"
"""A number of bytes: always the same ('32KB'), any in a range ('1KB..64KB'), or several with how often each comes
('{1KB: 5, 64KB: 1}'). It follows the number of the request in its session, so that the other end knows it too: with
one request in each session it is the same in all of them. Only http's responses differ from session to session.
"""


@dataclass(kw_only=True)
class Echo(Written):
    """The server sends back what it gets."""

    request: AmountOr | None = None
    """Bytes of a request: 64B unless given."""
    requests: Literal["endless"] | int | None = None
    """Requests of a session, one after the other. Default: 1."""
    think: str | None = None
    """From a response to the next request."""


@dataclass(kw_only=True)
class Http(Written):
    """HTTP/1.1."""

    request: str | None = None
    """Bytes of a request's head: it is filled up by a field 'X-Padding'. Without it: as long as it is."""
    response: AmountOr | None = None
    """Bytes of a response's body: 1KB unless given. Servers played here answer so; clients take any other length
    for the failure 'wrong_content', but for 4xx and 5xx that 'status' does not ask for. Sizes that differ are asked
    for by paths: '/1000', '/64000'.
    """
    requests: Literal["endless"] | int | None = None
    """Requests on a connection."""
    method: Literal["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"] | None = None
    """The method: GET unless given."""
    path: TextOr | None = None
    """Path and query: '/' unless given."""
    host: TextOr | None = None
    """The Host field. Without it: 'eagre.test' if servers are played here, else the first server's address."""
    headers: Mapping[str, TextOr] | None = None
    """More fields of requests, by name, in this order."""
    body: AmountOr | None = None
    """Bytes of a request's body."""
    chunked: str | None = None
    """Send bodies, of requests and of responses, in chunks of at most so many bytes."""
    status: int | None = None
    """Status that must come back; any other is the failure 'http_status'."""
    objects: Sequence[Object | Mapping[str, Any]] | None = None
    """Several requests instead of one, by weight. What is said above holds for those that say nothing else."""
    order: Literal["sequential", "random"] | None = None
    """In which order objects, or sizes of responses, come. Default: sequential."""
    pipeline: int | None = None
    """Requests sent before their responses have come: 1 unless given."""
    think: str | None = None
    """From a response to the next request."""
    close_by: Literal["fin", "reset", "server"] | None = None
    """How a connection ends. Default: fin."""
    errors_fail: bool | None = None
    """Whether a status of 4xx or 5xx fails the session: yes unless given. It is counted in any case."""
    server: HttpServer | Mapping[str, Any] | None = None
    """What servers answer, if not 'response' to everything."""


@dataclass(kw_only=True)
class Text(Written):
    """A text that may differ from session to session and from request to request. A text, in which '{session}' and
    '{request}' stand for their numbers, '{1..1000}' for numbers in turn and '{random 1..1000}' for numbers at
    random; '{hex 0..255}' writes them in hexadecimal, leading zeros ('{001..100}') set the width, and '{{' is a
    brace. Or a list of such texts, taken in turn. Or a mapping with such a list.
    """

    list: Sequence[str]
    """The texts."""
    order: Literal["sequential", "random"] | None = None
    """In which order they come. Default: sequential."""
    by: Literal["session", "request", "each"] | None = None
    """What makes the next one come. Default: each."""


TextOr: TypeAlias = "str | Sequence[str] | Text | Mapping[str, Any]"
"""A text that may differ from session to session and from request to request. A text, in which '{session}' and
'{request}' stand for their numbers, '{1..1000}' for numbers in turn and '{random 1..1000}' for numbers at random;
'{hex 0..255}' writes them in hexadecimal, leading zeros ('{001..100}') set the width, and '{{' is a brace. Or a
list of such texts, taken in turn. Or a mapping with such a list.
"""


@dataclass(kw_only=True)
class Object(Written):
    """One of several requests."""

    weight: int | None = None
    """How often it comes in relation to the others. Default: 1."""
    method: Literal["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"] | None = None
    """The method."""
    path: TextOr | None = None
    """Path and query. Without it, and with 'response': the path that asks servers played here for so many bytes."""
    host: TextOr | None = None
    """The Host field."""
    headers: Mapping[str, TextOr] | None = None
    """More fields, in place of those of all requests."""
    request: str | None = None
    """Bytes of the request's head."""
    response: str | None = None
    """Bytes of the response's body."""
    body: AmountOr | None = None
    """Bytes of the request's body."""
    status: int | None = None
    """Status that must come back."""


@dataclass(kw_only=True)
class HttpServer(Written):
    """A server of HTTP."""

    rules: Sequence[HttpRule | Mapping[str, Any]] | None = None
    """The first rule that fits answers. What none fits is answered as without rules: a path that is a number by so
    many bytes, any other by 'response'.
    """
    keep_alive: int | None = None
    """Requests answered on a connection before it is closed. Without it: no limit."""
    name: str | None = None
    """The Server field: 'eagre' unless given; an empty text leaves it out."""


@dataclass(kw_only=True)
class HttpRule(Written):
    """A rule of a server."""

    path: str | None = None
    """Paths it answers: '/a' is this one, '/a*' all that begin so. Without it: all."""
    methods: Sequence[Literal["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"]] | None = None
    """Methods it answers. Without it: all."""
    status: int | None = None
    """Status: 200 unless given."""
    response: AmountOr | None = None
    """Bytes of the body: none unless given."""
    chunked: str | None = None
    """Send the body in chunks of at most so many bytes."""
    until_close: bool | None = None
    """Send no length: the body ends with the connection."""
    headers: Mapping[str, str] | None = None
    """More fields, by name, in this order."""
    close: bool | None = None
    """Close the connection after the response."""
    delay: str | None = None
    """From the request to the response."""


@dataclass(kw_only=True)
class Dns(Written):
    """DNS, over UDP unless the entry's transport is TCP."""

    names: TextOr | None = None
    """Names asked for. Several are taken in turn. Needed, or 'queries', if clients are played here."""
    type: (
        Literal[
            "A",
            "NS",
            "CNAME",
            "SOA",
            "PTR",
            "MX",
            "TXT",
            "AAAA",
            "SRV",
            "NAPTR",
            "DS",
            "DNSKEY",
            "SVCB",
            "HTTPS",
            "ANY",
            "CAA",
        ]
        | int
        | None
    ) = None
    """Type asked for: A unless given."""
    queries: Sequence[DnsQuery | Mapping[str, Any]] | None = None
    """Several queries by weight, in place of 'names' and 'type'."""
    order: Literal["sequential", "random"] | None = None
    """In which order queries come. Default: sequential."""
    requests: Literal["endless"] | int | None = None
    """Queries of a session, one after the other."""
    think: str | None = None
    """From an answer to the next query."""
    recursion: bool | None = None
    """Whether servers shall ask others: yes unless given."""
    edns: str | None = None
    """Bytes of UDP answers clients can take (EDNS): 1232B unless given; 512B says nothing about it."""
    retries: int | None = None
    """Over UDP: how often a query is sent again: 2 times unless given."""
    retry_after: str | None = None
    """How long an answer is waited for before the query is sent again: 1s unless given."""
    errors_fail: bool | None = None
    """Whether an answer with a code other than 0 fails the session: no unless given. It is counted in any case."""
    rules: Sequence[DnsRule | Mapping[str, Any]] | None = None
    """What servers answer: the first rule that fits; what none fits is no such name. Without rules: every name has
    the addresses 198.18.0.1 and 2001:2::1.
    """


@dataclass(kw_only=True)
class DnsQuery(Written):
    """One of several queries."""

    name: TextOr
    """The name."""
    type: (
        Literal[
            "A",
            "NS",
            "CNAME",
            "SOA",
            "PTR",
            "MX",
            "TXT",
            "AAAA",
            "SRV",
            "NAPTR",
            "DS",
            "DNSKEY",
            "SVCB",
            "HTTPS",
            "ANY",
            "CAA",
        ]
        | int
        | None
    ) = None
    """Type asked for: A unless given."""
    weight: int | None = None
    """How often it comes in relation to the others. Default: 1."""


@dataclass(kw_only=True)
class DnsRule(Written):
    """A rule of a server."""

    suffix: str | None = None
    """Names it answers: this one and all below it. Without it: all."""
    types: (
        Literal[
            "A",
            "NS",
            "CNAME",
            "SOA",
            "PTR",
            "MX",
            "TXT",
            "AAAA",
            "SRV",
            "NAPTR",
            "DS",
            "DNSKEY",
            "SVCB",
            "HTTPS",
            "ANY",
            "CAA",
        ]
        | int
        | Sequence[
            Literal[
                "A",
                "NS",
                "CNAME",
                "SOA",
                "PTR",
                "MX",
                "TXT",
                "AAAA",
                "SRV",
                "NAPTR",
                "DS",
                "DNSKEY",
                "SVCB",
                "HTTPS",
                "ANY",
                "CAA",
            ]
            | int
        ]
        | None
    ) = None
    """Types it answers. Without it: all."""
    code: int | None = None
    """Code of the answer: 0 no error, 2 server failure, 3 no such name, 5 refused. Default: 0."""
    answers: Sequence[str | Record | Mapping[str, Any]] | None = None
    """Records: those whose type is asked for are in the answer."""
    ttl: str | None = None
    """How long answers may be remembered: 60s unless given."""
    delay: str | None = None
    """From the query to the answer."""
    silent: bool | None = None
    """Answer nothing at all."""


@dataclass(kw_only=True)
class Record(Written):
    """A record. Either 'address', or 'type' with 'data' or 'text'."""

    address: str | None = None
    """An address: A or AAAA. With 'count' the first of so many, one for each query in turn."""
    count: int | None = None
    """How many addresses there are."""
    type: (
        Literal[
            "A",
            "NS",
            "CNAME",
            "SOA",
            "PTR",
            "MX",
            "TXT",
            "AAAA",
            "SRV",
            "NAPTR",
            "DS",
            "DNSKEY",
            "SVCB",
            "HTTPS",
            "ANY",
            "CAA",
        ]
        | int
        | None
    ) = None
    """Type of any other record."""
    data: str | None = None
    """Its data as on the wire."""
    text: str | None = None
    """Its data as a text of at most 255 bytes (TXT)."""


@dataclass(kw_only=True)
class Bulk(Written):
    """One end sends, the other throws away."""

    from_: Literal["client", "server"] | None = None
    """Which end sends. Default: client."""
    bytes: str | None = None
    """How much; then it closes. Without it: as long as the session lasts."""


@dataclass(kw_only=True)
class Program(Written):
    """A program for each end: what it sends, expects and waits for, in order. When a client's is through, it
    closes.
    """

    client: Sequence[StepOr] | None = None
    """The client's. Needed if clients are played here."""
    server: Sequence[StepOr] | None = None
    """The server's. Needed if servers are played here."""


@dataclass(kw_only=True)
class Step(Written):
    """A step of a program: a word, or a mapping with one of the keys below."""

    send: ContentOr | None = None
    """Send this. Over UDP it is one datagram."""
    expect: ContentOr | None = None
    """Wait for as many bytes as this has. With 'verify' they must be these and no others. Over UDP: for a datagram."""
    expect_until: ContentOr | None = None
    """Wait for everything until and with this text."""
    wait: str | None = None
    """Wait for so long."""
    repeat: Repeat | Mapping[str, Any] | None = None
    """Do something several times."""


StepOr: TypeAlias = (
    'Literal["stream", "half_close", "close", "reset", "expect_end", "pause", "resume"] | Step | Mapping[str, Any]'
)
"""A step of a program: a word, or a mapping with one of the keys below."""


ContentOr: TypeAlias = "str | Sequence[str | Part | Mapping[str, Any]] | Part | Mapping[str, Any]"
"""What a program sends or expects: a text (see Text), or a mapping with one of the keys below, or a list of both,
one behind the other.
"""


@dataclass(kw_only=True)
class Part(Written):
    """What is sent that is no text."""

    bytes: AmountOr | None = None
    """So many bytes without meaning. The other end can verify them."""
    hex: str | None = None
    """These bytes."""
    text: TextOr | None = None
    """One of several texts."""


@dataclass(kw_only=True)
class Repeat(Written):
    """Something that is done several times."""

    times: Literal["endless"] | int
    """How often: a number, or 'endless' until the session is closed from outside."""
    do: Sequence[StepOr]
    """What is done."""


@dataclass(kw_only=True)
class Conversation(Written):
    """A conversation from a capture file: what its ends sent each other, in new sessions, with addresses and ports
    of the entry. Segments, acknowledgements and retransmissions are not those of the capture.
    """

    file: str
    """The file: pcap or pcapng. Relative to the profile."""
    conversation: int | None = None
    """Which of the file's conversations, counted from 1 in the order of their first packets: the first unless
    given.
    """
    timing: Literal["fast", "as_captured"] | None = None
    """Whether an end waits as long as it did in the capture before it answers. Default: fast."""


@dataclass(kw_only=True)
class Member(Written):
    """An application of a mix."""

    name: str
    """Its name in the result."""
    app: AppOr
    """What is said."""
    weight: int | None = None
    """Its sessions in relation to those of the others. Default: 1."""
    ports: int | float | str | None = None
    """The servers' ports for this application. Servers tell applications apart by them. Without them: those of
    'server', or the application's own.
    """


@dataclass(kw_only=True)
class Tls(Written):
    """Encryption around the application: TLS 1.2 and 1.3."""

    versions: int | float | str | Sequence[int | float | str] | None = None
    """Versions that may be agreed upon: 1.2 and 1.3 unless given."""
    suites: (
        Literal[
            "TLS_AES_128_GCM_SHA256",
            "TLS_AES_256_GCM_SHA384",
            "TLS_CHACHA20_POLY1305_SHA256",
            "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
            "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
            "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
            "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
            "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
            "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
        ]
        | Sequence[
            Literal[
                "TLS_AES_128_GCM_SHA256",
                "TLS_AES_256_GCM_SHA384",
                "TLS_CHACHA20_POLY1305_SHA256",
                "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
                "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
                "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
                "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
                "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
                "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
            ]
        ]
        | None
    ) = None
    """Cipher suites, best first. Without them: all there are."""
    groups: (
        Literal["x25519", "secp256r1", "secp384r1", "X25519MLKEM768"]
        | Sequence[Literal["x25519", "secp256r1", "secp384r1", "X25519MLKEM768"]]
        | None
    ) = None
    """Groups of the key exchange, best first. Without them: all there are."""
    alpn: str | Sequence[str] | None = None
    """Application protocols offered and taken, best first. Without it 'http/1.1' for http, else none."""
    server_name: TextOr | None = None
    """The server's name in the handshake (SNI). Without it the host of http if that is a name, else 'eagre.test'
    where servers are played here.
    """
    resumption: int | None = None
    """Sessions clients keep to resume them; without it every handshake is a full one."""
    verify: Literal["none", "generated"] | Mapping[str, Any] | None = None
    """What clients verify a server's certificate against: nothing unless given ('none')."""
    certificate: Certificate | Mapping[str, Any] | None = None
    """The server's certificate. Without it one is made for the run."""
    key: Literal["ecdsa-p256", "ecdsa-p384", "rsa-2048"] | None = None
    """Key of the certificate that is made for the run. Default: ecdsa-p256."""
    names: str | Sequence[str] | None = None
    """Names the certificate that is made for the run is good for. Without them those of 'server_name'."""
    tickets: int | None = None
    """Tickets servers give to each client: 2 unless given; 0: nothing can be resumed."""
    client_certificate: Certificate | Mapping[str, Any] | None = None
    """What clients show servers that ask for a certificate."""
    client_roots: str | None = None
    """A file of root certificates (PEM) that servers verify clients against. Without it clients need none."""


@dataclass(kw_only=True)
class Certificate(Written):
    """A certificate and its key, in files (PEM). Relative to the profile."""

    chain: str
    """The certificate, and those between it and a root."""
    key: str
    """The private key."""


@dataclass(kw_only=True)
class Open(Written):
    """How fast sessions are opened: a rate ('10000/s', '10k/s'), 'max' for as fast as 'concurrent' allows, or a
    mapping with one of the keys below.
    """

    ramp: Ramp | Mapping[str, Any] | None = None
    """From nothing to a rate, staying there, and back to nothing."""
    curve: OpenCurve | Mapping[str, Any] | None = None
    """A rate over time."""


OpenOr: TypeAlias = "str | Open | Mapping[str, Any]"
"""How fast sessions are opened: a rate ('10000/s', '10k/s'), 'max' for as fast as 'concurrent' allows, or a mapping
with one of the keys below.
"""


@dataclass(kw_only=True)
class Ramp(Written):
    """From nothing to a rate, staying there, and back to nothing."""

    rate: str
    """The rate at the top."""
    up: str | None = None
    """From nothing to the rate. Default: 0s."""
    hold: str | None = None
    """How long the rate stays. Without it: until the way down must begin to end with the run."""
    down: str | None = None
    """From the rate to nothing. Default: 0s."""


@dataclass(kw_only=True)
class OpenCurve(Written):
    """A rate over time."""

    points: Sequence[OpenPoint | Mapping[str, Any]]
    """Points of the curve, at increasing times. Before the first its rate holds, behind the last its rate."""
    shape: Literal["linear", "steps"] | None = None
    """What is between two points. Default: linear."""


@dataclass(kw_only=True)
class OpenPoint(Written):
    """A point of a curve."""

    at: str
    """Since 'start_delay'."""
    rate: str
    """The rate there; zero is allowed."""


@dataclass(kw_only=True)
class Load(Written):
    """How long traffic is sent and late packets are waited for, and how sessions begin and end."""

    duration: str | None = None
    """How long traffic is sent. The run also ends when every stream has sent its count, and every entry of
    'sessions' has opened its own and they have ended. Default: 10s.
    """
    drain: str | None = None
    """How long late packets are waited for after the last one was sent (RFC 2544 section 23). Default: 2s."""
    ramp_up: str | None = None
    """Of sessions: from nothing to each entry's rate of opening, in a straight line. An entry that says 'max' or
    has a shape of its own is not changed. Streams have patterns for that. Default: 0s.
    """
    ramp_down: str | None = None
    """Of sessions: from each entry's rate back to nothing, ending with the run. Default: 0s."""
    multiply: int | float | str | None = None
    """Of sessions: multiplies 'concurrent' and all rates of each entry: 'open', 'close' and 'request_rate'. Streams
    are not changed; '--rate' is for those. Default: 1.
    """


@dataclass(kw_only=True)
class Sim(Written):
    """Links and device of a simulated run."""

    link: Link | Mapping[str, Any] | None = None
    """Every port's link, both directions alike. A packet crosses two: its sender's and its receiver's."""
    router: Router | Mapping[str, Any] | None = None
    """A model router between the links. Without it the links are one wire."""


@dataclass(kw_only=True)
class Link(Written):
    """A simulated link."""

    speed: str | None = None
    """Layer-1 speed where the port declares none. Default: 10Gbps."""
    delay: str | None = None
    """Propagation delay, on each of the two links. Default: 0s."""
    loss: str | None = None
    """Share of frames lost on the link they are sent on. Default: 0%."""
    duplicate: str | None = None
    """Share of frames delivered twice. Default: 0%."""
    reorder: str | None = None
    """Share of frames that arrive late by 'reorder_by'. Default: 0%."""
    reorder_by: str | None = None
    """Extra delay of a reordered frame. Default: 10us."""


@dataclass(kw_only=True)
class Router(Written):
    """A model router."""

    capacity: str
    """Packets it forwards each second."""
    buffer: int | None = None
    """Frames it keeps waiting at most; what comes when they are full is dropped. Default: 512."""
    latency: str | None = None
    """Time a frame spends in it when nothing waits. Default: 20us."""
