/** LLDP agents. */

import { count, duration, NONE, several } from "../format";
import type { Row } from "../tables";
import type { LldpNeighbourResult, LldpPortState, LldpResult } from "../types";
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
  neighbours: {
    caption: "LLDP neighbours", heads: ["LLDP neighbour", "Port", "Chassis", "Its port", "Since", "Last received"], total: "lldp_neighbours",
    now: (all) => all.lldp.flatMap(({ port, agents }) => agents.neighbours.map((row) => neighbour(port, row))),
    ended: (port, end) => (end.lldp?.neighbours ?? []).map((row) => neighbour(port, row)),
  },
};

function neighbour(port: string, row: LldpNeighbourResult): Row {
  const cells = [port, row.chassis_id, row.port_id, duration(row.known_for_s), `${duration(row.age_s)} ago`];
  return { key: `${port} ${row.chassis_id} ${row.port_id}`, name: row.system_name ?? row.mac, cells };
}

/** Row of a result. */
export const outcome: Outcome<LldpResult> = ["LLDP", (lldp) => [
  several(lldp.known, "neighbour"), NONE, several(lldp.tx_frames, "LLDPDU"), several(lldp.rx_frames, "LLDPDU"), lost(lldp.aged_out),
]];
