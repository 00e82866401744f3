/** BGP sessions. */

import { count } from "../format";
import type { BgpPeerState, BgpResult } from "../types";
import { bad, lost, of, since, state, why, word, type Kind, type Outcome } from "./kind";

export const states: Kind<BgpPeerState> = {
  caption: "BGP sessions", one: "BGP peer", total: "bgp_peers", up: "bgp_established",
  said: (n) => `${of(n.bgp_established, n.bgp_peers, "BGP session")} established`,
  name: (peer) => peer.name || peer.remote,
  key: (peer) => `${peer.port} ${peer.local} ${peer.remote}`,
  columns: [
    ["Speaker", (peer) => `${peer.local} on ${peer.port}`],
    ["State", (peer) => state(peer.state === "established", word(peer.state, peer.is_down))],
    ["Since", (peer) => since(peer.established_for_s)],
    ["Advertised", (peer) => count(peer.advertised)],
    ["Withdrawn", (peer) => count(peer.withdrawn)],
    ["Received", (peer) => count(peer.received)],
    ["Flaps", (peer) => bad(peer.flaps)],
    ["Reason", (peer) => why(peer.reason)],
  ],
};

/** Row of a result. */
export const outcome: Outcome<BgpResult> = ["BGP", (bgp) => [
  of(bgp.established_at_end, bgp.peers, "session"), of(bgp.established, bgp.peers, "session"), `${count(bgp.advertised)} routes`,
  `${count(bgp.received_ipv4 + bgp.received_ipv6)} routes`, lost(bgp.flaps),
]];
