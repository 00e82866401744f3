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
    """Traffic to send: where, at what rate and for how long; and the criteria the result must meet."""

    ports: Mapping[str, Port | Mapping[str, Any]]
    """Ports by name. 'from', 'to', 'criteria' and the result use these names."""
    seed: int | None = None
    """Seed for everything random. The same seed, profile and version give the same packets. Default: a new seed for
    each run, which the result reports.
    """
    streams: Sequence[Stream | Mapping[str, Any]] | None = None
    """Streams of packets. With an empty list the ports only count, and capture if 'capture' is set. Optional if
    there are 'sessions' or a port captures.
    """
    sessions: Sequence[Sessions | Mapping[str, Any]] | None = None
    """Sessions: clients that open connections to servers, and the applications on them."""
    protocols: Sequence[Protocol | Mapping[str, Any]] | None = None
    """Programs that run control protocols in the namespaces of ports with 'punt': routing daemons, and others."""
    load: Load | Mapping[str, Any] | None = None
    """Duration and load."""
    criteria: Mapping[str, str] | None = None
    """Conditions on numbers of the result, by path: 'streams.small.loss_ratio: < 0.1%', 'sessions.web.failed_ratio:
    < 0.001%'. If one fails, the run fails. A condition on a stream with copies applies to each copy.
    """
    groups: Mapping[str, str] | None = None
    """Groups of streams by name, each by 'tag' or by a field such as 'ipv4.dscp'. The result has a row with the sum
    of the streams for each tag or each value of the field.
    """
    sim: Sim | Mapping[str, Any] | None = None
    """The network between the ports in a simulated run; ignored on real ports."""


@dataclass(kw_only=True)
class Port(Written):
    """A port and the hosts emulated behind it. The keys 'ip', 'gateway', 'mac' and 'vlan' define the first host,
    which has the port's name.
    """

    device: str
    """Device: 'veth0', 'afxdp:veth0', 'xdp:veth0', 'memif:/run/x.sock', '0000:03:00.0', 'ring:a', …"""
    ip: str | Sequence[str] | None = None
    """Addresses of the host, with prefix length; the first of each family is the default source. A port with an
    address replies to ARP, neighbour discovery and ping, and resolves the MAC addresses of next hops.
    """
    gateway: str | Sequence[str] | None = None
    """Gateways for destinations outside the host's networks, at most one for each network."""
    gateway_mac: Mapping[str, str] | None = None
    """MAC addresses of gateways by IP address. These are not resolved."""
    mac: str | None = None
    """MAC address. Default: the port's own."""
    vlan: int | Sequence[int] | None = None
    """VLAN of the host, or a list from the outermost inwards. Tags ARP, neighbour discovery and ping, and every
    packet of the port's streams without a vlan header.
    """
    vlan_type: str | None = None
    """EtherType of the host's outermost tag: '0x8100', '0x88a8' or '0x9100', in all that it sends: streams,
    sessions and control protocols. Inner tags have 0x8100. Frames with outer tags of any of the three types are
    received. Default: 0x8100 for a single VLAN, 0x88a8 for several.
    """
    hosts: Sequence[Host | Mapping[str, Any]] | None = None
    """More hosts behind the port, each with its own addresses, MAC address, VLANs and gateways; at most 4,096
    including the first. The host that owns the source address sends the stream or session.
    """
    speed: str | None = None
    """Layer-1 speed of the link, for devices that do not report one. Rates such as '40%' refer to it."""
    checksum: Literal["software", "offload"] | None = None
    """Where checksums are computed: for streams, checksums that change from packet to packet; for sessions, TCP and
    UDP checksums. In tunnels, and while a port is captured, sessions compute theirs in software. Default: software.
    """
    timestamps: Literal["software", "kernel", "hardware"] | None = None
    """Source of the arrival times of received frames. All but 'software' need an 'afpacket:' port. Default:
    software.
    """
    capture: Capture | Mapping[str, Any] | None = None
    """Capture the port's packets to a file while traffic runs."""
    punt: Punt | Mapping[str, Any] | None = None
    """Let a network namespace be the control plane of the port's hosts: programs in it exchange routes and leases
    with the device through this port. '{}' is a new namespace and all control protocols.
    """
    dhcp: Dhcp | Mapping[str, Any] | None = None
    """DHCP clients behind the port, besides its hosts."""
    dhcpv6: Dhcpv6 | Mapping[str, Any] | None = None
    """DHCPv6 clients behind the port, besides its hosts. Those of 'dhcp' with the same MAC address are the same
    hosts.
    """
    pppoe: Pppoe | Mapping[str, Any] | None = None
    """PPPoE clients behind the port, besides its hosts."""
    multicast: Multicast | Mapping[str, Any] | None = None
    """Multicast groups that the port's first host joins."""
    lldp: Lldp | Mapping[str, Any] | None = None
    """Data that the port's hosts advertise by LLDP, and whether neighbours are listed. '{}' is an agent with all
    defaults.
    """
    lacp: Lacp | Mapping[str, Any] | None = None
    """LAG that the port joins by LACP. '{}' is the LAG 'lag', with all defaults."""
    bgp: Bgp | Mapping[str, Any] | None = None
    """BGP sessions of the port's hosts with the device, and the routes they advertise."""
    ospf: Ospf | Mapping[str, Any] | None = None
    """OSPF routers among the port's hosts, with adjacencies to the device, and the routes they advertise."""
    isis: Isis | Mapping[str, Any] | None = None
    """IS-IS routers among the port's hosts, with adjacencies to the device, and the routes they advertise."""
    vrrp: Vrrp | Mapping[str, Any] | None = None
    """Virtual routers among the port's hosts, which elect an Active router with the device's by VRRP."""
    allow_default_route: bool | None = None
    """Allow an interface that carries the machine's default route. Test traffic harms a production network (RFC
    6815): use it only in a lab.
    """


@dataclass(kw_only=True)
class Host(Written):
    """Another host behind a port, or 'count' of them."""

    ip: str | Sequence[str]
    """Addresses with prefix length."""
    name: str | None = None
    """Name for 'from_host', 'to_host', errors and results. With 'count': 'name[0]', 'name[1]', … Default: 'host1'
    for the first of the list, and so on.
    """
    gateway: str | Sequence[str] | None = None
    """Gateways for destinations outside its networks, at most one for each network."""
    gateway_mac: Mapping[str, str] | None = None
    """MAC addresses of gateways by IP address. These are not resolved."""
    mac: str | None = None
    """MAC address. Default: a unique, locally administered one derived from the port's."""
    vlan: int | Sequence[int] | None = None
    """VLAN, or a list from the outermost inwards. Default: untagged, regardless of the port's 'vlan'."""
    vlan_type: str | None = None
    """EtherType of its outermost tag: '0x8100', '0x88a8' or '0x9100'. Default: 0x8100 for a single VLAN, 0x88a8 for
    several, regardless of the port's 'vlan_type'.
    """
    count: int | None = None
    """Number of hosts to create. The first is as written; each other has the next addresses, and the next MAC
    address if 'mac' is set.
    """
    ip_step: int | float | str | Sequence[int | float | str] | None = None
    """Step from one host's addresses to the next: a number for both families, or an address for its own family
    ('0.0.1.0'). Default: 1.
    """
    gateway_step: int | float | str | Sequence[int | float | str] | None = None
    """Step from one host's gateways to the next. Default: all have the same."""
    vlan_step: int | None = None
    """Step from one host's innermost VLAN to the next. Default: all are in the same."""


@dataclass(kw_only=True)
class Capture(Written):
    """A capture on a port: pcapng with nanosecond timestamps. Packets dropped because the disk or memory is too
    slow are counted.
    """

    file: str
    """Capture file, '.pcapng', relative to the working directory. With 'rotate_size' or 'rotate_time' a number
    precedes the dot.
    """
    filter: str | None = None
    """Filter in libpcap (tcpdump) syntax: 'udp port 53'. Default: all packets."""
    snap: str | None = None
    """Bytes to keep of each packet. Default: all."""
    direction: Literal["rx", "tx", "both"] | None = None
    """Packets to capture: received, sent or both. Default: rx."""
    rotate_size: str | None = None
    """Size after which to start a new file."""
    rotate_time: str | None = None
    """Time after which to start a new file."""
    files: int | None = None
    """Number of newest files to keep. Default: all."""
    ring: str | None = None
    """Size of a ring buffer in memory, written at the end."""
    buffer: str | None = None
    """Size of the buffer between the worker and the disk. Default: 64MB."""


@dataclass(kw_only=True)
class Punt(Written):
    """The network namespace that is the control plane of a port's hosts. Each host has an interface there, with the
    host's name, MAC address and IP addresses; frames of control protocols pass between it and the port while
    traffic runs.
    """

    namespace: str | None = None
    """Name of the namespace, as 'ip netns' knows it. Default: one of the port's own, which ends with the run."""
    match: str | Sequence[str] | None = None
    """Protocols that pass, both ways; ARP, ICMP and ICMPv6 always do. Default: all control protocols that have a
    name here.
    """


@dataclass(kw_only=True)
class Dhcp(Written):
    """DHCP clients behind a port (RFC 2131), each with its own MAC address, in the VLANs of the port or in its own.
    They get their addresses before traffic starts, renew them while it runs, and release them at the end. Streams
    with 'from_host: dhcp' and sessions with 'addresses: dhcp' use the addresses. In texts, '{n}' is the number of
    the client, from 0; '{outer}' and '{inner}' are its VLANs.
    """

    clients: int
    """Number of clients."""
    rate: str | None = None
    """Rate at which clients begin, and at which they release their addresses at the end. Default: 500/s."""
    outstanding: int | None = None
    """Maximum number of clients that wait for an address at a time. Default: 1000."""
    timeout: str | None = None
    """Time limit for all clients to have an address. After it, traffic starts with those that have one, and the
    result is not valid; without any, the run ends with an error. Default: 60s.
    """
    retry: str | None = None
    """Time until a message without a reply is repeated; doubled each time, up to 16 times, ± a quarter of it.
    Default: 4s.
    """
    mac: str | None = None
    """MAC address of the first client; each other has the next. Default: made from the port's."""
    vlans: ClientVlans | Mapping[str, Any] | None = None
    """VLANs of each client. Default: the port's."""
    check: bool | None = None
    """Whether each client probes for a new address before it uses it (RFC 2131 section 4.4.1), and declines one
    that a neighbour has. That takes 1 s. 'eagre bench dhcp' disables it.
    """
    broadcast: bool | None = None
    """Set the broadcast flag: servers broadcast their replies."""
    host_name: str | None = None
    """Host name to send (option 12)."""
    vendor_class: str | None = None
    """Vendor class identifier to send (option 60)."""
    client_id: str | None = None
    """Client identifier to send (option 61). Default: none; servers know clients by MAC address."""
    parameters: Sequence[int] | None = None
    """Options to request (option 55), besides subnet mask and router."""
    circuit_id: str | None = None
    """Circuit identifier that an access node adds (option 82, RFC 3046)."""
    remote_id: str | None = None
    """Remote identifier that an access node adds (option 82, RFC 3046)."""


@dataclass(kw_only=True)
class ClientVlans(Written):
    """VLANs of which each client has its own, like subscribers of an access network (1:1 VLANs, TR-101): those from
    the first inner one to the last in the first outer one, then in the next.
    """

    inner: int | float | str
    """Inner VLANs."""
    outer: int | float | str | None = None
    """Outer VLANs (IEEE 802.1ad). Default: none, clients have a single VLAN."""
    vlan_type: str | None = None
    """Type of the outermost tag. Default: 0x88a8 for the outer of two, 0x8100 for a single one."""


@dataclass(kw_only=True)
class Dhcpv6(Written):
    """DHCPv6 clients behind a port (RFC 8415), each with its own MAC address, from which its DUID and its
    link-local address are derived, in the VLANs of the port or in its own. They get their leases before traffic
    starts, renew them while it runs, and release them at the end. Streams with 'from_host: dhcp' and an ipv6
    header, and sessions with 'addresses: dhcp' and servers of IPv6, use the addresses. Their router is the one that
    advertises itself; without any, the port's gateway.
    """

    clients: int
    """Number of clients."""
    rate: str | None = None
    """Rate at which clients begin, and at which they release what they have at the end. Default: 500/s."""
    outstanding: int | None = None
    """Maximum number of clients that wait for a reply at a time. Default: 1000."""
    timeout: str | None = None
    """Maximum time until all clients have the requested leases. Traffic then starts with the clients that have
    them, and the result is not valid; without any, the run ends with an error. Default: 60s.
    """
    mac: str | None = None
    """MAC address of the first client; each other has the next. Default: made from the port's; the clients of
    'dhcp' have the same.
    """
    vlans: ClientVlans | Mapping[str, Any] | None = None
    """VLANs of each client, each of which then looks for a router in its own. Default: the port's."""
    address: Literal["slaac"] | bool | None = None
    """Whether each client requests an address (IA_NA); 'slaac': each makes one from the prefix that a router
    advertises (RFC 4862), without a server.
    """
    prefix: int | None = None
    """Length of the prefix that each client requests (IA_PD). Default: none is requested."""
    rapid_commit: bool | None = None
    """Whether servers may reply to the first message with a lease (rapid commit)."""
    check: bool | None = None
    """Whether each client probes for its address before it uses it (RFC 4862 section 5.4), and declines one that a
    neighbour has. That takes 1 s.
    """
    options: Sequence[int] | None = None
    """Options to request (option 6)."""


@dataclass(kw_only=True)
class Pppoe(Written):
    """PPPoE clients behind a port (RFC 2516), each with its own MAC address, in the VLANs of the port or in its
    own. Before traffic starts each gets a session with an access concentrator: link (LCP), authentication (PAP,
    CHAP or MS-CHAP version 2), address (IPCP). They keep their sessions alive while it runs, and end them after it.
    Streams with 'from_host: pppoe' are sent in the sessions, streams with 'to_host: pppoe' to the clients'
    addresses; sessions whose clients have 'addresses: pppoe' run in them. In texts, '{n}' is the number of the
    client, from 0; '{outer}' and '{inner}' are its VLANs.
    """

    clients: int
    """Number of clients."""
    rate: str | None = None
    """Rate at which clients begin, and at which they end their sessions at the end. Default: 500/s."""
    outstanding: int | None = None
    """Maximum number of clients that are on their way to a session at a time. Default: 1000."""
    timeout: str | None = None
    """Time limit for all clients to have a session and an address. After it, traffic starts with those that have
    both, and the result is not valid; without any, the run ends with an error. Default: 60s.
    """
    retry: str | None = None
    """Time until a message without a reply is repeated, ± a quarter. In discovery it is doubled each time, up to 16
    times; in PPP a message is sent 10 times at most. Default: 3s.
    """
    mac: str | None = None
    """MAC address of the first client; each other has the next. Default: made from the port's."""
    vlans: ClientVlans | Mapping[str, Any] | None = None
    """VLANs of each client. Default: the port's."""
    service: str | None = None
    """Service to request (Service-Name). Default: any. Default: ."""
    ac: str | None = None
    """Name of the access concentrator to use (AC-Name). Default: the first that replies."""
    user: str | None = None
    """User's name. Default: ."""
    password: str | None = None
    """Password. Default: ."""
    authentication: Literal["any", "pap", "chap", "mschapv2", "none"] | None = None
    """Authentication method of clients. If the access concentrator requests another one, they propose this one.
    Default: any.
    """
    mtu: int | None = None
    """Longest IP packet that clients take, bytes (MRU). More than 1492 is proposed to the access concentrator (RFC
    4638). Default: 1492.
    """
    dns: bool | None = None
    """Whether to request addresses of name servers (RFC 1877)."""
    ipv6: bool | None = None
    """Whether to agree on interface identifiers of IPv6 (IPV6CP), too. A client whose access concentrator has none
    does without.
    """
    keepalive: str | None = None
    """Time from one LCP echo request of a client to its next; '0s' for none. Default: 10s."""
    keepalive_misses: int | None = None
    """Number of unanswered echo requests after which a client gives its session up. Default: 3."""
    circuit_id: str | None = None
    """Circuit that an access node names in discovery (TR-101 section 3.9)."""
    remote_id: str | None = None
    """Subscriber that an access node names in discovery."""


@dataclass(kw_only=True)
class Multicast(Written):
    """Multicast groups that the port's first host is a member of. It joins them before traffic starts or while it
    runs, responds to queries, and leaves them at the end (IGMP, MLD).
    """

    groups: Sequence[Membership | Mapping[str, Any]]
    """The groups."""
    igmp: int | None = None
    """Version of IGMP. With a querier of version 2, hosts of version 3 use version 2. Default: 3."""
    mld: int | None = None
    """Version of MLD. With a querier of version 1, hosts of version 2 use version 1. Default: 2."""
    rate: str | None = None
    """Rate at which groups are joined and left. Default: 1k/s."""


@dataclass(kw_only=True)
class Membership(Written):
    """Groups, each with the sources that the host requests."""

    group: str
    """Group, or a range: '239.1.0.0..239.1.3.231', 'ff15::1'."""
    sources: Sequence[str] | None = None
    """Sources to receive from, or with 'exclude' not to receive from; IGMPv3 and MLDv2. Default: all."""
    exclude: bool | None = None
    """Whether 'sources' are those not to receive from."""
    join: str | None = None
    """When to join, after the start of traffic. At 0s, traffic starts once the join was sent. Default: 0s."""
    leave: str | None = None
    """When to leave, after the start of traffic. Default: when traffic has ended."""


@dataclass(kw_only=True)
class Lldp(Written):
    """LLDP agent of a port's first host, or one for each host (IEEE 802.1AB). It advertises from before traffic
    until after it, and then sends a shutdown LLDPDU; the result lists the neighbours. In texts, '{n}' is the number
    of the host, from 0. An identifier is a MAC address, an IP address, or a text; 'interface:' or 'local:' before a
    text sets its type.
    """

    chassis_id: str | None = None
    """Chassis identifier. A text is locally assigned unless prefixed. Default: the host's MAC address."""
    port_id: str | None = None
    """Port identifier. A text is the name of an interface unless prefixed. Default: the host's name."""
    port_description: str | None = None
    """Description of the port."""
    system_name: str | None = None
    """Name of the system. Default: the host's name."""
    system_description: str | None = None
    """Description of the system."""
    capabilities: (
        Sequence[
            Literal[
                "other",
                "repeater",
                "bridge",
                "wlan_access_point",
                "router",
                "telephone",
                "docsis",
                "station",
                "c_vlan",
                "s_vlan",
                "two_port_mac_relay",
            ]
        ]
        | None
    ) = None
    """Capabilities of the system."""
    enabled: (
        Sequence[
            Literal[
                "other",
                "repeater",
                "bridge",
                "wlan_access_point",
                "router",
                "telephone",
                "docsis",
                "station",
                "c_vlan",
                "s_vlan",
                "two_port_mac_relay",
            ]
        ]
        | None
    ) = None
    """Those that are enabled. Default: all of them."""
    management: Sequence[str] | None = None
    """Management addresses. Default: the host's addresses."""
    tlvs: Sequence[LldpTlv | Mapping[str, Any]] | None = None
    """TLVs of organizations."""
    interval: str | None = None
    """Time from one LLDPDU to the next. After the first of a new neighbour, four follow a second apart. Default:
    30s.
    """
    hold: int | None = None
    """Number of intervals that neighbours keep the information; one second more is the time to live, at most 65,535
    s. Default: 4.
    """
    hold_time: str | None = None
    """Time that neighbours keep the information, in whole seconds. Default: `hold` intervals and one second more."""
    each_host: bool | None = None
    """Whether each host of the port is an agent, with its own MAC address, and not just the first."""


@dataclass(kw_only=True)
class LldpTlv(Written):
    """TLV of an organization."""

    oui: str
    """Organizationally unique identifier: three bytes."""
    subtype: int | None = None
    """Subtype, of the organization. Default: 0."""
    value: str | None = None
    """Information string; at most 507 bytes."""


@dataclass(kw_only=True)
class Lacp(Written):
    """Port of a link aggregation group that runs LACP (IEEE 802.1AX). Hosts and traffic start when all such ports
    are distributing. Streams name the port they leave by; they are not distributed over the LAG.
    """

    lag: str | None = None
    """LAG of the port: ports with the same name form one LAG. Default: lag."""
    system: str | None = None
    """System ID of the LAG. Default: the MAC address of its first port."""
    system_priority: int | None = None
    """System priority of the LAG. Default: 32768."""
    key: int | None = None
    """Key of the LAG. Default: 1 for the first LAG of the profile, 2 for the next, and so on."""
    port: int | None = None
    """Number of the port in its system. Default: 1 for the first port of the profile, 2 for the next, and so on."""
    port_priority: int | None = None
    """Priority of the port. Default: 32768."""
    activity: Literal["active", "passive"] | None = None
    """Whether the port sends LACPDUs first (active) or only to an active partner (passive). Default: active."""
    timeout: Literal["short", "long"] | None = None
    """LACP timeout: time after which a silent partner expires, 3 s or 90 s. It determines the interval at which the
    partner sends. Default: short.
    """
    wait: str | None = None
    """Time limit for the port to be distributing. After it, traffic starts anyway, and the result is not valid; if
    no port of the LAG is distributing, the run ends with an error. Default: 10s.
    """


@dataclass(kw_only=True)
class Bgp(Written):
    """BGP speakers behind a port: hosts of the port with sessions to the device (RFC 4271). Traffic starts when all
    sessions are established and all routes have been acknowledged.
    """

    peers: Sequence[BgpPeer | Mapping[str, Any]]
    """The speakers and their peers; at most 4,096."""
    rate: str | None = None
    """Rate at which connections are opened. Default: 500/s."""
    timeout: str | None = None
    """Time limit for all sessions to be established and all routes to be acknowledged. After it, traffic starts
    with those that are, and the result is not valid; without any session, the run ends with an error. Default: 60s.
    """
    settle: str | None = None
    """Time to wait after that, for the device to install the routes. Default: 1s."""
    keep: int | None = None
    """Number of stored routes of each peer, to be shown during the run; 100,000 for all peers of a port at most.
    Default: 0.
    """


@dataclass(kw_only=True)
class BgpPeer(Written):
    """A BGP speaker and its peer, or one for each of several hosts."""

    peer: str
    """Address of the peer: the device's."""
    as_: int
    """AS number of the host."""
    name: str | None = None
    """Name for commands to a running trial. Several can have one name."""
    host: str | None = None
    """Host of the port that is the speaker. The name of an entry of 'hosts' with 'count' means all of its hosts.
    Default: the port's first host.
    """
    peer_step: int | float | str | None = None
    """Step from one host's peer to the next. Default: all have the same."""
    as_step: int | None = None
    """Step from one host's AS number to the next. Default: 0."""
    peer_as: int | None = None
    """AS number of the peer. With the host's own, the session is internal. Default: any but the host's own."""
    hold_time: str | None = None
    """Time without a message after which the session ends; the lower of both sides' counts. '0s': never. Default:
    90s.
    """
    retry: str | None = None
    """Time from a failure to the next attempt, less up to a quarter of it. Default: 5s."""
    graceful_restart: BgpRestart | Mapping[str, Any] | None = None
    """Offer graceful restart (RFC 4724): the peer is to keep the routes while a session restarts. Default: it is
    not offered.
    """
    add_path: BgpAddPath | Mapping[str, Any] | None = None
    """Allow several paths of a prefix (RFC 7911): each entry of 'routes' is then a separate path. Default: a prefix
    has one path, from the last entry that advertised it.
    """
    families: Sequence[Literal["ipv4", "ipv6"]] | None = None
    """Address families of routes to exchange. Default: the families of the peer's address and of 'routes'."""
    passive: bool | None = None
    """Wait for the peer to connect."""
    router_id: str | None = None
    """BGP identifier of the first host; each other has the next. Default: the host's IPv4 address."""
    routes: Sequence[BgpRoutes | Mapping[str, Any]] | None = None
    """Routes to advertise."""


@dataclass(kw_only=True)
class BgpRestart(Written):
    """Graceful restart (RFC 4724), as it is offered to the peer."""

    time: str | None = None
    """Restart time (RFC 4724): the peer waits this long for the next session before it withdraws the routes; whole
    seconds, 4095s at most. Default: 120s.
    """
    notification: bool | None = None
    """Let the peer also retain the routes when a session ends with a NOTIFICATION (RFC 8538), such as for an
    expired hold time. When sessions end for good, it is instructed to retain none (Hard Reset).
    """
    forwarding: bool | None = None
    """Set the forwarding state bit: forwarding continues during the restart. Otherwise the peer withdraws the
    routes when the next session begins.
    """


@dataclass(kw_only=True)
class BgpAddPath(Written):
    """Several paths for a prefix (ADD-PATH, RFC 7911), as they are offered to the peer."""

    ways: Literal["send", "receive", "both"] | None = None
    """Send them to the peer, receive them from it, or both. Default: both."""
    families: Sequence[Literal["ipv4", "ipv6"]] | None = None
    """Families of routes. Default: all that are exchanged."""


@dataclass(kw_only=True)
class BgpRoutes(Written):
    """Routes with the same attributes, which are generated when they are sent: a million take no memory. Or the
    routes of a file, with their attributes.
    """

    name: str | None = None
    """Name for commands to a running trial. Several can have one name."""
    prefixes: str | None = None
    """The first prefix. Either this or 'mrt'."""
    mrt: BgpMrt | Mapping[str, Any] | None = None
    """Routes of a file."""
    count: int | None = None
    """Number of prefixes of each peer. Default: 1."""
    step: int | None = None
    """Step from one prefix to the next, in prefixes: 2 leaves every other one out. Default: 1."""
    same: bool | None = None
    """Let all hosts of the entry advertise the same prefixes. Default: each has the next ones."""
    path_id: int | None = None
    """Path identifier, which distinguishes several paths of a prefix ('add_path'). Default: the number of this
    entry of 'routes', from 1 on.
    """
    next_hop: str | None = None
    """Next hop. Default: the host's address of the prefixes' family."""
    as_path: Sequence[int | Sequence[int]] | None = None
    """AS numbers after the host's own, the nearest first. A list of numbers among them is a set of ASes."""
    own_as: bool | None = None
    """Begin the AS path of external sessions with the host's own AS number."""
    origin: Literal["igp", "egp", "incomplete"] | None = None
    """Origin. Default: igp."""
    communities: Sequence[str] | None = None
    """Communities (RFC 1997)."""
    large_communities: Sequence[str] | None = None
    """Large communities (RFC 8092)."""
    med: int | None = None
    """Multi-exit discriminator. Default: none."""
    local_pref: int | None = None
    """Local preference, for internal sessions. Default: 100."""
    advertise: str | None = None
    """When to advertise, after the start of traffic. At 0s, traffic starts once the routes were acknowledged.
    Default: 0s.
    """
    withdraw: str | None = None
    """When to withdraw, after the start of traffic. Default: when traffic has ended, with the session."""
    flap: BgpFlap | Mapping[str, Any] | None = None
    """Withdraw and advertise again and again."""


@dataclass(kw_only=True)
class BgpMrt(Written):
    """Routes of an MRT file, as route collectors publish them (RFC 6396, TABLE_DUMP_V2; unpacked). AS path, origin,
    MED, communities and large communities are taken from the file, from the first peer of the collector that has
    the prefix. The host's AS number comes first, and the next hop is the host's.
    """

    file: str
    """File, relative to the profile; 2 GiB at most."""
    limit: int | None = None
    """Number of routes of each family: the first ones in the file. Default: 10000000."""
    family: Literal["ipv4", "ipv6"] | None = None
    """Use routes of one family. Default: of both."""


@dataclass(kw_only=True)
class BgpFlap(Written):
    """Routes that flap, from 'advertise' until 'withdraw'."""

    every: str
    """Time from one withdrawal to the next, and from the advertisement to the first withdrawal."""
    down: str
    """Time from a withdrawal until the routes are advertised again."""


@dataclass(kw_only=True)
class Ospf(Written):
    """OSPF routers behind a port: hosts of the port with adjacencies to the device (OSPFv2, RFC 2328; OSPFv3, RFC
    5340). Traffic starts when all adjacencies are full and all routes have been acknowledged.
    """

    routers: Sequence[OspfRouter | Mapping[str, Any]]
    """The routers; at most 1,024."""
    rate: str | None = None
    """Rate at which each router floods LSAs. Default: 20k/s."""
    timeout: str | None = None
    """Time limit for all adjacencies to be full and all routes to be acknowledged. After it, traffic starts with
    those that are, and the result is not valid; without any adjacency, the run ends with an error. Default: 120s.
    """
    settle: str | None = None
    """Time to wait after that, for the device to compute and install the routes. Default: 2s."""
    keep: int | None = None
    """Number of LSAs of the device that each router stores, to be shown during the run; 100,000 for all routers of
    a port at most. Default: 0.
    """


@dataclass(kw_only=True)
class OspfRouter(Written):
    """An OSPF router, or one for each of several hosts."""

    name: str | None = None
    """Name for commands to a running trial. Several can have one name."""
    version: int | None = None
    """Version of OSPF: 2 is for IPv4, 3 for IPv6. A host can be a router of both. Default: 2."""
    host: str | None = None
    """Host of the port that is the router. The name of an entry of 'hosts' with 'count' stands for all of its
    hosts. Default: the port's first host.
    """
    router_id: str | None = None
    """Router identifier of the first host; each other has the next. Default: the host's IPv4 address."""
    area: int | float | str | None = None
    """Area of the link to the device. Default: 0.0.0.0."""
    instance: int | None = None
    """Instance on the link, with version 3; the device must have the same. Default: 0."""
    network: Literal["broadcast", "point_to_point"] | None = None
    """Network type of the link to the device. Default: broadcast."""
    hello: str | None = None
    """Time between Hello packets, in whole seconds; the device must have the same. Default: 10s."""
    dead: str | None = None
    """Time after which a neighbour is lost without a Hello, in whole seconds; the device must have the same.
    Default: four times 'hello'.
    """
    cost: int | None = None
    """Cost of the link to the device. Default: 10."""
    mtu: int | None = None
    """MTU to state, at least 1280 with version 3; the device must have the same. Packets are no longer than this,
    nor than 1500 bytes. Default: that of the port, at most 1500.
    """
    ignore_mtu: bool | None = None
    """Let the device have another MTU."""
    password: str | None = None
    """Simple password, at most 8 characters; version 3 has none. Default: no authentication."""
    md5: OspfMd5 | Mapping[str, Any] | None = None
    """Key by which packets have MD5 digests (RFC 2328 appendix D), instead of a password; version 3 has none."""
    refresh: str | None = None
    """Age at which LSAs are originated again, in whole seconds. Default: 1800s."""
    routes: Sequence[OspfRoutes | Mapping[str, Any]] | None = None
    """Routes to advertise."""
    topology: OspfTopology | Mapping[str, Any] | None = None
    """Routers to generate behind this one."""


@dataclass(kw_only=True)
class OspfMd5(Written):
    """A key for MD5 digests."""

    id: int
    """Number of the key; the device must have the same."""
    key: str
    """The key itself."""


@dataclass(kw_only=True)
class OspfRoutes(Written):
    """Routes that differ by their prefix alone. They are made when they are sent: a million take no memory."""

    prefixes: str
    """The first prefix: of IPv4 with version 2, of IPv6 with version 3."""
    name: str | None = None
    """Name for commands to a running trial. Several can have one name."""
    count: int | None = None
    """Number of prefixes of each router. Default: 1."""
    step: int | None = None
    """Step from one prefix to the next, in prefixes: 2 leaves every other one out. Default: 1."""
    same: bool | None = None
    """Let all hosts of the entry advertise the same prefixes. Default: each has the next ones."""
    type: Literal["external_2", "external_1", "inter_area", "internal"] | None = None
    """Kind of the routes. Default: external_2."""
    metric: int | None = None
    """Metric of external and inter-area routes, at most 16,777,214; cost of internal routes at their router, at
    most 65,535. Default: 20.
    """
    tag: int | None = None
    """Tag of external routes. Default: 0."""
    advertise: str | None = None
    """When to advertise, after the start of traffic. At 0s, traffic starts once the routes were acknowledged.
    Default: 0s.
    """
    withdraw: str | None = None
    """When to withdraw, after the start of traffic. Default: when traffic has ended."""
    flap: BgpFlap | Mapping[str, Any] | None = None
    """Withdraw and advertise again and again: 'every' at least 5s, 'down' at least 1s."""


@dataclass(kw_only=True)
class OspfTopology(Written):
    """Routers that are generated behind a router, connected by point-to-point links. The first is connected to the
    router itself. One of 'grid', 'ring' and 'tree' defines the other links.
    """

    grid: TopologyGrid | Mapping[str, Any] | None = None
    """Rows of routers, each connected to its neighbours on the left and right, above and below."""
    ring: int | None = None
    """Number of routers in a ring."""
    tree: TopologyTree | Mapping[str, Any] | None = None
    """A tree of routers, whose root is the first."""
    cost: int | None = None
    """Cost of each link, in both directions. Default: 10."""
    router_id: str | None = None
    """Router identifier of the first one; each other has the next, those behind the entry's next host follow.
    Default: the one after the entry's own routers.
    """


@dataclass(kw_only=True)
class TopologyGrid(Written):
    """A grid of routers, 10,000 at most."""

    rows: int
    """Number of rows."""
    columns: int
    """Routers in a row."""


@dataclass(kw_only=True)
class TopologyTree(Written):
    """A tree of routers."""

    routers: int
    """Number of routers."""
    children: int | None = None
    """Routers below each. Default: 2."""


@dataclass(kw_only=True)
class Isis(Written):
    """IS-IS routers behind a port: hosts of the port with adjacencies to the device (ISO/IEC 10589, RFC 1195).
    Traffic starts when all adjacencies are up and the device has all routes.
    """

    routers: Sequence[IsisRouter | Mapping[str, Any]]
    """The routers; at most 1,024."""
    rate: str | None = None
    """Rate at which each router floods LSPs, at each of its levels. Default: 1k/s."""
    timeout: str | None = None
    """Time limit for all adjacencies to come up and the device to have all routes. After it, traffic starts with
    those that are up, and the result is not valid; without any adjacency, the run ends with an error. Default:
    120s.
    """
    settle: str | None = None
    """Time to wait after that, for the device to compute and install the routes. Default: 2s."""
    keep: int | None = None
    """Number of LSPs of the device that each router stores at each of its levels, to be shown during the run;
    100,000 for all routers of a port at most. Default: 0.
    """


@dataclass(kw_only=True)
class IsisRouter(Written):
    """An IS-IS router, or one for each of several hosts."""

    name: str | None = None
    """Name for commands to a running trial. Several can have one name."""
    host: str | None = None
    """Host of the port that is the router. The name of an entry of 'hosts' with 'count' stands for all of its
    hosts. Default: the port's first host.
    """
    system_id: str | None = None
    """System identifier of the first host; each other has the next. Default: the digits of the host's IPv4 address;
    10.0.0.2 is 0100.0000.0002.
    """
    area: int | float | str | None = None
    """Area address. At level 1, the device must have the same. Default: 49.0001."""
    level: Literal["1", "2", "1-2"] | None = None
    """Levels of the router; it needs an adjacency at each. Default: 2."""
    network: Literal["broadcast", "point_to_point"] | None = None
    """Network type of the link to the device; the device must have the same. Default: broadcast."""
    priority: int | None = None
    """Priority on a LAN. The designated system must be the device. Default: 0."""
    hello: str | None = None
    """Time between hellos, in whole seconds. Default: 3s."""
    hold: str | None = None
    """Holding time: the device drops the adjacency of a router after this time without a hello, in whole seconds.
    Default: ten times 'hello'.
    """
    metric: int | None = None
    """Metric of the link to the device. Default: 10."""
    mtu: int | None = None
    """MTU of the link: hellos are as long, LSPs no longer. Default: that of the port, at most 1500."""
    padding: bool | None = None
    """Pad hellos up to the MTU."""
    hostname: str | None = None
    """Dynamic hostname of the router (RFC 5301), and with a number appended of the routers of 'topology'. Default:
    name of its host.
    """
    overload: bool | None = None
    """Set the overload bit: no transit traffic through the router."""
    attached: bool | None = None
    """Set the attached bit at level 1: the router can reach other areas."""
    te_router_id: str | None = None
    """Identifier for traffic engineering in the router's LSP (RFC 5305 section 4.3), as an IPv4 address. Default:
    none.
    """
    lifetime: str | None = None
    """Lifetime of LSPs, in whole seconds. Default: 1200s."""
    refresh: str | None = None
    """Time after which an LSP is originated again, in whole seconds; shorter than 'lifetime'. Default: 900s."""
    password: str | None = None
    """Password of hellos. Default: no authentication."""
    lsp_password: str | None = None
    """Password of LSPs and sequence numbers PDUs: that of the area or the domain. Default: no authentication."""
    digest: bool | None = None
    """Send HMAC-MD5 digests by the passwords (RFC 5304) instead of the passwords themselves."""
    routes: Sequence[IsisRoutes | Mapping[str, Any]] | None = None
    """Routes to advertise."""
    topology: IsisTopology | Mapping[str, Any] | None = None
    """Routers to generate behind this one."""


@dataclass(kw_only=True)
class IsisRoutes(Written):
    """Routes that differ by their prefix alone. They are made when they are sent."""

    prefixes: str
    """The first prefix."""
    name: str | None = None
    """Name for commands to a running trial. Several can have one name."""
    count: int | None = None
    """Number of prefixes of each router. Those of a router fill 255 LSPs at most: some 46,000 of IPv4. Default: 1."""
    step: int | None = None
    """Step from one prefix to the next, in prefixes: 2 leaves every other one out. Default: 1."""
    same: bool | None = None
    """Let all hosts of the entry advertise the same prefixes. Default: each has the next ones."""
    type: Literal["internal", "external", "topology"] | None = None
    """Kind of the routes. Default: internal."""
    metric: int | None = None
    """Metric of a route at its router. Default: 10."""
    down: bool | None = None
    """Set the up/down bit: the routes come from level 2."""
    advertise: str | None = None
    """When to advertise, after the start of traffic. At 0s, traffic starts once the device has the routes. Default:
    0s.
    """
    withdraw: str | None = None
    """When to withdraw, after the start of traffic. Default: when traffic has ended."""
    flap: BgpFlap | Mapping[str, Any] | None = None
    """Withdraw and advertise again and again: 'every' at least 2s."""


@dataclass(kw_only=True)
class IsisTopology(Written):
    """Routers that are generated behind a router, connected by point-to-point links. The first is connected to the
    router itself. One of 'grid', 'ring' and 'tree' defines the other links.
    """

    grid: TopologyGrid | Mapping[str, Any] | None = None
    """Rows of routers, each connected to its neighbours on the left and right, above and below."""
    ring: int | None = None
    """Number of routers in a ring."""
    tree: TopologyTree | Mapping[str, Any] | None = None
    """A tree of routers, whose root is the first."""
    metric: int | None = None
    """Metric of each link, in both directions. Default: 10."""
    system_id: str | None = None
    """System identifier of the first one; each other has the next, those behind the entry's next host follow.
    Default: the one after the entry's own routers.
    """


@dataclass(kw_only=True)
class Vrrp(Written):
    """Virtual routers of a port: its hosts elect an Active router with the other VRRP routers of the link (RFC
    9568). Traffic starts when each is Active, or watches an Active router that it will not replace.
    """

    routers: Sequence[VrrpRouter | Mapping[str, Any]]
    """The virtual routers; at most 1,024."""
    timeout: str | None = None
    """Time limit for the election. After it, traffic starts anyway, and the result is not valid. Default: 30s."""


@dataclass(kw_only=True)
class VrrpRouter(Written):
    """A virtual router on a host, or one on each of several hosts."""

    vrid: int
    """Virtual router identifier: of routers of one link and IP version, those with the same elect one."""
    addresses: Sequence[str]
    """Virtual addresses, all IPv4 or all IPv6. Of IPv6, the first must be link-local (RFC 9568 section 5.2.9). They
    must not be addresses of the host.
    """
    name: str | None = None
    """Name for commands to a running trial. Several can have one name."""
    host: str | None = None
    """Host of the port that takes part. The name of an entry of 'hosts' with 'count' stands for all of its hosts,
    which get consecutive VRIDs and addresses. Default: the port's first host.
    """
    priority: int | None = None
    """Priority; 255 is that of the owner of the addresses, which is Active immediately. Default: 100."""
    interval: str | None = None
    """Time between advertisements, in hundredths of a second up to 40.95s; with version 2 in whole seconds up to
    255s. Default: 1s.
    """
    preempt: bool | None = None
    """Replace an Active router of a lower priority."""
    preempt_delay: str | None = None
    """Time for which such a router stays Active, from its first advertisement on. Default: 0s."""
    accept: bool | None = None
    """Reply to echo requests to the virtual addresses while Active ('Accept_Mode')."""
    version: int | None = None
    """Version of the protocol: 3 (RFC 9568), or 2 (RFC 3768) for IPv4 without authentication. Default: 3."""
    pseudo_header: bool | None = None
    """Include the pseudo-header in checksums of version 3 over IPv4, as keepalived and FRR do by default. Received
    advertisements may have either.
    """
    resign: bool | None = None
    """Advertise priority 0 when leaving. Without it, leaving looks like a failure: the others wait for the
    Active_Down interval.
    """
    leave: str | None = None
    """Time since traffic started at which it leaves."""
    rejoin: str | None = None
    """Time since traffic started at which it takes part again; after 'leave'."""


@dataclass(kw_only=True)
class Stream(Written):
    """A stream of packets."""

    name: str
    """Name of the stream in 'criteria' and the result."""
    from_: str
    """Port to send from."""
    to: str | None = None
    """Port that receives the stream. Leave it out if the receiver is not a port of this profile."""
    also_to: str | Sequence[str] | None = None
    """Other ports at which its packets may arrive: other paths through the device, such as a backup or an
    equal-cost path. The result shows the number of packets per port, and the times ('paths').
    """
    outages: str | None = None
    """Report outages, in which fewer than this share of the packets arrived ('outages' in the result). The share
    refers to the packets sent in 1 ms, or in as long as it takes to send 20 packets. Needs 'to', and packets with a
    signature.
    """
    egress: str | Sequence[str] | None = None
    """Bits by whose value received packets are counted separately, to show how the device changed them: fields of
    the packet, named as in 'vary' ('ipv4.dscp', 'vlan.pcp'), or 'bits[120..126]' and 'bytes[15]' of the frame as it
    arrives. A field is looked for where this packet has it; if headers are added or removed on the way, use 'bits'.
    At most 12 bits a stream; the result has a row for each value that came ('egress').
    """
    from_host: str | None = None
    """Host of port 'from' that sends the stream and gives its MAC address, VLANs and gateways, or 'dhcp': all DHCP
    clients of the port in turn, each from its address, or 'pppoe': all PPPoE clients, each in its session. Default:
    the host with the packet's outermost source address (and its VLANs, if the packet has vlan headers), otherwise
    the first that fits.
    """
    to_host: str | None = None
    """Host of port 'to' that receives the stream, or 'pppoe': all PPPoE clients of the port in turn, each at its
    address. Default: the host with the packet's destination address, otherwise the first that fits.
    """
    next_hop: str | None = None
    """Next hop that takes the packets, whose MAC address the sending host resolves. Default: the destination, if it
    is on a network of the host, otherwise the host's gateway.
    """
    packet: Sequence[PacketElementOr] | None = None
    """Headers from the outermost inwards, then optionally the first bytes of the payload. 'ethernet' is optional.
    An outermost ipv4 or ipv6 header takes its 'src' from port 'from' and its 'dst' from port 'to'; MAC addresses
    come from the ports and their neighbors. Lengths, checksums and 'type' fields are computed. Fields you set are
    sent as set, even if wrong. Either this, 'frame' or 'replay'.
    """
    frame: Frame | Mapping[str, Any] | None = None
    """Frame to send byte by byte, instead of 'packet'."""
    replay: Replay | Mapping[str, Any] | None = None
    """Capture file to send, instead of 'packet'."""
    size: SizesOr | None = None
    """Frame lengths with FCS. Default: the shortest that holds packet and signature. A 'frame' is cut, or filled
    with zeros.
    """
    vary: Mapping[str, VaryOr] | None = None
    """Fields whose values vary from packet to packet: 'ipv4.src', 'vlan[1].id', 'vxlan.inner.ipv4.dst', or raw
    'bytes[42..44]', 'payload[0..4]', 'bits[336..340]'. All advance together unless 'after' is set. Checksums stay
    correct, except in a 'frame'. A name that begins with '$' is a variable for others to use, with 'same_as',
    'after' and 'size', and is not written itself.
    """
    lcg_seed: int | None = None
    """State of the generator that all 'lcg' without a 'seed' draw from, in the order of 'vary'. Default: derived
    from the profile's seed and the stream.
    """
    per_copy: Mapping[str, VaryOr] | None = None
    """Fields that differ between the copies of 'copies' and are constant within each."""
    flows: Flows | Mapping[str, Any] | None = None
    """Flows: the fields of 'vary' keep their values within a flow."""
    rate: str | None = None
    """Packets per second, bits per second, a share of the link, packets per second of each flow ('100pps/flow'), or
    'max' for as fast as the port accepts. Required unless --rate is given or the pattern sets the rate.
    """
    pattern: PatternOr | None = None
    """Sending times. Default: continuous."""
    then: str | Then | Mapping[str, Any] | None = None
    """Stream that starts when this one has sent its count: another one, one that was before it in the chain, or
    itself. Each stream of the chain needs a rate and, unless it is the last, a count; 'start_delay' and 'loops'
    belong to the first.
    """
    loops: int | None = None
    """Number of times to run the chain that starts with this stream. Default: without end if the last stream names
    this one in 'then', else once.
    """
    count: int | None = None
    """Number of packets to send; each copy sends as many. Default: until the duration ends."""
    start_delay: str | None = None
    """Delay from the start of traffic to the first packet. Default: 0s."""
    duration: str | None = None
    """Time to send, from the start delay on. Packets that are due by then and could not be sent are discarded.
    Needs a rate other than 'max'. Default: until the duration of the run ends.
    """
    measure: Literal["mark"] | bool | None = None
    """Kind of measurement. True: every packet carries the 18-byte signature, which shows loss, order and latency.
    'mark': only sent and received packets are counted, by a number in the ipv4 'id' or the ipv6 'flow_label' of the
    outermost IP header, from 64512 on; payloads are not touched. False: none. Default: true, but false for a
    'frame' and 'replay'.
    """
    integrity: Literal["signature", "full"] | None = None
    """Scope of the comparison of every received packet. 'signature': its 18 bytes. 'full': also the rest of the
    payload, which is filled with a function of the packet's number after the bytes given in 'packet'. Default:
    'load.integrity'.
    """
    copies: int | None = None
    """Number of copies of the stream, named 'name[0]', 'name[1]', … Each has the full rate and its own results."""
    tag: str | Sequence[str] | None = None
    """Tags for 'groups'."""


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
class Frame(Written):
    """A frame given byte by byte. Nothing of it is computed but the checksums listed, and what 'vary' writes."""

    hex: str
    """The bytes from the destination MAC address on, without FCS. Frames below 60 bytes are padded with zeros."""
    checksums: Sequence[str] | None = None
    """Checksums to compute in every packet, each by its header and the header's first byte: 'ipv4@14', 'udp@34',
    'tcp@34', 'icmp@34', 'icmpv6@54'. 'udp@58 over 38' also gives the offset of the IP header around it; without it,
    that is the one after Ethernet and VLAN tags. They cover the length in the IP header. All others stay as given,
    right or wrong.
    """
    src_mac: Literal["given", "port"] | None = None
    """Source MAC address: as given in 'hex', or the port's own. Default: given."""
    dst_mac: Literal["given", "next_hop"] | None = None
    """Destination MAC address: as given in 'hex', or that of the port's gateway or, without one, of port 'to'.
    Default: given.
    """


@dataclass(kw_only=True)
class Replay(Written):
    """A capture file to send: pcap or pcapng, with micro- or nanoseconds, also compressed by gzip. Packets are sent
    at the stream's 'rate', or without one as captured. With 'split', rate and count apply to both directions
    together. They carry no signature: received packets are counted at the port but not measured.
    """

    file: str
    """Capture file, relative to the profile."""
    speed: str | None = None
    """Speed relative to the capture, such as '2x' or '0.5x'. Default: 1x."""
    loops: int | None = None
    """Number of times to send the file; 'count' ends it, too. Default: 1."""
    loop_gap: str | None = None
    """Time from the last packet of a loop to the first of the next. Default: the capture's mean gap."""
    loop_addresses: bool | LoopAddresses | Mapping[str, Any] | None = None
    """Other addresses in each loop (tcpreplay's '--unique-ip'): in loop n, counted from 0, each IP address is n
    steps further on within its network, in all headers of all packets, tunnels, ARP and quotes in ICMP errors
    included. Correct checksums stay correct. After 'rewrite'. Default: the captured addresses.
    """
    split: Literal["first_source"] | SplitBy | Mapping[str, Any] | None = None
    """Method to split the two directions: clients' packets are sent from 'from', servers' from 'to', in the order
    of the capture. Default: all from 'from'.
    """
    flows: ReplayFlows | Mapping[str, Any] | None = None
    """The capture as a template: its conversation again and again, flows that overlap, each between other ends.
    Instead of 'rate', 'speed' and 'loops'.
    """
    rewrite: Mapping[str, int | str | Sequence[int | str]] | None = None
    """Fields to rewrite in packets that have them: a value ('udp.dst: 53'), or one for another ('ipv4.src:
    10.0.0.0/8 -> 192.168.0.0/8'). 'addresses' and 'ports' rewrite both ends. 'ethernet.src: port' is the port's own
    address, 'ethernet.dst: next_hop' that of its gateway or of the peer port. 'addresses' and 'ports' rewrite all
    headers of a packet, those in tunnels and those that ICMP errors quote included, other fields the outermost.
    Correct checksums stay correct, also those in first fragments.
    """
    checksums: Literal["keep", "unfinished", "all"] | None = None
    """Which wrong checksums of whole packets to put right before anything is rewritten: 'unfinished' are those left
    to a network card (only the pseudo-header's sum, or 0). Default: keep.
    """
    too_long: Literal["refuse", "skip", "cut", "segment"] | None = None
    """Treatment of packets that are longer than 'mtu', or than the port's maximum. Default: skip."""
    mtu: int | None = None
    """Longest IP packet, bytes. Default: what the port carries."""
    unsendable: Literal["skip", "refuse"] | None = None
    """Treatment of packets that are not Ethernet frames and can't be converted. Packets of loopback interfaces,
    Linux 'any', PPP and Cisco HDLC that hold IP, and bare IP packets, get an Ethernet header. Default: skip.
    """
    to_ipv6: bool | None = None
    """Whether IPv4 packets become IPv6: addresses in 64:ff9b::/96 until 'flows' or 'rewrite' give others; type of
    service and time to live stay. Packets with options, fragments and ICMP refuse the capture.
    """
    trailer: Literal["keep", "cut"] | None = None
    """Treatment of bytes after the IP packet of a frame: padding, and data appended by devices. Default: keep."""
    max_gap: str | None = None
    """Longest time between two packets; longer pauses are shortened to it. Default: as captured."""
    push_vlan: int | None = None
    """VLAN tag to add in front of all others."""
    pop_vlan: bool | None = None
    """Remove the outermost VLAN tag first."""


@dataclass(kw_only=True)
class LoopAddresses(Written):
    """Addresses of the loops of a capture."""

    step: int | None = None
    """Addresses from one loop to the next. A step that is longer than the range of the capture's addresses keeps
    the addresses of all loops apart. Default: 1.
    """
    networks: str | Sequence[str] | None = None
    """Networks whose addresses change; they stay in them, counted round. Default: all unicast addresses, IPv4
    within their /8, IPv6 within their /64; loopback and link-local ones stay.
    """


@dataclass(kw_only=True)
class SplitBy(Written):
    """Which hosts are the clients, or which capture is the servers'; exactly one of the four."""

    clients: str | Sequence[str] | None = None
    """Networks of the clients."""
    macs: str | Sequence[str] | None = None
    """MAC addresses of the clients."""
    interface: int | None = None
    """Number of the capture's interface on the clients' side."""
    other: str | None = None
    """Capture of the servers' side, relative to the profile, such as the second file of a tap: 'file' has the
    clients' packets, this one the servers'. Both are sent together, aligned by their times, which must be of one
    clock.
    """


@dataclass(kw_only=True)
class ReplayFlows(Written):
    """Flows made from a capture of one conversation over TCP or UDP. Addresses and the client's port are rewritten;
    'split' identifies the client, by default the sender of the first packet. The IPv4 checksum is computed, a
    correct TCP or UDP checksum stays correct. With several flows under way their packets leave in the order of
    time. All of a flow follows from its number: flow 0 has the first client and the first server, flow 1 the next
    of both, each counted round its own pool.
    """

    rate: str
    """Flows begun per second."""
    clients: str
    """Clients' addresses."""
    servers: str
    """Servers' addresses."""
    per_pair: int | None = None
    """Successive flows between one client and one server. Default: 1."""
    client_ports: int | float | str | None = None
    """Clients' ports: each client uses the next one for each of its flows, and after the last the first. Servers'
    ports stay as captured. Default: 1024..65535.
    """
    first_port: Literal["first", "spread"] | None = None
    """The port each client begins with: the first of 'client_ports', or one spread over them: of n ports client i,
    from 0, begins with number ((214013 * i + 2531011) mod 65536) mod (n - 1) + 1. Default: first.
    """
    ipg: str | None = None
    """Time from a packet of a flow to the next one of the same direction. Default: as captured."""
    rtt: str | None = None
    """Time from a packet of a flow to the next one of the other direction. Default: 'ipg'."""
    short_gap: str | None = None
    """Time for shorter captured ones between packets of a flow; goes with 'shortest', instead of 'ipg'."""
    shortest: str | None = None
    """Captured times below this one are replaced by 'short_gap'."""
    limit: int | None = None
    """Number of flows. Default: until the duration ends, which cuts the flows under way."""
    swap: bool | None = None
    """Whether clients have the servers' addresses and servers the clients'; ports and 'take' still follow
    'clients'.
    """
    take: TakeClients | Mapping[str, Any] | None = None
    """Which clients' flows are sent; the others are left to another stream, with their times. Default: all."""
    loops: int | None = None
    """Number of times to send the flows of 'limit', each time from the first pair and port on. Default: 1."""
    loop_gap: str | None = None
    """Time from the last packet of a loop to the first of the next. Default: the time between two flows."""


@dataclass(kw_only=True)
class TakeClients(Written):
    """Some of the clients, by their numbers from 0."""

    every: int
    """Every so-many-th client."""
    first: int | None = None
    """The first of them. Default: 0. Default: 0."""


@dataclass(kw_only=True)
class Sizes(Written):
    """Frame length with FCS: one ('64B'), a sweep ('64B..1518B step 64B'), random ('random 64B..1518B'), a mix by
    name ('imix'), an RFC 6985 genome ('genome abceg'), a list taken in turn, lengths with weights ('{64B: 7, 594B:
    4, 1518B: 1}'), or, of a 'frame', the value of a variable ('{same_as: $length, plus: 4}').
    """

    same_as: str | None = None
    """Path of a varying field, or name of a variable: its value is the length."""
    plus: int | None = None
    """Bytes to add to it, such as 4 for the FCS."""


SizesOr: TypeAlias = "str | Sequence[str] | Sizes | Mapping[str, Any]"
"""Frame length with FCS: one ('64B'), a sweep ('64B..1518B step 64B'), random ('random 64B..1518B'), a mix by name
('imix'), an RFC 6985 genome ('genome abceg'), a list taken in turn, lengths with weights ('{64B: 7, 594B: 4, 1518B:
1}'), or, of a 'frame', the value of a variable ('{same_as: $length, plus: 4}').
"""


VaryOr: TypeAlias = "str | Sequence[int | str] | Generator | Mapping[str, Any]"
"""Values of a field: 'counter', 'random', a range such as '10.0.0.1..10.0.0.9' or '0..100 step 4', a list of
values, or a generator.
"""


@dataclass(kw_only=True)
class Generator(Written):
    """A generator of values, with exactly one of 'from', 'random', 'lcg', 'list', 'file', 'weights' and 'same_as'."""

    from_: int | str | None = None
    """First value of a range. With 'to' or 'count'."""
    to: int | str | None = None
    """Last value of the range; if below 'from' the range counts down."""
    count: int | None = None
    """Number of values, instead of 'to'. Wraps to zero after the field's largest value."""
    step: int | str | None = None
    """Step between values. Default: 1."""
    begin: int | str | None = None
    """First packet's value, in the middle of the range; the range continues from there, in whole steps. Default:
    'from'.
    """
    random: int | str | None = None
    """Random values from a range such as '1024..65535', or 'all'."""
    distinct: int | None = None
    """Number of distinct values to draw from; the seed selects them."""
    seed: int | None = None
    """Seed of this field. Default: derived from the profile's seed, the stream and the field."""
    lcg: int | str | None = None
    """Values from a range such as '1024..65535', or 'all', drawn by a 15-bit linear congruential generator,
    compatible with other tools: with every packet, from the stream's 'lcg_seed' and in the order of 'vary', or with
    a 'seed' or 'limit' from a separate generator. Of 1, 2, 4 or 8 bytes.
    """
    limit: int | None = None
    """Number of values after which its own generator begins again."""
    list: Sequence[int | str] | None = None
    """The values, in turn."""
    file: str | None = None
    """Text file with one value per line, relative to the profile; empty lines and text after '#' are ignored."""
    order: Literal["sequential", "random", "lcg"] | None = None
    """Order of the values of 'list' or 'file'."""
    weights: Mapping[str, int] | None = None
    """Random values by weight."""
    same_as: str | None = None
    """Path of a varying field, or name of a variable, given before; take its value."""
    shift: int | None = None
    """Number of bits to shift the value of 'same_as' left by, or right if negative; applied first."""
    plus: int | str | None = None
    """Number to add after the shift."""
    mask: int | str | None = None
    """Bits of the field to write; the others keep the packet's values."""
    endian: Literal["big", "little"] | None = None
    """Byte order in which the value is written."""
    bytes: int | None = None
    """Bytes of a variable, of a name that begins with '$'. Default: 8."""
    every: int | None = None
    """Number of packets that share a value."""
    after: str | None = None
    """Path of a varying field given before; advance when it has gone through all its values, so that both go
    through all pairs. Default: advance with every packet.
    """
    period: int | None = None
    """Number of packets after which the values, and the values of fields 'after' this one, begin again."""


@dataclass(kw_only=True)
class Flows(Written):
    """Flows: all packets of a flow have the same values; the fields of 'vary' advance from flow to flow."""

    count: int
    """Number of concurrent flows."""
    length: int | None = None
    """Packets of a flow before a new one replaces it. Default: flows last as long as the stream."""
    order: Literal["sequential", "random"] | None = None
    """'sequential': all packets of a flow, then all packets of the next. 'random': each packet belongs to a random
    flow; after count × length packets all flows are new. Default: sequential.
    """


@dataclass(kw_only=True)
class Pattern(Written):
    """Sending times: 'continuous' (evenly spaced), 'poisson' (random, exponentially distributed gaps), or a mapping
    with one of the keys below.
    """

    burst: int | None = None
    """One burst of this many packets at the stream's rate ('max': back to back)."""
    bursts: int | None = None
    """Groups of this many packets back to back, spaced to meet the stream's rate on average."""
    multi_burst: MultiBurst | Mapping[str, Any] | None = None
    """Bursts with pauses between them. The stream's rate applies within a burst."""
    on_off: OnOff | Mapping[str, Any] | None = None
    """Packets at the stream's rate for a time, then a pause, repeatedly. (Not 'on' and 'off': older YAML reads
    these as true and false.)
    """
    gaps: Gaps | Mapping[str, Any] | None = None
    """Gaps between packets from a list. They replace the stream's rate."""
    curve: Curve | Mapping[str, Any] | None = None
    """A load curve: the rate over time. It replaces the stream's rate."""


PatternOr: TypeAlias = 'Literal["continuous", "poisson"] | Pattern | Mapping[str, Any]'
"""Sending times: 'continuous' (evenly spaced), 'poisson' (random, exponentially distributed gaps), or a mapping
with one of the keys below.
"""


@dataclass(kw_only=True)
class MultiBurst(Written):
    """Bursts with pauses between them. The stream's rate applies within a burst."""

    packets: int
    """Packets in a burst."""
    every: str | None = None
    """Time from the start of a burst to the start of the next. Optional for a single burst."""
    bursts: int | None = None
    """Number of bursts. Default: until the duration ends."""


@dataclass(kw_only=True)
class OnOff(Written):
    """Packets at the stream's rate for a time, then a pause, repeatedly. (Not 'on' and 'off': older YAML reads
    these as true and false.)
    """

    on_for: str
    """Time of each burst."""
    off_for: str
    """Pause between bursts."""


@dataclass(kw_only=True)
class Gaps(Written):
    """Gaps between packets from a list. They replace the stream's rate."""

    list: Sequence[str]
    """Gaps from each packet to the next."""
    order: Literal["sequential", "random"] | None = None
    """Order of the gaps. Default: sequential."""


@dataclass(kw_only=True)
class Curve(Written):
    """A load curve: the rate over time. It replaces the stream's rate."""

    points: Sequence[CurvePoint | Mapping[str, Any]]
    """Points of the curve at increasing times. The first rate also applies before, the last one after."""
    shape: Literal["linear", "steps"] | None = None
    """Shape between two points. Default: linear."""
    repeat: bool | None = None
    """Restart from the first point after the last."""


@dataclass(kw_only=True)
class CurvePoint(Written):
    """A point of a load curve."""

    at: str
    """Time since the stream's start."""
    rate: str
    """Rate at that time; zero is allowed."""


@dataclass(kw_only=True)
class Then(Written):
    """Stream that starts when this one has sent its count."""

    stream: str
    """Name of the stream; one that was already in the chain closes a loop."""
    gap: str | None = None
    """Time from the end of this stream to the start of the next. Default: 0s."""
    from_: Literal["end", "last_packet"] | None = None
    """End of this stream: one of its gaps after its last packet, or with its last packet. Default: end."""
    ends: int | None = None
    """Number of times this stream ends; after the last, the chain ends and no stream starts. Default: no limit."""


@dataclass(kw_only=True)
class Sessions(Written):
    """Sessions: clients that open connections to servers, and the application on them. An end with a 'port' is
    emulated; an end without is an external host.
    """

    name: str
    """Name of the entry in 'criteria' and the result."""
    app: AppOr
    """Application on the sessions."""
    client: Client | Mapping[str, Any] | None = None
    """End that opens sessions. Without it, or without its 'port', the clients are external."""
    server: Server | Mapping[str, Any] | None = None
    """End that accepts sessions. Without its 'port' the servers are external and 'addresses' is where to reach
    them.
    """
    transport: Literal["tcp", "udp", "quic", "https"] | None = None
    """Transport protocol. Default: the application's, or TCP."""
    tunnel: Tunnel | Mapping[str, Any] | None = None
    """Request a tunnel from the server, an explicit proxy, by CONNECT before anything else; TCP only. TLS goes
    through it.
    """
    tls: bool | Tls | Mapping[str, Any] | None = None
    """TLS around the application; TCP only. That within QUIC, which is always encrypted."""
    open: OpenOr | None = None
    """Rate of opening sessions, all clients together. Default with 'concurrent': as fast as possible until that
    many are open.
    """
    close: str | None = None
    """Rate of closing sessions that have lasted 'hold', all clients together. Default: no limit."""
    request_rate: str | None = None
    """Rate of requests, or of a program's sends, all clients together; a session waits for its turn. Default: no
    limit.
    """
    late_requests: Literal["skip", "send"] | None = None
    """Treatment of requests due by 'request_rate' while no session is free; http, websocket and grpc only. Default:
    skip.
    """
    request_count: int | None = None
    """Number of requests, all clients together: then sessions close, and no more are opened; http, websocket and
    grpc only. Default: until the duration ends.
    """
    concurrent: int | None = None
    """Maximum number of sessions open at a time. Sessions due beyond it are withheld and counted. With 'open: max'
    it is the number to reach and hold.
    """
    count: int | None = None
    """Number of sessions to open. Default: until the duration ends."""
    bytes: str | None = None
    """Application data, sent and received by clients, after which no more sessions are opened."""
    for_: str | None = None
    """Time to open sessions, from 'start_delay' on. Default: until the duration ends."""
    hold: str | None = None
    """Lifetime of a session from its establishment. A session that finishes sooner stays open; one that takes
    longer is closed after its transaction. Default: as long as the application takes.
    """
    idle: str | None = None
    """Idle time between the end of a session and the session that takes its place in 'concurrent'. Default: 0s."""
    start_delay: str | None = None
    """Delay from the start of traffic to the first session. Default: 0s."""
    at_end: Literal["close", "reset"] | None = None
    """Treatment of open sessions when the run ends. Default: close."""
    response_timeout: str | None = None
    """Clients' timeout for the next byte of a response, and for the TLS handshake. Exceeding it is the failure
    'response_timeout'. Default: 30s.
    """
    idle_timeout: str | None = None
    """Servers' timeout for data from a client. Exceeding it is the failure 'idle_timeout'. Default: none."""
    verify: bool | None = None
    """Compare received data with what the other end sends, byte by byte. Both ends must be emulated."""
    order: Literal["sequential", "random", "in_step"] | None = None
    """Order of the pairs of client and server. Default: sequential."""
    tcp: Tcp | Mapping[str, Any] | None = None
    """TCP options of both ends."""
    udp: Udp | Mapping[str, Any] | None = None
    """UDP options of both ends."""
    quic: Quic | Mapping[str, Any] | None = None
    """QUIC options of both ends, with 'transport: quic', WebSocket over HTTP/3 and DNS over it. HTTP/3 has them in
    'http'.
    """
    ip: Ip | Mapping[str, Any] | None = None
    """IP options of both ends."""
    mtu: int | None = None
    """MTU of both ends: largest IP packet, bytes."""
    vlan: int | Sequence[int] | None = None
    """VLAN of both ends, or a list from the outermost inwards. Default: the ports' VLANs."""


@dataclass(kw_only=True)
class Client(Written):
    """The end that opens sessions."""

    port: str | None = None
    """Port of emulated clients. Leave it out if the clients are external."""
    addresses: AddressesOr | None = None
    """Addresses of clients; the port replies for all of them. Default: the port's own."""
    hosts: EndHostsOr | None = None
    """Hosts of the port that the clients are: those whose own addresses they have, instead of 'addresses'; or the
    clients that are behind each, in its VLAN and by its gateway.
    """
    ports: int | float | str | None = None
    """Source ports of clients. Default: 1024..65535."""
    first_port: Literal["first", "spread"] | None = None
    """The port each client begins with: the first of 'ports', or one spread over them: of n ports client i, from 0,
    begins with number ((214013 * i + 2531011) mod 65536) mod (n - 1) + 1.
    """
    mac: NextHopOr | None = None
    """MAC address to send to, or one for each of 'hosts'. Default: the next hop's, resolved."""
    tcp: Tcp | Mapping[str, Any] | None = None
    """TCP options of clients; override the options for both ends."""
    udp: Udp | Mapping[str, Any] | None = None
    """UDP options of clients; override the options for both ends."""
    ip: Ip | Mapping[str, Any] | None = None
    """IP options of clients; override the options for both ends."""
    mtu: int | None = None
    """MTU of clients: largest IP packet, bytes."""
    vlan: int | Sequence[int] | None = None
    """VLAN of clients, or a list from the outermost inwards. In a 'tunnel' those inside."""
    tunnel: EndTunnel | Mapping[str, Any] | None = None
    """Tunnel around the clients' packets. 'addresses' are those inside."""


AddressesOr: TypeAlias = "str | Sequence[str] | Mapping[str, int]"
"""Addresses of one end, all IPv4 or all IPv6: one ('10.0.0.10'), a range ('10.0.0.10..10.0.0.250'), the hosts of a
network ('10.1.0.0/16'), a list of those, or those with the relative number of sessions of each address
('{10.0.0.10: 3, 10.0.0.11..10.0.0.20: 1}'). For clients also 'dhcp': the addresses that the port's DHCP clients
get, or 'pppoe': the addresses of its PPPoE clients, each in its PPPoE session.
"""


EndHostsOr: TypeAlias = "str | Sequence[str] | Mapping[str, AddressesOr]"
"""Hosts of a port that are an end of sessions: a name or a list of names (that of an entry with 'count' means all
its hosts), or the addresses behind each host ('{red: 16.0.0.1..16.0.0.99, blue: 16.0.1.0/24}'). With 'addresses',
this assigns them to hosts, and 'addresses' sets their order.
"""


NextHopOr: TypeAlias = "str | Mapping[str, str]"
"""Where clients send to: a MAC address, or one for each of their hosts."""


@dataclass(kw_only=True)
class Tcp(Written):
    """TCP of one end or of both."""

    mss: int | None = None
    """Maximum segment size, bytes of payload. Default: what fits 'mtu'."""
    window: str | None = None
    """Receive window. Default: 262140B."""
    window_scaling: bool | None = None
    """Window scaling (RFC 7323), required for windows above 65535B. Default: true."""
    timestamps: bool | None = None
    """Timestamps (RFC 7323). Default: true."""
    timestamp_step: str | None = None
    """Time in which the clock of timestamps advances by one, from 1ms to 1s (RFC 7323 section 5.4). Default:
    1048576ns.
    """
    isn: int | None = None
    """Initial sequence number of every connection, to try a wrap of sequence numbers for example. Default: another
    one for each connection (RFC 6528).
    """
    sack: bool | None = None
    """Selective acknowledgements (RFC 2018). Default: true."""
    rack: bool | None = None
    """Loss by time, and probes of the last segments (RFC 8985); needs 'sack'. Default: true."""
    ecn: bool | None = None
    """Explicit congestion notification (RFC 3168). Default: false."""
    initial_window: int | None = None
    """Initial congestion window, segments (RFC 6928). Default: 10."""
    congestion: Literal["cubic", "newreno", "none"] | None = None
    """Congestion control. Default: cubic."""
    no_delay: bool | None = None
    """Send small segments at once instead of waiting for acknowledgements (no Nagle). Default: true."""
    ack_delay: str | None = None
    """Maximum delay of an acknowledgement, up to 2s; 0s acknowledges at once. Default: 40ms."""
    rto_initial: str | None = None
    """Initial retransmission timeout (RFC 6298). Default: 1s."""
    rto_min: str | None = None
    """Minimum retransmission timeout. Default: 200ms."""
    rto_max: str | None = None
    """Maximum retransmission timeout. Default: 60s."""
    syn_retries: int | None = None
    """Maximum number of SYN retransmissions. Default: 6."""
    syn_ack_retries: int | None = None
    """Maximum number of SYN-ACK retransmissions. Default: 5."""
    data_retries: int | None = None
    """Maximum number of retransmissions of data or a FIN. Default: 15."""
    fin_timeout: str | None = None
    """Time to wait for the peer's FIN. Default: 60s."""
    time_wait: str | None = None
    """Length of TIME-WAIT, or 'skip'. Default: 1s."""
    keep_alive: str | None = None
    """Idle time before a keep-alive probe, or 'none'. Default: none."""
    close_by: Literal["fin", "reset"] | None = None
    """Way to close first: with a FIN or a reset. Default: fin."""
    express: bool | None = None
    """Take expected segments in and send them by the express lane of the code, which is faster and changes nothing
    else; 'false' to compare. Default: true.
    """


@dataclass(kw_only=True)
class Udp(Written):
    """UDP of one end or of both."""

    idle_timeout: str | None = None
    """Idle time after which a session ends. Default: 30s."""
    ecn: bool | None = None
    """Congestion marks (ECN) of QUIC: datagrams carry ECT(0), and marks are reported to the other end (RFC 9000
    section 13.4). Other applications have no use for it. Default: false.
    """


@dataclass(kw_only=True)
class Ip(Written):
    """IP of one end or of both."""

    ttl: int | None = None
    """Time to live, or hop limit. Default: 64."""
    dscp: int | None = None
    """Differentiated services code point (RFC 2474). Default: 0."""
    tos: int | None = None
    """Whole traffic class byte, instead of 'dscp'. The lower two bits (ECN) must be zero."""


@dataclass(kw_only=True)
class EndTunnel(Written):
    """A tunnel around all sessions of an end, from an address of the port to the device's. One of 'vxlan',
    'geneve', 'gre', 'ipip' and 'gtpu' selects the kind. Received packets are decapsulated; ARP, neighbor discovery
    and ping inside the tunnel get replies.
    """

    to: str
    """Address of the other end of the tunnel: the device's."""
    vxlan: Overlay | Mapping[str, Any] | None = None
    """VXLAN (RFC 7348): Ethernet over UDP."""
    geneve: Overlay | Mapping[str, Any] | None = None
    """GENEVE (RFC 8926): Ethernet over UDP, without options."""
    gre: Gre | Mapping[str, Any] | None = None
    """GRE (RFC 2784): IP, or Ethernet."""
    ipip: IpIpOr | None = None
    """IP in IP (RFC 2003, RFC 4213, RFC 2473): the outer version is the version of 'to', the inner one the
    sessions' version.
    """
    gtpu: Gtpu | Mapping[str, Any] | None = None
    """GTP-U (3GPP TS 29.281): IP over UDP. Echo requests get responses."""
    from_: str | None = None
    """Address of this end, of a host of the port; outer packets have that host's MAC address, VLANs and gateway.
    Default: an address of the port on the network of 'to', or its first of that IP version.
    """
    gateway: str | None = None
    """Router inside the tunnel that clients send to; for tunnels that carry Ethernet. Default: servers are on the
    clients' own network.
    """
    dscp: int | None = None
    """Differentiated services code point of outer packets (RFC 2474). Default: 0."""
    ttl: int | None = None
    """Time to live, or hop limit, of outer packets. Default: 64."""


@dataclass(kw_only=True)
class Overlay(Written):
    """An overlay network."""

    vni: int
    """Network identifier (VNI)."""
    udp_port: int | None = None
    """UDP destination port. Default: 4789 for vxlan, 6081 for geneve."""
    source_port: int | None = None
    """UDP source port of all packets. Default: 49152..65535, depending on the flow, so that routers spread flows
    (RFC 7348 section 5).
    """


@dataclass(kw_only=True)
class Gre(Written):
    """Generic routing encapsulation."""

    key: int | None = None
    """Key of sent and received packets (RFC 2890). Default: they have none."""
    ethernet: bool | None = None
    """Carry Ethernet (protocol type 0x6558) instead of IP."""


IpIpOr: TypeAlias = "Mapping[str, Any]"
"""IP in IP."""


@dataclass(kw_only=True)
class Gtpu(Written):
    """User plane of a mobile network."""

    teid: int
    """Tunnel endpoint identifier (TEID) of sent packets."""
    own_teid: int | None = None
    """TEID of received packets. Default: the same."""
    per_client: bool | None = None
    """One TEID in each direction for each client address, counting on from 'teid' and 'own_teid' in the order of
    the addresses.
    """
    qfi: int | None = None
    """QoS flow identifier, sent in a PDU session container (3GPP TS 38.415): uplink by clients, downlink by
    servers. Default: no container.
    """
    udp_port: int | None = None
    """UDP destination port. Default: 2152."""
    source_port: int | None = None
    """UDP source port of all packets. Default: 49152..65535, depending on the flow."""


@dataclass(kw_only=True)
class Server(Written):
    """End that accepts sessions."""

    port: str | None = None
    """Port of emulated servers. Leave it out if the servers are external."""
    addresses: AddressesOr | None = None
    """Addresses of servers; the port replies for all of them. Default: the port's own."""
    hosts: EndHostsOr | None = None
    """Hosts of the port that the servers are: those whose own addresses they have, instead of 'addresses'; or the
    servers that are behind each. The same servers may be behind several hosts in different VLANs.
    """
    ports: int | float | str | None = None
    """Ports of servers. Default: the application's: 80 for http, websocket and grpc (443 with TLS), 53 for dns (853
    over TLS and QUIC, 443 over HTTPS), 862 for stamp, 7 for echo, 9 for discard, 19 for chargen, the capture's for
    pcap.
    """
    tcp: Tcp | Mapping[str, Any] | None = None
    """TCP options of servers; override the options for both ends."""
    udp: Udp | Mapping[str, Any] | None = None
    """UDP options of servers; override the options for both ends."""
    ip: Ip | Mapping[str, Any] | None = None
    """IP options of servers; override the options for both ends."""
    mtu: int | None = None
    """MTU of servers: largest IP packet, bytes."""
    vlan: int | Sequence[int] | None = None
    """VLAN of servers, or a list from the outermost inwards. In a 'tunnel' those inside."""
    tunnel: EndTunnel | Mapping[str, Any] | None = None
    """Tunnel around the servers' packets. 'addresses' are those inside."""


@dataclass(kw_only=True)
class App(Written):
    """Application on the sessions: its name for the defaults, or a mapping with one application and its options."""

    raw: Raw | Mapping[str, Any] | None = None
    """Requests and responses of given sizes."""
    echo: Echo | Mapping[str, Any] | None = None
    """The server returns what it receives."""
    http: Http | Mapping[str, Any] | None = None
    """HTTP/1.1 and HTTP/2."""
    dns: Dns | Mapping[str, Any] | None = None
    """DNS, over UDP or TCP."""
    websocket: Websocket | Mapping[str, Any] | None = None
    """WebSocket."""
    grpc: Grpc | Mapping[str, Any] | None = None
    """gRPC."""
    stamp: Stamp | Mapping[str, Any] | None = None
    """STAMP: delay, jitter and loss by test packets, over UDP."""
    bulk: Bulk | Mapping[str, Any] | None = None
    """Bulk transfer in one direction, for goodput; TCP only."""
    program: Program | Mapping[str, Any] | None = None
    """A program for each end."""
    pcap: Conversation | Mapping[str, Any] | None = None
    """A conversation from a capture file."""
    mix: Sequence[Member | Mapping[str, Any]] | None = None
    """Several applications by weight."""


AppOr: TypeAlias = 'Literal["echo", "discard", "chargen", "http", "websocket", "grpc", "stamp"] | App | Mapping[str, Any]'
"""Application on the sessions: its name for the defaults, or a mapping with one application and its options."""


@dataclass(kw_only=True)
class Raw(Written):
    """Requests and responses of given sizes."""

    request: AmountOr
    """Size of a request."""
    response: AmountOr | None = None
    """Size of a response. Default: that of the request."""
    requests: Literal["endless"] | int | None = None
    """Number of requests in a session, sent in sequence. Default: 1."""
    think: str | None = None
    """Think time: from a response to the next request."""


AmountOr: TypeAlias = "str | Mapping[str, int]"
"""A number of bytes: fixed ('32KB'), a range ('1KB..64KB'), or weights ('{1KB: 5, 64KB: 1}'). It depends only on
the number of the request in its session, so that both ends know it: with one request in each session all are the
same. Only http's responses differ from session to session.
"""


@dataclass(kw_only=True)
class Echo(Written):
    """The server returns what it receives."""

    request: AmountOr | None = None
    """Size of a request. Default: 64B."""
    requests: Literal["endless"] | int | None = None
    """Number of requests in a session, sent in sequence. Default: 1."""
    think: str | None = None
    """Think time: from a response to the next request."""


@dataclass(kw_only=True)
class Http(Written):
    """HTTP/1.1, HTTP/2 and HTTP/3."""

    version: int | float | str | None = None
    """Version of HTTP. '2' is HTTP/2: with 'tls' negotiated in the handshake (ALPN), otherwise from the first byte
    (prior knowledge). '3' is HTTP/3 over QUIC: UDP, always encrypted, with or without 'tls'. 'auto': with 'tls'
    clients offer both and follow the server's choice, without it they use 1.1; emulated servers respond in the
    version of each client. Default: 1.1.
    """
    streams_per_connection: int | None = None
    """Number of requests in flight on a connection with HTTP/2 or HTTP/3, or fewer if the server announces less.
    Default: 1.
    """
    alt_svc: bool | None = None
    """Have clients open their next connections by HTTP/3 where a response announces it (Alt-Svc, RFC 7838). With
    'version: auto' and 'tls'. Default: false.
    """
    redirects: int | None = None
    """Maximum number of redirects in a row that clients follow: 301, 302, 303, 307 and 308 to the same server, on
    the same connection, or on a new one if the server closes it. The request of a redirect that can't be followed
    fails; 'redirects' of the result counts it by reason. Default: a redirect is a response like others.
    """
    cookies: bool | None = None
    """Have each session keep the cookies that servers set, and send them (RFC 6265). Default: false."""
    access_log: str | AccessLog | Mapping[str, Any] | None = None
    """Access log of a web server: its requests are sent at its times, from the start of traffic on, late where no
    session is free. In the Common Log Format, or lines of a time and a path. In place of 'path', 'method',
    'objects', and 'request_rate' of the entry.
    """
    migrate: Migrate | Mapping[str, Any] | None = None
    """Have clients of HTTP/3 change their UDP port while connections last. Default: never."""
    early_data: bool | None = None
    """Clients of HTTP/3 that resume a session ('tls: {resumption: …}') send requests in their first packets
    (0-RTT), where the server has allowed it: GET, HEAD and OPTIONS, which may be repeated. Default: false.
    """
    key_update: int | None = None
    """Number of packets after which clients of HTTP/3 update their keys (RFC 9001 section 6). Default: never."""
    request: str | None = None
    """Size of a request's head, padded with a field 'X-Padding'. Default: no padding."""
    response: AmountOr | None = None
    """Size of a response's body. Emulated servers send it; clients count any other length as the failure
    'wrong_content', except with 4xx and 5xx that 'status' does not require. Varying sizes are requested by paths:
    '/1000', '/64000'. Default: 1KB.
    """
    requests: Literal["endless"] | int | None = None
    """Number of requests on a connection. Default: 1."""
    method: Literal["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"] | None = None
    """Method. Default: GET."""
    path: TextOr | None = None
    """Path and query, or a whole URI for an explicit proxy. Default: '/'."""
    host: TextOr | None = None
    """Host field. Default: 'eagre.test' with emulated servers, otherwise the first server's address."""
    headers: Mapping[str, TextOr] | None = None
    """More header fields of requests, in this order."""
    body: AmountOr | None = None
    """Size of a request's body."""
    body_text: str | None = None
    """Text that is the body of every request, instead of 'body'. 'verify' does not compare it."""
    chunked: str | None = None
    """Maximum chunk size for bodies of requests and responses. With HTTP/2 and HTTP/3: send no length. Default: not
    chunked.
    """
    status: int | None = None
    """Expected status; any other is the failure 'http_status'."""
    objects: Sequence[Object | Mapping[str, Any]] | None = None
    """Several requests by weight, instead of one. The keys above are their defaults."""
    order: Literal["sequential", "random"] | None = None
    """Order of objects, or of response sizes. Default: sequential."""
    pipeline: int | None = None
    """Number of requests in flight on a connection with HTTP/1.1. Default: 1."""
    think: str | None = None
    """Think time: from a response to the next request."""
    close_by: Literal["fin", "reset", "server"] | None = None
    """Way to close a connection. Default: fin."""
    errors_fail: bool | None = None
    """Fail the session on a status of 4xx or 5xx, which is counted in any case. Default: true."""
    server: HttpServer | Mapping[str, Any] | None = None
    """Behavior of servers. Default: send 'response' for every request."""


@dataclass(kw_only=True)
class AccessLog(Written):
    """An access log."""

    file: str
    """File, relative to the profile; at most 1,000,000 requests."""
    speed: str | None = None
    """Speed relative to the log, such as '2x' or '0.5x'. Default: 1x."""


@dataclass(kw_only=True)
class Migrate(Written):
    """Changes of a client's UDP port."""

    every: str
    """Time from the handshake to the first change, and from each to the next."""
    by: MigrateByOr | None = None
    """Cause of the change. Default: nat. Default: nat."""


MigrateByOr: TypeAlias = 'Literal["nat", "client"]'
"""Cause of a change of a client's port."""


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
    """Order of the texts. Default: sequential."""
    by: Literal["session", "request", "each"] | None = None
    """When to take the next text. Default: each."""


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
    """Share of requests relative to the others. Default: 1."""
    method: Literal["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"] | None = None
    """The method."""
    path: TextOr | None = None
    """Path and query. Default with 'response': the path that requests that size from emulated servers."""
    host: TextOr | None = None
    """The Host field."""
    headers: Mapping[str, TextOr] | None = None
    """Header fields, instead of the common ones of all requests."""
    request: str | None = None
    """Size of the request's head."""
    response: str | None = None
    """Size of the response's body."""
    body: AmountOr | None = None
    """Size of the request's body."""
    status: int | None = None
    """Expected status."""


@dataclass(kw_only=True)
class HttpServer(Written):
    """A server of HTTP."""

    rules: Sequence[HttpRule | Mapping[str, Any]] | None = None
    """Rules; the first match determines the response. Without a match a path that is a number gets a body of that
    size, any other gets 'response'.
    """
    keep_alive: int | None = None
    """Number of requests on a connection before the server closes it, with HTTP/2 by GOAWAY. Default: no limit."""
    date: bool | None = None
    """Send a Date field in every response."""
    name: str | None = None
    """Server field; an empty text omits it. Default: 'eagre'."""
    retry: bool | None = None
    """Have clients of HTTP/3 prove their address with a Retry packet before anything else (RFC 9000 section 8.1.2)."""
    early_data: EarlyDataOr | None = None
    """Let clients of HTTP/3 that resume a session send requests in their first packets (0-RTT). 'too_early' has
    them sent again after the handshake (status 425, RFC 8470). Default: false.
    """
    alt_svc: bool | AltSvc | Mapping[str, Any] | None = None
    """Announce HTTP/3 on the same port in each response of HTTP/1.1 and HTTP/2 (Alt-Svc, RFC 7838), and serve it
    there. With 'version: auto' and 'tls'. Default: false.
    """


@dataclass(kw_only=True)
class HttpRule(Written):
    """A rule of a server."""

    path: str | None = None
    """Paths to match: '/a', or '/a*' for all that start with it. Default: all."""
    methods: Sequence[Literal["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"]] | None = None
    """Methods to match. Default: all."""
    status: int | None = None
    """Status. Default: 200."""
    response: AmountOr | None = None
    """Size of the body. Default: no body."""
    chunked: str | None = None
    """Maximum chunk size for the body. Default: not chunked."""
    until_close: bool | None = None
    """Send no length; the body ends with the connection."""
    headers: Mapping[str, str] | None = None
    """More header fields, in this order."""
    close: bool | None = None
    """Close the connection after the response."""
    delay: str | None = None
    """Delay from the request to the response."""


EarlyDataOr: TypeAlias = "bool | EarlyAnswerOr"
"""Early data of HTTP/3."""


EarlyAnswerOr: TypeAlias = 'Literal["too_early"]'
"""Response to early data."""


@dataclass(kw_only=True)
class AltSvc(Written):
    """Announcement of HTTP/3."""

    max_age: str
    """Lifetime ('ma'), in whole seconds. Default with 'true': 24 hours."""


@dataclass(kw_only=True)
class Dns(Written):
    """DNS, over UDP unless the entry's transport is TCP, QUIC or HTTPS."""

    names: TextOr | None = None
    """Names to query, in turn. Emulated clients need this or 'queries'."""
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
    """Type to query. Default: A."""
    queries: Sequence[DnsQuery | Mapping[str, Any]] | None = None
    """Several queries by weight, in place of 'names' and 'type'."""
    order: Literal["sequential", "random"] | None = None
    """Order of queries. Default: sequential."""
    requests: Literal["endless"] | int | None = None
    """Number of queries in a session, sent in sequence, or by 'streams_per_connection' at a time. Default: 1."""
    streams_per_connection: int | None = None
    """Number of queries in flight on a connection of QUIC or HTTPS, each on a stream; by HTTP/1.1 it is one.
    Default: 1.
    """
    think: str | None = None
    """Think time: from a response to the next query; with several streams, once all have a response."""
    recursion: bool | None = None
    """Set the flag 'recursion desired'. Default: true."""
    edns: str | None = None
    """Maximum size of UDP responses (EDNS); 512B sends no EDNS. Default: 1232B."""
    retries: int | None = None
    """Maximum number of retries of a query over UDP. Default: 2."""
    retry_after: str | None = None
    """Time to wait for a response before a retry. Default: 1s."""
    tcp_fallback: bool | None = None
    """Repeat a query over TCP if its response over UDP was truncated. Default: true."""
    padding: bool | None = None
    """Pad queries to multiples of 128 bytes by an option of EDNS (RFC 8467), where they are encrypted: over TLS,
    QUIC or HTTPS. Emulated servers pad responses to padded queries, to multiples of 468 bytes. Default: false.
    """
    version: int | float | str | None = None
    """Version of HTTP of requests over HTTPS. '1.1': one query at a time. '2'. '3': over QUIC, so over UDP. 'auto':
    with 'tls' clients offer 2 and 1.1 and follow the server's choice, without it they use 1.1; emulated servers
    respond in the version of each client. Default: 2.
    """
    method: Literal["GET", "POST"] | None = None
    """Method of requests over HTTPS: POST, or GET, whose responses caches can keep. Emulated servers take both.
    Default: POST.
    """
    path: str | None = None
    """Path of requests over HTTPS; a GET has the query behind it. Default: /dns-query."""
    host: TextOr | None = None
    """Host of requests over HTTPS, and name in the handshake of TLS. Default: the server's address if it is
    external, or eagre.test.
    """
    errors_fail: bool | None = None
    """Fail the session on a response with a code other than 0, which is counted in any case."""
    rules: Sequence[DnsRule | Mapping[str, Any]] | None = None
    """Rules of servers; the first match determines the response, no match is 'no such name'. Default: every name
    has the addresses 198.18.0.1 and 2001:2::1.
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
    """Type to query. Default: A."""
    weight: int | None = None
    """Share of queries relative to the others. Default: 1."""


@dataclass(kw_only=True)
class DnsRule(Written):
    """A rule of a server."""

    suffix: str | None = None
    """Names to match: this one and all below it. Default: all."""
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
    """Types to match. Default: all."""
    code: int | None = None
    """Code of the response: 0 no error, 2 server failure, 3 no such name, 5 refused. Default: 0."""
    answers: Sequence[str | Record | Mapping[str, Any]] | None = None
    """Records; the response has the ones of the queried type."""
    ttl: str | None = None
    """Time to live of records. Default: 60s."""
    delay: str | None = None
    """Delay from the query to the response."""
    silent: bool | None = None
    """Do not respond."""


@dataclass(kw_only=True)
class Record(Written):
    """A record. Either 'address', or 'type' with 'data' or 'text'."""

    address: str | None = None
    """Address of an A or AAAA record; with 'count' the first of a range, one for each query in turn."""
    count: int | None = None
    """Number of addresses."""
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
    """Type of another record."""
    data: str | None = None
    """Data as on the wire."""
    text: str | None = None
    """Data as a text of at most 255 bytes (TXT)."""


@dataclass(kw_only=True)
class Websocket(Written):
    """WebSocket (RFC 6455): a connection is upgraded from HTTP/1.1, or a stream of HTTP/2 or HTTP/3 opened for it;
    it carries messages, and is closed by Close frames. Each message of a client is a request.
    """

    version: int | float | str | None = None
    """Version of HTTP of the upgrade: '1.1'; '2' (RFC 8441): with 'tls' negotiated in the handshake (ALPN),
    otherwise from the first byte; or '3' (RFC 9220): over QUIC. A connection of HTTP/2 or HTTP/3 carries one
    WebSocket. Default: 1.1.
    """
    path: TextOr | None = None
    """Path and query of the upgrade. Default: '/'."""
    host: TextOr | None = None
    """Host field. Default: 'eagre.test' with emulated servers, otherwise the first server's address."""
    headers: Mapping[str, TextOr] | None = None
    """More header fields of the upgrade, in this order."""
    subprotocols: Sequence[str] | None = None
    """Subprotocols that clients offer. Emulated servers choose the first of a client's that is in this list."""
    kind: Literal["text", "binary"] | None = None
    """Type of messages. Default: binary, with 'text' text."""
    request: AmountOr | None = None
    """Size of a client's message. Default: 64B."""
    text: TextOr | None = None
    """Text that is the message, instead of 'request'."""
    requests: Literal["endless"] | int | None = None
    """Number of messages that a client sends on a connection. Default: 1."""
    expect: Literal["echo", "reply", "nothing"] | None = None
    """Expected reaction to a message, which is also that of emulated servers. Default: echo."""
    response: AmountOr | None = None
    """Size of an emulated server's messages, with 'expect: reply' or 'push'; clients of a reply count any other
    length as the failure 'wrong_content'. Default: any size, 64B of emulated servers.
    """
    pipeline: int | None = None
    """Number of messages of a client in flight on a connection. Default: 1."""
    think: str | None = None
    """Think time: from a reply to the next message; with 'expect: nothing' from a message to the next."""
    fragment: str | None = None
    """Maximum size of a fragment of messages. Default: no fragments."""
    ping: str | None = None
    """Interval at which emulated ends send a Ping. One without a Pong when the next is due is the failure
    'response_timeout'. Default: no Pings.
    """
    push: str | None = None
    """Interval at which emulated servers send a message of 'response' by themselves; with 'expect: nothing' only.
    Default: they do not.
    """
    message_max: str | None = None
    """Maximum size of a received message, decompressed; a longer one is refused with code 1009. Default: 1MiB."""
    compression: bool | Compression | Mapping[str, Any] | None = None
    """Compression of messages (RFC 7692, permessage-deflate), which clients offer and emulated servers accept.
    Default: neither.
    """


@dataclass(kw_only=True)
class Compression(Written):
    """Compression of WebSocket's messages, with the names of RFC 7692 section 7.1: of clients what they offer, of
    emulated servers their limits.
    """

    client_no_context_takeover: bool | None = None
    """Whether clients compress each message by itself, without reference to those before."""
    server_no_context_takeover: bool | None = None
    """Whether servers compress each message by itself."""
    client_max_window_bits: int | None = None
    """Base-2 logarithm of the window that clients compress with, in bytes. With 8 they send messages uncompressed.
    Default: 15.
    """
    server_max_window_bits: int | None = None
    """That of servers. Default: 15."""
    level: int | None = None
    """Effort of both ends: from 1, fast, to 9. Default: 6."""
    threshold: str | None = None
    """Minimum size of messages that are compressed; shorter ones are sent as they are. Default: 0B."""


@dataclass(kw_only=True)
class Grpc(Written):
    """gRPC over HTTP/2: each call is a request, and a stream of its connection. With 'tls' HTTP/2 is negotiated in
    the handshake (ALPN), otherwise it begins with the first byte (prior knowledge).
    """

    method: str | None = None
    """Service and method, such as 'helloworld.Greeter/SayHello'. Emulated servers respond to any other method with
    the status UNIMPLEMENTED. Default: 'eagre.Test/Call'.
    """
    kind: Literal["unary", "client_streaming", "server_streaming", "bidirectional"] | None = None
    """Kind of calls. Default: unary."""
    host: TextOr | None = None
    """':authority' of calls. Default: 'eagre.test' with emulated servers, otherwise the first server's address."""
    metadata: Mapping[str, TextOr] | None = None
    """Metadata of calls, in this order. Values of names that end with '-bin' are written in base64."""
    request: AmountOr | None = None
    """Size of a client's message. Default: 64B."""
    message: Message | Mapping[str, Any] | None = None
    """Bytes that are a client's message, instead of 'request'. Emulated servers compare them."""
    messages: int | None = None
    """Number of messages of a client in a call, with 'client_streaming' and 'bidirectional'. Default: 10."""
    response: AmountOr | None = None
    """Size of a message of emulated servers; clients count any other length as the failure 'wrong_content'.
    Default: any size, 64B of emulated servers.
    """
    reply: Message | Mapping[str, Any] | None = None
    """Bytes that are a server's message, instead of 'response'. Clients compare them."""
    responses: int | None = None
    """Number of messages of emulated servers in a call, with 'server_streaming'; clients count any other number as
    the failure 'wrong_content'. Default: any number, 10 of emulated servers.
    """
    expect: Literal["reply", "echo"] | None = None
    """Messages of servers. With 'echo' no 'response', and only for unary and bidirectional calls. Default: reply."""
    interval: str | None = None
    """Interval between the messages of a stream, from when the call was due. Default: as fast as possible; in
    bidirectional calls each message once the one before has its response.
    """
    requests: Literal["endless"] | int | None = None
    """Number of calls on a connection. Default: 1."""
    streams_per_connection: int | None = None
    """Number of calls in flight on a connection, or fewer if the server announces less. Default: 1."""
    think: str | None = None
    """Think time: from a call's end to the next call."""
    deadline: str | None = None
    """Deadline of calls: clients cancel a call after this time, and inform the server ('grpc-timeout'). The status
    is then DEADLINE_EXCEEDED. Default: none.
    """
    status: (
        Literal[
            "OK",
            "CANCELLED",
            "UNKNOWN",
            "INVALID_ARGUMENT",
            "DEADLINE_EXCEEDED",
            "NOT_FOUND",
            "ALREADY_EXISTS",
            "PERMISSION_DENIED",
            "RESOURCE_EXHAUSTED",
            "FAILED_PRECONDITION",
            "ABORTED",
            "OUT_OF_RANGE",
            "UNIMPLEMENTED",
            "INTERNAL",
            "UNAVAILABLE",
            "DATA_LOSS",
            "UNAUTHENTICATED",
        ]
        | None
    ) = None
    """Status of emulated servers, which clients expect; any other is the failure 'grpc_status'. With a status other
    than OK servers send no message. Default: OK, and clients take any status.
    """
    status_message: str | None = None
    """Status message of emulated servers. Default: none."""
    errors_fail: bool | None = None
    """Fail the session on a status other than OK, which is counted in any case. Default: true."""
    delay: str | None = None
    """Delay of emulated servers: from a call's last request, or with 'bidirectional' from each, to the response."""
    message_max: str | None = None
    """Maximum size of a received message; a longer one ends its call with the status RESOURCE_EXHAUSTED. Default:
    4MiB.
    """


@dataclass(kw_only=True)
class Message(Written):
    """Bytes of a message: a mapping with one of these keys."""

    hex: str | None = None
    """Hexadecimal digits."""
    base64: str | None = None
    """Base64."""
    file: str | None = None
    """File with the bytes, relative to the profile."""
    text: TextOr | None = None
    """Text. Of a client it may differ from session to session; servers do not compare it then."""


@dataclass(kw_only=True)
class Stamp(Written):
    """STAMP (RFC 8762): a session is a series of test packets from one address and port, which a reflector at the
    server sends back with its times. Emulated servers are reflectors, for packets of TWAMP Light (RFC 5357,
    appendix I) of 41 bytes or more, too.
    """

    packets: Literal["endless"] | int | None = None
    """Number of test packets in a session. Default: 10."""
    interval: str | None = None
    """Interval between the test packets of a session, at most 10s. Default: 100ms; with 'request_rate' of the entry
    as its turns come.
    """
    size: str | None = None
    """UDP payload of a test packet: 44B, or from 48B on with Extra Padding (RFC 8972); with a key 112B, or from
    116B on. Default: the shortest.
    """
    reflector: Literal["stateless", "stateful"] | None = None
    """Mode of the reflector, emulated or external. Default: stateless."""
    timestamps: Literal["ntp", "ptp"] | None = None
    """Format of this side's timestamps. The other side's is read as it comes. Default: ntp."""
    wait: str | None = None
    """Time after which a test packet without a reply counts as lost, at most 10s. Default: 1s."""
    key: str | None = None
    """Key of authenticated mode (RFC 8762 section 4.4) that both ends share, 16 to 64 bytes."""
    key_file: str | None = None
    """In place of 'key': file with the key, 32 to 128 hexadecimal digits, relative to the profile."""


@dataclass(kw_only=True)
class Bulk(Written):
    """Bulk transfer in one direction."""

    from_: Literal["client", "server"] | None = None
    """End that sends. Default: client."""
    bytes: str | None = None
    """Amount of data to send before closing. Default: as long as the session lasts."""


@dataclass(kw_only=True)
class Program(Written):
    """A program for each end: steps that send, expect and wait, in order. The client closes after its last step."""

    client: Sequence[StepOr] | None = None
    """Steps of the client. Required if clients are emulated."""
    server: Sequence[StepOr] | None = None
    """Steps of the server. Required if servers are emulated."""


@dataclass(kw_only=True)
class Step(Written):
    """A step of a program: a word, or a mapping with one of the keys below."""

    send: ContentOr | None = None
    """Data to send; over UDP one datagram."""
    expect: ContentOr | None = None
    """Data to wait for: as many bytes, over UDP a datagram. Texts and 'hex' must be equal, up to the first number
    that follows the session; arbitrary bytes with 'verify'.
    """
    expect_until: ContentOr | None = None
    """Text to wait for, with everything before it."""
    wait: str | None = None
    """Time to wait."""
    repeat: Repeat | Mapping[str, Any] | None = None
    """Steps to repeat."""
    label: str | None = None
    """A place that 'goto' leads to, in the same list of steps."""
    goto: GotoOr | None = None
    """Label to continue at, always or on a condition."""
    set: Mapping[str, int] | None = None
    """Variables, each with the number it gets."""
    add: Mapping[str, int] | None = None
    """Variables, each with the number that is added."""


StepOr: TypeAlias = (
    'Literal["stream", "half_close", "close", "reset", "expect_end", "pause", "resume"] | Step | Mapping[str, Any]'
)
"""A step of a program: a word, or a mapping with one of the keys below."""


ContentOr: TypeAlias = "str | Sequence[str | Part | Mapping[str, Any]] | Part | Mapping[str, Any]"
"""Data a program sends or expects: a text (see Text), a mapping with one of the keys below, or a list of both."""


@dataclass(kw_only=True)
class Part(Written):
    """Data other than a text."""

    bytes: AmountOr | None = None
    """Number of arbitrary bytes, which the other end can verify."""
    hex: str | None = None
    """Bytes as hexadecimal digits."""
    text: TextOr | None = None
    """One of several texts."""


@dataclass(kw_only=True)
class Repeat(Written):
    """Steps to repeat."""

    do: Sequence[StepOr]
    """Steps."""
    times: Literal["endless"] | int | None = None
    """Number of times, or 'endless' until the session is closed from outside."""
    for_: str | None = None
    """Instead of a number: the duration. After the last of the steps, once more if the time is not over. Not within
    'repeat'.
    """


@dataclass(kw_only=True)
class Goto(Written):
    """Label to continue at: a label, or a mapping."""

    label: str
    """The label."""
    if_: str
    """When: a variable, one of '==', '!=', '<', '<=', '>', '>=', and a number, such as 'n > 0'."""


GotoOr: TypeAlias = "str | Goto | Mapping[str, Any]"
"""Label to continue at: a label, or a mapping."""


@dataclass(kw_only=True)
class Conversation(Written):
    """A conversation from a capture file: its application data in new sessions, with the addresses and ports of the
    entry. Segments, acknowledgements and retransmissions are new.
    """

    file: str
    """Capture file, pcap or pcapng, relative to the profile."""
    conversation: int | None = None
    """Number of the conversation, from 1 in the order of first packets. Default: 1."""
    timing: Literal["fast", "as_captured"] | None = None
    """Timing of the ends. Default: fast."""
    answer_delay: str | None = None
    """Time that the server waits before each of its responses, besides the pauses of the capture."""
    datagram_max: str | None = None
    """Longest payload of a datagram; longer ones are cut. Default: as captured."""
    reset: Literal["keep", "close"] | None = None
    """End of a conversation that a reset ended in the capture. Default: keep."""


@dataclass(kw_only=True)
class Member(Written):
    """An application of a mix."""

    name: str
    """Name in the result."""
    app: AppOr
    """Application."""
    weight: int | None = None
    """Share of sessions relative to the other members. Default: 1."""
    ports: int | float | str | None = None
    """Server ports of this application, by which servers distinguish applications. Default: the ports of 'server',
    or the application's own.
    """


@dataclass(kw_only=True)
class Tunnel(Written):
    """A tunnel through an explicit proxy."""

    to: TextOr
    """Where it leads: a name or address, and a port: 'www.example.com:443'."""
    headers: Mapping[str, TextOr] | None = None
    """More header fields of the request, in this order."""


@dataclass(kw_only=True)
class Tls(Written):
    """Encryption around the application: TLS 1.2 and 1.3. That of HTTP/3 is QUIC's, of TLS 1.3 alone."""

    versions: int | float | str | Sequence[int | float | str] | None = None
    """Versions to offer and accept. Default: 1.2 and 1.3."""
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
    """Cipher suites in order of preference. Default: all supported."""
    groups: (
        Literal["x25519", "secp256r1", "secp384r1", "secp521r1", "X25519MLKEM768"]
        | Sequence[Literal["x25519", "secp256r1", "secp384r1", "secp521r1", "X25519MLKEM768"]]
        | None
    ) = None
    """Key exchange groups in order of preference. Default: all supported."""
    alpn: str | Sequence[str] | None = None
    """Application protocols (ALPN) in order of preference. Default: for http the protocols of its 'version', 'h3',
    'h2' and 'http/1.1', else none.
    """
    server_name: TextOr | None = None
    """Server name in the handshake (SNI). Default: the host of http if it is a name, otherwise 'eagre.test' with
    emulated servers.
    """
    resumption: int | None = None
    """Number of TLS sessions clients keep for resumption. Default: full handshakes only."""
    verify: Literal["none", "nothing", "generated"] | Mapping[str, Any] | None = None
    """Verification of server certificates by clients. Default: 'none'."""
    key_share: KeyShare | Mapping[str, Any] | None = None
    """Key shares of clients. Default: one for each handshake."""
    certificate: Certificate | Mapping[str, Any] | None = None
    """Certificate of the server. Default: one generated for the run."""
    key: Literal["ecdsa-p256", "ecdsa-p384", "rsa-2048"] | None = None
    """Key type of the generated certificate. Default: ecdsa-p256."""
    names: str | Sequence[str] | None = None
    """Names in the generated certificate. Default: the names of 'server_name'."""
    tickets: int | None = None
    """Number of tickets servers issue to each client; 0 disables resumption. Default: 2."""
    client_certificate: Certificate | Mapping[str, Any] | None = None
    """Certificate of clients, for servers that request one."""
    client_roots: str | None = None
    """File of root certificates (PEM) to verify clients against. Default: clients need no certificate."""
    key_log: str | None = None
    """File that the secrets of connections are appended to (RFC 9850), to decrypt captures. Clients write them, or
    the servers if clients are external. Default: none.
    """


@dataclass(kw_only=True)
class KeyShare(Written):
    """Shares of the key exchange."""

    reuse: int
    """Number of handshakes that one share serves: less work than any real client's. Each core makes its own."""


@dataclass(kw_only=True)
class Certificate(Written):
    """Certificate and key in PEM files, relative to the profile."""

    chain: str
    """Certificate chain without the root."""
    key: str
    """Private key."""


@dataclass(kw_only=True)
class Open(Written):
    """Rate of opening sessions: a rate ('10000/s', '10k/s'), 'max' for as fast as 'concurrent' allows, or a mapping
    with one of the keys below.
    """

    ramp: Ramp | Mapping[str, Any] | None = None
    """A ramp from zero to a rate, a plateau, and a ramp back to zero."""
    curve: OpenCurve | Mapping[str, Any] | None = None
    """A rate over time."""


OpenOr: TypeAlias = "str | Open | Mapping[str, Any]"
"""Rate of opening sessions: a rate ('10000/s', '10k/s'), 'max' for as fast as 'concurrent' allows, or a mapping
with one of the keys below.
"""


@dataclass(kw_only=True)
class Ramp(Written):
    """A ramp from zero to a rate, a plateau, and a ramp back to zero."""

    rate: str
    """Rate of the plateau."""
    up: str | None = None
    """Time to reach the rate. Default: 0s."""
    hold: str | None = None
    """Length of the plateau. Default: until the ramp down must start to end with the run."""
    down: str | None = None
    """Time to fall to zero. Default: 0s."""


@dataclass(kw_only=True)
class OpenCurve(Written):
    """A rate over time."""

    points: Sequence[OpenPoint | Mapping[str, Any]]
    """Points of the curve at increasing times. The first rate also applies before, the last one after."""
    shape: Literal["linear", "steps"] | None = None
    """Shape between two points. Default: linear."""


@dataclass(kw_only=True)
class OpenPoint(Written):
    """A point of a curve."""

    at: str
    """Time since 'start_delay'."""
    rate: str
    """Rate at that time; zero is allowed."""


@dataclass(kw_only=True)
class Quic(Written):
    """QUIC of both ends."""

    early_data: bool | None = None
    """Clients that resume a session ('tls: {resumption: …}') send requests, and messages of 'raw' and 'program', in
    their first packets (0-RTT), where the server has allowed it; emulated servers allow and accept it. Such packets
    may be replayed. Default: false.
    """
    retry: bool | None = None
    """Emulated servers have clients prove their address first, by a Retry packet (RFC 9000 section 8.1.2). Default:
    false.
    """
    migrate: Migrate | Mapping[str, Any] | None = None
    """Have clients change their UDP port while connections last. Default: never."""
    key_update: int | None = None
    """Number of packets after which clients update their keys (RFC 9001 section 6). Default: never."""
    datagrams: bool | None = None
    """Send each message of a program in a DATAGRAM frame (RFC 9221), which is not sent again if it is lost, and not
    on a stream. Of 'raw' and 'program'. Default: false.
    """
    streams: int | None = None
    """Number of streams that a client opens at a time, on each of which both ends run their programs. Of 'raw' and
    'program'. Default: 1.
    """
    unidirectional: bool | None = None
    """Have each end send on its own unidirectional stream, the server's in the order of its client's. Of 'raw' and
    'program'. Default: false.
    """


@dataclass(kw_only=True)
class Protocol(Written):
    """A program that runs in the network namespace of a port's hosts, from before traffic starts until the run
    ends. In 'config', 'command' and 'ready', '${folder}' is its folder, '${interface}' the interface of the port's
    first host there, and '${address}' the first address of that host.
    """

    port: str
    """Port in whose 'punt' namespace it runs."""
    name: str | None = None
    """Name in messages and the result. Default: the daemon's, or the command's."""
    daemon: Literal["bird", "frr", "gobgp", "lldpd"] | None = None
    """Daemon that Eagre knows how to start, to wait for and to end. Either this or 'command'."""
    command: Sequence[str] | None = None
    """Program and arguments. It must stay in the foreground, and end by SIGTERM."""
    config: str | None = None
    """Configuration, in the daemon's own language. With 'command', the file '${folder}/config' has it."""
    config_file: str | None = None
    """File with the configuration, relative to the profile; instead of 'config'."""
    ready: str | None = None
    """Shell command that succeeds when everything is up: sessions, adjacencies, routes. It is repeated until then;
    traffic starts afterwards. Default: the daemon responds; a 'command' runs.
    """
    timeout: str | None = None
    """Time to wait for it. Default: 30s."""
    folder: str | None = None
    """Folder for its configuration, logs and sockets, relative to the working directory. Default: a new one in the
    folder for temporary files, which the result names.
    """


@dataclass(kw_only=True)
class Load(Written):
    """Duration of the traffic, time to wait for late packets, and how sessions ramp up and down."""

    duration: str | None = None
    """Time to send. The run ends earlier when all streams have sent their counts and all sessions of all counts
    have ended. Default: 10s.
    """
    drain: str | None = None
    """Time to wait for late packets (RFC 2544 section 23). Default: 2s."""
    ramp_up: str | None = None
    """Time for sessions to reach each entry's 'open' rate, in a straight line. Does not affect entries with 'max'
    or with their own ramp or curve, nor streams, which have patterns. Default: 0s.
    """
    ramp_down: str | None = None
    """Time for sessions to fall from each entry's 'open' rate to zero at the end of the run. Default: 0s."""
    stagger: bool | None = None
    """Spread the beginnings of evenly spaced streams over up to 1 ms, so that they do not all send at once. If
    false, each begins exactly at its 'start_delay'.
    """
    multiply: int | float | str | None = None
    """Factor for 'concurrent' and the rates 'open', 'close' and 'request_rate' of all sessions. Does not affect
    streams: use '--rate'. Default: 1.
    """
    polling: PollingOr | None = None
    """Behaviour of workers while nothing is due. Default: auto."""
    on_agent_loss: OnAgentLossOr | None = None
    """Action of a run on several machines of a fleet when one of them is lost. Does not affect other runs. Default:
    stop.
    """
    integrity: Literal["signature", "full"] | None = None
    """'integrity' of streams that do not set it and carry a signature. Default: signature."""


PollingOr: TypeAlias = 'Literal["auto", "busy"]'
"""Behaviour of a worker while nothing is due."""


OnAgentLossOr: TypeAlias = 'Literal["stop", "continue"]'
"""Action of a run on several machines when one of them is lost after the start. A load is never moved to another
machine.
"""


@dataclass(kw_only=True)
class Sim(Written):
    """Links and device under test of a simulated run."""

    link: Link | Mapping[str, Any] | None = None
    """Link of every port, the same in both directions. A packet crosses two: the sender's and the receiver's."""
    router: Router | Mapping[str, Any] | None = None
    """Model router between the links. Default: none, the links form one wire."""
    switch: Switch | Mapping[str, Any] | None = None
    """Model switch between the links, in place of a router."""


@dataclass(kw_only=True)
class Link(Written):
    """A simulated link."""

    speed: str | None = None
    """Layer-1 speed of ports without 'speed'. Default: 10Gbps."""
    delay: str | None = None
    """Propagation delay of each link. Default: 0s."""
    loss: str | None = None
    """Share of frames lost on the sender's link. Default: 0%."""
    duplicate: str | None = None
    """Share of frames delivered twice. Default: 0%."""
    reorder: str | None = None
    """Share of frames delayed by 'reorder_by'. Default: 0%."""
    reorder_by: str | None = None
    """Extra delay of a reordered frame. Default: 10us."""
    corrupt: str | None = None
    """Share of frames in which one bit after the headers is flipped: Ethernet, VLAN tags, IPv4 or IPv6, UDP or TCP.
    Default: 0%.
    """
    mark: str | None = None
    """Share of the packets with ECT in their ECN field that get CE, the mark of congestion: of TCP and QUIC with
    'ecn'. Default: 0%.
    """


@dataclass(kw_only=True)
class Router(Written):
    """A model router."""

    capacity: str
    """Forwarding rate."""
    buffer: int | None = None
    """Queue length, frames; frames that find it full are dropped. Default: 512."""
    latency: str | None = None
    """Forwarding delay with an empty queue. Default: 20us."""


@dataclass(kw_only=True)
class Switch(Written):
    """A model switch, which learns addresses. Its links have one speed."""

    buffer: str | None = None
    """Memory for the waiting frames of all queues together, bytes of frames with FCS. Default: no limit."""
    queue: str | None = None
    """Memory for the waiting frames of a queue. Default: no limit."""
    queues: SwitchQueuesOr | None = None
    """Place of the queues. Default: output."""
    cut_through: bool | None = None
    """Whether frames begin to leave after their first 64 bytes, not after all of them."""
    latency: str | None = None
    """Forwarding delay with empty queues. Default: 0s."""
    addresses: int | None = None
    """Addresses in the table. Default: 8192."""


SwitchQueuesOr: TypeAlias = 'Literal["output", "input"]'
"""Place of a switch's queues."""
