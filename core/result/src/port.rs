//! Ports.

use crate::{Counters, LatencyResult, PacingResult, VrrpResult};

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
        /// Mode of an `afxdp:` or `xdp:` port, such as 'native, copy': where its XDP program runs ('native': in the
        /// driver, 'generic': in the kernel's stack), whether the kernel copies frames ('copy' or 'zero-copy'), and
        /// whether a frame may have 'several buffers'.
        #[serde(skip_serializing_if = "Option::is_none")]
        xdp_mode: Option<String> = TEXT;
        /// Test packets recorded in the kernel. Only of `xdp:` ports.
        #[serde(skip_serializing_if = "Option::is_none")]
        kernel_rx: Option<KernelRxResult> = PART;
        /// Arrival times by the kernel or the network card. Only of ports with `timestamps: kernel` or `hardware`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stamps: Option<StampsResult> = PART;
        /// ARP, ND and echo replies, and frames of pings, DHCP and DHCPv6 clients, multicast group members, LLDP
        /// agents, LAG members, BGP speakers, OSPF, IS-IS and virtual routers sent while traffic ran.
        tx_answers: u64 = COUNT;
        /// Frames passed to the network namespace of the port's hosts. Absent if they have none.
        #[serde(skip_serializing_if = "Option::is_none")]
        rx_punted: Option<u64> = COUNT.counter("port_rx_punted_frames");
        /// Frames to that namespace that were dropped: the tester's buffer was full, or the kernel did not accept them.
        #[serde(skip_serializing_if = "Option::is_none")]
        rx_punt_dropped: Option<u64> = COUNT.counter("port_rx_punt_dropped_frames");
        /// Frames from that namespace sent.
        #[serde(skip_serializing_if = "Option::is_none")]
        tx_punted: Option<u64> = COUNT.counter("port_tx_punted_frames");
        /// Frames from that namespace that were dropped: the tester's buffer was full, or they were too long for the
        /// port.
        #[serde(skip_serializing_if = "Option::is_none")]
        tx_punt_dropped: Option<u64> = COUNT.counter("port_tx_punt_dropped_frames");
        /// Frames received with errors, and frames lost in the tester, by reason.
        rx_errors: Counters = COUNT.by(&[Key::RxError]).counter("port_rx_errors");
        /// Frames the driver accepted but did not send, by reason.
        tx_errors: Counters = COUNT.by(&[Key::TxError]).counter("port_tx_errors");
        /// IP fragments received for the port's hosts, packets reassembled from them, and packets discarded.
        #[serde(skip_serializing_if = "Counters::is_empty")]
        fragments: Counters = COUNT.by(&[Key::PortCounter]);
        /// Frames received at session tunnel endpoints: 'received' (decapsulated), 'unknown' (other identifier),
        /// 'malformed', 'unclaimed' (no inner host), 'echoes' (GTP-U echo requests replied to).
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
        /// LACP state of the port. Absent if it belongs to no LAG.
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
        /// Virtual routers of the port. Absent if it has none.
        #[serde(skip_serializing_if = "Option::is_none")]
        vrrp: Option<VrrpResult> = PART;
        /// Neighbours that changed their MAC address while traffic ran, the first 64 of all ports. Frames use the new
        /// address immediately, unless the profile specifies the MAC address.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        neighbour_moves: Vec<NeighbourMoveResult> = PART.by(&[Key::Index]);
        /// Departures of all paced streams compared with the schedule.
        #[serde(skip_serializing_if = "Option::is_none")]
        pacing_ns: Option<PacingResult> = PART;
    }
}

part! {
    /// A neighbour that changed its MAC address.
    pub struct NeighbourMoveResult {
        /// IP address.
        ip: String = TEXT;
        /// Old MAC address.
        from: String = TEXT;
        /// New MAC address.
        to: String = TEXT;
        /// When the tester learned of it, s since traffic started.
        at_s: f64 = SECONDS;
        /// Whether the tester had to send a request. False if the neighbour announced the move, or revealed it in its
        /// own request or reply.
        asked: bool = FLAG;
        /// Time from sending the last packet that arrived through the old address until packets were sent to the new
        /// one. Absent if no packet was lost, or if it is unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        took_s: Option<f64> = SECONDS;
        /// Packets of measured streams that went to the old address and were lost. Absent if no measured stream uses the neighbour.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lost: Option<u64> = COUNT;
    }
}

part! {
    /// Test packets that a program in the kernel recorded and dropped: their frames did not reach the tester.
    pub struct KernelRxResult {
        /// Packets recorded. All others reached the tester as frames.
        packets: u64 = COUNT;
        /// Largest error of their arrival times on the tester's clock. Absent without packets.
        #[serde(skip_serializing_if = "Option::is_none")]
        clock_error_max_ns: Option<u64> = NANOS;
        /// Why test packets reached the tester as frames. Absent if the kernel records them.
        #[serde(skip_serializing_if = "Option::is_none")]
        off: Option<String> = TEXT;
    }
}

part! {
    /// Arrival times of frames that did not come from the worker that took them in.
    pub struct StampsResult {
        /// Their source: 'kernel' or 'hardware'.
        by: String = TEXT;
        /// Frames with such a time. All others count as arrived when a worker took them in.
        packets: u64 = COUNT;
        /// Largest error of these times on the tester's clock. Absent without packets.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        clock_error_max_ns: Option<u64> = NANOS;
    }
}

part! {
    /// DHCP clients of a port, from before traffic until their release.
    pub struct DhcpResult {
        /// Clients.
        clients: u64 = COUNT.gauge("dhcp_clients");
        /// Clients that had an address when traffic started.
        bound: u64 = COUNT;
        /// Clients without an address when traffic started.
        failed: u64 = COUNT;
        /// Clients that have an address now; in a result, when traffic had ended.
        #[serde(default)]
        holding: u64 = COUNT.gauge("dhcp_leases");
        /// Clients started per second, from the first to the last.
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
        /// OFFER messages received by clients waiting for one.
        offers: u64 = COUNT.counter("dhcp_offers");
        /// REQUEST messages sent.
        requests: u64 = COUNT.counter("dhcp_requests");
        /// ACK messages received that started or extended a lease.
        acks: u64 = COUNT.counter("dhcp_acks");
        /// NAK messages received by clients in reply to a request.
        naks: u64 = COUNT.counter("dhcp_naks");
        /// DECLINE messages sent.
        #[serde(default)]
        declines: u64 = COUNT.counter("dhcp_declines");
        /// RELEASE messages sent.
        releases: u64 = COUNT.counter("dhcp_releases");
        /// OFFER and ACK messages with an unusable address: in 0.0.0.0/8, 127.0.0.0/8 or 224.0.0.0/3, the network's
        /// first or last address, or the server's or router's address.
        #[serde(default)]
        refused: u64 = COUNT.counter("dhcp_refused");
        /// Messages retransmitted because no reply arrived.
        repeated: u64 = COUNT;
        /// Leases renewed by their server.
        renewed: u64 = COUNT.counter("dhcp_renewed_leases");
        /// Leases rebound because their server did not reply.
        rebound: u64 = COUNT.counter("dhcp_rebound_leases");
        /// Leases that expired without renewal, or were ended by a NAK.
        lost: u64 = COUNT.counter("dhcp_lost_leases");
        /// Leases of an address already leased to another client of the tester. Declined if clients check for
        /// duplicates.
        conflicts: u64 = COUNT;
        /// Leases of an address already used by a neighbour; declined.
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
        /// Clients that were not up when traffic started.
        failed: u64 = COUNT;
        /// Clients that have a session and an address now; in a result, when traffic had ended.
        holding: u64 = COUNT.gauge("pppoe_sessions");
        /// Sessions per second, from the first PADI to the last first session.
        #[serde(skip_serializing_if = "Option::is_none")]
        up_per_s: Option<f64> = PER_S;
        /// Time from a client's first PADI to its first session with all requested addresses.
        #[serde(skip_serializing_if = "Option::is_none")]
        setup_ns: Option<LatencyResult> = PART;
        /// Duration of discovery, from the first PADI of an attempt to its PADS.
        #[serde(skip_serializing_if = "Option::is_none")]
        discovery_ns: Option<LatencyResult> = PART;
        /// Duration of LCP negotiation, from the PADS until the link was open.
        #[serde(skip_serializing_if = "Option::is_none")]
        link_ns: Option<LatencyResult> = PART;
        /// Duration of authentication, from link establishment until the client was accepted. Absent without
        /// authentication.
        #[serde(skip_serializing_if = "Option::is_none")]
        authentication_ns: Option<LatencyResult> = PART;
        /// Duration of IPCP and IPV6CP negotiation, from authentication until the client had its address.
        #[serde(skip_serializing_if = "Option::is_none")]
        network_ns: Option<LatencyResult> = PART;
        /// Sessions established, including reconnected clients.
        sessions: u64 = COUNT.counter("pppoe_sessions_up");
        /// PADI packets sent.
        padis: u64 = COUNT.counter("pppoe_padis");
        /// PADO packets received by clients in discovery.
        pados: u64 = COUNT.counter("pppoe_pados");
        /// Of these, packets from another access concentrator, or without the requested service.
        passed_over: u64 = COUNT;
        /// PADR packets sent.
        padrs: u64 = COUNT.counter("pppoe_padrs");
        /// PADS packets received that started a session.
        padss: u64 = COUNT.counter("pppoe_padss");
        /// PADT packets sent.
        padts_sent: u64 = COUNT.counter("pppoe_padts_sent");
        /// PADT packets received for the clients' sessions.
        padts_received: u64 = COUNT.counter("pppoe_padts_received");
        /// Discovery and PPP messages retransmitted because no reply arrived.
        repeated: u64 = COUNT.counter("pppoe_repeated");
        /// Attempts that ended with an error in discovery.
        failed_discovery: u64 = COUNT.counter("pppoe_failed_discovery");
        /// Attempts in which LCP negotiation did not converge.
        failed_link: u64 = COUNT.counter("pppoe_failed_link");
        /// Attempts in which user name or password were rejected, or authentication was not requested or not completed.
        failed_authentication: u64 = COUNT.counter("pppoe_failed_authentication");
        /// Attempts in which the client got no address.
        failed_network: u64 = COUNT.counter("pppoe_failed_network");
        /// Attempts that the access concentrator ended.
        failed_ended: u64 = COUNT.counter("pppoe_failed_ended");
        /// Sessions that ended without a request of the client.
        lost: u64 = COUNT.counter("pppoe_lost_sessions");
        /// Of these, sessions ended by the access concentrator.
        lost_ended: u64 = COUNT;
        /// Of these, sessions ended because echo requests had no reply.
        lost_silent: u64 = COUNT;
        /// Last reason given by an access concentrator, verbatim. Absent if none.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String> = TEXT;
        /// LCP Echo-Request packets sent.
        echo_requests: u64 = COUNT.counter("pppoe_echo_requests");
        /// LCP Echo-Reply packets received.
        echo_replies: u64 = COUNT.counter("pppoe_echo_replies");
        /// Echo-Requests of access concentrators that the clients replied to.
        echoes_answered: u64 = COUNT;
        /// Packets of unknown protocols or with unknown codes; rejected.
        rejected: u64 = COUNT;
        /// Addresses already assigned to another client of the tester.
        conflicts: u64 = COUNT;
        /// Commands carried out: sessions started or ended.
        commands: u64 = COUNT;
    }
}

part! {
    /// DHCPv6 clients of a port, from before traffic until their release.
    pub struct Dhcpv6Result {
        /// Clients.
        clients: u64 = COUNT.gauge("dhcpv6_clients");
        /// Clients with all requested leases when traffic started.
        bound: u64 = COUNT;
        /// Clients that were not up when traffic started.
        failed: u64 = COUNT;
        /// Clients with all requested leases now; in a result, when traffic had ended.
        holding: u64 = COUNT.gauge("dhcpv6_leases");
        /// Clients started per second, from the first to the last.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        begun_per_s: Option<f64> = PER_S;
        /// Leases per second, from the first SOLICIT to the last first lease.
        #[serde(skip_serializing_if = "Option::is_none")]
        bound_per_s: Option<f64> = PER_S;
        /// Time from a client's first SOLICIT to its lease.
        #[serde(skip_serializing_if = "Option::is_none")]
        bind_ns: Option<LatencyResult> = PART;
        /// Link-local address of the router that sent advertisements.
        #[serde(skip_serializing_if = "Option::is_none")]
        router: Option<String> = TEXT;
        /// SOLICIT messages sent.
        solicits: u64 = COUNT.counter("dhcpv6_solicits");
        /// ADVERTISE messages received by clients looking for a server.
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
        /// REPLY messages received by clients in reply to a request.
        replies: u64 = COUNT.counter("dhcpv6_replies");
        /// ADVERTISE and REPLY messages without the requested addresses or prefixes.
        refused: u64 = COUNT.counter("dhcpv6_refused");
        /// Messages retransmitted because no reply arrived.
        repeated: u64 = COUNT;
        /// Leases renewed by their server.
        renewed: u64 = COUNT.counter("dhcpv6_renewed_leases");
        /// Leases rebound because their server did not reply.
        rebound: u64 = COUNT.counter("dhcpv6_rebound_leases");
        /// Leases that expired without renewal, or were ended by their server.
        lost: u64 = COUNT.counter("dhcpv6_lost_leases");
        /// Leases of an address or a prefix already leased to another client of the tester; declined.
        conflicts: u64 = COUNT;
        /// Leases of an address already used by a neighbour; declined.
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
        /// Routers without a full adjacency when traffic started.
        failed: u64 = COUNT;
        /// Routers whose adjacency is full now; in a result, when traffic had ended.
        full_at_end: u64 = COUNT.gauge("ospf_adjacencies");
        /// Full adjacencies that ended unexpectedly.
        flaps: u64 = COUNT.counter("ospf_flaps");
        /// Time from each router's first Hello packet to its first full adjacency.
        #[serde(skip_serializing_if = "Option::is_none")]
        full_ns: Option<LatencyResult> = PART;
        /// Time from the first Hello packet until all adjacencies were full on both sides and all routes acknowledged.
        /// Absent if this was not reached before traffic started.
        #[serde(skip_serializing_if = "Option::is_none")]
        announced_after_s: Option<f64> = SECONDS;
        /// Routes advertised; repeated advertisements count again.
        advertised: u64 = COUNT.counter("ospf_advertised_routes");
        /// Routes withdrawn.
        withdrawn: u64 = COUNT.counter("ospf_withdrawn_routes");
        /// When the first routes were withdrawn while traffic ran, ns since it started.
        #[serde(skip_serializing_if = "Option::is_none")]
        first_withdrawal_ns: Option<u64> = NANOS;
        /// When the first routes were advertised while traffic ran, ns since it started.
        #[serde(skip_serializing_if = "Option::is_none")]
        first_advertisement_ns: Option<u64> = NANOS;
        /// LSAs sent, by type; retransmissions count again.
        lsas_sent: OspfLsaCounts = PART;
        /// LSAs received, by type; repetitions count again.
        lsas_received: OspfLsaCounts = PART;
        /// LSAs of the device in the routers' databases now, by type.
        database: OspfLsaCounts = PART;
        /// LSAs of the device that exceeded the capacity of the routers' databases, 1,000,000 in all.
        left_out: u64 = COUNT.counter("ospf_left_out_lsas");
        /// Flushed LSAs received (age MaxAge).
        received_flushed: u64 = COUNT;
        /// LSAs retransmitted because they were not acknowledged in time.
        retransmitted: u64 = COUNT.counter("ospf_retransmitted_lsas");
        /// LSAs refreshed because of their age.
        refreshed: u64 = COUNT;
        /// Own LSAs received in a newer instance than the router's, such as from an earlier run: originated again, or
        /// flushed.
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
        /// AS-external LSAs (type 5; 0x4005 of OSPFv3).
        external: u64 = COUNT;
        /// NSSA LSAs (type 7; 0x2007 of OSPFv3).
        nssa: u64 = COUNT;
        /// Link-local opaque LSAs (type 9).
        opaque_link: u64 = COUNT;
        /// Area-local opaque LSAs (type 10).
        opaque_area: u64 = COUNT;
        /// AS-wide opaque LSAs (type 11).
        opaque_domain: u64 = COUNT;
        /// Inter-area-prefix LSAs (OSPFv3, type 0x2003).
        #[serde(default)]
        inter_area_prefix: u64 = COUNT;
        /// Inter-area-router LSAs (OSPFv3, type 0x2004).
        #[serde(default)]
        inter_area_router: u64 = COUNT;
        /// Link LSAs (OSPFv3, type 0x0008).
        #[serde(default)]
        link: u64 = COUNT;
        /// Intra-area-prefix LSAs (OSPFv3, type 0x2009).
        #[serde(default)]
        intra_area_prefix: u64 = COUNT;
        /// OSPFv3 LSAs of other types.
        #[serde(default)]
        other: u64 = COUNT;
    }
}

part! {
    /// IS-IS routers of a port, from before traffic until their end.
    pub struct IsisResult {
        /// Routers.
        routers: u64 = COUNT.gauge("isis_routers");
        /// Routers with an adjacency at each of their levels when traffic started.
        up: u64 = COUNT;
        /// Routers without all adjacencies when traffic started.
        failed: u64 = COUNT;
        /// Routers with an adjacency at each of their levels now; in a result, when traffic had ended.
        up_at_end: u64 = COUNT.gauge("isis_adjacencies");
        /// Adjacencies lost unexpectedly.
        flaps: u64 = COUNT.counter("isis_flaps");
        /// Time from each router's first hello until it first had an adjacency at each of its levels.
        #[serde(skip_serializing_if = "Option::is_none")]
        up_ns: Option<LatencyResult> = PART;
        /// Time from the first hello until all adjacencies were up on both sides and the device had all LSPs. Absent if
        /// this was not reached before traffic started.
        #[serde(skip_serializing_if = "Option::is_none")]
        announced_after_s: Option<f64> = SECONDS;
        /// Routes advertised; repeated advertisements count again, routes at both levels count once.
        advertised: u64 = COUNT.counter("isis_advertised_routes");
        /// Routes withdrawn.
        withdrawn: u64 = COUNT.counter("isis_withdrawn_routes");
        /// When the first routes were withdrawn while traffic ran, ns since it started.
        #[serde(skip_serializing_if = "Option::is_none")]
        first_withdrawal_ns: Option<u64> = NANOS;
        /// When the first routes were advertised while traffic ran, ns since it started.
        #[serde(skip_serializing_if = "Option::is_none")]
        first_advertisement_ns: Option<u64> = NANOS;
        /// LSPs sent, by level; retransmissions count again.
        lsps_sent: IsisLevelCounts = PART;
        /// LSPs received, by level; repetitions count again.
        lsps_received: IsisLevelCounts = PART;
        /// LSPs of the device in the routers' databases now, by level.
        database: IsisLevelCounts = PART;
        /// LSPs of the device that exceeded the capacity of the routers' databases, 1,000,000 per level in all.
        left_out: u64 = COUNT.counter("isis_left_out_lsps");
        /// Purged LSPs received (remaining lifetime 0).
        received_purged: u64 = COUNT;
        /// LSPs retransmitted because the device did not acknowledge them in time.
        retransmitted: u64 = COUNT.counter("isis_retransmitted_lsps");
        /// LSPs refreshed because of their age, every 15 minutes.
        refreshed: u64 = COUNT;
        /// Own LSPs received in a newer instance than the router's, such as from an earlier run: originated again, or
        /// purged.
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
        /// PDUs rejected because of a mismatch with their sender: area, level, network type or authentication.
        mismatched: u64 = COUNT.counter("isis_mismatched_pdus");
        /// PDUs that could not be read, and LSPs with a wrong checksum.
        malformed: u64 = COUNT.counter("isis_malformed_pdus");
        /// Commands carried out: routes advertised or withdrawn, routers taken up or down.
        commands: u64 = COUNT;
    }
}

part! {
    /// Counts by IS-IS level.
    #[derive(Copy)]
    pub struct IsisLevelCounts {
        /// Level 1.
        level_1: u64 = COUNT;
        /// Level 2.
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
        /// Peers without an established session when traffic started.
        failed: u64 = COUNT;
        /// Sessions that are established now; in a result, when traffic had ended.
        established_at_end: u64 = COUNT.gauge("bgp_sessions");
        /// Sessions that ended unexpectedly.
        flaps: u64 = COUNT.counter("bgp_flaps");
        /// Sessions restarted by a command.
        #[serde(default)]
        restarts: u64 = COUNT;
        /// Peers that announced graceful restart (RFC 4724) in their latest session.
        #[serde(default)]
        graceful_restart_peers: u64 = COUNT;
        /// Sessions in which a prefix can have several paths, one way or both (RFC 7911); in a result, when traffic had ended.
        #[serde(default)]
        add_path_sessions: u64 = COUNT;
        /// Time from the first attempt to the first session of each peer.
        #[serde(skip_serializing_if = "Option::is_none")]
        setup_ns: Option<LatencyResult> = PART;
        /// Time from the first connection until all sessions were established and all routes acknowledged. Absent if
        /// this was not reached before traffic started.
        #[serde(skip_serializing_if = "Option::is_none")]
        announced_after_s: Option<f64> = SECONDS;
        /// Connections opened, and accepted.
        connections: u64 = COUNT;
        /// Routes advertised; repeated advertisements count again.
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
    /// Multicast groups of a port's host, from before traffic until it leaves them.
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
    /// LLDP agents of a port, from before traffic until their shutdown LLDPDUs (IEEE 802.1AB clause 9.2.6).
    pub struct LldpResult {
        /// Neighbours known now; in a result, when traffic had ended.
        known: u64 = COUNT;
        /// LLDPDUs sent.
        tx_frames: u64 = COUNT;
        /// LLDPDUs received.
        rx_frames: u64 = COUNT;
        /// LLDPDUs received that are malformed.
        rx_errors: u64 = COUNT;
        /// LLDPDUs of neighbours that exceeded the limit of 1,024.
        rx_discarded: u64 = COUNT;
        /// TLVs received that were discarded: too short, or repeated in an LLDPDU.
        tlvs_discarded: u64 = COUNT;
        /// TLVs received of unassigned types.
        tlvs_unknown: u64 = COUNT;
        /// New neighbours.
        learnt: u64 = COUNT;
        /// Neighbours that sent a shutdown LLDPDU.
        left: u64 = COUNT;
        /// Neighbours whose TTL expired.
        aged_out: u64 = COUNT;
        /// Commands that disabled or enabled the agents.
        #[serde(default)]
        commands: u64 = COUNT;
        /// Neighbours, by their last LLDPDUs.
        neighbours: Vec<LldpNeighbourResult> = PART.by(&[Key::Index]);
    }
}

part! {
    /// A neighbour, by its last LLDPDU.
    pub struct LldpNeighbourResult {
        /// Source MAC address.
        mac: String = TEXT;
        /// Chassis identifier; in hexadecimal if it is not text.
        chassis_id: String = TEXT;
        /// Type of the chassis identifier: `mac`, `network_address`, `interface`, `local` …
        chassis_id_type: String = TEXT;
        /// Port identifier; in hexadecimal if it is not text.
        port_id: String = TEXT;
        /// Type of the port identifier.
        port_id_type: String = TEXT;
        /// Time to live, s.
        ttl_s: u64 = SECONDS;
        /// Time since it was first detected when traffic had ended, s.
        known_for_s: f64 = SECONDS;
        /// Time since its last LLDPDU when traffic had ended, s.
        age_s: f64 = SECONDS;
        /// Port description.
        #[serde(skip_serializing_if = "Option::is_none")]
        port_description: Option<String> = TEXT;
        /// System name.
        #[serde(skip_serializing_if = "Option::is_none")]
        system_name: Option<String> = TEXT;
        /// System description.
        #[serde(skip_serializing_if = "Option::is_none")]
        system_description: Option<String> = TEXT;
        /// System capabilities: `bridge`, `router` …
        capabilities: Vec<String> = TEXT;
        /// Enabled capabilities.
        enabled: Vec<String> = TEXT;
        /// Management IP addresses.
        management: Vec<String> = TEXT;
        /// Organizationally specific TLVs.
        tlvs: Vec<LldpTlvResult> = PART.by(&[Key::Index]);
    }
}

part! {
    /// An organizationally specific TLV.
    pub struct LldpTlvResult {
        /// Organizationally unique identifier, in hexadecimal.
        oui: String = TEXT;
        /// Subtype.
        subtype: u64 = COUNT;
        /// Information string, in hexadecimal.
        value: String = TEXT;
    }
}

part! {
    /// LACP state of a LAG member, now; in a result, when traffic had ended (IEEE 802.1AX clause 6.4).
    pub struct LacpResult {
        /// LAG.
        lag: String = TEXT;
        /// Mux state: `detached`, `waiting`, `attached`, `collecting` or `distributing`.
        state: String = TEXT;
        /// Receive state: `current`, `expired`, `defaulted` or `port_disabled`.
        receive: String = TEXT;
        /// Why the port is not distributing. Absent if it is.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String> = TEXT;
        /// Time until the port was first distributing, s. Absent if it never was.
        #[serde(skip_serializing_if = "Option::is_none")]
        distributing_after_s: Option<f64> = SECONDS;
        /// Number of times the port stopped distributing before the shutdown at the end.
        flaps: u64 = COUNT.counter("lacp_flaps");
        /// LACPDUs sent, including the shutdown.
        tx_lacpdus: u64 = COUNT;
        /// LACPDUs received.
        rx_lacpdus: u64 = COUNT;
        /// PDUs received that are malformed.
        rx_errors: u64 = COUNT;
        /// PDUs received of unknown slow protocols.
        rx_unknown: u64 = COUNT;
        /// Markers received.
        rx_markers: u64 = COUNT;
        /// Marker responses sent.
        tx_marker_responses: u64 = COUNT;
        /// Commands that disabled or enabled LACP.
        commands: u64 = COUNT;
        /// This end of the link.
        actor: LacpEndResult = PART;
        /// The other end, by its last LACPDU. Absent if none was received.
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
        /// Key of the LAG.
        key: u64 = COUNT;
        /// Number of the port.
        port: u64 = COUNT;
        /// Priority of the port.
        port_priority: u64 = COUNT;
        /// State flags: `activity`, `timeout`, `aggregation`, `synchronization`, `collecting`, `distributing`,
        /// `defaulted`, `expired`.
        state: Vec<String> = TEXT;
    }
}
