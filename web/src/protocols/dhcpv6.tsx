/** DHCPv6 clients. */

import { NONE, several } from "../format";
import type { Dhcpv6ClientState, Dhcpv6Result } from "../types";
import { known, lease, lost, of, state, type Kind, type Outcome } from "./kind";

export const states: Kind<Dhcpv6ClientState> = {
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
};

/** Row of a result. */
export const outcome: Outcome<Dhcpv6Result> = ["DHCPv6", (dhcp) => [
  of(dhcp.holding, dhcp.clients, "lease"), of(dhcp.bound, dhcp.clients, "lease"),
  several(dhcp.solicits + dhcp.requests + dhcp.renews + dhcp.rebinds + dhcp.releases + dhcp.declines, "message"),
  several(dhcp.advertises + dhcp.replies, "message"), lost(dhcp.lost),
]];
