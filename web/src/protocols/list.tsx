/** The list of protocols: to add one, write its file and add it to both lists. */

import * as bgp from "./bgp";
import * as dhcp from "./dhcp";
import * as dhcpv6 from "./dhcpv6";
import * as groups from "./groups";
import * as isis from "./isis";
import * as lacp from "./lacp";
import * as lldp from "./lldp";
import * as ospf from "./ospf";
import * as pppoe from "./pppoe";
import * as vrrp from "./vrrp";
import type { PortResult, ProtocolStates } from "../types";
import type { Kind, Outcome } from "./kind";

type Lists = Omit<ProtocolStates, "counts">;
export type Key = keyof Lists;

/** The protocols of an active run, in the order in which they are listed. */
export const KINDS: { [K in Key]: Kind<Lists[K][number]> } = {
  bgp: bgp.states,
  ospf: ospf.states,
  isis: isis.states,
  vrrp: vrrp.states,
  dhcp: dhcp.states,
  dhcpv6: dhcpv6.states,
  pppoe: pppoe.states,
  lacp: lacp.states,
  lldp: lldp.states,
  groups: groups.states,
};

/** The protocols of ports in a result, in the order in which they are listed. */
export const OUTCOMES: { [K in keyof PortResult]?: Outcome<NonNullable<PortResult[K]>> } = {
  lacp: lacp.outcome,
  bgp: bgp.outcome,
  ospf: ospf.outcome,
  isis: isis.outcome,
  vrrp: vrrp.outcome,
  dhcp: dhcp.outcome,
  dhcpv6: dhcpv6.outcome,
  pppoe: pppoe.outcome,
  lldp: lldp.outcome,
  multicast: groups.outcome,
};
