//! Services whose frames have colours: what is committed is green, the excess yellow, by DSCP, PCP or DEI (MEF 10.3, RFC 4115).
//!
//! A device that sees colours keeps a bucket for each: green frames use the CIR, yellow ones the EIR and, if the two are coupled, what
//! green ones leave of the CIR.

use super::{Ask, BURSTS_SHARE, Service, ServiceLoad};
use crate::text::percent;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::quantity;

/// Yellow frames of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct YellowStep {
    /// Requested load, bits/s of frames with FCS.
    pub asked_bps: u64,
    /// Load sent.
    pub offered_bps: f64,
    /// Received.
    pub received_bps: f64,
    /// Frame loss ratio; nothing is guaranteed.
    pub flr: f64,
}

impl Service {
    /// Its stream, and that of its yellow frames.
    pub(super) fn streams(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.name.as_str()).chain(self.yellow.as_deref())
    }

    /// Load of yellow frames beside green ones at the CIR: a quarter more than CIR + EIR in all.
    fn yellow_overshoot_bps(&self) -> u64 {
        self.eir_bps() + (self.cir.bps + self.eir_bps()) / 4
    }

    /// Maximum of yellow frames that a device passes in this number of seconds, bits/s, if it keeps the two rates apart.
    fn most_yellow_bps(&self, margin: f64, seconds: f64) -> f64 {
        let bucket = self.ebs.unwrap_or(0) as f64 * 8.0 / seconds.max(1e-9);
        self.eir_bps() as f64 + (self.cir.bps + self.eir_bps()) as f64 * margin + bucket
    }

    /// Whether the steps with yellow frames could not show what a device does with them.
    pub(super) fn is_yellow_too_little(&self, margin: f64, seconds: f64) -> bool {
        let least = self.yellow_overshoot_bps().min(self.cir.bps + self.eir_bps()) as f64;
        self.yellow.is_some() && least <= self.most_yellow_bps(margin, seconds)
    }
}

impl Ask {
    /// Load of yellow frames; 0 in steps without them.
    pub(super) fn yellow_bps(self, service: &Service) -> u64 {
        match self {
            _ if service.yellow.is_none() => 0,
            Self::Excess => service.eir_bps(),
            Self::PolicingYellow => service.yellow_overshoot_bps(),
            Self::Coupling => service.cir.bps + service.eir_bps(),
            Self::ExcessBursts => (service.eir_bps() as f64 * BURSTS_SHARE) as u64,
            Self::Committed(_) | Self::Policing | Self::Bursts | Self::Performance => 0,
        }
    }

    /// The streams of a service in this step.
    pub(super) fn loads(self, service: &Service) -> Vec<ServiceLoad> {
        let is_yellow = |stream: &str| stream != service.name;
        let of = |stream: &str| ServiceLoad {
            stream: stream.to_owned(),
            yellow_of: is_yellow(stream).then(|| service.name.clone()),
            rate_bps: if is_yellow(stream) { self.yellow_bps(service) } else { self.bps(service) },
            burst_bytes: if is_yellow(stream) {
                service.ebs.filter(|_| self == Self::ExcessBursts)
            } else {
                self.burst_bytes(service)
            },
            frames: service.frames.clone(),
        };
        service.streams().map(of).filter(|load| load.rate_bps > 0).collect()
    }
}

/// Requirements that yellow frames do not meet in a step of this number of seconds, beside green ones of which `green_bps` arrived.
pub(super) fn unmet(
    ask: Ask,
    service: &Service,
    yellow: &YellowStep,
    green_bps: f64,
    margin: f64,
    seconds: f64,
) -> Vec<String> {
    let rate = |bps: f64| quantity(bps, "bps");
    let (received, most) = (yellow.received_bps, service.most_yellow_bps(margin, seconds));
    let all = green_bps + received;
    let mut unmet = Vec::new();
    if service.policing && all > service.most_bps(margin, seconds) {
        unmet.push(format!(
            "{} received, more than CIR + EIR: {} of yellow frames was dropped",
            rate(all),
            percent(yellow.flr)
        ));
    } else if ask == Ask::PolicingYellow && received > most {
        unmet.push(format!("{} of yellow frames received, more than the EIR", rate(received)));
    }
    if ask == Ask::Coupling && service.coupling && received <= most {
        unmet.push(format!(
            "{} of yellow frames received, no more than the EIR: not coupled, although nothing else used the CIR",
            rate(received)
        ));
    }
    if ask == Ask::Coupling && !service.coupling && received > most {
        unmet.push(format!("{} of yellow frames received, more than the EIR: coupled", rate(received)));
    }
    unmet
}

#[cfg(test)]
mod tests {
    use super::super::ServiceConfig;
    use super::super::tests::{mbps, verdicts};
    use super::*;
    use crate::settings::Settings;
    use crate::testbed::Testbed;

    const CIR: f64 = 10e6;
    const EIR: f64 = 5e6;

    /// A device by its rule: what passes of green and yellow frames, bits/s.
    type Rule = fn(f64, f64) -> (f64, f64);

    /// Two buckets, as in RFC 4115 and MEF 10.3; green frames above the CIR use the EIR, too.
    fn apart(green: f64, yellow: f64) -> (f64, f64) {
        let excess = (green - CIR).clamp(0.0, EIR);
        (green.min(CIR) + excess, yellow.min(EIR - excess))
    }

    fn coupled(green: f64, yellow: f64) -> (f64, f64) {
        let excess = (green - CIR).clamp(0.0, EIR);
        let left = (CIR - green).max(0.0);
        (green.min(CIR) + excess, yellow.min(EIR - excess + left))
    }

    /// One bucket for all: it does not see colours.
    fn blind(green: f64, yellow: f64) -> (f64, f64) {
        let pass = ((CIR + EIR) / (green + yellow)).min(1.0);
        (green * pass, yellow * pass)
    }

    fn open(green: f64, yellow: f64) -> (f64, f64) {
        (green, yellow)
    }

    fn service(coupling: bool) -> Service {
        Service {
            name: "voice".into(),
            yellow: Some("excess".into()),
            eir: Some(mbps(5)),
            coupling,
            policing: true,
            ..Service::default()
        }
    }

    /// The steps that failed, and why.
    fn failed(service: Service, rule: Rule) -> Vec<(String, Vec<String>)> {
        let steps = verdicts(service, rule);
        assert!(steps.iter().all(|step| step.passed.is_some()), "{steps:?}");
        let failed = steps.into_iter().filter(|step| step.passed == Some(false));
        failed.map(|step| (step.step, step.because)).collect()
    }

    #[test]
    fn steps_send_green_and_yellow_frames() {
        let steps = verdicts(service(false), apart);
        let asked: Vec<(&str, u64, Option<u64>)> = steps
            .iter()
            .map(|step| {
                let yellow = step.yellow.as_ref().map(|yellow| yellow.asked_bps / 10_000);
                (step.step.as_str(), step.asked_bps / 10_000, yellow)
            })
            .collect();
        assert_eq!(
            asked[3..],
            [
                ("100% of CIR", 1_000, None),
                ("CIR + EIR", 1_000, Some(500)),
                ("policing", 1_625, None),
                ("policing of yellow", 1_000, Some(875)),
                ("coupling", 0, Some(1_500)),
                ("performance", 1_000, None),
            ]
        );
    }

    #[test]
    fn a_device_is_judged_by_what_it_does_with_colours() {
        assert_eq!(failed(service(false), apart), []);
        assert_eq!(failed(service(true), coupled), []);
        let not_coupled = failed(service(true), apart);
        assert_eq!(not_coupled.len(), 1, "{not_coupled:?}");
        assert_eq!(not_coupled[0].0, "coupling");
        assert!(
            not_coupled[0].1[0]
                .starts_with("5 Mbps of yellow frames received, no more than the EIR: not coupled")
        );
        let is_coupled = failed(service(false), coupled);
        assert_eq!(
            is_coupled,
            [(
                "coupling".into(),
                vec!["15 Mbps of yellow frames received, more than the EIR: coupled".into()]
            )]
        );
    }

    /// It is right for a service without colours, and drops green frames for yellow ones.
    #[test]
    fn a_device_that_sees_no_colours_is_found_out() {
        let found = failed(service(true), blind);
        assert_eq!(found.len(), 1, "{found:?}");
        let (step, because) = &found[0];
        assert_eq!(step, "policing of yellow");
        assert!(because.iter().any(|text| text.starts_with("20% lost, at most 0.1%")), "{because:?}");
        let blank = Service { yellow: None, coupling: false, ..service(false) };
        assert_eq!(failed(blank, blind), []);
    }

    #[test]
    fn a_device_that_polices_nothing_passes_too_much() {
        let found = failed(service(true), open);
        let steps: Vec<&str> = found.iter().map(|(step, _)| step.as_str()).collect();
        assert_eq!(steps, ["policing", "policing of yellow"], "{found:?}");
        assert_eq!(found[1].1, ["18.75 Mbps received, more than CIR + EIR: 0% of yellow frames was dropped"]);
        assert_eq!(failed(Service { policing: false, ..service(true) }, open), []);
    }

    #[test]
    fn bursts_of_both_colours_are_sent_together() {
        let service = Service { cbs: Some(10_000), ebs: Some(20_000), ..service(false) };
        let loads = Ask::ExcessBursts.loads(&service);
        let sent: Vec<_> = loads.iter().map(|load| (load.rate_bps, load.burst_bytes)).collect();
        assert_eq!(sent, [(8_000_000, Some(10_000)), (4_000_000, Some(20_000))]);
        assert_eq!(Ask::Performance.loads(&service).len(), 1);
        assert_eq!(
            (super::super::frame(&loads), loads[1].yellow_of.as_deref()),
            ("voice".into(), Some("voice"))
        );
    }

    #[test]
    fn colours_that_make_no_sense_are_refused() {
        let check = |services: Vec<Service>| {
            let config = ServiceConfig { services, ..ServiceConfig::default() };
            config.check(&Testbed::one_way(1_000)).unwrap_err().to_string()
        };
        let with = |change: fn(&mut Service)| {
            let mut changed = service(false);
            change(&mut changed);
            check(vec![changed])
        };
        assert!(with(|service| service.eir = None).contains("yellow needs eir"));
        assert!(
            with(|service| (service.yellow, service.coupling) = (None, true))
                .contains("coupling needs yellow")
        );
        assert_eq!(
            with(|service| service.yellow = Some("voice".into())),
            "services: 'voice' is listed twice"
        );
        let other = Service { name: "excess".into(), ..Service::default() };
        assert_eq!(check(vec![service(false), other]), "services: 'excess' is listed twice");
        assert!(
            with(|service| (service.cbs, service.ebs) = (Some(1), Some(20_000_000)))
                .contains("would send no more than may pass")
        );
    }
}
