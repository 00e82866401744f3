/** OSPF routers. */

import { count, several } from "../format";
import type { OspfResult, OspfRouterState } from "../types";
import { bad, known, lost, of, since, state, sum, why, word, type Kind, type Outcome } from "./kind";

export const states: Kind<OspfRouterState> = {
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
};

/** Row of a result. */
export const outcome: Outcome<OspfResult> = ["OSPF", (ospf) => [
  `${of(ospf.full_at_end, ospf.routers, "router")} full`, `${of(ospf.full, ospf.routers, "router")} full`, `${count(ospf.advertised)} routes`,
  several(sum(ospf.database), "LSA"), lost(ospf.flaps),
]];
