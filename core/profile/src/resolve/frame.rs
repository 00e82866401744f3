//! Frames given byte by byte: their MAC addresses, what is written to them, their lengths.

use super::Resolver;
use super::size::is_plus_alone;
use super::stream::equal_copies;
use super::vary::{Fields, Varying};
use crate::document::frame::{DestinationMacDoc, FrameDoc, SourceMacDoc};
use crate::document::size::SizesDoc;
use crate::document::{SizeOf, StreamDoc};
use crate::plan::{NextHop, Sizes, StreamPlan};
use field::{Choice, Pick, Source, Target, Vary};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use units::FrameLen;
use wire::{Header, Packet, PacketSpec, RawFrame, ReadHeader};

/// The shortest frame: both addresses and a type.
const SHORTEST: usize = 14;
/// Values of a variable that are checked one by one.
const VALUES_MAX: u128 = 1 << 16;

impl Resolver<'_> {
    /// A stream of a frame given byte by byte.
    pub(super) fn framed(
        &mut self,
        path: &str,
        stream: &StreamDoc,
        frame: &FrameDoc,
        mut plan: StreamPlan,
    ) -> Vec<StreamPlan> {
        let said = self.reading.errors.len();
        self.refuse_beside_frame(path, stream);
        let frame_path = format!("{path}.frame");
        let bytes = frame.hex.0.clone();
        let longest = FrameLen::MAX.without_fcs() as usize;
        if !(SHORTEST..=longest).contains(&bytes.len()) {
            let reason =
                format!("{} bytes; a frame has from {SHORTEST} to {longest}, without FCS", bytes.len());
            self.reading.fail(format!("{frame_path}.hex"), reason);
            return Vec::new();
        }
        plan.fill_source_mac = frame.src_mac == SourceMacDoc::Port;
        if frame.dst_mac == DestinationMacDoc::NextHop {
            plan.next_hop = self.next_hop_of_port(&format!("{frame_path}.dst_mac"), &plan);
        }
        let raw = RawFrame { bytes, fixes: frame.checksums.iter().map(|fix| fix.0).collect() };
        let (headers, behind) = wire::read(&raw.bytes);
        let ip = headers.iter().find(|header| matches!(header.protocol.name, "ipv4" | "ipv6"));
        plan.destinations = ip.and_then(destination).map(|ip| (ip, ip));
        let packet = Packet {
            offsets: headers.iter().map(|header| header.offset).collect(),
            bytes: raw.bytes.clone(),
            payload: behind,
            checksums: Vec::new(),
        };
        let headers: Vec<Header> = headers.iter().map(Header::from).collect();
        let fields = Fields { headers: &headers, raw: Some(&packet) };
        let vary_path = format!("{path}.vary");
        let varying = self.vary(&vary_path, &stream.vary, stream.flows.as_ref(), stream.lcg_seed, &fields);
        if self.reading.errors.len() > said {
            return Vec::new();
        }
        let whole = raw.whole();
        plan.packet = Arc::new(PacketSpec { raw: Some(raw), ..PacketSpec::default() });
        let mut varying = varying.unwrap_or_default();
        plan.sizes = Arc::new(self.frame_sizes(path, stream, whole, &varying));
        if !self.sums(&frame_path, &plan) {
            return Vec::new();
        }
        last_write_wins(&mut varying, &plan);
        plan.vary = (!varying.vary.writes.is_empty()).then(|| Arc::new(varying.vary.clone()));
        self.check_program(&vary_path, &varying.names, &plan);
        equal_copies(stream, vec![plan])
    }

    /// Keys that describe other packets.
    fn refuse_beside_frame(&mut self, path: &str, stream: &StreamDoc) {
        for (key, given) in [
            ("packet", !stream.packet.is_empty()),
            ("per_copy", !stream.per_copy.is_empty()),
            ("next_hop", stream.next_hop.is_some()),
        ] {
            if given {
                self.reading.fail(format!("{path}.{key}"), "does not go with 'frame'");
            }
        }
        if stream.is_measured() {
            let reason = "a signature would overwrite the end of the 'frame'; give it as 'packet', or use 'measure: mark'";
            self.reading.fail(format!("{path}.measure"), reason);
        }
        if stream.flows.is_some() && stream.vary.is_empty() {
            self.reading.fail(format!("{path}.flows"), "needs 'vary': flows differ in its fields");
        }
    }

    /// The gateway of the port, or the receiver of the stream.
    pub(super) fn next_hop_of_port(&mut self, path: &str, plan: &StreamPlan) -> NextHop {
        let host = self.ports.get(plan.from).and_then(|port| port.hosts.get(plan.from_host));
        let gateway = host.and_then(|host| host.gateways.first());
        match (gateway, plan.to) {
            (Some(gateway), _) => NextHop::Resolve(*gateway),
            (None, Some(_)) => NextHop::PeerPort,
            (None, None) => {
                self.reading.fail(path, "whose? The port has no gateway, and the stream no 'to'");
                NextHop::Given
            }
        }
    }

    /// Whether the checksums can be computed in frames of all lengths; reports an error if not.
    fn sums(&mut self, path: &str, plan: &StreamPlan) -> bool {
        let lengths = [plan.sizes.shortest(), plan.sizes.longest()];
        let error = lengths.into_iter().find_map(|length| plan.packet.build(length).err());
        match error {
            None => true,
            Some(wire::BuildError::CannotFix { index, reason }) => {
                self.reading.fail(format!("{path}.checksums[{index}]"), reason);
                false
            }
            Some(error) => {
                self.reading.fail(path, error.to_string());
                false
            }
        }
    }

    /// Frame lengths: those given, regardless of the contents of the template.
    fn frame_sizes(&mut self, path: &str, stream: &StreamDoc, whole: FrameLen, varying: &Varying) -> Sizes {
        let size_path = format!("{path}.size");
        match &stream.size {
            _ if self.reading.is_broken(&size_path) => Sizes::one(whole),
            None => Sizes::one(whole),
            Some(SizesDoc::SameAs(of)) => {
                self.varying_sizes(&size_path, of, whole, varying).unwrap_or_else(|| Sizes::one(whole))
            }
            Some(doc) if is_plus_alone(doc) => {
                self.reading.fail(format!("{size_path}.plus"), "goes with 'same_as'");
                Sizes::one(whole)
            }
            Some(doc) => self.written_sizes(&size_path, doc).unwrap_or_else(|| Sizes::one(whole)),
        }
    }

    /// The lengths a variable gives.
    fn varying_sizes(
        &mut self,
        path: &str,
        of: &SizeOf,
        whole: FrameLen,
        varying: &Varying,
    ) -> Option<Sizes> {
        if let Some(stranger) = of.strangers.keys().next() {
            self.reading.fail(format!("{path}.{stranger}"), "does not go with 'same_as'");
            return None;
        }
        let names: Vec<&str> = varying.names.variables.iter().map(String::as_str).collect();
        let Some(variable) = names.iter().position(|name| *name == of.same_as) else {
            let reason = spelling::unknown("varying field", &of.same_as, &names);
            self.reading.fail(format!("{path}.same_as"), reason);
            return None;
        };
        let Some(values) = values(&varying.vary.variables[variable].source) else {
            let reason =
                "its values can't be listed: use a range, a list, 'random' or 'lcg' of at most 65536 values";
            self.reading.fail(format!("{path}.same_as"), reason);
            return None;
        };
        let plus = u128::from(of.plus.unwrap_or(0));
        let length = |value: &u128| {
            let bytes = u32::try_from(value + plus).ok()?;
            FrameLen::new(bytes).filter(|length| *length <= whole)
        };
        if let Some(beyond) = values.iter().find(|value| length(value).is_none()) {
            let reason = format!(
                "{beyond} and {plus} is no length of this frame; they are from {} to {whole}",
                FrameLen::MIN
            );
            self.reading.fail(format!("{path}.same_as"), reason);
            return None;
        }
        let lengths: Vec<FrameLen> = values.iter().filter_map(length).collect();
        let (lowest, last) = (*values.first()?, *values.last()?);
        let mut table = vec![0; (last - lowest) as usize + 1];
        for (index, value) in values.iter().enumerate() {
            table[(value - lowest) as usize] = index as u32;
        }
        let choice = Choice::variable(&varying.vary, variable, lowest, table);
        let name = |index: usize| format!("'{}'", varying.names.variables[index]);
        let choice = choice.map_err(|error| self.reading.fail(path, error.explain(&name, &name))).ok()?;
        Some(Sizes { weights: vec![1; lengths.len()], lengths, choice })
    }
}

/// Where an IP header leads.
fn destination(header: &ReadHeader) -> Option<IpAddr> {
    super::packet::ip_value(&Header::from(header), "dst")
}

/// The different values of a source, if there are not too many.
fn values(source: &Source) -> Option<BTreeSet<u128>> {
    let all = |from: u128, to: u128| (to - from < VALUES_MAX).then(|| (from..=to).collect());
    match source {
        Source::Range { first, step, count, width } if *count <= VALUES_MAX => {
            let mask = u128::MAX >> (128 - width);
            Some((0..*count).map(|k| first.wrapping_add(step.wrapping_mul(k)) & mask).collect())
        }
        Source::Random { from, to, .. } => all(*from, *to),
        Source::Lcg { pick: Pick::Range { from, to }, .. } => all((*from).into(), (*to).into()),
        Source::List { values, .. }
        | Source::Weighted { values, .. }
        | Source::Lcg { pick: Pick::List(values), .. } => Some(values.iter().copied().collect()),
        Source::Range { .. } | Source::Derived { .. } => None,
    }
}

/// Of bits that are written several times only the last write is kept, and no writes to a computed checksum.
fn last_write_wins(varying: &mut Varying, plan: &StreamPlan) {
    let Ok(packet) = plan.packet.build(plan.sizes.longest()) else { return };
    let mut taken = vec![false; packet.bytes.len() * 8];
    for checksum in &packet.checksums {
        let field = checksum.offset * 8..(checksum.offset + checksum.algorithm.bytes()) * 8;
        taken[field].fill(true);
    }
    let Vary { writes, .. } = &mut varying.vary;
    for write in writes.iter_mut().rev() {
        let (offset, width) = match write.target {
            Target::Bits { offset, width } => (offset as usize, usize::from(width)),
            Target::PayloadBits { offset, width } => {
                (packet.payload * 8 + offset as usize, usize::from(width))
            }
            Target::Field { .. } => continue,
        };
        for place in 0..width {
            let bit = offset + width - 1 - place;
            if write.mask >> place & 1 == 1 && taken.get(bit) == Some(&true) {
                write.mask &= !(1 << place);
            } else if write.mask >> place & 1 == 1
                && let Some(taken) = taken.get_mut(bit)
            {
                *taken = true;
            }
        }
    }
    let kept: Vec<bool> = writes.iter().map(|write| write.mask != 0).collect();
    let mut keep = kept.iter();
    writes.retain(|_| keep.next() == Some(&true));
    let mut keep = kept.iter();
    varying.names.writes.retain(|_| keep.next() == Some(&true));
}
