/** LLDP agents. */

import { count, NONE, several } from "../format";
import type { LldpPortState, LldpResult } from "../types";
import { lost, state, type Kind, type Outcome } from "./kind";

export const states: Kind<LldpPortState> = {
  caption: "LLDP agents", one: "LLDP agents of", total: "lldp_ports", disabled: "LLDP",
  said: (n) => several(n.lldp_neighbours, "LLDP neighbour"),
  name: ({ port }) => port,
  key: ({ port }) => port,
  columns: [
    ["State", ({ is_down }) => state(!is_down, is_down ? "disabled" : "enabled")],
    ["Neighbours", ({ agents }) => count(agents.neighbours.length)],
    ["Sent", ({ agents }) => count(agents.tx_frames)],
    ["Received", ({ agents }) => count(agents.rx_frames)],
  ],
};

/** Row of a result. */
export const outcome: Outcome<LldpResult> = ["LLDP", (lldp) => [
  several(lldp.known, "neighbour"), NONE, several(lldp.tx_frames, "LLDPDU"), several(lldp.rx_frames, "LLDPDU"), lost(lldp.aged_out),
]];
