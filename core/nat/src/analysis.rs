//! The rules behind mappings, in the terms of RFC 4787 (UDP) and RFC 5382 (TCP).

use crate::{Endpoint, Mapping, Share};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::net::IpAddr;

/// Samples that a rule is judged by, at least.
const LEAST: u64 = 8;
/// Blocks of subscribers that are listed, at most.
const BLOCKS_MAX: usize = 1_000;

/// Dependence of a mapping or a filter on the other end (RFC 4787 sections 4.1 and 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dependence {
    /// On nothing but the inside endpoint.
    EndpointIndependent,
    /// On the other end's address.
    AddressDependent,
    /// On the other end's address and port.
    AddressAndPortDependent,
    /// Some are of one kind and some of another.
    Mixed,
}

impl Dependence {
    /// As RFC 4787 writes it.
    pub fn words(self) -> &'static str {
        match self {
            Self::EndpointIndependent => "endpoint-independent",
            Self::AddressDependent => "address-dependent",
            Self::AddressAndPortDependent => "address and port-dependent",
            Self::Mixed => "not the same for all",
        }
    }
}

/// Which outside addresses one inside address has (RFC 4787 section 4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pooling {
    /// One.
    Paired,
    /// Any of them.
    Arbitrary,
}

/// A rule as far as samples show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judged<T> {
    /// The rule; absent: it can't be judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<T>,
    /// Samples that show the strictest rule there is.
    pub share: Share,
    /// Why it can't be judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl<T> Judged<T> {
    fn is(value: T, share: Share) -> Self {
        Self { value: Some(value), share, reason: None }
    }

    fn unknown(share: Share, reason: impl Into<String>) -> Self {
        Self { value: None, share, reason: Some(reason.into()) }
    }
}

/// Ports of an outside address that one inside address has to itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Block {
    /// The subscriber.
    pub inside: IpAddr,
    /// The outside address.
    pub outside: IpAddr,
    /// Lowest port seen.
    pub first: u16,
    /// Highest port seen.
    pub last: u16,
}

/// Source of a packet that probes whether a mapping lets it in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProbeFrom {
    /// The endpoint that the inside has sent to.
    SameEndpoint,
    /// Its address, another port.
    OtherPort,
    /// Another address.
    OtherAddress,
}

/// Filter of mappings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Filtering {
    /// Its dependence on the other end; the share is of packets from endpoints that the inside has not sent to.
    pub rule: Judged<Dependence>,
    /// Packets from the endpoint that the inside has sent to.
    pub same_endpoint: Share,
    /// From another port of its address.
    pub other_port: Share,
    /// From another address.
    pub other_address: Share,
}

impl Filtering {
    /// By probes, and whether each came through.
    pub fn of(probes: impl IntoIterator<Item = (ProbeFrom, bool)>) -> Self {
        let probes: Vec<_> = probes.into_iter().collect();
        let share = |kind| Share::of(probes.iter().filter(|probe| probe.0 == kind).map(|probe| probe.1));
        let [same, port, address] =
            [ProbeFrom::SameEndpoint, ProbeFrom::OtherPort, ProbeFrom::OtherAddress].map(share);
        let others = Share::new(port.count + address.count, port.of + address.of);
        let rule = if same.of < LEAST || port.of < LEAST {
            Judged::unknown(others, "too few packets were sent")
        } else if !same.is_all() {
            Judged::unknown(others, "packets of the other end itself did not all come through")
        } else {
            match (port.count, address.count) {
                (0, 0) => Judged::is(Dependence::AddressAndPortDependent, others),
                (_, 0) if port.is_all() && address.of > 0 => Judged::is(Dependence::AddressDependent, others),
                _ if port.is_all() && address.of == 0 => {
                    Judged::unknown(others, "the responder has one address only")
                }
                _ if port.is_all() && address.is_all() => Judged::is(Dependence::EndpointIndependent, others),
                _ => Judged::is(Dependence::Mixed, others),
            }
        };
        Self { rule, same_endpoint: same, other_port: port, other_address: address }
    }
}

/// The rules behind mappings that exist at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Analysis {
    /// Mappings looked at.
    pub mappings: u64,
    /// Mappings whose outside endpoint is not the inside one: of none, the device is a firewall and translates nothing.
    pub translated: Share,
    /// Dependence of mappings on the other end; the share is of inside endpoints with several remotes that have one outside endpoint for all.
    pub mapping: Judged<Dependence>,
    /// Its share is of inside addresses with several mappings that have one outside address.
    pub pooling: Judged<Pooling>,
    /// Outside addresses seen.
    pub outside_addresses: u64,
    /// Lowest outside port seen.
    pub port_min: u16,
    /// Highest outside port seen.
    pub port_max: u16,
    /// Mappings whose outside port is the inside one (port preservation).
    pub preserved: Share,
    /// Mappings of which both ports are even or both odd (port parity).
    pub parity: Share,
    /// Pairs of neighbouring inside ports, an even one and the next, whose outside ports are neighbours, too (port contiguity).
    pub contiguous: Share,
    /// Mappings whose outside port is the one after that of the mapping before, in the order in which they were made.
    pub sequential: Share,
    /// Outside endpoints that more than one inside endpoint has (port overloading).
    pub overloaded: Share,
    /// Outside endpoints that more than one inside endpoint has towards one remote: packets from there have two owners.
    pub ambiguous: u64,
    /// Ports of each subscriber, if each has its own; the share is of subscribers.
    pub blocks: Judged<Vec<Block>>,
    /// Least and largest size of a block that these allow; absent: there are no blocks, or of one subscriber only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_ports: Option<(u32, u32)>,
}

impl Analysis {
    /// Of mappings in the order in which they were made; `None` of none.
    pub fn of(mappings: &[Mapping]) -> Option<Self> {
        let ports = || mappings.iter().map(|mapping| mapping.outside.port);
        let (port_min, port_max) = (ports().min()?, ports().max()?);
        let share = |is: fn(&Mapping) -> bool| Share::of(mappings.iter().map(is));
        let preserved = share(|mapping| mapping.inside.port == mapping.outside.port);
        let outside: BTreeSet<IpAddr> = mappings.iter().map(|mapping| mapping.outside.address).collect();
        let (blocks, block_ports) = blocks(mappings, preserved);
        Some(Self {
            mappings: mappings.len() as u64,
            translated: share(|mapping| mapping.inside != mapping.outside),
            mapping: dependence(mappings),
            pooling: pooling(mappings, outside.len()),
            outside_addresses: outside.len() as u64,
            port_min,
            port_max,
            preserved,
            parity: share(|mapping| mapping.inside.port % 2 == mapping.outside.port % 2),
            contiguous: contiguous(mappings),
            sequential: sequential(mappings),
            overloaded: overloaded(mappings),
            ambiguous: ambiguous(mappings),
            blocks,
            block_ports,
        })
    }
}

/// Mappings by inside endpoint: the remotes of each, and what it was there.
fn by_inside(mappings: &[Mapping]) -> BTreeMap<Endpoint, Vec<(Endpoint, Endpoint)>> {
    let mut all: BTreeMap<Endpoint, Vec<(Endpoint, Endpoint)>> = BTreeMap::new();
    for mapping in mappings {
        all.entry(mapping.inside).or_default().push((mapping.remote, mapping.outside));
    }
    all
}

fn dependence(mappings: &[Mapping]) -> Judged<Dependence> {
    let (mut kept, mut same_address, mut other_address) = (Vec::new(), Vec::new(), Vec::new());
    for seen in by_inside(mappings).values() {
        let (first_remote, first_outside) = seen[0];
        let others = || seen.iter().filter(|(remote, _)| *remote != first_remote);
        if others().next().is_none() {
            continue;
        }
        kept.push(others().all(|(_, outside)| *outside == first_outside));
        // Within each remote address: whether another port there was another endpoint here.
        for (remote, outside) in others() {
            let is_same = *outside == first_outside;
            if remote.address == first_remote.address {
                same_address.push(is_same);
            } else {
                other_address.push(is_same);
            }
        }
    }
    let share = Share::of(kept);
    let (port, address) = (Share::of(same_address), Share::of(other_address));
    if share.of < LEAST {
        return Judged::unknown(share, format!("{} inside endpoints sent to several remotes", share.of));
    }
    if port.of == 0 {
        return match address.count {
            0 => Judged::unknown(share, "no inside endpoint sent to two ports of one address"),
            _ if address.is_all() => Judged::is(Dependence::EndpointIndependent, share),
            _ => Judged::is(Dependence::Mixed, share),
        };
    }
    match () {
        () if port.is_all() && address.is_all() => Judged::is(Dependence::EndpointIndependent, share),
        () if port.is_all() && address.of == 0 => {
            Judged::unknown(share, "the responder has one address only; its port makes no difference")
        }
        // A port drawn at random is the same again now and then.
        () if port.is_all() && address.upper < 0.5 => Judged::is(Dependence::AddressDependent, share),
        () if port.upper < 0.5 && (address.of == 0 || address.upper < 0.5) => {
            Judged::is(Dependence::AddressAndPortDependent, share)
        }
        () => Judged::is(Dependence::Mixed, share),
    }
}

fn pooling(mappings: &[Mapping], outside_addresses: usize) -> Judged<Pooling> {
    let mut of: BTreeMap<IpAddr, (u64, BTreeSet<IpAddr>)> = BTreeMap::new();
    for mapping in mappings {
        let (count, addresses) = of.entry(mapping.inside.address).or_default();
        *count += 1;
        addresses.insert(mapping.outside.address);
    }
    let several = of.values().filter(|(count, _)| *count >= LEAST);
    let share = Share::of(several.map(|(_, addresses)| addresses.len() == 1));
    match () {
        () if outside_addresses < 2 => Judged::unknown(share, "one outside address was seen"),
        () if share.of < 2 => {
            Judged::unknown(share, format!("{} inside addresses have {LEAST} mappings or more", share.of))
        }
        () if share.is_all() => Judged::is(Pooling::Paired, share),
        () => Judged::is(Pooling::Arbitrary, share),
    }
}

fn contiguous(mappings: &[Mapping]) -> Share {
    let of: HashMap<(Endpoint, Endpoint), Endpoint> =
        mappings.iter().map(|mapping| ((mapping.inside, mapping.remote), mapping.outside)).collect();
    let even = mappings.iter().filter(|mapping| mapping.inside.port % 2 == 0);
    Share::of(even.filter_map(|mapping| {
        let next = Endpoint { port: mapping.inside.port + 1, ..mapping.inside };
        let next = of.get(&(next, mapping.remote))?;
        Some(
            next.address == mapping.outside.address && Some(next.port) == mapping.outside.port.checked_add(1),
        )
    }))
}

/// Of the mappings that are the first of their inside endpoint: others may well be those there were.
fn sequential(mappings: &[Mapping]) -> Share {
    let mut known = HashSet::new();
    let first: Vec<&Mapping> = mappings.iter().filter(|mapping| known.insert(mapping.inside)).collect();
    let is_next = |pair: &[&Mapping]| {
        let (before, after) = (pair[0].outside, pair[1].outside);
        before.address == after.address && before.port.checked_add(1) == Some(after.port)
    };
    Share::of(first.windows(2).map(is_next))
}

fn overloaded(mappings: &[Mapping]) -> Share {
    let mut of: HashMap<Endpoint, (Endpoint, bool)> = HashMap::new();
    for mapping in mappings {
        let (inside, several) = of.entry(mapping.outside).or_insert((mapping.inside, false));
        *several |= *inside != mapping.inside;
    }
    Share::of(of.values().map(|(_, several)| *several))
}

fn ambiguous(mappings: &[Mapping]) -> u64 {
    let mut of: HashMap<(Endpoint, Endpoint), (Endpoint, bool)> = HashMap::new();
    for mapping in mappings {
        let (inside, several) =
            of.entry((mapping.outside, mapping.remote)).or_insert((mapping.inside, false));
        *several |= *inside != mapping.inside;
    }
    of.values().filter(|(_, several)| *several).count() as u64
}

/// Whether the ports of each subscriber lie by themselves, and how large blocks can be.
fn blocks(mappings: &[Mapping], preserved: Share) -> (Judged<Vec<Block>>, Option<(u32, u32)>) {
    let mut seen: BTreeMap<(IpAddr, IpAddr), BTreeSet<u16>> = BTreeMap::new();
    for mapping in mappings {
        seen.entry((mapping.outside.address, mapping.inside.address))
            .or_default()
            .insert(mapping.outside.port);
    }
    let enough = seen.iter().filter(|(_, ports)| ports.len() as u64 >= LEAST);
    let mut blocks: Vec<Block> = enough
        .filter_map(|((outside, inside), ports)| {
            Some(Block { inside: *inside, outside: *outside, first: *ports.first()?, last: *ports.last()? })
        })
        .collect();
    blocks.sort_by_key(|block| (block.outside, block.first));
    let of = blocks.len() as u64;
    if of < 2 {
        let reason = format!("{of} subscribers have {LEAST} outside ports or more");
        return (Judged::unknown(Share::new(0, of), reason), None);
    }
    let neighbours = || blocks.windows(2).filter(|pair| pair[0].outside == pair[1].outside);
    if neighbours().next().is_none() {
        let reason = "no two subscribers have one outside address";
        return (Judged::unknown(Share::new(0, of), reason), None);
    }
    if preserved.count * 2 > preserved.of {
        let reason = "ports are preserved, so their ranges are the subscribers' own";
        return (Judged::unknown(Share::new(0, of), reason), None);
    }
    let apart = Share::of(neighbours().map(|pair| pair[0].last < pair[1].first));
    if !apart.is_all() {
        return (Judged { value: Some(Vec::new()), share: apart, reason: None }, None);
    }
    let least = blocks.iter().map(|block| u32::from(block.last - block.first) + 1).max().unwrap_or(1);
    // Two blocks begin at least one block apart: from the first port seen of one to the last seen of the next two fit.
    let most = neighbours().map(|pair| u32::from(pair[1].last - pair[0].first)).min().unwrap_or(u32::MAX);
    blocks.truncate(BLOCKS_MAX);
    (Judged::is(blocks, apart), Some((least, most.max(least))))
}

#[cfg(test)]
mod tests;
