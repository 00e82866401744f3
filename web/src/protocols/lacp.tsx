/** LAG members. */

import { duration, NONE, several } from "../format";
import type { LacpPortState, LacpResult } from "../types";
import { bad, known, lost, of, state, why, type Kind, type Outcome } from "./kind";

export const states: Kind<LacpPortState> = {
  caption: "LAG members", one: "LAG member", total: "lacp_ports", up: "lacp_distributing", disabled: "LACP",
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
};

/** Row of a result. */
export const outcome: Outcome<LacpResult> = ["LACP", (lacp) => {
  const [sent, received] = [lacp.tx_lacpdus, lacp.rx_lacpdus].map((n) => several(n, "LACPDU"));
  const after = lacp.distributing_after_s == null ? NONE : `distributing after ${duration(lacp.distributing_after_s)}`;
  return [lacp.state, after, sent!, received!, lost(lacp.flaps)];
}];
