/** Virtual routers. */

import { count, NONE, several, time } from "../format";
import type { VrrpResult, VrrpRouterState } from "../types";
import { of, state, type Kind, type Outcome } from "./kind";

export const states: Kind<VrrpRouterState> = {
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
  ended: (port, end) => (end.vrrp?.virtual_routers ?? []).map((router) => ({ port, is_down: false, router })),
};

/** Row of a result. */
export const outcome: Outcome<VrrpResult> = ["VRRP", (vrrp) => [
  `${of(vrrp.active_at_end, vrrp.routers, "router")} Active`, NONE, several(vrrp.tx_advertisements, "advertisement"),
  several(vrrp.rx_advertisements, "advertisement"), vrrp.became_backup ? `${count(vrrp.became_backup)} became Backup` : "none",
]];
