/** Multicast groups. */

import { count, duration, NONE, several } from "../format";
import type { GroupState, MulticastResult } from "../types";
import { type Kind, type Outcome } from "./kind";

export const states: Kind<GroupState> = {
  caption: "Multicast groups", one: "Multicast group", total: "groups",
  said: (n) => `${several(n.groups, "multicast group")} joined`,
  name: (group) => group.group,
  key: (group) => `${group.port} ${group.group}`,
  columns: [
    ["Port", (group) => group.port],
    ["Sources", ({ exclude, sources }) => (exclude ? (sources.length ? `all but ${sources.join(", ")}` : "all") : sources.join(", "))],
    ["Since", (group) => duration(group.joined_for_s)],
  ],
};

/** Row of a result. */
export const outcome: Outcome<MulticastResult> = ["IGMP, MLD", (groups) => [
  `${several(groups.joined, "group")} joined, ${count(groups.left)} left`, NONE, several(groups.reports, "report"),
  groups.queries === 1 ? "1 query" : `${count(groups.queries)} queries`, NONE,
]];
