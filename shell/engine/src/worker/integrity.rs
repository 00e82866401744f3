//! Payloads of streams with `integrity: full`: filled where they are sent, compared where they arrive.
//!
//! Their filling, and damage detection, is in [`wire::integrity`]. Here is which streams have such payloads, their
//! position in a packet, and where damage is counted.
//!
//! Invariant: a packet is counted as damaged once, regardless of the number of errors in it.

use field::Program;
use measure::{DAMAGE_PLACES, Damages};
use profile::plan::StreamPlan;
use std::sync::Arc;
use wire::integrity::{Damage, Pattern, Place, Source};
use wire::signature::{self, LEN, Mark, Signature};
use wire::{BuildError, Packet, PacketSpec};

/// Where the filling of a packet begins: after headers and given payload.
fn filling_from(spec: &PacketSpec, packet: &Packet) -> usize {
    packet.payload + spec.payload.len()
}

/// The filling of a frame that begins at `from`.
fn filling(frame: &mut [u8], from: usize) -> &mut [u8] {
    let end = frame.len().saturating_sub(LEN);
    frame.get_mut(from..end).unwrap_or_default()
}

/// Fills the payloads of one worker's packets of a stream.
#[derive(Debug, Clone)]
pub(crate) struct Filler {
    pattern: Arc<Pattern>,
    from: usize,
    stream: u32,
    lane: u8,
}

impl Filler {
    /// Fills a frame's payload, given without FCS.
    #[inline]
    pub(crate) fn write(&self, frame: &mut [u8], sequence: u32) {
        let key = self.pattern.key(self.stream, self.lane, sequence);
        self.pattern.write(filling(frame, self.from), key);
    }
}

/// Comparison of a stream's payloads.
#[derive(Debug)]
struct Compared {
    row: usize,
    /// Bytes of headers and given payload.
    before: usize,
    /// Of these, payload, and its bytes, unless they vary.
    given_len: usize,
    given: Box<[u8]>,
    /// Lengths of the filling, ascending.
    lengths: Box<[u16]>,
    /// Bytes of a place at which wrong bits are counted, as a power of two.
    width: u32,
}

impl Compared {
    fn new(row: usize, stream: &StreamPlan) -> Result<Self, BuildError> {
        let spec = &stream.packet;
        let mut packet = spec.build(stream.sizes.longest())?;
        let before = filling_from(spec, &packet);
        let payload = 8 * packet.payload;
        let program = stream.vary.as_ref().and_then(|vary| Program::new(vary, &mut packet, None).ok());
        let varies = program.is_some_and(|program| program.patches().iter().any(|one| one.end() > payload));
        let length = |frame: u32| (frame as usize).saturating_sub(before + LEN) as u16;
        let mut lengths: Vec<u16> =
            stream.sizes.lengths.iter().map(|size| length(size.without_fcs())).collect();
        lengths.sort_unstable();
        let given_len = spec.payload.len();
        let given = if varies { Box::default() } else { spec.payload.clone().into() };
        let longest = given_len + lengths.last().map_or(0, |length| usize::from(*length)) + LEN;
        let width = longest.div_ceil(DAMAGE_PLACES).next_power_of_two().ilog2();
        Ok(Self { row, before, given_len, given, lengths: lengths.into(), width })
    }

    /// Counts wrong bits of a byte of the payload.
    fn bits(&self, damages: &mut Damages, at: usize, bits: u32) {
        damages.bits(self.row, at >> self.width, bits);
    }

    /// Bytes of the filling in front of a signature that ends `room`, as it was sent.
    fn length(&self, room: usize) -> usize {
        match &self.lengths[..] {
            [only] => usize::from(*only),
            _ => room.saturating_sub(self.before),
        }
    }
}

/// A packet without a readable signature, but with a payload that identifies it.
pub(crate) enum Recovered {
    /// One bit of the signature was wrong.
    Whole(Signature),
    /// The time it was sent is lost.
    Untimed(u32),
}

/// Comparison of payloads of a trial's streams.
#[derive(Debug)]
pub(crate) struct Integrity {
    pattern: Arc<Pattern>,
    mark: Mark,
    streams: Vec<Option<Compared>>,
}

impl Integrity {
    /// That of a run with `seed`; `None` if no payload is compared.
    ///
    /// # Errors
    /// Why a packet cannot be built, with its stream's name.
    pub(crate) fn of(seed: u64, streams: &[StreamPlan]) -> Result<Option<Arc<Self>>, (String, BuildError)> {
        let mut rows = 0..;
        let compared = |stream: &StreamPlan| match stream.integrity {
            true => Compared::new(rows.next().unwrap_or(0), stream)
                .map(Some)
                .map_err(|error| (stream.name.clone(), error)),
            false => Ok(None),
        };
        let streams = streams.iter().map(compared).collect::<Result<Vec<_>, _>>()?;
        let any = streams.iter().any(Option::is_some);
        let pattern = || Arc::new(Pattern::of_run(seed));
        Ok(any.then(|| Arc::new(Self { pattern: pattern(), mark: Mark::of_run(seed), streams })))
    }

    /// Number of rows that damage is counted in.
    pub(crate) fn rows(&self) -> usize {
        self.streams.iter().flatten().count()
    }

    /// The row of a stream, and the bytes of a place at which its wrong bits are counted; `None` if it is not compared.
    pub(crate) fn row(&self, stream: usize) -> Option<(usize, usize)> {
        let compared = self.streams.get(stream)?.as_ref()?;
        Some((compared.row, 1 << compared.width))
    }

    /// Filling of a stream's payloads in a worker's packets, if enabled. The payload of `packet` is afterwards one of
    /// them, so that everything computed from it holds for all.
    pub(crate) fn filler(
        &self,
        stream: u32,
        lane: u8,
        spec: &PacketSpec,
        packet: &mut Packet,
    ) -> Option<Filler> {
        self.streams.get(stream as usize)?.as_ref()?;
        let from = filling_from(spec, packet);
        let filler = Filler { pattern: self.pattern.clone(), from, stream, lane };
        filler.write(&mut packet.bytes, 0);
        Some(filler)
    }

    /// Whether nothing is wrong with the payload of a packet, given up to the end of its signature, as far as it is compared.
    #[inline]
    pub(crate) fn is_right(&self, found: &Signature, data: &[u8]) -> bool {
        let Some(Some(compared)) = self.streams.get(found.stream as usize) else { return true };
        let room = &data[..data.len().saturating_sub(LEN)];
        let key = self.pattern.key(found.stream, found.lane, found.sequence);
        let from = room.len().checked_sub(compared.length(room.len()));
        from.is_some_and(|from| {
            self.pattern.matches(&room[from..], key) && room[..from].ends_with(&compared.given)
        })
    }

    /// Looks closely at the payload of such a packet, and counts what is wrong with it; returns whether anything is.
    #[cold]
    pub(crate) fn examine(&self, found: &Signature, data: &[u8], damages: &mut Damages) -> bool {
        let Some(Some(compared)) = self.streams.get(found.stream as usize) else { return false };
        let room = &data[..data.len().saturating_sub(LEN)];
        let key = self.pattern.key(found.stream, found.lane, found.sequence);
        let Compared { before, given, lengths, .. } = compared;
        let place = Place { before: *before, given, lengths };
        // What is given varies, and what follows it is compared.
        let skipped = compared.given_len - given.len();
        let wrong = |at, bits| compared.bits(damages, skipped + at, bits);
        let Some(found) = self.pattern.examine(room, key, place, wrong) else { return false };
        damages.packet(compared.row, found.damage as usize);
        true
    }

    /// Finds out by its payload which packet a frame is that has no signature, and counts what is wrong with it.
    #[cold]
    pub(crate) fn recover(&self, data: &[u8], damages: &mut Damages) -> Option<Recovered> {
        let ip_end = signature::ip_end(data);
        let padded = ip_end.filter(|end| *end < data.len());
        for end in [Some(data.len()), padded].into_iter().flatten() {
            let Some(room) = end.checked_sub(LEN).and_then(|room| data.get(..room)) else { continue };
            let source = self.pattern.source_before_signature(room);
            if let Some((source, compared)) = source.and_then(|source| self.known(source)) {
                return Some(self.repair(source, compared, &data[..end], damages));
            }
        }
        // A whole packet is no part of one: a fragment, say.
        let is_cut = ip_end.is_none_or(|end| end > data.len());
        let source = self.pattern.source_of_beginning(data).filter(|_| is_cut)?;
        let (source, compared) = self.known(source)?;
        damages.packet(compared.row, Damage::Truncated as usize);
        Some(Recovered::Untimed(source.stream))
    }

    fn known(&self, source: Source) -> Option<(Source, &Compared)> {
        Some((source, self.streams.get(source.stream as usize)?.as_ref()?))
    }

    /// Repairs the signature at the end of `data`, if one bit of it is wrong.
    fn repair(&self, source: Source, compared: &Compared, data: &[u8], damages: &mut Damages) -> Recovered {
        let packet = (source.stream, source.lane, source.sequence);
        let Some((found, bit)) = signature::repair(data, &self.mark, packet) else {
            damages.packet(compared.row, Damage::Signature as usize);
            return Recovered::Untimed(source.stream);
        };
        if self.is_right(&found, data) || !self.examine(&found, data, damages) {
            damages.packet(compared.row, Damage::Bit as usize);
        }
        compared.bits(damages, compared.given_len + compared.length(data.len() - LEN) + bit / 8, 1);
        Recovered::Whole(found)
    }
}
