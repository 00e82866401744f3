//! Data that a port and its hosts advertise by LLDP.

use crate::document::{Duration, LldpCapabilityDoc, LldpDoc, LldpTlvDoc};
use crate::plan::{HostPlan, LldpPlan};
use crate::resolve::Resolver;
use emulate::lldp::{Advert, Capabilities, LldpId, OrganizationTlv, TEXT_MAX, lldp_ttl_s};
use std::net::IpAddr;
use units::Nanos;

/// Bytes of an organization's TLV (IEEE 802.1AB clause 8.6.1.5).
const ORGANIZATION_MAX: usize = 507;
/// Maximum length of an LLDPDU that fits into an Ethernet frame.
const MESSAGE_MAX: usize = 1_500;
const SECOND: Nanos = Nanos::from_secs(1);
/// Times between LLDPDUs (IEEE 802.1AB clause 9.2.5.6).
const INTERVALS: (Nanos, Nanos) = (Nanos::from_secs(1), Nanos::from_secs(3_600));

/// Makes an identifier of an address or a name: by hardware address, by IP address, by name of an interface, by local text.
struct Kinds {
    mac: fn([u8; 6]) -> LldpId,
    ip: fn(IpAddr) -> LldpId,
    interface: fn(&str) -> LldpId,
    local: fn(&str) -> LldpId,
    plain: fn(&str) -> LldpId,
}

const CHASSIS: Kinds = Kinds {
    mac: LldpId::chassis_mac,
    ip: LldpId::chassis_ip,
    interface: LldpId::chassis_interface,
    local: LldpId::chassis_local,
    plain: LldpId::chassis_local,
};
const PORT: Kinds = Kinds {
    mac: LldpId::port_mac,
    ip: LldpId::port_ip,
    interface: LldpId::port_interface,
    local: LldpId::port_local,
    plain: LldpId::port_interface,
};

impl Resolver<'_> {
    pub(crate) fn lldp(&mut self, port: &str, lldp: &LldpDoc, hosts: &[HostPlan]) -> LldpPlan {
        let path = format!("ports.{port}.lldp");
        if !(INTERVALS.0..=INTERVALS.1).contains(&lldp.interval.0) {
            self.reading.fail(format!("{path}.interval"), "must be from 1s to 1h");
        }
        let spoken = if lldp.each_host { hosts } else { &hosts[..1] };
        let organization = lldp.tlvs.iter().enumerate();
        let organization: Vec<OrganizationTlv> = organization
            .filter_map(|(index, tlv)| self.organization_tlv(&format!("{path}.tlvs[{index}]"), tlv))
            .collect();
        let mut agents = Vec::new();
        for (number, host) in spoken.iter().enumerate() {
            let Some(mut advert) = self.advert(&path, lldp, host, number) else { break };
            advert.organization.clone_from(&organization);
            let len = advert.write([0; 6], 1).len();
            if len > MESSAGE_MAX {
                let reason = format!("{len} bytes in all; an LLDPDU has {MESSAGE_MAX} at most");
                self.reading.fail(&path, reason);
                break;
            }
            agents.push((number, advert));
        }
        let ttl_s = self.hold_time(&path, lldp);
        LldpPlan { agents, interval: lldp.interval.0, ttl_s }
    }

    fn hold_time(&mut self, path: &str, lldp: &LldpDoc) -> u16 {
        let Some(Duration(time)) = lldp.hold_time else { return lldp_ttl_s(lldp.interval.0, lldp.hold) };
        let seconds = u16::try_from(time.0 / SECOND.0).ok().filter(|s| *s > 0 && time.0 % SECOND.0 == 0);
        seconds.unwrap_or_else(|| {
            self.reading.fail(format!("{path}.hold_time"), "must be whole seconds from 1s to 65535s");
            1
        })
    }

    /// The advertisement of one host, without the organizationally specific TLVs; `None` if it can't be encoded, which
    /// is reported.
    fn advert(&mut self, path: &str, lldp: &LldpDoc, host: &HostPlan, number: usize) -> Option<Advert> {
        let text = |text: &Option<String>| text.as_ref().map(|text| text.replace("{n}", &number.to_string()));
        let texts = [
            ("chassis_id", text(&lldp.chassis_id)),
            ("port_id", text(&lldp.port_id)),
            ("port_description", text(&lldp.port_description)),
            ("system_name", text(&lldp.system_name)),
            ("system_description", text(&lldp.system_description)),
        ];
        for (key, text) in &texts {
            if let Some(len) = text.as_ref().map(String::len).filter(|len| *len > TEXT_MAX) {
                self.reading
                    .fail(format!("{path}.{key}"), format!("{len} bytes; a TLV has {TEXT_MAX} at most"));
                return None;
            }
        }
        let [chassis, port, port_description, system_name, system_description] = texts.map(|(_, text)| text);
        let enabled = lldp.enabled.as_ref().unwrap_or(&lldp.capabilities);
        if let Some(at) = enabled.iter().position(|one| !lldp.capabilities.contains(one)) {
            let reason = "is not among 'capabilities'; only what a system can do is enabled";
            self.reading.fail(format!("{path}.enabled[{at}]"), reason);
            return None;
        }
        let capabilities = Capabilities { system: bits(&lldp.capabilities), enabled: bits(enabled) };
        let own = || host.addresses.iter().map(|own| own.ip).collect();
        let given = lldp.management.as_ref().map(|ips| ips.iter().map(|ip| ip.0).collect());
        Some(Advert {
            chassis: chassis.map(|id| identifier(&id, &CHASSIS)),
            port: port.map_or_else(|| LldpId::port_interface(&host.name), |id| identifier(&id, &PORT)),
            port_description,
            system_name: Some(system_name.unwrap_or_else(|| host.name.clone())),
            system_description,
            capabilities: (!lldp.capabilities.is_empty()).then_some(capabilities),
            management: given.unwrap_or_else(own),
            organization: Vec::new(),
        })
    }

    fn organization_tlv(&mut self, path: &str, tlv: &LldpTlvDoc) -> Option<OrganizationTlv> {
        let value = tlv.value.as_ref().map_or_else(Vec::new, |value| value.0.clone());
        if value.len() > ORGANIZATION_MAX {
            let reason = format!("{} bytes; a TLV has {ORGANIZATION_MAX} at most", value.len());
            self.reading.fail(format!("{path}.value"), reason);
            return None;
        }
        let Ok(oui) = <[u8; 3]>::try_from(&tlv.oui.0[..]) else {
            self.reading.fail(format!("{path}.oui"), "must be three bytes such as '00 12 0f'");
            return None;
        };
        Some(OrganizationTlv { oui, subtype: tlv.subtype, value })
    }
}

/// The identifier that a text is.
fn identifier(text: &str, kinds: &Kinds) -> LldpId {
    if let Some(name) = text.strip_prefix("interface:") {
        return (kinds.interface)(name);
    }
    if let Some(name) = text.strip_prefix("local:") {
        return (kinds.local)(name);
    }
    if let Ok(mac) = text.parse::<units::Mac>() {
        return (kinds.mac)(mac.0);
    }
    text.parse().map_or_else(|_| (kinds.plain)(text), kinds.ip)
}

fn bits(capabilities: &[LldpCapabilityDoc]) -> u16 {
    capabilities.iter().fold(0, |bits, one| bits | 1 << *one as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(lldp: &str) -> Result<crate::Plan, Vec<crate::ProfileError>> {
        crate::load(&format!(
            "ports: {{a: {{device: \"ring:a\", ip: 10.0.0.2/24, hosts: [{{count: 2, ip: 10.0.0.3/24}}], lldp: {lldp}}}}}"
        ))
    }

    #[test]
    fn what_is_not_said_follows_from_the_host() {
        let plan = load("{}").unwrap();
        let lldp = plan.ports[0].lldp.as_ref().unwrap();
        let (host, advert) = &lldp.agents[0];
        assert_eq!((lldp.agents.len(), *host, &advert.chassis), (1, 0, &None));
        assert_eq!((advert.port.port_text().as_str(), advert.port.subtype), ("a", 5));
        assert_eq!(advert.management, ["10.0.0.2".parse::<IpAddr>().unwrap()]);
        assert_eq!((advert.capabilities, lldp.ttl_s, lldp.interval), (None, 121, Nanos::from_secs(30)));
    }

    #[test]
    fn hosts_differ_and_identifiers_are_of_their_kind() {
        let text = "{each_host: true, chassis_id: 'rack-{n}', port_id: 'local:p{n}', capabilities: [bridge, router], \
            enabled: [router], tlvs: [{oui: 00120f, subtype: 4, value: 05f2}]}";
        let plan = load(text).unwrap();
        let agents = &plan.ports[0].lldp.as_ref().unwrap().agents;
        let (_, last) = &agents[2];
        assert_eq!((agents.len(), last.chassis.as_ref().unwrap().chassis_kind()), (3, "local"));
        assert_eq!(last.chassis.as_ref().unwrap().chassis_text(), "rack-2");
        assert_eq!((last.port.port_text().as_str(), last.port.subtype), ("p2", 7));
        assert_eq!(last.capabilities, Some(Capabilities { system: 0x14, enabled: 0x10 }));
        assert_eq!(last.organization[0].oui, [0, 0x12, 0x0f]);
        let of = |text: &str| identifier(text, &CHASSIS).subtype;
        assert_eq!((of("02:00:00:00:00:01"), of("10.0.0.1"), of("interface:eth0")), (4, 5, 6));
    }

    #[test]
    fn what_cannot_be_said_is_told() {
        let told = |text: &str| load(text).unwrap_err()[0].to_string();
        assert!(told("{interval: 500ms}").contains("lldp.interval: must be from 1s to 1h"));
        assert!(told("{hold_time: 1500ms}").contains("lldp.hold_time: must be whole seconds"));
        assert!(told("{hold_time: 70000s}").contains("lldp.hold_time: must be whole seconds"));
        assert!(told("{tlvs: [{oui: '0012'}]}").contains("lldp.tlvs[0].oui: must be three bytes"));
        assert!(told("{enabled: [bridge]}").contains("lldp.enabled[0]: is not among 'capabilities'"));
        let long = "x".repeat(256);
        assert!(told(&format!("{{system_name: {long}}}")).contains("lldp.system_name: 256 bytes"));
        let tlvs = format!("{{oui: 00120f, value: {}}},", "0f".repeat(507)).repeat(3);
        assert!(told(&format!("{{tlvs: [{tlvs}]}}")).contains("an LLDPDU has 1500 at most"));
    }
}
