//! PPPoE clients behind a port, and what streams in their sessions, or to their addresses, look like.

use crate::document::session::SessionDoc;
use crate::document::{PppoeAuthenticationDoc, PppoeDoc, StreamDoc};
use crate::plan::PppoePlan;
use crate::protocols::clients::client_keys;
use crate::resolve::Resolver;
use crate::resolve::packet::Draft;
use crate::resolve::stream::PortName;
use emulate::pppoe::{PppoeConfig, PppoeMethod};
use session::plan::AddressRange;
use std::net::IpAddr;
use units::Nanos;
use wire::Header;
use wire::Vlans;
use wire::protocols::ppp::{PPP, PPPOE};

/// Longest text in a tag, and in a message of PAP, bytes.
const TEXT_MAX: usize = 255;
/// Name of PPPoE clients in streams.
const NAME: &str = "pppoe";

impl Resolver<'_> {
    pub(crate) fn pppoe(&mut self, port: &str, pppoe: &PppoeDoc, vlans: &Vlans) -> PppoePlan {
        let path = format!("ports.{port}.pppoe");
        self.within_a_year(&format!("{path}.keepalive"), pppoe.keepalive.0);
        let keys = client_keys!(pppoe);
        self.clients((&path, "pppoe"), &keys, vlans, |resolver, pool| {
            let last = pppoe.clients.saturating_sub(1);
            let texts = [
                ("service", Some(&pppoe.service)),
                ("ac", pppoe.ac.as_ref()),
                ("user", Some(&pppoe.user)),
                ("password", Some(&pppoe.password)),
                ("circuit_id", pppoe.circuit_id.as_ref()),
                ("remote_id", pppoe.remote_id.as_ref()),
            ];
            for (key, text) in texts.into_iter().filter_map(|(key, text)| Some((key, text?))) {
                resolver.check_vlans_of_text(&format!("{path}.{key}"), Some(text), &pool.vlans);
                // The last client's numbers need not be the longest.
                let longest = (0..=last).map(|client| pool.vlans.text(text, client).len()).max().unwrap_or(0);
                if longest > TEXT_MAX {
                    let reason = format!("{longest} bytes for a client; the most is {TEXT_MAX}");
                    resolver.reading.fail(format!("{path}.{key}"), reason);
                }
            }
            PppoeConfig {
                pool,
                retry: resolver.retry(&path, pppoe.retry.0),
                service: pppoe.service.clone(),
                ac: pppoe.ac.clone(),
                user: pppoe.user.clone(),
                password: pppoe.password.clone(),
                methods: match pppoe.authentication {
                    PppoeAuthenticationDoc::Any => {
                        vec![PppoeMethod::MsChapV2, PppoeMethod::ChapMd5, PppoeMethod::Pap]
                    }
                    PppoeAuthenticationDoc::Pap => vec![PppoeMethod::Pap],
                    PppoeAuthenticationDoc::Chap => vec![PppoeMethod::ChapMd5],
                    PppoeAuthenticationDoc::MsChapV2 => vec![PppoeMethod::MsChapV2],
                    PppoeAuthenticationDoc::None => Vec::new(),
                },
                mtu: pppoe.mtu,
                dns: pppoe.dns,
                ipv6: pppoe.ipv6,
                keepalive: Some(pppoe.keepalive.0).filter(|every| *every > Nanos::ZERO),
                keepalive_misses: pppoe.keepalive_misses,
                circuit_id: pppoe.circuit_id.clone(),
                remote_id: pppoe.remote_id.clone(),
            }
        })
    }

    /// Whether a stream goes to the PPPoE clients of the port it arrives at.
    pub(crate) fn is_to_sessions(&mut self, path: &str, stream: &StreamDoc, to: Option<PortName>) -> bool {
        let Some(PortName::Sound(port)) = to else { return false };
        if stream.to_host.as_deref() != Some(NAME) || self.ports[port].pppoe.is_none() {
            return false;
        }
        let path = format!("{path}.to_host");
        if stream.packet.is_empty() {
            self.reading.fail(&path, "PPPoE clients are sent a 'packet', no 'frame' or 'replay'");
        }
        let field = "ipv4.dst";
        if stream.vary.contains_key(field) || stream.per_copy.contains_key(field) {
            let reason =
                format!("'{field}' is that of the PPPoE clients; leave it out, or leave 'to_host' out");
            self.reading.fail(path, reason);
        }
        true
    }

    /// As many addresses as the port has PPPoE clients, which no host has: placeholders for the sessions' addresses.
    /// All are IPv4.
    pub(crate) fn places_of_sessions(
        &mut self,
        path: &str,
        doc: &SessionDoc,
        port: usize,
        server_v6: bool,
    ) -> Option<Vec<AddressRange>> {
        let plan = &self.ports[port];
        let client = doc.client.as_ref();
        let wrong = match &plan.pppoe {
            None => ("addresses", format!("port '{}' has no PPPoE clients; give it 'pppoe'", plan.name)),
            Some(_) if server_v6 => {
                ("addresses", "PPPoE clients have IPv4 addresses, and these servers IPv6 ones".to_owned())
            }
            Some(_) if client.is_some_and(|client| client.mac.is_some()) => {
                ("mac", "PPPoE clients send to their access concentrators; leave it out".to_owned())
            }
            Some(_) if doc.vlan.is_some() || client.is_some_and(|client| client.vlan.is_some()) => (
                "vlan",
                "PPPoE clients are in the VLANs of their port; give 'vlan' to the server alone".to_owned(),
            ),
            Some(pppoe) => {
                let ip = |number: u32| IpAddr::V4(number.into());
                let (first, last) = (ip(1), ip(pppoe.config.pool.clients));
                return Some(vec![AddressRange { first, last, weight: 1, host: 0 }]);
            }
        };
        let (key, reason) = wrong;
        let own = format!("{path}.client.{key}");
        let at = if self.reading.has(&own) { own } else { format!("{path}.{key}") };
        self.reading.fail(at, reason);
        None
    }

    /// Puts the headers of PPPoE and PPP that its author left out before what clients send.
    pub(crate) fn put_in_sessions(&mut self, path: &str, draft: &mut Draft) {
        let headers = &draft.spec.headers;
        let name = |index: usize| headers.get(index).map(|header| header.protocol.name);
        let behind_tags = headers[1..].iter().take_while(|header| header.protocol.name == "vlan").count() + 1;
        if headers[0].value("dst").is_some() {
            let reason = "ethernet.dst is set; with 'from_host: pppoe' it is that of each client's access concentrator";
            self.reading.fail(path, reason);
            return;
        }
        match name(behind_tags) {
            Some("pppoe") => {
                if headers[behind_tags].value("session").is_some() {
                    let reason = "pppoe.session is set; with 'from_host: pppoe' it is that of each client";
                    self.reading.fail(path, reason);
                }
                if name(behind_tags + 1) != Some("ppp") {
                    draft.insert(behind_tags + 1, Header::new(&PPP));
                }
            }
            _ => {
                draft.insert(behind_tags, Header::new(&PPPOE));
                draft.insert(behind_tags + 1, Header::new(&PPP));
            }
        }
    }

    /// Leaves the destination of a packet to the addresses that PPPoE clients get.
    pub(crate) fn leave_destination(&mut self, path: &str, draft: &mut Draft) {
        let found = draft.ip_header().map(|(index, header)| (index, header.protocol.name));
        let Some((index, "ipv4")) = found else {
            self.reading.fail(path, "PPPoE clients have addresses for an ipv4 header only");
            return;
        };
        let header = &mut draft.spec.headers[index];
        if header.value("dst").is_some() {
            self.reading.fail(path, "ipv4.dst is set; with 'to_host: pppoe' it is the clients'");
        }
        if let Some(field) = header.protocol.field("dst") {
            header.put(field, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::load;

    fn profile(pppoe: &str, stream: &str) -> String {
        format!(
            "ports:\n  west: {{device: 'ring:a', pppoe: {pppoe}}}\n  east: {{device: 'ring:b', ip: 10.9.0.2/24, gateway: 10.9.0.1}}\n\
             streams: [{{name: s, rate: 1kpps, {stream}}}]\n"
        )
    }

    fn told(pppoe: &str, stream: &str) -> Vec<String> {
        let errors = load(&profile(pppoe, stream)).err().unwrap_or_default();
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn headers_that_are_left_out_are_put_in() {
        for packet in ["[ipv4, udp]", "[pppoe, ipv4, udp]", "[ethernet, pppoe, ppp, ipv4, udp]"] {
            let text =
                profile("{clients: 3}", &format!("from: west, from_host: pppoe, to: east, packet: {packet}"));
            let text = text.replace("pppoe: {clients", "vlan: 7, pppoe: {clients");
            let plan = load(&text).unwrap_or_else(|errors| panic!("{packet}: {errors:#?}"));
            let names: Vec<&str> =
                plan.streams[0].packet.headers.iter().map(|header| header.protocol.name).collect();
            assert_eq!(names, ["ethernet", "vlan", "pppoe", "ppp", "ipv4", "udp"], "{packet}");
        }
    }

    #[test]
    fn what_clients_give_must_not_be_set() {
        let from = "from: west, from_host: pppoe, to: east, packet:";
        let to = "from: east, to: west, to_host: pppoe, packet:";
        for (stream, reason) in [
            (format!("{from} [{{pppoe: {{session: 3}}}}, ipv4, udp]"), "pppoe.session is set"),
            (
                format!("{from} [{{ethernet: {{dst: '02:00:00:00:00:01'}}}}, ipv4, udp]"),
                "ethernet.dst is set",
            ),
            (format!("{from} [{{ipv4: {{src: 10.0.0.1}}}}, udp]"), "ipv4.src is set"),
            (format!("{from} [{{ipv6: {{dst: '::2'}}}}, udp]"), "for an ipv4 header only"),
            (format!("{to} [{{ipv4: {{dst: 10.0.0.1}}}}, udp]"), "ipv4.dst is set"),
            (
                format!("{to} [ipv4, udp], vary: {{ipv4.dst: {{from: 10.0.0.1, to: 10.0.0.2}}}}"),
                "leave 'to_host' out",
            ),
        ] {
            let told = told("{clients: 3}", &stream);
            assert!(told[0].contains(reason), "{stream}: {told:#?}");
        }
        let long = "x".repeat(253);
        let told = told(&format!("{{clients: 1001, user: '{long}{{n}}'}}"), &format!("{from} [ipv4, udp]"));
        assert!(
            told.len() == 1 && told[0].contains("ports.west.pppoe.user") && told[0].contains("257 bytes"),
            "{told:#?}"
        );
    }
}
