/** Control protocols of a run's hosts: their state while it runs, and at the end in its result. */

import type { ComponentChildren } from "preact";
import { count, duration, NONE, several } from "./format";
import { Announcement, Panel } from "./parts";
import { usePoll } from "./poll";
import { type Row, Table } from "./tables";
import type { BgpPeerState, DhcpClientState, Dhcpv6ClientState, GroupState, IsisRouterState, LacpPortState, LldpNeighbourResult, OspfRouterState, PortResult, PppoeClientState, ProtocolCounts, ProtocolStates, ResultDocument } from "./types";

/** Rows of each kind that are shown; all are in the API's response without `limit`. */
const SHOWN_MAX = 100;
/** Polling interval, ms. */
const EVERY_MS = 1_000;

/** Protocols of an active run, polled if there are any. */
export function LiveProtocols({ id }: { id: string }) {
  const path = `runs/${encodeURIComponent(id)}/protocols?limit=${SHOWN_MAX}`;
  const first = usePoll<ProtocolStates>(path, 0).value;
  return first && any(first.counts) ? <Polled path={path} first={first} /> : null;
}

const any = (counts: ProtocolCounts) =>
  counts.bgp_peers + routers(counts) + clients(counts) + counts.lacp_ports + counts.lldp_ports + counts.groups > 0;
const routers = (counts: ProtocolCounts) => counts.ospf_routers + counts.isis_routers;
const clients = (counts: ProtocolCounts) => counts.dhcp_clients + counts.dhcpv6_clients + counts.pppoe_clients;
const leases = (counts: ProtocolCounts) => counts.dhcp_leases + counts.dhcpv6_leases + counts.pppoe_sessions;

function Polled({ path, first }: { path: string; first: ProtocolStates }) {
  const states = usePoll<ProtocolStates>(path, EVERY_MS).value ?? first;
  const { counts } = states;
  const neighbours = states.lldp.flatMap(({ port, agents }) => agents.neighbours.map((row) => ({ port, row })));
  const [off, left] = [states.lldp, states.lacp].map((ports) => ports.filter((port) => port.is_down).map((port) => port.port));
  const said = [
    counts.bgp_peers > 0 && `${count(counts.bgp_established)} of ${several(counts.bgp_peers, "BGP session")} established`,
    counts.ospf_routers > 0 && `${count(counts.ospf_full)} of ${several(counts.ospf_routers, "OSPF router")} with a full adjacency`,
    counts.isis_routers > 0 && `${count(counts.isis_up)} of ${several(counts.isis_routers, "IS-IS router")} with adjacencies`,
    counts.dhcp_clients > 0 && `${count(counts.dhcp_leases)} of ${several(counts.dhcp_clients, "DHCP client")} with a lease`,
    counts.dhcpv6_clients > 0 && `${count(counts.dhcpv6_leases)} of ${several(counts.dhcpv6_clients, "DHCPv6 client")} with a lease`,
    counts.pppoe_clients > 0 && `${count(counts.pppoe_sessions)} of ${several(counts.pppoe_clients, "PPPoE client")} with a session`,
    counts.lacp_ports > 0 && `${count(counts.lacp_distributing)} of ${several(counts.lacp_ports, "LAG member")} distributing`,
    counts.lldp_ports > 0 && several(counts.lldp_neighbours, "LLDP neighbour"),
    counts.groups > 0 && `${several(counts.groups, "multicast group")} joined`,
  ].filter(Boolean);
  const distributes = counts.lacp_distributing === counts.lacp_ports;
  const speaks = counts.bgp_established === counts.bgp_peers && counts.ospf_full + counts.isis_up === routers(counts);
  const settled = speaks && leases(counts) === clients(counts) && distributes;
  const all = counts.bgp_peers + routers(counts) + clients(counts) + counts.lacp_ports > 0;
  return (
    <Panel title="Protocols">
      <p>{said.join(" · ")}.</p>
      {all && <Announcement text={settled ? "All sessions, leases and LAGs are up." : "Not all sessions, leases and LAGs are up."} />}
      {off.length > 0 && <p class="muted">LLDP is disabled on {off.join(", ")}.</p>}
      {left.length > 0 && <p class="muted">LACP is disabled on {left.join(", ")}.</p>}
      <Listed caption="BGP sessions" of={counts.bgp_peers} rows={states.bgp.map(peer)}
        heads={["BGP peer", "Speaker", "State", "Since", "Advertised", "Withdrawn", "Received", "Flaps", "Reason"]} />
      <Listed caption="OSPF routers" of={counts.ospf_routers} rows={states.ospf.map(router)}
        heads={["OSPF router", "Host", "Area", "State", "Since", "Neighbour", "Advertised", "Withdrawn", "LSAs held", "Flaps", "Reason"]} />
      <Listed caption="IS-IS routers" of={counts.isis_routers} rows={states.isis.map(isisRouter)}
        heads={["IS-IS router", "Host", "Area", "Level", "State", "Since", "Neighbour", "Advertised", "Withdrawn", "LSPs held", "Flaps", "Reason"]} />
      <Listed caption="DHCP clients" of={counts.dhcp_clients} rows={states.dhcp.map(client)}
        heads={["DHCP client", "Port", "State", "Address", "Server", "Lease since", "Lease of"]} />
      <Listed caption="DHCPv6 clients" of={counts.dhcpv6_clients} rows={states.dhcpv6.map(client6)}
        heads={["DHCPv6 client", "Port", "State", "Address", "Prefix", "Server", "Lease of"]} />
      <Listed caption="PPPoE clients" of={counts.pppoe_clients} rows={states.pppoe.map(subscriber)}
        heads={["PPPoE client", "Port", "State", "Address", "Session", "Access concentrator", "Up for", "Lost", "Last failure"]} />
      <Listed caption="LAG members" of={counts.lacp_ports} rows={states.lacp.map(lagPort)}
        heads={["LAG member", "Lag", "State", "Partner", "Its key", "Its port", "Flaps", "Reason"]} />
      <Listed caption="LLDP neighbours" of={counts.lldp_neighbours} rows={neighbours.map(({ port, row }) => neighbour(port, row))}
        heads={["LLDP neighbour", "Port", "Chassis", "Its port", "Since", "Last received"]} />
      <Listed caption="Multicast groups" of={counts.groups} rows={states.groups.map(group)} heads={["Multicast group", "Port", "Sources", "Since"]} />
    </Panel>
  );
}

function Listed({ caption, heads, rows, of }: { caption: string; heads: string[]; rows: Row[]; of: number }) {
  if (!rows.length) return null;
  return (
    <>
      <Table caption={caption} heads={heads} rows={rows} />
      {of > rows.length && <p class="muted">{several(of - rows.length, "more row")} at <code>/runs/…/protocols</code>.</p>}
    </>
  );
}

/** A state in a word, with a sign. */
const state = (up: boolean, word: string): ComponentChildren => (up ? <span class="good">✓ {word}</span> : <span class="warn">◔ {word}</span>);
const since = (s: number | null | undefined) => (s == null ? NONE : duration(s));

function peer(peer: BgpPeerState): Row {
  const word = peer.is_down ? "taken down" : peer.state.replace("_", " ");
  return {
    key: `${peer.port} ${peer.local} ${peer.remote}`,
    name: peer.name || peer.remote,
    cells: [
      `${peer.local} on ${peer.port}`, state(peer.state === "established", word), since(peer.established_for_s), count(peer.advertised), count(peer.withdrawn),
      count(peer.received), peer.flaps ? <span class="bad">✕ {count(peer.flaps)}</span> : "0", peer.reason ? <span class="why">{peer.reason}</span> : NONE,
    ],
  };
}

function router(router: OspfRouterState): Row {
  const word = router.is_down ? "taken down" : router.state.replace("_", " ");
  const held = Object.values(router.database).reduce((sum, n) => sum + n, 0);
  return {
    key: `${router.port} ${router.version} ${router.router_id}`,
    name: `${router.name || router.router_id}${router.version === 3 ? " (OSPFv3)" : ""}`,
    cells: [
      `${router.local} on ${router.port}`, router.area, state(router.state === "full", word), since(router.full_for_s), router.neighbour ?? NONE, count(router.advertised),
      count(router.withdrawn), count(held), router.flaps ? <span class="bad">✕ {count(router.flaps)}</span> : "0", router.reason ? <span class="why">{router.reason}</span> : NONE,
    ],
  };
}

function isisRouter(router: IsisRouterState): Row {
  const held = router.database.level_1 + router.database.level_2;
  return {
    key: `${router.port} ${router.system_id}`,
    name: router.name || router.system_id,
    cells: [
      `${router.local} on ${router.port}`, router.area, router.level, state(router.up_for_s != null, router.is_down ? "taken down" : router.state), since(router.up_for_s),
      router.neighbour ?? router.neighbour_id ?? NONE, count(router.advertised), count(router.withdrawn), count(held),
      router.flaps ? <span class="bad">✕ {count(router.flaps)}</span> : "0", router.reason ? <span class="why">{router.reason}</span> : NONE,
    ],
  };
}

function client(client: DhcpClientState): Row {
  const lease = client.lease_s === 0xffffffff ? "ever" : since(client.lease_s);
  const cells = [client.port, state(client.ip != null, client.ip ? "leased" : "no lease"), client.ip ?? NONE, client.server ?? NONE, since(client.leased_for_s), lease];
  return { key: `${client.port} ${client.client}`, name: client.mac, cells };
}

function client6(client: Dhcpv6ClientState): Row {
  const leased = client.ip != null || client.prefix != null;
  const lease = client.valid_s === 0xffffffff ? "ever" : since(client.valid_s);
  const prefix = client.prefix == null ? NONE : `${client.prefix}/${client.prefix_len}`;
  const cells = [client.port, state(leased, leased ? "leased" : "no lease"), client.ip ?? NONE, prefix, client.server ?? NONE, lease];
  return { key: `${client.port} ${client.client}`, name: client.mac, cells };
}

function subscriber(client: PppoeClientState): Row {
  const cells = [
    client.port, state(client.phase === "up", client.phase), client.ip ?? NONE, client.session ?? NONE, client.ac ?? NONE, since(client.up_for_s),
    lost(client.lost), client.failure ?? NONE,
  ];
  return { key: `${client.port} ${client.client}`, name: client.mac, cells };
}

function neighbour(port: string, row: LldpNeighbourResult): Row {
  const cells = [port, row.chassis_id, row.port_id, duration(row.known_for_s), `${duration(row.age_s)} ago`];
  return { key: `${port} ${row.chassis_id} ${row.port_id}`, name: row.system_name ?? row.mac, cells };
}

function lagPort({ port, is_down, lacp }: LacpPortState): Row {
  const { partner } = lacp;
  const word = is_down ? "disabled" : lacp.state;
  const cells = [
    lacp.lag, state(lacp.state === "distributing", word), partner?.system ?? NONE, partner?.key ?? NONE, partner?.port ?? NONE,
    lacp.flaps ? <span class="bad">✕ {count(lacp.flaps)}</span> : "0", lacp.reason ? <span class="why">{lacp.reason}</span> : NONE,
  ];
  return { key: port, name: port, cells };
}

function group(group: GroupState): Row {
  const sources = group.exclude ? (group.sources.length ? `all but ${group.sources.join(", ")}` : "all") : group.sources.join(", ");
  return { key: `${group.port} ${group.group}`, name: group.group, cells: [group.port, sources, duration(group.joined_for_s)] };
}

/** Protocols at the end of a run. */
export function ProtocolResults({ result }: { result: ResultDocument }) {
  const ports = Object.entries(result.ports);
  const rows = ports.flatMap(([port, of]) => outcomes(port, of));
  const neighbours = ports.flatMap(([port, of]) => (of.lldp?.neighbours ?? []).map((row) => neighbour(port, row)));
  if (!rows.length) return null;
  return (
    <Panel title="Protocols">
      <Table caption="Protocols of the ports" heads={["Protocol", "At the end", "Before traffic", "Sent", "Received", "Lost"]} rows={rows} />
      <Listed caption="LLDP neighbours at the end" of={neighbours.length} rows={neighbours.slice(0, SHOWN_MAX)}
        heads={["LLDP neighbour", "Port", "Chassis", "Its port", "Since", "Last received"]} />
    </Panel>
  );
}

const lost = (n: number) => (n ? <span class="bad">✕ {count(n)}</span> : "none");

function outcomes(port: string, { bgp, dhcp, dhcpv6, isis, lacp, lldp, multicast, ospf, pppoe }: PortResult): Row[] {
  const rows: Row[] = [];
  if (lacp) {
    const [sent, received] = [lacp.tx_lacpdus, lacp.rx_lacpdus].map((n) => several(n, "LACPDU"));
    const after = lacp.distributing_after_s == null ? NONE : `distributing after ${duration(lacp.distributing_after_s)}`;
    rows.push({ name: `${port}: LACP`, cells: [lacp.state, after, sent, received, lost(lacp.flaps)] });
  }
  if (bgp) {
    const [end, begin] = [bgp.established_at_end, bgp.established].map((n) => `${count(n)} of ${several(bgp.peers, "session")}`);
    const received = count(bgp.received_ipv4 + bgp.received_ipv6);
    rows.push({ name: `${port}: BGP`, cells: [end, begin, `${count(bgp.advertised)} routes`, `${received} routes`, lost(bgp.flaps)] });
  }
  if (ospf) {
    const [end, begin] = [ospf.full_at_end, ospf.full].map((n) => `${count(n)} of ${several(ospf.routers, "router")} full`);
    const received = Object.values(ospf.database).reduce((sum, n) => sum + n, 0);
    rows.push({ name: `${port}: OSPF`, cells: [end, begin, `${count(ospf.advertised)} routes`, several(received, "LSA"), lost(ospf.flaps)] });
  }
  if (isis) {
    const [end, begin] = [isis.up_at_end, isis.up].map((n) => `${count(n)} of ${several(isis.routers, "router")} up`);
    const received = several(isis.database.level_1 + isis.database.level_2, "LSP");
    rows.push({ name: `${port}: IS-IS`, cells: [end, begin, `${count(isis.advertised)} routes`, received, lost(isis.flaps)] });
  }
  if (dhcp) {
    const [end, begin] = [dhcp.holding, dhcp.bound].map((n) => `${count(n)} of ${several(dhcp.clients, "lease")}`);
    const received = dhcp.offers + dhcp.acks + dhcp.naks;
    const sent = dhcp.discovers + dhcp.requests + dhcp.releases;
    rows.push({ name: `${port}: DHCP`, cells: [end, begin, several(sent, "message"), several(received, "message"), lost(dhcp.lost)] });
  }
  if (dhcpv6) {
    const [end, begin] = [dhcpv6.holding, dhcpv6.bound].map((n) => `${count(n)} of ${several(dhcpv6.clients, "lease")}`);
    const received = dhcpv6.advertises + dhcpv6.replies;
    const sent = dhcpv6.solicits + dhcpv6.requests + dhcpv6.renews + dhcpv6.rebinds + dhcpv6.releases + dhcpv6.declines;
    rows.push({ name: `${port}: DHCPv6`, cells: [end, begin, several(sent, "message"), several(received, "message"), lost(dhcpv6.lost)] });
  }
  if (pppoe) {
    const [end, begin] = [pppoe.holding, pppoe.up].map((n) => `${count(n)} of ${several(pppoe.clients, "session")}`);
    const [sent, received] = [pppoe.padis + pppoe.padrs + pppoe.padts_sent, pppoe.pados + pppoe.padss + pppoe.padts_received];
    rows.push({ name: `${port}: PPPoE`, cells: [end, begin, several(sent, "packet"), several(received, "packet"), lost(pppoe.lost)] });
  }
  if (lldp) {
    const [sent, received] = [lldp.tx_frames, lldp.rx_frames].map((n) => several(n, "LLDPDU"));
    rows.push({ name: `${port}: LLDP`, cells: [several(lldp.known, "neighbour"), NONE, sent, received, lost(lldp.aged_out)] });
  }
  if (multicast) {
    const cells = [`${several(multicast.joined, "group")} joined, ${count(multicast.left)} left`, NONE, several(multicast.reports, "report")];
    rows.push({ name: `${port}: IGMP, MLD`, cells: [...cells, multicast.queries === 1 ? "1 query" : `${count(multicast.queries)} queries`, NONE] });
  }
  return rows;
}
