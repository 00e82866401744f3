//! The blocks of numbers that compiled code reads: a program's constants, what a frame length adds, and the state.

use crate::shape::{Advance, Hold, Shape, Span, ValueKind, VariableShape, Way, Wraps, divisor, offset};
use field::{Bound, Draw, FlowOrder, ListOrder, Pick, Program, Source, checksum_bytes};
use random::permutation::Permutation;
use wire::signature;

/// Words before the variables': advance of flows.
pub(crate) const FLOW_WORDS: usize = 5;
/// Words of one variable's constants.
pub(crate) const VARIABLE_WORDS: usize = 10;
/// Words of one variable's state.
pub(crate) const STATE_WORDS: usize = 4;

/// Words of the flows.
pub(crate) mod flow {
    /// Flows at a time.
    pub(crate) const COUNT: usize = 0;
    /// Packets before all are new.
    pub(crate) const TOGETHER: usize = 1;
    /// Key of the words that choose.
    pub(crate) const KEY: usize = 2;
    /// Bits of a column, and rows, of the table in which packets are put in random order.
    pub(crate) const BITS: usize = 3;
    pub(crate) const ROWS: usize = 4;
}

/// Words of a variable's constants. Two in a row are the lower and the upper 64 bits.
pub(crate) mod word {
    /// Addend: a range's step, a random value's minimum, a derived value's addend.
    pub(crate) const ADD: usize = 0;
    /// A range's first value.
    pub(crate) const FIRST: usize = 2;
    /// The bits that count, of a range or a derived value.
    pub(crate) const MASK: usize = 4;
    /// Turns before a range or list begins again.
    pub(crate) const PERIOD: usize = 6;
    /// Packets of a turn.
    pub(crate) const DIVISOR: usize = 7;
    /// Key of random words.
    pub(crate) const KEY: usize = 8;
    /// The lower 64 bits of the value after a range's last.
    pub(crate) const END: usize = 9;
    /// From the key to that of the lower 64 of 128 random bits.
    pub(crate) const OTHER_KEY: usize = 2;
    /// Bits to shift a random word by, or the span it is multiplied with.
    pub(crate) const SPAN: usize = 2;
    /// Parts: how many, their length, how many have one more, the key of their values.
    pub(crate) const PARTS: usize = 3;
    /// Address of the weights' sums, and the last of them.
    pub(crate) const SUMS: usize = 2;
    pub(crate) const TOTAL: usize = 3;
    /// Address: of a list, or of a variable for the interpreter.
    pub(crate) const ADDRESS: usize = 0;
    /// Number of values that a number drawn becomes one of.
    pub(crate) const VALUES: usize = 1;
    /// Multiplier of a generator's state from turn to turn, its increment, and its first state.
    pub(crate) const FACTOR: usize = 2;
    pub(crate) const ADDEND: usize = 3;
    pub(crate) const STATE: usize = 4;
}

/// Words of a variable's state.
pub(crate) mod state {
    /// A range's value, low and high; the state of a random sequence; the turn of what is called.
    pub(crate) const VALUE: usize = 0;
    /// Turns since a range or list began again.
    pub(crate) const INDEX: usize = 2;
    /// Packets left in this turn.
    pub(crate) const LEFT: usize = 3;
}

/// Words of what a frame length adds; then a word for each checksum and each chunk.
#[cfg_attr(not(unix), allow(dead_code, reason = "only compiled code reads them"))]
pub(crate) mod variant {
    /// Bytes of the frame.
    pub(crate) const LEN: usize = 0;
    /// 8 if the signature's varying bytes begin at an odd offset of the frame, else 0.
    pub(crate) const SIGNATURE_SHIFT: usize = 1;
    /// The first checksum's word: its sum over what does not vary, or the address of what it covers.
    pub(crate) const CHECKSUMS: usize = 2;
}

fn low(value: u128) -> u64 {
    value as u64
}

fn high(value: u128) -> u64 {
    (value >> 64) as u64
}

/// The program's constants. They hold addresses of the program's variables and lists: valid as long as it is not
/// dropped or changed.
pub(crate) fn constants(program: &Program, shape: &Shape) -> Box<[u64]> {
    let mut block = vec![0; FLOW_WORDS];
    if let Some(flows) = program.flows() {
        block[flow::COUNT] = flows.count;
        // Numbers never reach more.
        block[flow::TOGETHER] = flows.count.saturating_mul(flows.length);
        if let FlowOrder::Random { seed } = flows.order {
            block[flow::KEY] = random::key(seed);
            let order = Permutation::new(block[flow::TOGETHER]);
            (block[flow::BITS], block[flow::ROWS]) = (order.bits().into(), order.rows());
        }
    }
    for (variable, shape) in program.variables().iter().zip(&shape.variables) {
        let mut words = [0; VARIABLE_WORDS];
        words[word::DIVISOR] = u64::try_from(divisor(program, variable)).unwrap_or(u64::MAX);
        variable_words(variable, shape, &mut words);
        block.extend(words);
    }
    block.into()
}

fn variable_words(variable: &Bound, shape: &VariableShape, words: &mut [u64; VARIABLE_WORDS]) {
    let mut pair = |at: usize, value: u128| {
        words[at] = low(value);
        words[at + 1] = high(value);
    };
    match variable.source() {
        _ if matches!(shape.kind, ValueKind::Called | ValueKind::Numbered) => {
            words[word::ADDRESS] = std::ptr::from_ref(variable) as u64;
        }
        Source::Range { first, step, count, width } => {
            pair(word::ADD, *step);
            pair(word::FIRST, *first);
            pair(word::MASK, u128::MAX >> (128 - width));
            words[word::PERIOD] = u64::try_from(*count).unwrap_or(0);
            words[word::END] = low(first.wrapping_add(step.wrapping_mul(*count)));
        }
        Source::Derived { add, mask, width, .. } => {
            pair(word::ADD, *add);
            pair(word::MASK, mask & (u128::MAX >> (128 - width)));
        }
        Source::Random { from, .. } => {
            pair(word::ADD, *from);
            if let Some(draw) = variable.draw() {
                random_words(draw, shape.kind, words);
            }
        }
        Source::List { values, order } => {
            words[word::ADDRESS] = values.as_ptr() as u64;
            words[word::PERIOD] = values.len() as u64;
            if let ListOrder::Random { seed } = order {
                words[word::KEY] = random::key(*seed);
            }
        }
        Source::Weighted { values, seed, .. } => {
            words[word::ADDRESS] = values.as_ptr() as u64;
            words[word::PERIOD] = values.len() as u64;
            words[word::KEY] = random::key(*seed);
            let sums = variable.weights().map_or(&[][..], |weights| weights.sums());
            words[word::SUMS] = sums.as_ptr() as u64;
            words[word::TOTAL] = sums.last().copied().unwrap_or(0);
        }
        Source::Lcg { pick, .. } => {
            let Some(sequence) = variable.sequence() else { return };
            words[word::FACTOR] = sequence.step.factor.into();
            words[word::ADDEND] = sequence.step.addend.into();
            words[word::STATE] = sequence.first.into();
            words[word::PERIOD] = sequence.limit.unwrap_or(0);
            match pick {
                Pick::Range { from, to } => {
                    words[word::ADD] = *from;
                    words[word::VALUES] = (to - from).wrapping_add(1);
                }
                Pick::List(values) => {
                    words[word::ADDRESS] = values.as_ptr() as u64;
                    words[word::VALUES] = values.len() as u64;
                }
            }
        }
    }
}

fn random_words(draw: &Draw, kind: ValueKind, words: &mut [u64; VARIABLE_WORDS]) {
    words[word::KEY] = draw.key;
    match kind {
        ValueKind::Random(Span::Shift) => {
            words[word::SPAN] = 64 - u64::from((draw.last + 1).trailing_zeros())
        }
        ValueKind::Random(Span::Multiply) => words[word::SPAN] = low(draw.last) + 1,
        ValueKind::Random(Span::WideShift(_)) => {
            words[word::OTHER_KEY] = random::other_key(draw.key).wrapping_sub(draw.key);
        }
        ValueKind::Random(Span::Parts) => {
            if let Some(parts) = draw.parts {
                words[word::PARTS..][..4].copy_from_slice(&[
                    parts.count,
                    low(parts.length),
                    parts.longer,
                    parts.key,
                ]);
            }
        }
        _ => {}
    }
}

/// Constants that depend on the length of the program's frame. Holds addresses like [`constants`].
pub(crate) fn variant(program: &Program, shape: &Shape) -> Box<[u64]> {
    let frame = program.template();
    let constant = without_what_varies(program, shape);
    let varying = frame.len().saturating_sub(signature::VARYING);
    let mut block = vec![frame.len() as u64, if varying.is_multiple_of(2) { 0 } else { 8 }];
    for (checksum, shape) in program.checksums().iter().zip(&shape.checksums) {
        block.push(match shape.way {
            // As little-endian words: bytes swapped, the sum is the swapped sum (RFC 1071 section 2(B)).
            Way::Sum { .. } => u64::from(fold(checksum.sum_without_field(&constant)).swap_bytes()),
            Way::Whole => std::ptr::from_ref(checksum) as u64,
        });
    }
    for chunk in &shape.chunks {
        let given = chunk.pieces.iter().fold(0, |given, piece| given | piece.mask);
        let bytes = &frame[chunk.offset..][..chunk.bytes];
        let template = bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        block.push(template & !given);
    }
    block.into()
}

/// The frame with zeros where chunks, checksums and the signature are written.
fn without_what_varies(program: &Program, shape: &Shape) -> Vec<u8> {
    let mut frame = program.template().to_vec();
    let chunks = shape.chunks.iter().map(|chunk| (chunk.offset, chunk.bytes));
    let checksums = program.checksums().iter().map(|c| (c.offset, checksum_bytes(c)));
    let signature = program.lane().map(|_| (frame.len() - signature::VARYING, signature::VARYING));
    let ranges: Vec<_> = chunks.chain(checksums).chain(signature).collect();
    for (offset, bytes) in ranges {
        frame[offset..][..bytes].fill(0);
    }
    frame
}

fn fold(sum: u64) -> u16 {
    wire::checksum::fold(sum)
}

/// Sets the state to that before packet `number`, regardless of the previous state.
pub(crate) fn seed(program: &Program, shape: &Shape, constants: &[u64], state: &mut [u64], number: u64) {
    debug_assert_eq!(shape.advance, Advance::Stepwise);
    let blocks =
        constants[FLOW_WORDS..].chunks_exact(VARIABLE_WORDS).zip(state.chunks_exact_mut(STATE_WORDS));
    let variables = program.variables().iter().zip(&shape.variables).zip(blocks);
    for ((variable, shape), (words, state)) in variables {
        let at = u128::from(number) + offset(program, variable);
        let turn = turn(shape.hold, words[word::DIVISOR], at, &mut state[state::LEFT]);
        match shape.kind {
            ValueKind::Range { wraps, .. } => {
                let index = if wraps != Wraps::Never { turn % u128::from(words[word::PERIOD]) } else { turn };
                let Source::Range { first, step, .. } = variable.source() else { continue };
                let value = first.wrapping_add(step.wrapping_mul(index));
                (state[state::VALUE], state[state::VALUE + 1]) = (low(value), high(value));
                state[state::INDEX] = index as u64;
            }
            ValueKind::List => state[state::INDEX] = (turn % u128::from(words[word::PERIOD])) as u64,
            ValueKind::Lcg { .. } => {
                let Some(sequence) = variable.sequence() else { continue };
                state[state::VALUE] = sequence.state(turn).into();
                state[state::INDEX] = sequence.limit.map_or(0, |limit| (turn % u128::from(limit)) as u64);
            }
            ValueKind::Random(_) | ValueKind::RandomList | ValueKind::WeightedList => {
                let steps = (turn as u64).wrapping_mul(random::STEP);
                state[state::VALUE] = words[word::KEY].wrapping_add(steps);
            }
            ValueKind::Called | ValueKind::Numbered => state[state::VALUE] = turn as u64,
            ValueKind::Unused | ValueKind::Derived { .. } => {}
        }
    }
}

/// The turn at `number`, and how many packets are `left` of it.
fn turn(hold: Hold, divisor: u64, number: u128, left: &mut u64) -> u128 {
    match hold {
        Hold::Never => number,
        Hold::Forever => 0,
        Hold::Counted => {
            *left = divisor - (number % u128::from(divisor)) as u64;
            number / u128::from(divisor)
        }
    }
}
