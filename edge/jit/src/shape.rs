//! The shape of a program: the input of machine code. Everything else is in the blocks (`block.rs`).
//!
//! Not here: constants. Programs that differ only in first values, steps, counts, seeds, lists, template bytes or the
//! frame's length have the same shape and share their code.

use field::{Bound, Draw, FlowOrder, ListOrder, Patch, Pick, Program, Source, checksum_bytes};
use std::ops::Range;
use wire::{Algorithm, Checksum};

/// Input of the compiler.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    pub(crate) variables: Vec<VariableShape>,
    pub(crate) advance: Advance,
    pub(crate) chunks: Vec<Chunk>,
    pub(crate) checksums: Vec<ChecksumShape>,
    pub(crate) signed: bool,
}

/// Advance of variables from one packet to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) enum Advance {
    /// Step by step, from a state kept between packets.
    #[default]
    Stepwise,
    /// Each packet's are computed from its flow's number: the packet's number modulo the flows.
    Round,
    /// Each packet's are computed from its flow's number, drawn at random.
    Drawn {
        /// Whether flows are ever renewed.
        renewed: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct VariableShape {
    pub(crate) kind: ValueKind,
    pub(crate) hold: Hold,
    /// Whether the upper 64 bits of the value matter.
    pub(crate) wide: bool,
}

/// Time for which a variable keeps a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Hold {
    /// One packet.
    Never,
    /// Several packets.
    Counted,
    /// As long as numbers last.
    Forever,
}

/// Computation of a variable's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ValueKind {
    /// Nobody needs it.
    Unused,
    Range {
        wraps: Wraps,
        /// Whether its step is one.
        unit: bool,
        /// Whether bits beyond its width must be cleared because someone would see them.
        masked: bool,
    },
    Random(Span),
    List,
    RandomList,
    WeightedList,
    /// By the interpreter, in each turn.
    Called,
    /// By the interpreter, at each number: it has no turns that could be counted on.
    Numbered,
    Lcg {
        /// Draws of a number.
        draws: u32,
        becomes: Becomes,
        /// Whether its sequence begins again after some turns.
        limited: bool,
    },
    Derived {
        of: usize,
        shift: i8,
    },
}

/// Mapping of a drawn number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Becomes {
    /// The smallest value, plus the number modulo the number of values.
    Value,
    /// Element of a list.
    Entry,
    /// Itself.
    Itself,
}

/// Detection that a range has wrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Wraps {
    /// It never does, or at the same time as its width, by itself.
    Never,
    /// By the value after the last, which comes only there.
    ByValue,
    /// By counting.
    ByIndex,
}

/// Mapping of random bits to a number of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Span {
    /// The upper ones of 64 bits.
    Shift,
    /// The upper bits of 128, without this number of bits.
    WideShift(u8),
    /// 64 bits as a fraction, times the span.
    Multiply,
    /// The value of one of this number of parts.
    Parts,
}

/// Neighbouring bytes that are written at once: 1, 2, 4 or 8.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Chunk {
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
    pub(crate) pieces: Vec<Piece>,
    /// Whether some of its bits are the template's.
    pub(crate) fixed: bool,
}

/// The part of a chunk that one variable gives. The chunk is seen as a big-endian number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Piece {
    pub(crate) variable: usize,
    /// Bits the value is shifted left, or right if negative.
    pub(crate) shift: i16,
    /// Bits of the chunk it gives.
    pub(crate) mask: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ChecksumShape {
    pub(crate) offset: usize,
    /// Of the field.
    pub(crate) bytes: usize,
    pub(crate) way: Way,
}

/// Computation of a checksum.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Way {
    /// A constant sum and the sum of what varies.
    Sum {
        zero_as_ones: bool,
        parts: Vec<Part>,
        /// Whether it covers the signature; then, whether it begins at an odd offset.
        signature: Option<bool>,
    },
    /// Over the whole of the frame, by a function.
    Whole,
}

/// Something that varies under a checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Part {
    pub(crate) word: Word,
    /// Whether it begins at an odd offset from what is covered, so that its bytes count the other way round.
    pub(crate) swapped: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Word {
    /// Index of a chunk.
    Chunk(usize),
    /// Index of an earlier checksum.
    Checksum(usize),
}

impl Shape {
    pub(crate) fn of(program: &Program) -> Self {
        let chunks = chunks(program);
        let checksums = (0..program.checksums().len()).map(|i| checksum(program, &chunks, i)).collect();
        let (variables, advance) = (variables(program), advance(program));
        Self { variables, advance, chunks, checksums, signed: program.lane().is_some() }
    }
}

/// Packets of one turn of a variable. With flows one after the other, these count packets; else flows.
pub(crate) fn divisor(program: &Program, variable: &Bound) -> u128 {
    let divisor = if is_numbered(program, variable) { 1 } else { variable.divisor() };
    divisor.saturating_mul(flow_length(program))
}

/// Packets a variable is ahead of its turns.
pub(crate) fn offset(program: &Program, variable: &Bound) -> u128 {
    if is_numbered(program, variable) { 0 } else { variable.offset() * flow_length(program) }
}

/// Packets of each number that variables advance by.
fn flow_length(program: &Program) -> u128 {
    match program.flows() {
        Some(flows) if flows.order == FlowOrder::Sequential && flows.length > 0 => flows.length.into(),
        _ => 1,
    }
}

/// Whether nothing is constant from one packet to the next, so that the interpreter is called each time: that is rare,
/// and slower.
fn is_numbered(program: &Program, variable: &Bound) -> bool {
    let stepwise = advance(program) == Advance::Stepwise;
    let far = |numbers: u128| numbers.saturating_mul(flow_length(program)) > u128::from(u64::MAX);
    let is_ahead = variable.offset() > 0;
    let is_long = matches!(variable.source(), Source::Range { count, .. } if *count > u128::from(u64::MAX));
    variable.period().is_some()
        || is_ahead && (!stepwise || is_long || far(variable.divisor()) || far(variable.offset()))
        || variable.sequence().is_some() && !stepwise
}

fn advance(program: &Program) -> Advance {
    match program.flows().map(|flows| (flows.order, flows.length)) {
        None => Advance::Stepwise,
        Some((FlowOrder::Sequential, 0)) => Advance::Round,
        Some((FlowOrder::Sequential, _)) => Advance::Stepwise,
        Some((FlowOrder::Random { .. }, length)) => Advance::Drawn { renewed: length > 0 },
    }
}

fn variables(program: &Program) -> Vec<VariableShape> {
    let bound = program.variables();
    let mut uses = vec![Use::default(); bound.len()];
    for patch in program.patches() {
        let used = &mut uses[patch.variable];
        used.bits = used.bits.max(u32::from(patch.width).min(128 - patch.mask.leading_zeros()));
    }
    let mut shapes = Vec::new();
    // Last ones first: a derived one says what is needed of its original.
    for (index, variable) in bound.iter().enumerate().rev() {
        let shape = variable_shape(program, variable, uses[index]);
        if let ValueKind::Derived { of, shift } = shape.kind {
            uses[of].bits = if shape.wide || shift < 0 { 128 } else { uses[of].bits.max(64) };
        }
        shapes.push(shape);
    }
    shapes.reverse();
    shapes
}

/// Use of a variable: number of its lowest bits.
#[derive(Debug, Clone, Copy, Default)]
struct Use {
    bits: u32,
}

fn variable_shape(program: &Program, variable: &Bound, used: Use) -> VariableShape {
    let wide = used.bits > 64 && may_be_wide(variable.source());
    let kind = match used.bits {
        0 => ValueKind::Unused,
        _ if variable.original().is_none() && is_numbered(program, variable) => ValueKind::Numbered,
        _ => kind(variable, used, wide),
    };
    let hold = match divisor(program, variable) {
        1 => Hold::Never,
        divisor if divisor > u128::from(u64::MAX) => Hold::Forever,
        _ => Hold::Counted,
    };
    VariableShape { kind, hold, wide }
}

fn may_be_wide(source: &Source) -> bool {
    let narrow = u128::from(u64::MAX);
    match source {
        Source::Range { width, .. } | Source::Derived { width, .. } => *width > 64,
        Source::Random { to, .. } => *to > narrow,
        Source::Lcg { pick: Pick::Range { .. }, .. } => false,
        Source::List { values, .. }
        | Source::Weighted { values, .. }
        | Source::Lcg { pick: Pick::List(values), .. } => values.iter().any(|v| *v > narrow),
    }
}

fn kind(variable: &Bound, used: Use, wide: bool) -> ValueKind {
    match variable.source() {
        Source::Range { step, count, width, .. } => ValueKind::Range {
            wraps: wraps(*step, *count, *width, wide),
            unit: *step == 1,
            masked: used.bits > u32::from(*width) && *width != 64,
        },
        Source::Random { .. } => variable.draw().map_or(ValueKind::Called, random),
        Source::List { order: ListOrder::Sequential, .. } => ValueKind::List,
        Source::List { order: ListOrder::Random { .. }, .. } => ValueKind::RandomList,
        Source::Weighted { .. } => ValueKind::WeightedList,
        Source::Lcg { bytes, limit, pick, .. } => ValueKind::Lcg {
            draws: random::lcg::draws(*bytes),
            becomes: match pick {
                Pick::Range { from: 0, to: u64::MAX } => Becomes::Itself,
                Pick::Range { .. } => Becomes::Value,
                Pick::List(_) => Becomes::Entry,
            },
            limited: limit.is_some(),
        },
        // Shifts that leave nothing of what is there.
        Source::Derived { of, shift, .. } if !wide && *shift >= 64 => {
            ValueKind::Derived { of: *of, shift: 64 }
        }
        Source::Derived { of, shift, .. } => ValueKind::Derived { of: *of, shift: *shift },
    }
}

fn wraps(step: u128, count: u128, width: u16, wide: bool) -> Wraps {
    let ends = count <= u128::from(u64::MAX);
    // A count that the width's own period divides begins again by itself.
    if !ends || width < 64 && count.is_multiple_of(1 << width) {
        return Wraps::Never;
    }
    // In 64 bits, so many steps lead to different values.
    let different = (1u128 << 64) >> (step as u64).trailing_zeros();
    if !wide && count <= different && step as u64 != 0 { Wraps::ByValue } else { Wraps::ByIndex }
}

fn random(draw: &Draw) -> ValueKind {
    let narrow = u128::from(u64::MAX);
    match draw.parts {
        Some(parts) if draw.from + draw.last <= narrow && parts.length < narrow => {
            ValueKind::Random(Span::Parts)
        }
        Some(_) => ValueKind::Called,
        None if draw.last > narrow => match draw.last.checked_add(1) {
            None => ValueKind::Random(Span::WideShift(0)),
            Some(span) if span.is_power_of_two() => {
                ValueKind::Random(Span::WideShift(span.leading_zeros() as u8 + 1))
            }
            Some(_) => ValueKind::Called,
        },
        // A span of one would be a shift by 64.
        None if draw.last > 0 && (draw.last + 1).is_power_of_two() => ValueKind::Random(Span::Shift),
        None => ValueKind::Random(Span::Multiply),
    }
}

/// Writes, as stores.
fn chunks(program: &Program) -> Vec<Chunk> {
    let frame = program.template().len();
    let mut written = vec![false; frame];
    // Whether a byte is written together with the one before it.
    let mut joined = vec![false; frame];
    for patch in program.patches() {
        for byte in patch.bit / 8..patch.end().div_ceil(8) {
            if mask_in(patch, byte, 1) != 0 {
                written[byte] = true;
                joined[byte] |= byte > patch.bit / 8 && mask_in(patch, byte - 1, 1) != 0;
            }
        }
    }
    let cuts: Vec<_> = program.checksums().iter().flat_map(cuts).collect();
    for cut in cuts.iter().filter(|cut| **cut < frame) {
        joined[*cut] = false;
    }
    let mut stores: Vec<Range<usize>> = Vec::new();
    let mut byte = 0;
    while byte < frame {
        let end = (byte + 1..frame).find(|next| !joined[*next]).unwrap_or(frame);
        if written[byte] {
            split(byte..end).for_each(|bytes| push_merged(&mut stores, bytes, &cuts));
        }
        byte = end;
    }
    stores.into_iter().map(|bytes| chunk(program, bytes)).collect()
}

/// Adds a store, together with the one before it if both are small and nothing is between them: one store of up to 4
/// bytes is cheaper than two.
fn push_merged(stores: &mut Vec<Range<usize>>, bytes: Range<usize>, cuts: &[usize]) {
    match stores.last_mut() {
        Some(last)
            if last.end == bytes.start
                && last.len() == bytes.len()
                && bytes.len() <= 2
                && !cuts.contains(&bytes.start) =>
        {
            last.end = bytes.end;
        }
        _ => stores.push(bytes),
    }
}

/// Where a checksum treats what is before and what follows differently.
fn cuts(checksum: &Checksum) -> Vec<usize> {
    let mut cuts = vec![checksum.start, checksum.end, checksum.offset];
    cuts.push(checksum.offset + checksum_bytes(checksum));
    cuts.extend(checksum.pseudo_header.iter().flat_map(|p| [p.addresses.start, p.addresses.end]));
    cuts
}

/// The fewest stores of 8, 4, 2 and 1 bytes, longest first.
fn split(bytes: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut at = bytes.start;
    std::iter::from_fn(move || {
        let fits = [8, 4, 2, 1].into_iter().find(|size| at + size <= bytes.end)?;
        at += fits;
        Some(at - fits..at)
    })
}

fn chunk(program: &Program, range: Range<usize>) -> Chunk {
    let (offset, bytes) = (range.start, range.len());
    let piece = |patch: &Patch| {
        let mask = mask_in(patch, offset, bytes);
        let shift = (range.end * 8) as i64 - patch.end() as i64;
        (mask != 0).then_some(Piece { variable: patch.variable, shift: shift as i16, mask })
    };
    let pieces: Vec<_> = program.patches().iter().filter_map(piece).collect();
    let given = pieces.iter().fold(0, |given, piece| given | piece.mask);
    Chunk { offset, bytes, pieces, fixed: given != u64::MAX >> (64 - bytes * 8) }
}

/// The bits of `bytes` bytes from `offset` that the patch writes; the bytes are seen as a big-endian number.
fn mask_in(patch: &Patch, offset: usize, bytes: usize) -> u64 {
    let left = ((offset + bytes) * 8) as i64 - patch.end() as i64;
    let bits = left.unsigned_abs() as u32;
    let moved = if left < 0 { patch.mask.checked_shr(bits) } else { patch.mask.checked_shl(bits) };
    moved.unwrap_or(0) as u64 & (u64::MAX >> (64 - bytes * 8))
}

fn checksum(program: &Program, chunks: &[Chunk], index: usize) -> ChecksumShape {
    let checksum = &program.checksums()[index];
    let way = match checksum.algorithm {
        Algorithm::Internet { zero_as_ones } if is_sum_of_words(program, index) => {
            let words = chunks.iter().enumerate().map(|(i, c)| (Word::Chunk(i), c.offset));
            let earlier = &program.checksums()[..index];
            let fields = earlier.iter().enumerate().map(|(i, c)| (Word::Checksum(i), c.offset));
            let parts =
                words.chain(fields).flat_map(|(word, offset)| parts(checksum, word, offset)).collect();
            Way::Sum { zero_as_ones, parts, signature: covers_signature(program, checksum) }
        }
        Algorithm::Internet { .. } | Algorithm::Crc32c => Way::Whole,
    };
    ChecksumShape { offset: checksum.offset, bytes: checksum_bytes(checksum), way }
}

/// Whether a checksum is what it is without the varying words, plus these.
///
/// Not at an odd offset, because the parts before and after the field are summed separately; not with a destination
/// from another header (RFC 8754); and not around a checksum that is not a word itself.
fn is_sum_of_words(program: &Program, index: usize) -> bool {
    let checksum = &program.checksums()[index];
    let pseudo_header = checksum.pseudo_header.as_ref();
    (checksum.offset - checksum.start).is_multiple_of(2)
        && pseudo_header.is_none_or(|pseudo_header| pseudo_header.final_destination.is_none())
        && program.checksums()[..index].iter().all(|earlier| checksum_bytes(earlier) == 2)
}

/// Number of times that a word at `offset` counts under a checksum, and in which way.
fn parts(checksum: &Checksum, word: Word, offset: usize) -> impl Iterator<Item = Part> {
    let addresses = checksum.pseudo_header.as_ref().map(|p| p.addresses.clone());
    let counts = [Some(checksum.start..checksum.end), addresses].into_iter().flatten();
    counts
        .filter(move |range| range.contains(&offset))
        .map(move |range| Part { word, swapped: !(offset - range.start).is_multiple_of(2) })
}

/// Whether the signature's varying bytes are covered; then, whether the checksum begins at an odd offset.
fn covers_signature(program: &Program, checksum: &Checksum) -> Option<bool> {
    let varying = program.template().len().saturating_sub(wire::signature::VARYING);
    (program.lane().is_some() && checksum.start <= varying && checksum.end == program.template().len())
        .then_some(!checksum.start.is_multiple_of(2))
}
