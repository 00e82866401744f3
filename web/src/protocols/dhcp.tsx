/** DHCP clients. */

import { several } from "../format";
import type { DhcpClientState, DhcpResult } from "../types";
import { known, lease, lost, of, since, state, type Kind, type Outcome } from "./kind";

export const states: Kind<DhcpClientState> = {
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
};

/** Row of a result. */
export const outcome: Outcome<DhcpResult> = ["DHCP", (dhcp) => [
  of(dhcp.holding, dhcp.clients, "lease"), of(dhcp.bound, dhcp.clients, "lease"), several(dhcp.discovers + dhcp.requests + dhcp.releases, "message"),
  several(dhcp.offers + dhcp.acks + dhcp.naks, "message"), lost(dhcp.lost),
]];
