//! Virtual routers of a port: they are elected before traffic, and handled while it runs.
//!
//! Not here: the protocol (`emulate::vrrp`).

use crate::control::commands::ActionOn;
use crate::emulation::protocol::{Context, FAREWELL, HostProtocol, Listing, Planned, Wait};
use crate::trial::hosts::link_local;
use emulate::vrrp::{
    VirtualRouters, VrrpChange, VrrpConfig, VrrpInvalid, VrrpReason, VrrpRouter, VrrpState, vrrp_may_concern,
};
use neighbour::Hosts;
use profile::plan::PortPlan;
use result::{
    Counters, NewProtocolChange, PortResult, ProtocolAction, ProtocolStates, VrrpChangeResult, VrrpResult,
    VrrpRouterResult, VrrpRouterState,
};
use std::net::IpAddr;
use units::{Nanos, count};

/// Virtual routers of a port.
#[derive(Debug)]
pub(super) struct Routers {
    machine: VirtualRouters,
    /// Names of the port's hosts.
    hosts: Vec<String>,
    timeout: Nanos,
    begun: Option<Nanos>,
    epoch: Option<Nanos>,
    /// Reason for an invalid result, known when traffic started.
    late: Option<String>,
    /// Rows when traffic had ended.
    at_end: Option<Vec<VrrpRouterResult>>,
}

impl Routers {
    /// Names and addresses that commands know them by.
    fn is_meant(router: &VrrpRouter, command: &NewProtocolChange) -> bool {
        let config = router.config();
        let is_it = |name: &String| {
            let ip: Option<IpAddr> = name.parse().ok();
            config.name == *name || ip.is_some_and(|ip| ip == config.local || config.addresses.contains(&ip))
        };
        command.peers.is_empty() || command.peers.iter().any(is_it)
    }

    fn rows(&self) -> Vec<VrrpRouterResult> {
        let row = |router: &VrrpRouter| row(router, &self.hosts, self.epoch);
        self.machine.routers().iter().map(row).collect()
    }

    /// Counters until now, and states when traffic had ended; before that, the current ones.
    fn row(&self, commands: u64) -> VrrpResult {
        let mut all = VrrpResult {
            routers: self.machine.routers().len() as u64,
            rx_unknown_vrid: self.machine.strangers(),
            commands,
            virtual_routers: self.at_end.clone().unwrap_or_else(|| self.rows()),
            ..VrrpResult::default()
        };
        for router in self.machine.routers() {
            let counts = router.counts();
            all.became_active += counts.became_active;
            all.became_backup += counts.became_backup;
            all.tx_advertisements += counts.sent;
            all.rx_advertisements += counts.received;
            let longest = counts.takeover_max.map(Nanos::as_secs_f64);
            all.takeover_max_s = all.takeover_max_s.into_iter().chain(longest).reduce(f64::max);
            for (name, invalid) in invalid(router) {
                *all.rx_invalid.entry(name).or_default() += invalid;
            }
        }
        let is_active = |row: &&VrrpRouterResult| row.state == VrrpState::Active.name();
        all.active_at_end = all.virtual_routers.iter().filter(is_active).count() as u64;
        all
    }
}

impl Planned for Routers {
    const KEY: &'static str = "vrrp";
    const CONCERNS: fn(&[u8]) -> bool = vrrp_may_concern;
    const NEEDS_HOSTS: bool = true;

    fn is_planned(port: &PortPlan) -> bool {
        port.vrrp.is_some()
    }

    fn of(context: &Context<'_>) -> Option<Self> {
        let plan = context.port.vrrp.as_ref()?;
        let router = |config: &VrrpConfig| VrrpConfig {
            local: match config.local {
                IpAddr::V6(ip) => link_local(ip, context.macs[config.host]).into(),
                ip => ip,
            },
            ..config.clone()
        };
        Some(Self {
            machine: VirtualRouters::new(plan.routers.iter().map(router).collect()),
            hosts: context.port.hosts.iter().map(|host| host.name.clone()).collect(),
            timeout: plan.timeout,
            begun: None,
            epoch: None,
            late: None,
            at_end: None,
        })
    }
}

impl HostProtocol for Routers {
    fn take(&mut self, now: Nanos, frame: &[u8], _: Option<&Hosts>) -> bool {
        vrrp_may_concern(frame) && self.machine.take(now, frame)
    }

    fn poll(&mut self, now: Nanos, frames: &mut Vec<Vec<u8>>) {
        self.machine.poll(now, frames);
    }

    fn next_due(&self) -> Nanos {
        self.machine.next_due()
    }

    fn set_up(&mut self, now: Nanos, _: Option<&Hosts>, _: &mut Vec<Vec<u8>>) {
        self.begun.get_or_insert(now);
        self.machine.begin(now);
    }

    fn may_start(&mut self, now: Nanos, wait: Wait) -> bool {
        let Some(begun) = self.begun else { return false };
        wait.patient || self.machine.is_settled() || now.since(begun) > self.timeout
    }

    fn conclude(&mut self, _: Nanos, patient: bool) -> Option<String> {
        let waiting = self.machine.routers().iter().filter(|router| !router.is_settled()).count();
        let all = self.machine.routers().len();
        if waiting > 0 && !patient {
            let (waiting, all) = (count(waiting as u64), count(all as u64));
            self.late =
                Some(format!("{waiting} of {all} virtual routers were not elected within {}", self.timeout));
        }
        None
    }

    fn start(&mut self, epoch: Nanos) {
        self.epoch = Some(epoch);
        self.machine.start(epoch);
    }

    fn shut(&mut self, now: Nanos) -> Nanos {
        self.at_end = Some(self.rows());
        self.machine.shut(now);
        now + FAREWELL
    }

    fn is_over(&self) -> bool {
        self.machine.next_due() == Nanos::MAX
    }

    fn member(&self) -> &'static str {
        "virtual router"
    }

    fn has_member(&self, command: &NewProtocolChange) -> bool {
        self.machine.routers().iter().any(|router| Self::is_meant(router, command))
    }

    fn obeys(&self, on: ActionOn) -> bool {
        matches!(on, ActionOn::Sessions | ActionOn::Virtual)
    }

    fn change(&mut self, now: Nanos, command: &NewProtocolChange) -> u64 {
        let routers = self.machine.routers_mut().iter_mut();
        let meant = routers.filter(|router| Self::is_meant(router, command));
        let changed = meant.map(|router| match command.action {
            ProtocolAction::Down => router.leave(now),
            ProtocolAction::Priority => command.priority.is_some_and(|new| router.set_priority(now, new)),
            _ => router.come_back(now),
        });
        changed.filter(|is_change| *is_change).count() as u64
    }

    fn list(&self, listing: Listing<'_>, all: &mut ProtocolStates) {
        all.counts.vrrp_routers += self.machine.routers().len() as u64;
        all.counts.vrrp_active += self.machine.active() as u64;
        let state = |router: &VrrpRouter| VrrpRouterState {
            port: listing.port.to_owned(),
            is_down: router.is_down(),
            router: row(router, &self.hosts, self.epoch),
        };
        let listed = self.machine.routers().iter().take(listing.limit - all.vrrp.len());
        all.vrrp.extend(listed.map(state));
    }

    fn report(&self, commands: u64, row: &mut PortResult) {
        row.vrrp = Some(self.row(commands));
    }

    fn complaints(&self) -> Vec<String> {
        self.late.iter().cloned().collect()
    }

    /// The first takeover while traffic ran.
    fn note(&self) -> Option<String> {
        let is_takeover = |change: &&VrrpChangeResult| {
            change.state == VrrpState::Active.name() && change.at_s.is_some_and(|at| at >= 0.0)
        };
        let rows = self.at_end.as_ref()?.iter();
        let takeovers = rows.flat_map(|row| row.changes.iter().map(move |change| (row, change)));
        let mut takeovers = takeovers.filter(|(_, change)| is_takeover(change));
        let (row, change) = takeovers.next()?;
        let after = change.takeover_s.map_or_else(String::new, |after| {
            format!(", {after:.3} s after the last advertisement of another router")
        });
        let more = match takeovers.count() {
            0 => String::new(),
            more => format!("; {} more takeovers", count(more as u64)),
        };
        let (at, vrid, reason) = (change.at_s.unwrap_or_default(), row.vrid, &change.reason);
        Some(format!("virtual router {vrid} became Active at {at:.3} s ({reason}){after}{more}"))
    }
}

/// Advertisements discarded, by reason.
fn invalid(router: &VrrpRouter) -> impl Iterator<Item = (String, u64)> {
    let reasons = VrrpInvalid::ALL.iter().zip(router.counts().invalid);
    reasons.filter(|(_, count)| *count > 0).map(|(reason, count)| (reason.name().to_owned(), count))
}

fn row(router: &VrrpRouter, hosts: &[String], epoch: Option<Nanos>) -> VrrpRouterResult {
    let (config, counts) = (router.config(), router.counts());
    VrrpRouterResult {
        name: config.name.clone(),
        host: hosts[config.host].clone(),
        vrid: config.vrid.into(),
        version: config.version.number().into(),
        local: config.local.to_string(),
        addresses: config.addresses.iter().map(ToString::to_string).collect(),
        mac: units::Mac(router.mac()).to_string(),
        state: router.state().name().to_owned(),
        priority: router.priority().into(),
        peer: router.peer().map(|(ip, _)| ip.to_string()),
        peer_priority: router.peer().map(|(_, priority)| priority.into()),
        became_active: counts.became_active,
        became_backup: counts.became_backup,
        takeover_s: counts.takeover.map(Nanos::as_secs_f64),
        handover_s: counts.handover.map(Nanos::as_secs_f64),
        tx_advertisements: counts.sent,
        tx_priority_zero: counts.sent_leaving,
        rx_advertisements: counts.received,
        rx_priority_zero: counts.received_leaving,
        rx_differing: counts.differing,
        rx_invalid: invalid(router).collect::<Counters>(),
        tx_replies: counts.replies,
        changes: router.changes().map(|change| change_row(change, epoch)).collect(),
    }
}

fn change_row(change: &VrrpChange, epoch: Option<Nanos>) -> VrrpChangeResult {
    let VrrpChange { at, state, reason, after } = *change;
    let relative = |epoch: Nanos| match at.0.checked_sub(epoch.0) {
        Some(later) => Nanos(later).as_secs_f64(),
        None => -epoch.since(at).as_secs_f64(),
    };
    VrrpChangeResult {
        at_s: epoch.map(relative),
        state: state.name().to_owned(),
        reason: reason.name().to_owned(),
        takeover_s: after.filter(|_| reason != VrrpReason::Startup).map(Nanos::as_secs_f64),
    }
}
