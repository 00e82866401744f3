/** PPPoE clients. */

import { several } from "../format";
import type { PppoeClientState, PppoeResult } from "../types";
import { known, lost, of, since, state, type Kind, type Outcome } from "./kind";

export const states: Kind<PppoeClientState> = {
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
};

/** Row of a result. */
export const outcome: Outcome<PppoeResult> = ["PPPoE", (pppoe) => [
  of(pppoe.holding, pppoe.clients, "session"), of(pppoe.up, pppoe.clients, "session"), several(pppoe.padis + pppoe.padrs + pppoe.padts_sent, "packet"),
  several(pppoe.pados + pppoe.padss + pppoe.padts_received, "packet"), lost(pppoe.lost),
]];
