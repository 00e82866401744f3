//! Marks: numbers in IP headers by which packets without a signature are counted.

use super::Resolver;
use crate::plan::StreamPlan;
use ::field::{Target, Vary};
use replay::Trace;
use std::ops::Range;
use std::sync::Arc;
use wire::marked::{self, MARKS};
use wire::{Packet, PacketSpec};

impl Resolver<'_> {
    /// A mark no other stream has.
    fn next_mark(&mut self, path: &str) -> Option<u16> {
        if self.marks == MARKS {
            self.reading.fail(
                format!("{path}.measure"),
                format!("more than {MARKS} streams are marked, copies included"),
            );
            return None;
        }
        self.marks += 1;
        Some(self.marks - 1)
    }

    /// Marks the packets of streams that are built or given byte by byte.
    pub(super) fn mark_streams(&mut self, path: &str, plans: &mut [StreamPlan]) {
        for plan in plans {
            let Some(mark) = self.next_mark(path) else { return };
            let mut spec = PacketSpec::clone(&plan.packet);
            match mark_packet(&mut spec, plan, marked::FIRST + mark) {
                Ok(()) => (plan.packet, plan.mark) = (Arc::new(spec), Some(mark)),
                Err(reason) => return self.reading.fail(format!("{path}.measure"), reason),
            }
        }
    }

    /// Marks captured packets.
    pub(super) fn mark_trace(&mut self, path: &str, trace: &mut Trace) -> Option<u16> {
        let mark = self.next_mark(path)?;
        let mut packets = trace.packets.iter_mut();
        if !packets.all(|packet| marked::write(&mut packet.bytes, marked::FIRST + mark)) {
            let reason = "a mark needs an IP header, and the capture has packets without one";
            self.reading.fail(format!("{path}.measure"), reason);
            return None;
        }
        Some(mark)
    }
}

/// Sets the field of the outermost IP header that has the mark.
fn mark_packet(spec: &mut PacketSpec, plan: &StreamPlan, value: u16) -> Result<(), String> {
    const NO_IP: &str = "a mark needs an ipv4 or ipv6 header";
    if let Some(raw) = &mut spec.raw {
        let headers = wire::read(&raw.bytes).0;
        let ip =
            headers.iter().find(|header| matches!(header.protocol.name, "ipv4" | "ipv6")).ok_or(NO_IP)?;
        let field = if ip.protocol.name == "ipv4" { 4..6 } else { 1..4 };
        refuse_varying(plan, ip.offset + field.start..ip.offset + field.end)?;
        return marked::write(&mut raw.bytes, value).then_some(()).ok_or_else(|| NO_IP.to_owned());
    }
    let index = spec
        .headers
        .iter()
        .position(|header| matches!(header.protocol.name, "ipv4" | "ipv6"))
        .ok_or(NO_IP)?;
    let header = &mut spec.headers[index];
    let name = if header.protocol.name == "ipv4" { "id" } else { "flow_label" };
    let field = header.protocol.field(name).ok_or(NO_IP)?;
    if header.value(name).is_some() {
        return Err(format!("{}.{name} is set, and holds the mark", header.protocol.name));
    }
    header.put(field, value.into());
    let built = spec.build(plan.sizes.longest()).map_err(|error| error.to_string())?;
    let offset = built.offsets[index];
    let bytes =
        offset + usize::from(field.bit / 8)..offset + usize::from(field.bit + field.width).div_ceil(8);
    refuse_varying_in(plan, &built, bytes, index, name)
}

fn refuse_varying(plan: &StreamPlan, bytes: Range<usize>) -> Result<(), String> {
    let packet = plan.packet.build(plan.sizes.longest()).map_err(|error| error.to_string())?;
    refuse_varying_in(plan, &packet, bytes, usize::MAX, "")
}

/// Refuses that `vary` writes where the mark is.
fn refuse_varying_in(
    plan: &StreamPlan,
    packet: &Packet,
    bytes: Range<usize>,
    header: usize,
    name: &str,
) -> Result<(), String> {
    let Some(Vary { writes, .. }) = plan.vary.as_deref() else { return Ok(()) };
    let bits = bytes.start * 8..bytes.end * 8;
    let overlaps = |at: usize, width: u16| at < bits.end && bits.start < at + usize::from(width);
    let hits = writes.iter().any(|write| match write.target {
        Target::Field { header: index, field } => index == header && field.name == name,
        Target::Bits { offset, width } => overlaps(offset as usize, width),
        Target::PayloadBits { offset, width } => overlaps(packet.payload * 8 + offset as usize, width),
    });
    if hits { Err("'vary' writes where the mark is".to_owned()) } else { Ok(()) }
}
