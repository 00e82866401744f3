/** Control protocols of a run's hosts: their state while it runs, and at the end in its result. */

import type { ComponentChildren } from "preact";
import { count, duration, NONE, several, time } from "./format";
import { Announcement, Panel } from "./parts";
import { usePoll } from "./poll";
import { type Row, Table } from "./tables";
import type { LldpNeighbourResult, PortResult, ProtocolCounts, ProtocolStates, ResultDocument } from "./types";

/** Rows of each kind that are shown; all are in the API's response without `limit`. */
const SHOWN_MAX = 100;
/** Polling interval, ms. */
const EVERY_MS = 1_000;

type Lists = Omit<ProtocolStates, "counts">;
type Key = keyof Lists;
type Cell = ComponentChildren;

/** How the hosts of one protocol are listed: its columns and counts. A protocol is one of these, and nothing else. */
interface Kind<T> {
  caption: string;
  /** Name of its rows, as the head of the first column. */
  one: string;
  total: keyof ProtocolCounts;
  /** Those of them that are up, if all are to be. */
  up?: keyof ProtocolCounts;
  /** The counts in words. */
  said: (counts: ProtocolCounts) => string;
  /** A row's name, and a key that no other row has. */
  name: (row: T) => string;
  key: (row: T) => string;
  columns: [string, (row: T) => Cell][];
}

/** A state in a word, with a sign. */
const state = (up: boolean, word: string): Cell => (up ? <span class="good">✓ {word}</span> : <span class="warn">◔ {word}</span>);
const since = (s: number | null | undefined) => (s == null ? NONE : duration(s));
const bad = (n: number) => (n ? <span class="bad">✕ {count(n)}</span> : "0");
const why = (reason: string | null | undefined) => (reason ? <span class="why">{reason}</span> : NONE);
const known = (text: string | number | null | undefined) => text ?? NONE;
const sum = (numbers: object) => Object.values(numbers).reduce<number>((all, n) => all + n, 0);
const of = (n: number, all: number, noun: string) => `${count(n)} of ${several(all, noun)}`;
const word = (text: string, isDown: boolean) => (isDown ? "taken down" : text.replaceAll("_", " "));
/** A lease's duration: 2³² − 1 s is for ever (RFC 2131 section 3.3). */
const lease = (s: number | null) => (s === 0xffffffff ? "ever" : since(s));

const KINDS: { [K in Key]: Kind<Lists[K][number]> } = {
  bgp: {
    caption: "BGP sessions", one: "BGP peer", total: "bgp_peers", up: "bgp_established",
    said: (n) => `${of(n.bgp_established, n.bgp_peers, "BGP session")} established`,
    name: (peer) => peer.name || peer.remote,
    key: (peer) => `${peer.port} ${peer.local} ${peer.remote}`,
    columns: [
      ["Speaker", (peer) => `${peer.local} on ${peer.port}`],
      ["State", (peer) => state(peer.state === "established", word(peer.state, peer.is_down))],
      ["Since", (peer) => since(peer.established_for_s)],
      ["Advertised", (peer) => count(peer.advertised)],
      ["Withdrawn", (peer) => count(peer.withdrawn)],
      ["Received", (peer) => count(peer.received)],
      ["Flaps", (peer) => bad(peer.flaps)],
      ["Reason", (peer) => why(peer.reason)],
    ],
  },
  ospf: {
    caption: "OSPF routers", one: "OSPF router", total: "ospf_routers", up: "ospf_full",
    said: (n) => `${of(n.ospf_full, n.ospf_routers, "OSPF router")} with a full adjacency`,
    name: (router) => `${router.name || router.router_id}${router.version === 3 ? " (OSPFv3)" : ""}`,
    key: (router) => `${router.port} ${router.version} ${router.instance} ${router.router_id}`,
    columns: [
      ["Host", (router) => `${router.local} on ${router.port}`],
      ["Area", (router) => router.area],
      ["State", (router) => state(router.state === "full", word(router.state, router.is_down))],
      ["Since", (router) => since(router.full_for_s)],
      ["Neighbour", (router) => known(router.neighbour)],
      ["Advertised", (router) => count(router.advertised)],
      ["Withdrawn", (router) => count(router.withdrawn)],
      ["LSAs held", (router) => count(sum(router.database))],
      ["Flaps", (router) => bad(router.flaps)],
      ["Reason", (router) => why(router.reason)],
    ],
  },
  isis: {
    caption: "IS-IS routers", one: "IS-IS router", total: "isis_routers", up: "isis_up",
    said: (n) => `${of(n.isis_up, n.isis_routers, "IS-IS router")} with adjacencies`,
    name: (router) => router.name || router.system_id,
    key: (router) => `${router.port} ${router.system_id}`,
    columns: [
      ["Host", (router) => `${router.local} on ${router.port}`],
      ["Area", (router) => router.area],
      ["Level", (router) => router.level],
      ["State", (router) => state(router.up_for_s != null, word(router.state, router.is_down))],
      ["Since", (router) => since(router.up_for_s)],
      ["Neighbour", (router) => known(router.neighbour ?? router.neighbour_id)],
      ["Advertised", (router) => count(router.advertised)],
      ["Withdrawn", (router) => count(router.withdrawn)],
      ["LSPs held", (router) => count(router.database.level_1 + router.database.level_2)],
      ["Flaps", (router) => bad(router.flaps)],
      ["Reason", (router) => why(router.reason)],
    ],
  },
  vrrp: {
    caption: "Virtual routers", one: "Virtual router", total: "vrrp_routers",
    said: (n) => `${of(n.vrrp_active, n.vrrp_routers, "virtual router")} Active`,
    name: ({ router }) => router.name || `VRID ${router.vrid}`,
    key: ({ port, router }) => `${port} ${router.host} ${router.vrid} ${router.addresses[0]}`,
    columns: [
      ["Host", ({ port, router }) => `${router.local} on ${port}`],
      ["VRID", ({ router }) => router.vrid],
      ["State", ({ router, is_down }) => (is_down ? state(false, "left") : router.state === "initialize" ? state(false, "initialize") : state(true, router.state))],
      ["Addresses", ({ router }) => router.addresses.join(", ")],
      ["Priority", ({ router }) => router.priority],
      ["Other router", ({ router }) => (router.peer ? `${router.peer}, priority ${router.peer_priority ?? NONE}` : NONE)],
      ["Became Active", ({ router }) => count(router.became_active)],
      ["Latest takeover", ({ router }) => time(router.takeover_s == null ? null : router.takeover_s * 1e9)],
      ["Advertisements", ({ router }) => `${count(router.tx_advertisements)} sent, ${count(router.rx_advertisements)} received`],
    ],
  },
  dhcp: {
    caption: "DHCP clients", one: "DHCP client", total: "dhcp_clients", up: "dhcp_leases",
    said: (n) => `${of(n.dhcp_leases, n.dhcp_clients, "DHCP client")} with a lease`,
    name: (client) => client.mac,
    key: (client) => `${client.port} ${client.client}`,
    columns: [
      ["Port", (client) => client.port],
      ["State", (client) => state(client.ip != null, client.ip ? "leased" : "no lease")],
      ["Address", (client) => known(client.ip)],
      ["Server", (client) => known(client.server)],
      ["Lease since", (client) => since(client.leased_for_s)],
      ["Lease of", (client) => lease(client.lease_s)],
    ],
  },
  dhcpv6: {
    caption: "DHCPv6 clients", one: "DHCPv6 client", total: "dhcpv6_clients", up: "dhcpv6_leases",
    said: (n) => `${of(n.dhcpv6_leases, n.dhcpv6_clients, "DHCPv6 client")} with a lease`,
    name: (client) => client.mac,
    key: (client) => `${client.port} ${client.client}`,
    columns: [
      ["Port", (client) => client.port],
      ["State", (client) => state(client.ip != null || client.prefix != null, client.ip != null || client.prefix != null ? "leased" : "no lease")],
      ["Address", (client) => known(client.ip)],
      ["Prefix", (client) => (client.prefix == null ? NONE : `${client.prefix}/${client.prefix_len}`)],
      ["Server", (client) => known(client.server)],
      ["Lease of", (client) => lease(client.valid_s)],
    ],
  },
  pppoe: {
    caption: "PPPoE clients", one: "PPPoE client", total: "pppoe_clients", up: "pppoe_sessions",
    said: (n) => `${of(n.pppoe_sessions, n.pppoe_clients, "PPPoE client")} with a session`,
    name: (client) => client.mac,
    key: (client) => `${client.port} ${client.client}`,
    columns: [
      ["Port", (client) => client.port],
      ["State", (client) => state(client.phase === "up", client.phase)],
      ["Address", (client) => known(client.ip)],
      ["Session", (client) => known(client.session)],
      ["Access concentrator", (client) => known(client.ac)],
      ["Up for", (client) => since(client.up_for_s)],
      ["Lost", (client) => lost(client.lost)],
      ["Last failure", (client) => known(client.failure)],
    ],
  },
  lacp: {
    caption: "LAG members", one: "LAG member", total: "lacp_ports", up: "lacp_distributing",
    said: (n) => `${of(n.lacp_distributing, n.lacp_ports, "LAG member")} distributing`,
    name: ({ port }) => port,
    key: ({ port }) => port,
    columns: [
      ["Lag", ({ lacp }) => lacp.lag],
      ["State", ({ lacp, is_down }) => state(lacp.state === "distributing", is_down ? "disabled" : lacp.state)],
      ["Partner", ({ lacp }) => known(lacp.partner?.system)],
      ["Its key", ({ lacp }) => known(lacp.partner?.key)],
      ["Its port", ({ lacp }) => known(lacp.partner?.port)],
      ["Flaps", ({ lacp }) => bad(lacp.flaps)],
      ["Reason", ({ lacp }) => why(lacp.reason)],
    ],
  },
  lldp: {
    caption: "LLDP agents", one: "LLDP agents of", total: "lldp_ports",
    said: (n) => several(n.lldp_neighbours, "LLDP neighbour"),
    name: ({ port }) => port,
    key: ({ port }) => port,
    columns: [
      ["State", ({ is_down }) => state(!is_down, is_down ? "disabled" : "enabled")],
      ["Neighbours", ({ agents }) => count(agents.neighbours.length)],
      ["Sent", ({ agents }) => count(agents.tx_frames)],
      ["Received", ({ agents }) => count(agents.rx_frames)],
    ],
  },
  groups: {
    caption: "Multicast groups", one: "Multicast group", total: "groups",
    said: (n) => `${several(n.groups, "multicast group")} joined`,
    name: (group) => group.group,
    key: (group) => `${group.port} ${group.group}`,
    columns: [
      ["Port", (group) => group.port],
      ["Sources", ({ exclude, sources }) => (exclude ? (sources.length ? `all but ${sources.join(", ")}` : "all") : sources.join(", "))],
      ["Since", (group) => duration(group.joined_for_s)],
    ],
  },
};

const KEYS = Object.keys(KINDS) as Key[];

/** Protocols of an active run, polled if there are any. */
export function LiveProtocols({ id }: { id: string }) {
  const path = `runs/${encodeURIComponent(id)}/protocols?limit=${SHOWN_MAX}`;
  const first = usePoll<ProtocolStates>(path, 0).value;
  return first && KEYS.some((key) => first.counts[KINDS[key].total] > 0) ? <Polled path={path} first={first} /> : null;
}

function Polled({ path, first }: { path: string; first: ProtocolStates }) {
  const states = usePoll<ProtocolStates>(path, EVERY_MS).value ?? first;
  const { counts } = states;
  const here = KEYS.filter((key) => counts[KINDS[key].total] > 0);
  const judged = here.filter((key) => KINDS[key].up);
  const settled = judged.every((key) => counts[KINDS[key].up!] === counts[KINDS[key].total]);
  const neighbours = states.lldp.flatMap(({ port, agents }) => agents.neighbours.map((row) => neighbour(port, row)));
  const off = (name: string, ports: { port: string; is_down: boolean }[]) => {
    const those = ports.filter((port) => port.is_down).map((port) => port.port);
    return those.length > 0 && <p class="muted">{name} is disabled on {those.join(", ")}.</p>;
  };
  return (
    <Panel title="Protocols">
      <p>{here.map((key) => KINDS[key].said(counts)).join(" · ")}.</p>
      {judged.length > 0 && <Announcement text={settled ? "All sessions, leases and LAGs are up." : "Not all sessions, leases and LAGs are up."} />}
      {off("LLDP", states.lldp)}
      {off("LACP", states.lacp)}
      {here.map((key) => <States key={key} kind={KINDS[key] as Kind<unknown>} rows={states[key]} of={counts[KINDS[key].total]} />)}
      <Neighbours caption="LLDP neighbours" of={counts.lldp_neighbours} rows={neighbours} />
    </Panel>
  );
}

function States<T>({ kind, rows, of }: { kind: Kind<T>; rows: T[]; of: number }) {
  const table = rows.map((row) => ({ key: kind.key(row), name: kind.name(row), cells: kind.columns.map(([, cell]) => cell(row)) }));
  return <Listed caption={kind.caption} of={of} rows={table} heads={[kind.one, ...kind.columns.map(([head]) => head)]} />;
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

function Neighbours({ caption, of, rows }: { caption: string; of: number; rows: Row[] }) {
  return <Listed caption={caption} of={of} rows={rows} heads={["LLDP neighbour", "Port", "Chassis", "Its port", "Since", "Last received"]} />;
}

function neighbour(port: string, row: LldpNeighbourResult): Row {
  const cells = [port, row.chassis_id, row.port_id, duration(row.known_for_s), `${duration(row.age_s)} ago`];
  return { key: `${port} ${row.chassis_id} ${row.port_id}`, name: row.system_name ?? row.mac, cells };
}

const lost = (n: number) => (n ? <span class="bad">✕ {count(n)}</span> : "none");

/** A protocol of a port in a result: at the end, before traffic, sent, received, lost. */
type Outcome = [string, string, string, string, Cell];

/** The protocols of ports, in the order in which they are listed. */
const OUTCOMES: { [K in keyof PortResult]?: [string, (end: NonNullable<PortResult[K]>) => Outcome] } = {
  lacp: ["LACP", (lacp) => {
    const [sent, received] = [lacp.tx_lacpdus, lacp.rx_lacpdus].map((n) => several(n, "LACPDU"));
    const after = lacp.distributing_after_s == null ? NONE : `distributing after ${duration(lacp.distributing_after_s)}`;
    return [lacp.state, after, sent!, received!, lost(lacp.flaps)];
  }],
  bgp: ["BGP", (bgp) => [
    of(bgp.established_at_end, bgp.peers, "session"), of(bgp.established, bgp.peers, "session"), `${count(bgp.advertised)} routes`,
    `${count(bgp.received_ipv4 + bgp.received_ipv6)} routes`, lost(bgp.flaps),
  ]],
  ospf: ["OSPF", (ospf) => [
    `${of(ospf.full_at_end, ospf.routers, "router")} full`, `${of(ospf.full, ospf.routers, "router")} full`, `${count(ospf.advertised)} routes`,
    several(sum(ospf.database), "LSA"), lost(ospf.flaps),
  ]],
  isis: ["IS-IS", (isis) => [
    `${of(isis.up_at_end, isis.routers, "router")} up`, `${of(isis.up, isis.routers, "router")} up`, `${count(isis.advertised)} routes`,
    several(isis.database.level_1 + isis.database.level_2, "LSP"), lost(isis.flaps),
  ]],
  vrrp: ["VRRP", (vrrp) => [
    `${of(vrrp.active_at_end, vrrp.routers, "router")} Active`, NONE, several(vrrp.tx_advertisements, "advertisement"),
    several(vrrp.rx_advertisements, "advertisement"), vrrp.became_backup ? `${count(vrrp.became_backup)} became Backup` : "none",
  ]],
  dhcp: ["DHCP", (dhcp) => [
    of(dhcp.holding, dhcp.clients, "lease"), of(dhcp.bound, dhcp.clients, "lease"), several(dhcp.discovers + dhcp.requests + dhcp.releases, "message"),
    several(dhcp.offers + dhcp.acks + dhcp.naks, "message"), lost(dhcp.lost),
  ]],
  dhcpv6: ["DHCPv6", (dhcp) => [
    of(dhcp.holding, dhcp.clients, "lease"), of(dhcp.bound, dhcp.clients, "lease"),
    several(dhcp.solicits + dhcp.requests + dhcp.renews + dhcp.rebinds + dhcp.releases + dhcp.declines, "message"),
    several(dhcp.advertises + dhcp.replies, "message"), lost(dhcp.lost),
  ]],
  pppoe: ["PPPoE", (pppoe) => [
    of(pppoe.holding, pppoe.clients, "session"), of(pppoe.up, pppoe.clients, "session"), several(pppoe.padis + pppoe.padrs + pppoe.padts_sent, "packet"),
    several(pppoe.pados + pppoe.padss + pppoe.padts_received, "packet"), lost(pppoe.lost),
  ]],
  lldp: ["LLDP", (lldp) => [
    several(lldp.known, "neighbour"), NONE, several(lldp.tx_frames, "LLDPDU"), several(lldp.rx_frames, "LLDPDU"), lost(lldp.aged_out),
  ]],
  multicast: ["IGMP, MLD", (groups) => [
    `${several(groups.joined, "group")} joined, ${count(groups.left)} left`, NONE, several(groups.reports, "report"),
    groups.queries === 1 ? "1 query" : `${count(groups.queries)} queries`, NONE,
  ]],
};

/** Protocols at the end of a run. */
export function ProtocolResults({ result }: { result: ResultDocument }) {
  const ports = Object.entries(result.ports);
  const rows = ports.flatMap(([port, end]) => outcomes(port, end));
  const neighbours = ports.flatMap(([port, end]) => (end.lldp?.neighbours ?? []).map((row) => neighbour(port, row)));
  const routers = ports.flatMap(([port, end]) => (end.vrrp?.virtual_routers ?? []).map((router) => ({ port, is_down: false, router })));
  const programs = (result.protocols ?? []).map((one) => ({
    name: one.name, cells: [one.up_after_s == null ? NONE : duration(one.up_after_s), one.ended ? <span class="bad">✕ {one.ended}</span> : "ran to the end", one.logs.join(", ")],
  }));
  if (!rows.length && !programs.length) return null;
  return (
    <Panel title="Protocols">
      {rows.length > 0 && <Table caption="Protocols of the ports" heads={["Protocol", "At the end", "Before traffic", "Sent", "Received", "Lost"]} rows={rows} />}
      <States kind={KINDS.vrrp} of={routers.length} rows={routers.slice(0, SHOWN_MAX)} />
      <Neighbours caption="LLDP neighbours at the end" of={neighbours.length} rows={neighbours.slice(0, SHOWN_MAX)} />
      {programs.length > 0 && <Table caption="Programs that ran control protocols" heads={["Program", "Up after", "End", "Log files"]} rows={programs} />}
    </Panel>
  );
}

function outcomes(port: string, end: PortResult): Row[] {
  return Object.entries(OUTCOMES).flatMap(([key, outcome]) => {
    const [name, cells] = outcome as [string, (end: unknown) => Outcome];
    const found = end[key as keyof PortResult];
    return found ? [{ name: `${port}: ${name}`, cells: cells(found) }] : [];
  });
}
