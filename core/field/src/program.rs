//! A program bound to one built packet: verified, with offsets.
//!
//! Here the values are written one after the other and every checksum is computed whole: slow, and easy to see through.

use crate::error::ProgramError;
use crate::value::{Bound, low_bits};
use crate::vary::{FlowOrder, Flows, Target, Vary, Write};
use random::permutation::Permutation;
use std::ops::Range;
use wire::signature::{self, LaneMark, Stamp};
use wire::{Checksum, Packet};

/// Inputs for writing one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inputs {
    /// The packet's number in its stream: decides the values of all variables.
    pub number: u64,
    /// The signature's sequence number.
    pub sequence: u32,
    /// When it is sent, nanoseconds, of which 40 bits are kept.
    pub time: u64,
}

/// A [`Vary`] bound to one built packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    variables: Vec<Bound>,
    flows: Option<Flows>,
    patches: Vec<Patch>,
    checksums: Vec<Checksum>,
    /// Of the signature that ends the frame, if there is one.
    lane: Option<LaneMark>,
    /// The packet with number, sequence and time 0.
    template: Vec<u8>,
}

/// Some bits of the frame, at most 128, and the variable that is written there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patch {
    /// Index of the variable.
    pub variable: usize,
    /// Bits of the frame before the first, the most significant.
    pub bit: usize,
    /// Number of bits: 1 to 128.
    pub width: u16,
    /// Those that are written, seen as a number of `width` bits.
    pub mask: u128,
}

impl Program {
    /// Binds `vary` to `packet`, signing it first for `lane` if that is given. Afterwards the packet is number 0 of the
    /// program, with sequence number and time 0.
    ///
    /// A write to a checksum sets it: it is not computed then.
    pub fn new(vary: &Vary, packet: &mut Packet, lane: Option<LaneMark>) -> Result<Self, ProgramError> {
        let variables = bind_variables(vary)?;
        let patches = bind_writes(vary, packet)?;
        if let Some(lane) = &lane {
            let payload = packet.bytes.len().saturating_sub(packet.payload);
            verify_room(&patches, packet.bytes.len(), payload)?;
            let signed = Stamp::prepare(packet, lane);
            signed.ok_or(ProgramError::NoRoomForSignature { payload })?;
        }
        let is_computed = |checksum: &&Checksum| {
            let field = checksum.offset..checksum.offset + checksum_bytes(checksum);
            !patches.iter().any(|patch| patch.touches(&field))
        };
        let checksums = packet.checksums.iter().filter(is_computed).cloned().collect();
        let template = packet.bytes.clone();
        let mut program = Self { variables, flows: vary.flows, patches, checksums, lane, template };
        program.write(&mut packet.bytes, &Inputs { number: 0, sequence: 0, time: 0 });
        program.template.copy_from_slice(&packet.bytes);
        Ok(program)
    }

    /// Writes every varying field, what varies of the signature, and all computed checksums into `frame`, a copy of the
    /// packet, regardless of its previous contents.
    ///
    /// # Panics
    /// If `frame` is not as long as the packet.
    pub fn write(&self, frame: &mut [u8], inputs: &Inputs) {
        assert_eq!(frame.len(), self.template.len(), "a program fits only copies of its packet");
        let number = self.advance(inputs.number);
        for patch in &self.patches {
            patch.write(frame, self.value(patch.variable, number));
        }
        if let Some(lane) = &self.lane {
            let varying = lane.at(inputs.time).varying(inputs.sequence);
            frame[self.template.len() - varying.len()..].copy_from_slice(&varying);
        }
        for checksum in &self.checksums {
            checksum.write(frame);
        }
    }

    /// The values of all variables in packet `number`, in order.
    pub fn values(&self, number: u64) -> Vec<u128> {
        let number = self.advance(number);
        (0..self.variables.len()).map(|variable| self.value(variable, number)).collect()
    }

    /// Number by which variables advance in packet `number`: the number itself, or its flow's.
    pub fn advance(&self, number: u64) -> u64 {
        match self.flows {
            None => number,
            Some(flows) => flow(&flows, number),
        }
    }

    /// The variables, verified.
    pub fn variables(&self) -> &[Bound] {
        &self.variables
    }

    /// The flows, if there are any.
    pub fn flows(&self) -> Option<&Flows> {
        self.flows.as_ref()
    }

    /// Writes and their offsets. No two patches share a bit, and all lie in the frame.
    pub fn patches(&self) -> &[Patch] {
        &self.patches
    }

    /// The checksums that are computed, in the order in which they must be.
    pub fn checksums(&self) -> &[Checksum] {
        &self.checksums
    }

    /// Of the signature that ends the frame, if there is one: then its last [`signature::VARYING`] bytes are written too.
    pub fn lane(&self) -> Option<&LaneMark> {
        self.lane.as_ref()
    }

    /// The packet with number, sequence and time 0.
    pub fn template(&self) -> &[u8] {
        &self.template
    }

    fn value(&self, variable: usize, number: u64) -> u128 {
        value_of(&self.variables, variable, number)
    }
}

/// The value of a variable at `number`, that of a packet or a flow.
pub(crate) fn value_of(variables: &[Bound], variable: usize, number: u64) -> u128 {
    let bound = &variables[variable];
    match bound.original() {
        Some(original) => bound.derive(value_of(variables, original, number)),
        None => bound.at(number),
    }
}

/// The number of the flow that packet `number` belongs to.
pub(crate) fn flow(flows: &Flows, number: u64) -> u64 {
    let Flows { count, length, order } = *flows;
    match order {
        FlowOrder::Sequential if length == 0 => number % count,
        FlowOrder::Sequential => number / length,
        FlowOrder::Random { seed } => {
            let key = random::key(seed);
            // Numbers never reach more.
            let together = count.saturating_mul(length);
            let Some(renewed) = number.checked_div(together) else {
                return random::below(random::word(key, number), count);
            };
            let order = Permutation::new(together);
            let place = order.at(random::word(key, renewed), number % together);
            renewed.wrapping_mul(count).wrapping_add(place % count)
        }
    }
}

pub(crate) fn bind_variables(vary: &Vary) -> Result<Vec<Bound>, ProgramError> {
    if vary.flows.is_some_and(|flows| flows.count == 0) {
        return Err(ProgramError::Zero { of: "flows".to_owned(), what: "count" });
    }
    let mut bound = Vec::new();
    for index in 0..vary.variables.len() {
        bound.push(Bound::new(&vary.variables, index, &bound)?);
    }
    Ok(bound)
}

fn bind_writes(vary: &Vary, packet: &Packet) -> Result<Vec<Patch>, ProgramError> {
    let mut patches: Vec<Patch> = Vec::new();
    for (write, of) in vary.writes.iter().enumerate() {
        let patch = bind_write(of, write, vary.variables.len(), packet)?;
        if let Some(first) = patches.iter().position(|other| other.overlaps(&patch)) {
            return Err(ProgramError::Overlap { first, second: write });
        }
        patches.push(patch);
    }
    Ok(patches)
}

fn bind_write(of: &Write, write: usize, variables: usize, packet: &Packet) -> Result<Patch, ProgramError> {
    let Write { variable, target, mask } = *of;
    if variable >= variables {
        return Err(ProgramError::NoVariable { write, variable });
    }
    let (bit, width) = match target {
        Target::Field { header, field } => {
            let offset = packet.offsets.get(header).ok_or(ProgramError::NoHeader { write, header })?;
            (offset * 8 + usize::from(field.bit), field.width)
        }
        Target::Bits { offset, width } => (offset as usize, width),
        Target::PayloadBits { offset, width } => (packet.payload * 8 + offset as usize, width),
    };
    if !(1..=128).contains(&width) {
        return Err(ProgramError::Width { of: format!("write {write}"), width });
    }
    let (end, frame) = (bit + usize::from(width), packet.bytes.len() * 8);
    if end > frame {
        return Err(ProgramError::OutsideFrame { write, end_bits: end as u64, frame_bits: frame as u64 });
    }
    Ok(Patch { variable, bit, width, mask: mask & low_bits(width) })
}

/// Whether there is room for a signature at the frame's end, and nothing else is written there.
fn verify_room(patches: &[Patch], frame: usize, payload: usize) -> Result<(), ProgramError> {
    if payload < signature::LEN {
        return Err(ProgramError::NoRoomForSignature { payload });
    }
    let signature = frame - signature::LEN..frame;
    match patches.iter().position(|patch| patch.touches(&signature)) {
        Some(write) => Err(ProgramError::OverlapsSignature { write }),
        None => Ok(()),
    }
}

/// Bytes of a checksum's field.
pub fn checksum_bytes(checksum: &Checksum) -> usize {
    checksum.algorithm.bytes()
}

impl Patch {
    /// Bits of the frame before the first one after it.
    pub fn end(&self) -> usize {
        self.bit + usize::from(self.width)
    }

    fn write(&self, frame: &mut [u8], value: u128) {
        for (place, bit) in (self.bit..self.end()).rev().enumerate() {
            if self.mask >> place & 1 == 1 {
                let (byte, one) = (&mut frame[bit / 8], 0x80 >> (bit % 8));
                *byte = if value >> place & 1 == 1 { *byte | one } else { *byte & !one };
            }
        }
    }

    /// Whether it writes any bit of those bytes.
    fn touches(&self, bytes: &Range<usize>) -> bool {
        let bits = bytes.start * 8..bytes.end * 8;
        (0..usize::from(self.width))
            .any(|place| self.mask >> place & 1 == 1 && bits.contains(&(self.end() - 1 - place)))
    }

    /// Whether both write some bit.
    fn overlaps(&self, other: &Self) -> bool {
        // The same bits of the frame, as seen from the one that ends later.
        let (early, late) = if self.end() <= other.end() { (self, other) } else { (other, self) };
        let apart = late.end() - early.end();
        apart < 128 && late.mask >> apart & early.mask != 0
    }
}

#[cfg(test)]
mod tests;
