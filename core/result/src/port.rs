//! Ports.

use crate::{Counters, LatencyResult, PacingResult};

part! {
    /// One port.
    pub struct PortResult {
        /// Test packets sent.
        tx_packets: u64 = COUNT.counter("port_tx_packets");
        /// Bytes of test packets sent.
        tx_bytes: u64 = BYTES.counter("port_tx_bytes");
        /// Packets received, of any kind.
        rx_packets: u64 = COUNT.counter("port_rx_packets");
        /// Bytes received, of any kind.
        rx_bytes: u64 = BYTES.counter("port_rx_bytes");
        /// Packets due but not sent.
        #[serde(skip_serializing_if = "Option::is_none")]
        tx_unsent: Option<u64> = COUNT.counter("port_tx_unsent_packets");
        /// Packets per second sent.
        tx_pps: f64 = PACKETS_PER_S;
        /// Packets per second received.
        rx_pps: f64 = PACKETS_PER_S;
        /// Layer-1 bits per second sent.
        tx_bps_l1: f64 = BITS_PER_S;
        /// Layer-1 bits per second received.
        rx_bps_l1: f64 = BITS_PER_S;
        /// Packets received that are not test packets of this run.
        rx_other: u64 = COUNT.counter("port_rx_other_packets");
        /// How an `afxdp:` or `xdp:` port works, such as 'native, copy': where its XDP program runs ('native': in the driver,
        /// 'generic': in the kernel's stack), whether the kernel copies frames ('copy' or 'zero-copy'), and whether a frame may have
        /// 'several buffers'.
        #[serde(skip_serializing_if = "Option::is_none")]
        xdp_mode: Option<String> = TEXT;
        /// Test packets that the kernel took in by itself. Only of `xdp:` ports.
        #[serde(skip_serializing_if = "Option::is_none")]
        kernel_rx: Option<KernelRxResult> = PART;
        /// ARP, ND and echo replies, and frames of pings, DHCP and DHCPv6 clients, members of groups, LLDP agents, ports of lags,
        /// BGP speakers, OSPF and IS-IS routers sent while traffic ran.
        tx_answers: u64 = COUNT;
        /// Frames passed to the network namespace of the port's hosts. Absent if they have none.
        #[serde(skip_serializing_if = "Option::is_none")]
        rx_punted: Option<u64> = COUNT.counter("port_rx_punted_frames");
        /// Frames for that namespace that were dropped: the tester's buffer was full, or the kernel did not take them.
        #[serde(skip_serializing_if = "Option::is_none")]
        rx_punt_dropped: Option<u64> = COUNT.counter("port_rx_punt_dropped_frames");
        /// Frames of that namespace sent.
        #[serde(skip_serializing_if = "Option::is_none")]
        tx_punted: Option<u64> = COUNT.counter("port_tx_punted_frames");
        /// Frames of that namespace that were dropped: the tester's buffer was full, or they are too long for the port.
        #[serde(skip_serializing_if = "Option::is_none")]
        tx_punt_dropped: Option<u64> = COUNT.counter("port_tx_punt_dropped_frames");
        /// Frames received with errors, and frames lost in the tester, by reason.
        rx_errors: Counters = COUNT.by(&[Key::RxError]).counter("port_rx_errors");
        /// Frames the driver accepted but did not send, by reason.
        tx_errors: Counters = COUNT.by(&[Key::TxError]).counter("port_tx_errors");
        /// IP fragments received for the port's hosts, packets reassembled from them, and packets given up.
        #[serde(skip_serializing_if = "Counters::is_empty")]
        fragments: Counters = COUNT.by(&[Key::PortCounter]);
        /// What arrived at the ends of tunnels of sessions: 'received' (taken out of a tunnel), 'unknown' (another identifier),
        /// 'malformed', 'unclaimed' (for nobody inside), 'echoes' (of GTP-U, answered).
        #[serde(skip_serializing_if = "Counters::is_empty")]
        tunnels: Counters = COUNT.by(&[Key::PortCounter]);
        /// The port's DHCP clients. Absent if it has none.
        #[serde(skip_serializing_if = "Option::is_none")]
        dhcp: Option<DhcpResult> = PART;
        /// The port's DHCPv6 clients. Absent if it has none.
        #[serde(skip_serializing_if = "Option::is_none")]
        dhcpv6: Option<Dhcpv6Result> = PART;
        /// The port's PPPoE clients. Absent if it has none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pppoe: Option<PppoeResult> = PART;
        /// The multicast groups of the port's host. Absent if it joins none.
        #[serde(skip_serializing_if = "Option::is_none")]
        multicast: Option<MulticastResult> = PART;
        /// LLDP agents of the port, and its neighbours. Absent if it has none.
        #[serde(skip_serializing_if = "Option::is_none")]
        lldp: Option<LldpResult> = PART;
        /// The port in its lag, by LACP. Absent if it belongs to none.
        #[serde(skip_serializing_if = "Option::is_none")]
        lacp: Option<LacpResult> = PART;
        /// BGP sessions of the port's hosts. Absent if they have none.
        #[serde(skip_serializing_if = "Option::is_none")]
        bgp: Option<BgpResult> = PART;
        /// OSPF routers of the port. Absent if it has none.
        #[serde(skip_serializing_if = "Option::is_none")]
        ospf: Option<OspfResult> = PART;
        /// IS-IS routers of the port. Absent if it has none.
        #[serde(skip_serializing_if = "Option::is_none")]
        isis: Option<IsisResult> = PART;
        /// Neighbours that changed their hardware address while traffic ran, the first 64 of all ports. Frames follow them at once,
        /// unless the profile gives the hardware address.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        neighbour_moves: Vec<NeighbourMoveResult> = PART.by(&[Key::Index]);
        /// Departures of all paced streams compared with the schedule.
        #[serde(skip_serializing_if = "Option::is_none")]
        pacing_ns: Option<PacingResult> = PART;
    }
}

part! {
    /// A neighbour that changed its hardware address.
    pub struct NeighbourMoveResult {
        /// Its IP address.
        ip: String = TEXT;
        /// The hardware address it had.
        from: String = TEXT;
        /// The one it has now.
        to: String = TEXT;
        /// When the tester heard of it, s since traffic started.
        at_s: f64 = SECONDS;
        /// Whether the tester had to ask. False if the neighbour announced it, or said so in a question or an answer of its own.
        asked: bool = FLAG;
        /// From when the last packet left that arrived by way of the old address, until packets left for the new one. Absent if no
        /// packet was lost, or nobody knows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        took_s: Option<f64> = SECONDS;
        /// Packets of measured streams that went to the old address and were lost. Absent if no measured stream uses the neighbour.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lost: Option<u64> = COUNT;
    }
}

part! {
    /// Test packets that a program in the kernel recorded, and dropped: no frame of theirs reached the tester.
    pub struct KernelRxResult {
        /// Packets that were recorded. All others came as frames.
        packets: u64 = COUNT;
        /// Largest error of their arrival times on the tester's clock. Absent if none came.
        #[serde(skip_serializing_if = "Option::is_none")]
        clock_error_max_ns: Option<u64> = NANOS;
        /// Why test packets came as frames. Absent if they need not.
        #[serde(skip_serializing_if = "Option::is_none")]
        off: Option<String> = TEXT;
    }
}

part! {
    /// DHCP clients of a port, from before traffic until their release.
    pub struct DhcpResult {
        /// Clients.
        clients: u64 = COUNT.gauge("dhcp_clients");
        /// Clients that had an address when traffic started.
        bound: u64 = COUNT;
        /// Clients that had none.
        failed: u64 = COUNT;
        /// Clients that have an address now; in a result, when traffic had ended.
        #[serde(default)]
        holding: u64 = COUNT.gauge("dhcp_leases");
        /// Clients that began per second, from the first to the last.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        begun_per_s: Option<f64> = PER_S;
        /// Leases per second, from the first DISCOVER to the last first lease.
        #[serde(skip_serializing_if = "Option::is_none")]
        bound_per_s: Option<f64> = PER_S;
        /// Time from a client's first DISCOVER to its lease.
        #[serde(skip_serializing_if = "Option::is_none")]
        bind_ns: Option<LatencyResult> = PART;
        /// DISCOVER messages sent.
        discovers: u64 = COUNT.counter("dhcp_discovers");
        /// OFFER messages received by clients that waited for one.
        offers: u64 = COUNT.counter("dhcp_offers");
        /// REQUEST messages sent.
        requests: u64 = COUNT.counter("dhcp_requests");
        /// ACK messages received that began or prolonged a lease.
        acks: u64 = COUNT.counter("dhcp_acks");
        /// NAK messages received by clients that had asked.
        naks: u64 = COUNT.counter("dhcp_naks");
        /// DECLINE messages sent.
        #[serde(default)]
        declines: u64 = COUNT.counter("dhcp_declines");
        /// RELEASE messages sent.
        releases: u64 = COUNT.counter("dhcp_releases");
        /// OFFER and ACK messages with an address that no client can have: 0.0.0.0/8, 127.0.0.0/8, 224.0.0.0/3, the first or
        /// last of its network, that of the server or router.
        #[serde(default)]
        refused: u64 = COUNT.counter("dhcp_refused");
        /// Messages sent again because no answer came.
        repeated: u64 = COUNT;
        /// Leases prolonged by their server.
        renewed: u64 = COUNT.counter("dhcp_renewed_leases");
        /// Leases prolonged after their server kept silent.
        rebound: u64 = COUNT.counter("dhcp_rebound_leases");
        /// Leases that ended because nobody prolonged them, or by a NAK.
        lost: u64 = COUNT.counter("dhcp_lost_leases");
        /// Leases of an address that another client here had. They are declined if clients check.
        conflicts: u64 = COUNT;
        /// Leases of an address that a neighbour had, and that were declined.
        #[serde(default)]
        duplicates: u64 = COUNT;
        /// Commands carried out: addresses renewed or released.
        #[serde(default)]
        commands: u64 = COUNT;
    }
}

part! {
    /// PPPoE clients of a port, from before traffic until the end of their sessions.
    pub struct PppoeResult {
        /// Clients.
        clients: u64 = COUNT.gauge("pppoe_clients");
        /// Clients that had a session and an address when traffic started.
        up: u64 = COUNT;
        /// Clients that had not.
        failed: u64 = COUNT;
        /// Clients that have a session and an address now; in a result, when traffic had ended.
        holding: u64 = COUNT.gauge("pppoe_sessions");
        /// Sessions per second, from the first PADI to the last first session.
        #[serde(skip_serializing_if = "Option::is_none")]
        up_per_s: Option<f64> = PER_S;
        /// Time from a client's first PADI to its first session with all it asked for.
        #[serde(skip_serializing_if = "Option::is_none")]
        setup_ns: Option<LatencyResult> = PART;
        /// Time of discovery, from the first PADI of an attempt to its PADS.
        #[serde(skip_serializing_if = "Option::is_none")]
        discovery_ns: Option<LatencyResult> = PART;
        /// Time of LCP, from there until the link was open.
        #[serde(skip_serializing_if = "Option::is_none")]
        link_ns: Option<LatencyResult> = PART;
        /// Time of authentication, from there until the client was let in. Absent if nobody asked.
        #[serde(skip_serializing_if = "Option::is_none")]
        authentication_ns: Option<LatencyResult> = PART;
        /// Time of IPCP and IPV6CP, from there until the client had its address.
        #[serde(skip_serializing_if = "Option::is_none")]
        network_ns: Option<LatencyResult> = PART;
        /// Sessions that came up, those of clients that came back among them.
        sessions: u64 = COUNT.counter("pppoe_sessions_up");
        /// PADI packets sent.
        padis: u64 = COUNT.counter("pppoe_padis");
        /// PADO packets received by clients that looked for an access concentrator.
        pados: u64 = COUNT.counter("pppoe_pados");
        /// Those of them from another access concentrator, or without the service.
        passed_over: u64 = COUNT;
        /// PADR packets sent.
        padrs: u64 = COUNT.counter("pppoe_padrs");
        /// PADS packets received that began a session.
        padss: u64 = COUNT.counter("pppoe_padss");
        /// PADT packets sent.
        padts_sent: u64 = COUNT.counter("pppoe_padts_sent");
        /// PADT packets received for sessions here.
        padts_received: u64 = COUNT.counter("pppoe_padts_received");
        /// Messages of discovery and PPP sent again because no answer came.
        repeated: u64 = COUNT.counter("pppoe_repeated");
        /// Attempts that ended with an error in discovery.
        failed_discovery: u64 = COUNT.counter("pppoe_failed_discovery");
        /// Attempts on which LCP came to no end.
        failed_link: u64 = COUNT.counter("pppoe_failed_link");
        /// Attempts on which user name or password were refused, or nobody asked for them or answered.
        failed_authentication: u64 = COUNT.counter("pppoe_failed_authentication");
        /// Attempts on which the client got no address.
        failed_network: u64 = COUNT.counter("pppoe_failed_network");
        /// Attempts that the access concentrator ended.
        failed_ended: u64 = COUNT.counter("pppoe_failed_ended");
        /// Sessions that ended without their client's doing.
        lost: u64 = COUNT.counter("pppoe_lost_sessions");
        /// Those of them that the access concentrator ended.
        lost_ended: u64 = COUNT;
        /// Those of them that were given up because nobody answered echo requests.
        lost_silent: u64 = COUNT;
        /// What an access concentrator last gave as a reason, in its words. Absent if it gave none.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String> = TEXT;
        /// LCP's Echo-Request packets sent.
        echo_requests: u64 = COUNT.counter("pppoe_echo_requests");
        /// Answers to them.
        echo_replies: u64 = COUNT.counter("pppoe_echo_replies");
        /// Echo-Request packets of access concentrators that were answered.
        echoes_answered: u64 = COUNT;
        /// Packets of protocols or with codes that clients do not know; they were rejected.
        rejected: u64 = COUNT;
        /// Addresses that another client here had.
        conflicts: u64 = COUNT;
        /// Commands carried out: sessions begun or ended.
        commands: u64 = COUNT;
    }
}

part! {
    /// DHCPv6 clients of a port, from before traffic until their release.
    pub struct Dhcpv6Result {
        /// Clients.
        clients: u64 = COUNT.gauge("dhcpv6_clients");
        /// Clients that had what they asked for when traffic started.
        bound: u64 = COUNT;
        /// Clients that had not.
        failed: u64 = COUNT;
        /// Clients that have what they asked for now; in a result, when traffic had ended.
        holding: u64 = COUNT.gauge("dhcpv6_leases");
        /// Clients that began per second, from the first to the last.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        begun_per_s: Option<f64> = PER_S;
        /// Leases per second, from the first SOLICIT to the last first lease.
        #[serde(skip_serializing_if = "Option::is_none")]
        bound_per_s: Option<f64> = PER_S;
        /// Time from a client's first SOLICIT to its lease.
        #[serde(skip_serializing_if = "Option::is_none")]
        bind_ns: Option<LatencyResult> = PART;
        /// Router that advertised itself, by its link-local address.
        #[serde(skip_serializing_if = "Option::is_none")]
        router: Option<String> = TEXT;
        /// SOLICIT messages sent.
        solicits: u64 = COUNT.counter("dhcpv6_solicits");
        /// ADVERTISE messages received by clients that looked for a server.
        advertises: u64 = COUNT.counter("dhcpv6_advertises");
        /// REQUEST messages sent.
        requests: u64 = COUNT.counter("dhcpv6_requests");
        /// RENEW messages sent.
        renews: u64 = COUNT.counter("dhcpv6_renews");
        /// REBIND messages sent.
        rebinds: u64 = COUNT.counter("dhcpv6_rebinds");
        /// RELEASE messages sent.
        releases: u64 = COUNT.counter("dhcpv6_releases");
        /// DECLINE messages sent.
        declines: u64 = COUNT.counter("dhcpv6_declines");
        /// REPLY messages received by clients that had asked.
        replies: u64 = COUNT.counter("dhcpv6_replies");
        /// ADVERTISE and REPLY messages that did not have what was asked for.
        refused: u64 = COUNT.counter("dhcpv6_refused");
        /// Messages sent again because no answer came.
        repeated: u64 = COUNT;
        /// Leases prolonged by their server.
        renewed: u64 = COUNT.counter("dhcpv6_renewed_leases");
        /// Leases prolonged after their server kept silent.
        rebound: u64 = COUNT.counter("dhcpv6_rebound_leases");
        /// Leases that ended because nobody prolonged them, or by their server.
        lost: u64 = COUNT.counter("dhcpv6_lost_leases");
        /// Leases of an address or a prefix that another client here had, and that were declined.
        conflicts: u64 = COUNT;
        /// Leases of an address that a neighbour had, and that were declined.
        duplicates: u64 = COUNT;
        /// Commands carried out: leases renewed or released.
        commands: u64 = COUNT;
    }
}

part! {
    /// OSPF routers of a port, from before traffic until their end.
    pub struct OspfResult {
        /// Routers.
        routers: u64 = COUNT.gauge("ospf_routers");
        /// Routers whose adjacency was full when traffic started.
        full: u64 = COUNT;
        /// Routers without one then.
        failed: u64 = COUNT;
        /// Routers whose adjacency is full now; in a result, when traffic had ended.
        full_at_end: u64 = COUNT.gauge("ospf_adjacencies");
        /// Full adjacencies that ended while they should not have.
        flaps: u64 = COUNT.counter("ospf_flaps");
        /// Time from each router's first Hello packet to its first full adjacency.
        #[serde(skip_serializing_if = "Option::is_none")]
        full_ns: Option<LatencyResult> = PART;
        /// Time from the first Hello packet until all adjacencies were full on both sides and all routes acknowledged. Absent if that
        /// was not so before traffic.
        #[serde(skip_serializing_if = "Option::is_none")]
        announced_after_s: Option<f64> = SECONDS;
        /// Routes advertised; those that were advertised again count again.
        advertised: u64 = COUNT.counter("ospf_advertised_routes");
        /// Routes withdrawn.
        withdrawn: u64 = COUNT.counter("ospf_withdrawn_routes");
        /// When the first routes were withdrawn while traffic ran, ns since it started.
        #[serde(skip_serializing_if = "Option::is_none")]
        first_withdrawal_ns: Option<u64> = NANOS;
        /// When the first routes were advertised while traffic ran, ns since it started.
        #[serde(skip_serializing_if = "Option::is_none")]
        first_advertisement_ns: Option<u64> = NANOS;
        /// LSAs sent, by type; those that were sent again count again.
        lsas_sent: OspfLsaCounts = PART;
        /// LSAs received, by type; those that were received again count again.
        lsas_received: OspfLsaCounts = PART;
        /// LSAs of the device that the routers hold now, by type.
        database: OspfLsaCounts = PART;
        /// LSAs of the device for which the routers' databases had no room: they hold 1,000,000 in all.
        left_out: u64 = COUNT.counter("ospf_left_out_lsas");
        /// LSAs received that were being flushed.
        received_flushed: u64 = COUNT;
        /// LSAs sent again because they were not acknowledged in time.
        retransmitted: u64 = COUNT.counter("ospf_retransmitted_lsas");
        /// LSAs originated again because they became old.
        refreshed: u64 = COUNT;
        /// Own LSAs that came back newer than they are, as those of a run before: they were originated again, or flushed.
        outdated: u64 = COUNT;
        /// Hello packets sent.
        hellos_sent: u64 = COUNT;
        /// Hello packets received and accepted.
        hellos_received: u64 = COUNT;
        /// Database Description packets sent.
        descriptions_sent: u64 = COUNT;
        /// Database Description packets received.
        descriptions_received: u64 = COUNT;
        /// Link State Request packets sent.
        requests_sent: u64 = COUNT;
        /// Link State Request packets received.
        requests_received: u64 = COUNT;
        /// Link State Update packets sent.
        updates_sent: u64 = COUNT.counter("ospf_updates_sent");
        /// Link State Update packets received.
        updates_received: u64 = COUNT.counter("ospf_updates_received");
        /// Link State Acknowledgment packets sent.
        acknowledgments_sent: u64 = COUNT;
        /// Link State Acknowledgment packets received.
        acknowledgments_received: u64 = COUNT;
        /// Packets refused because their sender is no neighbour: another area or instance, other intervals, another mask or other authentication.
        mismatched: u64 = COUNT.counter("ospf_mismatched_packets");
        /// Packets that could not be read, and LSAs with a wrong checksum.
        malformed: u64 = COUNT.counter("ospf_malformed_packets");
        /// Commands carried out: routes advertised or withdrawn, routers taken up or down.
        commands: u64 = COUNT;
    }
}

part! {
    /// LSAs by type.
    #[derive(Copy)]
    pub struct OspfLsaCounts {
        /// Of routers (type 1; 0x2001 of OSPFv3).
        router: u64 = COUNT;
        /// Of networks (type 2; 0x2002 of OSPFv3).
        network: u64 = COUNT;
        /// Summaries of networks and border routers (types 3 and 4).
        summary: u64 = COUNT;
        /// External ones (type 5; 0x4005 of OSPFv3).
        external: u64 = COUNT;
        /// External ones of NSSAs (type 7; 0x2007 of OSPFv3).
        nssa: u64 = COUNT;
        /// Opaque ones of a link (type 9).
        opaque_link: u64 = COUNT;
        /// Opaque ones of an area (type 10).
        opaque_area: u64 = COUNT;
        /// Opaque ones that go everywhere (type 11).
        opaque_domain: u64 = COUNT;
        /// Prefixes of other areas (OSPFv3, type 0x2003).
        #[serde(default)]
        inter_area_prefix: u64 = COUNT;
        /// Border routers of other areas (OSPFv3, type 0x2004).
        #[serde(default)]
        inter_area_router: u64 = COUNT;
        /// Of links (OSPFv3, type 0x0008).
        #[serde(default)]
        link: u64 = COUNT;
        /// Prefixes of routers and networks of the area (OSPFv3, type 0x2009).
        #[serde(default)]
        intra_area_prefix: u64 = COUNT;
        /// Of other types of OSPFv3.
        #[serde(default)]
        other: u64 = COUNT;
    }
}

part! {
    /// IS-IS routers of a port, from before traffic until their end.
    pub struct IsisResult {
        /// Routers.
        routers: u64 = COUNT.gauge("isis_routers");
        /// Routers that had an adjacency at each of their levels when traffic started.
        up: u64 = COUNT;
        /// Routers that had not.
        failed: u64 = COUNT;
        /// Routers that have one at each of their levels now; in a result, when traffic had ended.
        up_at_end: u64 = COUNT.gauge("isis_adjacencies");
        /// Times that routers lost an adjacency while they should not have.
        flaps: u64 = COUNT.counter("isis_flaps");
        /// Time from each router's first hello until it first had an adjacency at each of its levels.
        #[serde(skip_serializing_if = "Option::is_none")]
        up_ns: Option<LatencyResult> = PART;
        /// Time from the first hello until all adjacencies were up on both sides and the device had all LSPs. Absent if that was not so
        /// before traffic.
        #[serde(skip_serializing_if = "Option::is_none")]
        announced_after_s: Option<f64> = SECONDS;
        /// Routes advertised; those that were advertised again count again, those at two levels once.
        advertised: u64 = COUNT.counter("isis_advertised_routes");
        /// Routes withdrawn.
        withdrawn: u64 = COUNT.counter("isis_withdrawn_routes");
        /// When the first routes were withdrawn while traffic ran, ns since it started.
        #[serde(skip_serializing_if = "Option::is_none")]
        first_withdrawal_ns: Option<u64> = NANOS;
        /// When the first routes were advertised while traffic ran, ns since it started.
        #[serde(skip_serializing_if = "Option::is_none")]
        first_advertisement_ns: Option<u64> = NANOS;
        /// LSPs sent, by level; those that were sent again count again.
        lsps_sent: IsisLevelCounts = PART;
        /// LSPs received, by level; those that were received again count again.
        lsps_received: IsisLevelCounts = PART;
        /// LSPs of the device that the routers hold now, by level.
        database: IsisLevelCounts = PART;
        /// LSPs of the device for which the routers' databases had no room: they hold 1,000,000 of a level in all.
        left_out: u64 = COUNT.counter("isis_left_out_lsps");
        /// LSPs received that were being purged.
        received_purged: u64 = COUNT;
        /// LSPs sent again because the device did not have them in time.
        retransmitted: u64 = COUNT.counter("isis_retransmitted_lsps");
        /// LSPs originated again because they became old: every 15 minutes.
        refreshed: u64 = COUNT;
        /// Own LSPs that came back newer than they are, as those of a run before: they were originated again, or purged.
        outdated: u64 = COUNT;
        /// Hellos sent.
        hellos_sent: u64 = COUNT;
        /// Hellos received and accepted.
        hellos_received: u64 = COUNT;
        /// Complete sequence numbers PDUs sent.
        csnps_sent: u64 = COUNT;
        /// Complete sequence numbers PDUs received.
        csnps_received: u64 = COUNT;
        /// Partial sequence numbers PDUs sent.
        psnps_sent: u64 = COUNT;
        /// Partial sequence numbers PDUs received.
        psnps_received: u64 = COUNT;
        /// PDUs refused because their sender is no neighbour: another area or level, another kind of link, or other authentication.
        mismatched: u64 = COUNT.counter("isis_mismatched_pdus");
        /// PDUs that could not be read, and LSPs with a wrong checksum.
        malformed: u64 = COUNT.counter("isis_malformed_pdus");
        /// Commands carried out: routes advertised or withdrawn, routers taken up or down.
        commands: u64 = COUNT;
    }
}

part! {
    /// Things counted by level.
    #[derive(Copy)]
    pub struct IsisLevelCounts {
        /// Of level 1.
        level_1: u64 = COUNT;
        /// Of level 2.
        level_2: u64 = COUNT;
    }
}

part! {
    /// BGP sessions of a port's hosts, from before traffic until their end.
    pub struct BgpResult {
        /// Peers.
        peers: u64 = COUNT.gauge("bgp_peers");
        /// Sessions that were established when traffic started.
        established: u64 = COUNT;
        /// Peers without a session then.
        failed: u64 = COUNT;
        /// Sessions that are established now; in a result, when traffic had ended.
        established_at_end: u64 = COUNT.gauge("bgp_sessions");
        /// Sessions that ended while they should not have.
        flaps: u64 = COUNT.counter("bgp_flaps");
        /// Sessions that a command has ended to let them restart.
        #[serde(default)]
        restarts: u64 = COUNT;
        /// Peers that said that they know graceful restart (RFC 4724), in their newest session.
        #[serde(default)]
        graceful_restart_peers: u64 = COUNT;
        /// Sessions in which a prefix can have several paths, one way or both (RFC 7911); in a result, when traffic had ended.
        #[serde(default)]
        add_path_sessions: u64 = COUNT;
        /// Time from the first attempt to the first session of each peer.
        #[serde(skip_serializing_if = "Option::is_none")]
        setup_ns: Option<LatencyResult> = PART;
        /// Time from the first connection until all sessions were established and all routes acknowledged. Absent if that was not so
        /// before traffic.
        #[serde(skip_serializing_if = "Option::is_none")]
        announced_after_s: Option<f64> = SECONDS;
        /// Connections opened, and accepted.
        connections: u64 = COUNT;
        /// Routes advertised; those that were advertised again count again.
        advertised: u64 = COUNT.counter("bgp_advertised_routes");
        /// Routes withdrawn.
        withdrawn: u64 = COUNT.counter("bgp_withdrawn_routes");
        /// When the first routes were withdrawn while traffic ran, ns since it started.
        #[serde(skip_serializing_if = "Option::is_none")]
        first_withdrawal_ns: Option<u64> = NANOS;
        /// When the first routes were advertised while traffic ran, ns since it started.
        #[serde(skip_serializing_if = "Option::is_none")]
        first_advertisement_ns: Option<u64> = NANOS;
        /// IPv4 routes received.
        received_ipv4: u64 = COUNT.counter("bgp_received_ipv4_routes");
        /// IPv6 routes received.
        received_ipv6: u64 = COUNT.counter("bgp_received_ipv6_routes");
        /// Withdrawals received.
        received_withdrawn: u64 = COUNT.counter("bgp_received_withdrawals");
        /// End-of-RIB marks received for IPv4: all its routes have been sent (RFC 4724).
        received_end_of_rib_ipv4: u64 = COUNT;
        /// End-of-RIB marks received for IPv6.
        received_end_of_rib_ipv6: u64 = COUNT;
        /// OPEN messages sent.
        opens_sent: u64 = COUNT;
        /// OPEN messages received.
        opens_received: u64 = COUNT;
        /// UPDATE messages sent.
        updates_sent: u64 = COUNT.counter("bgp_updates_sent");
        /// UPDATE messages received.
        updates_received: u64 = COUNT.counter("bgp_updates_received");
        /// KEEPALIVE messages sent.
        keepalives_sent: u64 = COUNT;
        /// KEEPALIVE messages received.
        keepalives_received: u64 = COUNT;
        /// NOTIFICATION messages sent.
        notifications_sent: u64 = COUNT.counter("bgp_notifications_sent");
        /// NOTIFICATION messages received.
        notifications_received: u64 = COUNT.counter("bgp_notifications_received");
        /// ROUTE-REFRESH messages received.
        refreshes_received: u64 = COUNT;
        /// Commands carried out: routes advertised or withdrawn, peers taken up or down or restarted.
        #[serde(default)]
        commands: u64 = COUNT;
    }
}

part! {
    /// Multicast groups of a port's host, from before traffic until it has left them.
    pub struct MulticastResult {
        /// Groups joined.
        joined: u64 = COUNT;
        /// Groups left.
        left: u64 = COUNT;
        /// Frames with reports sent.
        reports: u64 = COUNT;
        /// Queries received.
        queries: u64 = COUNT;
        /// When the first group was joined while traffic ran, ns since it started.
        #[serde(skip_serializing_if = "Option::is_none")]
        first_join_ns: Option<u64> = NANOS;
        /// When the first group was left while traffic ran, ns since it started.
        #[serde(skip_serializing_if = "Option::is_none")]
        first_leave_ns: Option<u64> = NANOS;
    }
}

part! {
    /// LLDP agents of a port, from before traffic until they have taken back what they said (IEEE 802.1AB clause 9.2.6).
    pub struct LldpResult {
        /// Neighbours that were known when traffic had ended, or so far.
        known: u64 = COUNT;
        /// LLDPDUs sent.
        tx_frames: u64 = COUNT;
        /// LLDPDUs received.
        rx_frames: u64 = COUNT;
        /// LLDPDUs received that are malformed.
        rx_errors: u64 = COUNT;
        /// LLDPDUs of neighbours there was no room for: 1,024 are kept.
        rx_discarded: u64 = COUNT;
        /// TLVs received that were passed over: too short, or twice in an LLDPDU.
        tlvs_discarded: u64 = COUNT;
        /// TLVs received of types that nobody defined.
        tlvs_unknown: u64 = COUNT;
        /// Neighbours that were new.
        learnt: u64 = COUNT;
        /// Neighbours that took back what they had said.
        left: u64 = COUNT;
        /// Neighbours that were silent for longer than they had said.
        aged_out: u64 = COUNT;
        /// Commands that disabled or enabled the agents.
        #[serde(default)]
        commands: u64 = COUNT;
        /// What they said last.
        neighbours: Vec<LldpNeighbourResult> = PART.by(&[Key::Index]);
    }
}

part! {
    /// A neighbour, in the words of its last LLDPDU.
    pub struct LldpNeighbourResult {
        /// MAC address it sent from.
        mac: String = TEXT;
        /// Chassis identifier; in hexadecimal if it is no text.
        chassis_id: String = TEXT;
        /// What kind of identifier it is: `mac`, `network_address`, `interface`, `local` …
        chassis_id_type: String = TEXT;
        /// Port identifier, likewise.
        port_id: String = TEXT;
        /// What kind of identifier it is.
        port_id_type: String = TEXT;
        /// How long it is to be kept, s.
        ttl_s: u64 = SECONDS;
        /// How long it had been known when traffic had ended, s.
        known_for_s: f64 = SECONDS;
        /// How long ago its last LLDPDU came then, s.
        age_s: f64 = SECONDS;
        /// Description of its port.
        #[serde(skip_serializing_if = "Option::is_none")]
        port_description: Option<String> = TEXT;
        /// Its name.
        #[serde(skip_serializing_if = "Option::is_none")]
        system_name: Option<String> = TEXT;
        /// What it is.
        #[serde(skip_serializing_if = "Option::is_none")]
        system_description: Option<String> = TEXT;
        /// What it can do: `bridge`, `router` …
        capabilities: Vec<String> = TEXT;
        /// What of that is enabled.
        enabled: Vec<String> = TEXT;
        /// IP addresses where it is managed.
        management: Vec<String> = TEXT;
        /// Its TLVs of organizations.
        tlvs: Vec<LldpTlvResult> = PART.by(&[Key::Index]);
    }
}

part! {
    /// An organization's TLV.
    pub struct LldpTlvResult {
        /// Whose it is, in hexadecimal.
        oui: String = TEXT;
        /// Its subtype.
        subtype: u64 = COUNT;
        /// What it says, in hexadecimal.
        value: String = TEXT;
    }
}

part! {
    /// A port in its lag, as it stood when traffic had ended, or stands (IEEE 802.1AX clause 6.4).
    pub struct LacpResult {
        /// Its lag.
        lag: String = TEXT;
        /// How far it is on its way to carry traffic: `detached`, `waiting`, `attached`, `collecting` or `distributing`.
        state: String = TEXT;
        /// What is known of the partner: `current`, `expired`, `defaulted` or `port_disabled`.
        receive: String = TEXT;
        /// Why it does not distribute. Absent if it does.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String> = TEXT;
        /// How long it took to distribute for the first time, s. Absent if it never did.
        #[serde(skip_serializing_if = "Option::is_none")]
        distributing_after_s: Option<f64> = SECONDS;
        /// How often it stopped distributing before it left at the end.
        flaps: u64 = COUNT.counter("lacp_flaps");
        /// LACPDUs sent, until it had left.
        tx_lacpdus: u64 = COUNT;
        /// LACPDUs received.
        rx_lacpdus: u64 = COUNT;
        /// PDUs received that are malformed.
        rx_errors: u64 = COUNT;
        /// PDUs received of other slow protocols.
        rx_unknown: u64 = COUNT;
        /// Markers received.
        rx_markers: u64 = COUNT;
        /// Answers to markers sent.
        tx_marker_responses: u64 = COUNT;
        /// Commands that disabled or enabled LACP.
        commands: u64 = COUNT;
        /// This end of the link.
        actor: LacpEndResult = PART;
        /// The other end, as it described itself last. Absent if nothing is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        partner: Option<LacpEndResult> = PART;
    }
}

part! {
    /// One end of a link.
    pub struct LacpEndResult {
        /// Identifier of the system, a MAC address.
        system: String = TEXT;
        /// Priority of the system.
        system_priority: u64 = COUNT;
        /// Key of the lag.
        key: u64 = COUNT;
        /// Number of the port.
        port: u64 = COUNT;
        /// Priority of the port.
        port_priority: u64 = COUNT;
        /// Its state: `activity`, `timeout`, `aggregation`, `synchronization`, `collecting`, `distributing`, `defaulted`,
        /// `expired`.
        state: Vec<String> = TEXT;
    }
}
