//! A neighbour that has another hardware address while a trial runs: what of the trial goes to it.
//!
//! Not here: how that is noticed (`neighbour::Follower`), and when (`control::neighbours`).

use super::resolved::Trial;
use crate::worker::detour::{Detour, ServerHops, SessionDetour};
use neighbour::Move;
use profile::plan::{HopBy, NextHop};
use session::plan::Side;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

impl Trial<'_> {
    /// Redirects traffic to the new location of a neighbour that moved; returns what workers are to change for it.
    pub(crate) fn follow(&mut self, number: u64, port: usize, step: &Move) -> Detour {
        let Move { ip, hosts, from, to, .. } = step;
        for known in &mut self.known {
            if known.port == port && known.ip == *ip && hosts.contains(&known.host) {
                known.mac = *to;
            }
        }
        let streams = self.streams_by(port, step);
        for index in &streams {
            self.streams[*index as usize].send_to(*to);
        }
        let is_measured = |index: &&u32| {
            let stream = &self.streams[**index as usize];
            stream.measured && stream.to.is_some()
        };
        let measured = streams.iter().filter(is_measured).copied().collect();
        for (index, places) in self.gateways.iter_mut().enumerate() {
            let server = self.plan.sessions[index].session.server.as_ref();
            for (place, gateway) in
                places.iter_mut().enumerate().filter(|_| server.is_some_and(|own| own.port == port))
            {
                let is_its = hosts.contains(&self.hosts.of_session(index, Side::Server, place));
                gateway
                    .iter_mut()
                    .filter(|gateway| is_its && gateway.mac == *from)
                    .for_each(|gateway| gateway.mac = *to);
            }
        }
        let sessions = self.clients_by(port, step).into_iter().chain(self.servers_by(port, step)).collect();
        let ends = self.tunnels_by(port, step);
        let (mut tunnels, mut map) = (Vec::new(), None);
        if !ends.is_empty() {
            let all = Arc::make_mut(&mut self.tunnels);
            tunnels = all.follow(port, &ends, *to);
            map = all.map(port).cloned();
        }
        Detour { number, port, from: *from, to: *to, streams, measured, sessions, tunnels, map }
    }

    fn streams_by(&self, port: usize, step: &Move) -> Vec<u32> {
        let all = self.plan.streams.iter().zip(0..);
        let is_meant = |stream: &profile::plan::StreamPlan| {
            stream.from == port
                && stream.next_hop == NextHop::Resolve(step.ip)
                && step.hosts.contains(&stream.from_host)
        };
        all.filter(|(stream, _)| is_meant(stream)).map(|(_, index)| index).collect()
    }

    fn clients_by(&mut self, port: usize, step: &Move) -> Vec<SessionDetour> {
        let mut all = Vec::<SessionDetour>::new();
        for (index, entry) in self.plan.sessions.iter().enumerate() {
            let client = entry.session.client.as_ref();
            if client.is_none_or(|client| client.port != port || client.tunnel.is_some()) {
                continue;
            }
            for hop in entry.hops.iter().filter(|hop| hop.by == HopBy::Resolve(step.ip)) {
                if !step.hosts.contains(&self.hosts.of_session(index, Side::Client, hop.host)) {
                    continue;
                }
                let (remotes, hops) = (hop.first..=hop.last, &mut self.hops[index][hop.host]);
                hops.iter_mut()
                    .filter(|(servers, _)| *servers == remotes)
                    .for_each(|(_, mac)| *mac = step.to);
                let is_it = |one: &&mut SessionDetour| (one.entry, one.host) == (index, hop.host);
                match all.iter_mut().find(is_it) {
                    Some(one) => {
                        one.remotes.push(remotes);
                        one.hops.clone_from(hops);
                    }
                    None => all.push(SessionDetour {
                        entry: index,
                        side: Side::Client,
                        host: hop.host,
                        remotes: vec![remotes],
                        hops: hops.clone(),
                    }),
                }
            }
        }
        all
    }

    /// Servers reply through their gateway, and to the source address of requests from their own networks: replies to
    /// the neighbour follow it.
    fn servers_by(&self, port: usize, step: &Move) -> Vec<SessionDetour> {
        let everybody = match step.ip {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into()..=Ipv4Addr::BROADCAST.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into()..=Ipv6Addr::from_bits(u128::MAX).into(),
        };
        let mut all = Vec::new();
        for (index, entry) in self.plan.sessions.iter().enumerate() {
            let Some(server) = entry.session.server.as_ref() else { continue };
            if server.port != port || server.tunnel.is_some() {
                continue;
            }
            for host in 0..server.hosts.len() {
                if step.hosts.contains(&self.hosts.of_session(index, Side::Server, host)) {
                    let (entry, side, remotes) = (index, Side::Server, vec![everybody.clone()]);
                    all.push(SessionDetour { entry, side, host, remotes, hops: ServerHops::new() });
                }
            }
        }
        all
    }

    /// Sides of entries whose tunnel goes by way of the neighbour.
    fn tunnels_by(&self, port: usize, step: &Move) -> Vec<(usize, Side)> {
        let entries = self.plan.sessions.iter().enumerate();
        let sides = entries.flat_map(|(index, entry)| {
            let sides = [(Side::Client, &entry.session.client), (Side::Server, &entry.session.server)];
            sides.into_iter().filter_map(move |(side, plan)| Some((index, side, plan.as_ref()?)))
        });
        sides
            .filter(|(_, _, plan)| plan.port == port)
            .filter(|(_, _, plan)| {
                let is_meant =
                    |own: &session::plan::SideTunnel| own.hop == step.ip && step.hosts.contains(&own.host);
                plan.tunnel.as_ref().is_some_and(is_meant)
            })
            .map(|(index, side, _)| (index, side))
            .collect()
    }
}
