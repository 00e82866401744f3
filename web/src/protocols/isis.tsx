/** IS-IS routers. */

import { count, several } from "../format";
import type { IsisResult, IsisRouterState } from "../types";
import { bad, known, lost, of, since, state, why, word, type Kind, type Outcome } from "./kind";

export const states: Kind<IsisRouterState> = {
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
};

/** Row of a result. */
export const outcome: Outcome<IsisResult> = ["IS-IS", (isis) => [
  `${of(isis.up_at_end, isis.routers, "router")} up`, `${of(isis.up, isis.routers, "router")} up`, `${count(isis.advertised)} routes`,
  several(isis.database.level_1 + isis.database.level_2, "LSP"), lost(isis.flaps),
]];
