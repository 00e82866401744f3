//! Variable parts of a stream's packets, before the offsets of the fields in the frame are known.

use std::sync::Arc;

/// Variable parts of a stream's packets.
#[derive(Debug, Clone, Default)]
pub struct Vary {
    /// Values that change from packet to packet.
    pub variables: Vec<Variable>,
    /// Where they are written.
    pub writes: Vec<Write>,
    /// If there are flows, variables advance by the flow's number instead of the packet's.
    pub flows: Option<Flows>,
}

/// A value that changes from packet to packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Which values, in which order.
    pub source: Source,
    /// Packets (or flows, or rounds of `after`) for which it keeps a value, at least 1.
    pub every: u64,
    /// Index of an earlier variable: this one advances each time that one has gone round once, like the next wheel of
    /// an odometer. `None`: it advances by the packet's number.
    pub after: Option<usize>,
    /// Number of turns it is ahead at number 0: its first round is shorter by this.
    pub phase: u64,
    /// Number of packets (or flows) after which it begins again, and with it the variables `after` it, which have no
    /// period themselves.
    pub period: Option<u64>,
}

impl Variable {
    /// A variable that changes with every packet.
    pub fn new(source: Source) -> Self {
        Self { source, every: 1, after: None, phase: 0, period: None }
    }
}

/// Where a variable's values come from. The variable's *turn* `k` counts how often it has advanced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// `first + step · (k mod count)`, modulo 2^`width`.
    Range {
        /// The first value.
        first: u128,
        /// From one value to the next; to go down, the two's complement.
        step: u128,
        /// Values before it begins again, at least 1. Of 2^64 or more it never does.
        count: u128,
        /// Bits of the value, 1 to 128.
        width: u16,
    },
    /// Uniformly random in `from..=to`.
    Random {
        /// Smallest value.
        from: u128,
        /// Largest value.
        to: u128,
        /// Number of different values: `from..=to` is cut into this many parts of equal length, and the seed picks one
        /// value of each.
        distinct: Option<u64>,
        /// Another seed gives other values.
        seed: u64,
    },
    /// One of a list.
    List {
        /// The values, at least one.
        values: Arc<[u128]>,
        /// In which order.
        order: ListOrder,
    },
    /// One of a list by chance.
    Weighted {
        /// The values, at least one.
        values: Arc<[u128]>,
        /// Relative frequency of each; not all zero.
        weights: Arc<[u32]>,
        /// Another seed gives another order.
        seed: u64,
    },
    /// Drawn by the generator of [`random::lcg`].
    Lcg {
        /// The generator's state before anything is drawn.
        seed: u32,
        /// Draws of others that come before its own in each turn.
        skip: u32,
        /// Draws of all who share the generator in each turn.
        stride: u32,
        /// Bytes of the number drawn: 1, 2, 4 or 8.
        bytes: u8,
        /// Turns after which the generator is at its seed again.
        limit: Option<u64>,
        /// Mapping of the number.
        pick: Pick,
    },
    /// Computed from an earlier variable's value: `((value shifted) + add) & mask`, modulo 2^`width`. It has no
    /// separate turn, so `every` is 1 and `after` is `None`.
    Derived {
        /// Index of the earlier variable.
        of: usize,
        /// Bits to shift left, or right if negative; zeros come in, and what passes bit 127 is lost.
        shift: i8,
        /// Added modulo 2^128.
        add: u128,
        /// Bits that are kept.
        mask: u128,
        /// Bits of the value, 1 to 128.
        width: u16,
    },
}

/// Mapping of a drawn number, modulo the number of values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pick {
    /// One of `from..=to`.
    Range {
        /// Smallest value.
        from: u64,
        /// Largest value.
        to: u64,
    },
    /// One of these, at least one.
    List(Arc<[u128]>),
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListOrder {
    /// One after the other, then again from the first.
    Sequential,
    /// Each at random, independently.
    Random {
        /// Another seed gives another order.
        seed: u64,
    },
}

/// Packets that share all their values, as the Linux kernel's pktgen has them (Olsson, OLS 2005).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flows {
    /// Flows at a time, at least 1.
    pub count: u64,
    /// Packets of a flow before it is replaced by a new one; 0: it never is.
    pub length: u64,
    /// Which flow a packet belongs to.
    pub order: FlowOrder,
}

/// Which flow a packet belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowOrder {
    /// `length` packets of one flow, then the next, which is new. With a length of 0, one packet of each of `count`
    /// flows, then again from the first.
    Sequential,
    /// Each packet belongs to one of `count` flows at random. After `count · length` packets each has had `length`, and all
    /// are new. With a length of 0 each packet's flow is drawn by itself.
    Random {
        /// Another seed gives another order.
        seed: u64,
    },
}

/// Writes a variable's value somewhere.
#[derive(Debug, Clone)]
pub struct Write {
    /// Index of the variable.
    pub variable: usize,
    /// Where its lowest bits go; what does not fit is cut off.
    pub target: Target,
    /// Bits of the target that are written; the others keep the template's.
    pub mask: u128,
}

/// Some bits of a frame; the first bit is the most significant one of the first byte.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    /// A field of a header.
    Field {
        /// Index of the header in the packet.
        header: usize,
        /// The field.
        field: &'static wire::Field,
    },
    /// Bits counted from the frame's start.
    Bits {
        /// Bits before the first.
        offset: u32,
        /// Number of bits, 1 to 128.
        width: u16,
    },
    /// Bits counted from the payload's start.
    PayloadBits {
        /// Bits before the first.
        offset: u32,
        /// Number of bits, 1 to 128.
        width: u16,
    },
}
