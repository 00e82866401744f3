//! Values, sizes, times and contents that differ from session to session and from request to request.
//!
//! Invariant: all of them are functions of the session's number, the request's number and a seed.

use std::sync::Arc;
use units::Nanos;

/// One after the other, or by chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelectionOrder {
    /// One after the other, then again from the first.
    Sequential,
    /// By chance.
    Random {
        /// Another seed gives another order.
        seed: u64,
    },
}

/// In which order clients and servers meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairOrder {
    /// Every client meets every server.
    All(SelectionOrder),
    /// The first client the first server, the next one the next, each side round by itself.
    InStep,
}

/// Index of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The session's number: the same in all its requests.
    Session,
    /// The request's number: the same in all sessions.
    Request,
    /// Both: sequences continue with every request, and each session begins after the requests of the one before.
    Each,
}

impl By {
    /// The number of the turn.
    #[inline]
    pub(crate) fn turn(self, session: u64, request: u64, turn: u64) -> u64 {
        match self {
            Self::Session => session,
            Self::Request => request,
            Self::Each => turn,
        }
    }

    /// Random bits for the turn: unlike for every pair of numbers if it is [`By::Each`].
    #[inline]
    pub(crate) fn word(self, seed: u64, session: u64, request: u64) -> u64 {
        let key = random::key(seed);
        match self {
            Self::Session => random::word(key, session),
            Self::Request => random::word(random::other_key(key), request),
            Self::Each => random::word(random::word(key, session), request),
        }
    }
}

/// From the first turn of a session without an end to that of the next: a prime, so that no short sequence begins at the
/// same place each time, and near the golden section of 2^32, so that beginnings are spread.
const ENDLESS_TURNS: u64 = 2_654_435_761;

/// The number of a request among the requests of all sessions, if each session has `each`.
#[inline]
pub(crate) fn turn(session: u64, request: u64, each: Option<u64>) -> u64 {
    session.wrapping_mul(each.unwrap_or(ENDLESS_TURNS)).wrapping_add(request)
}

/// A time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delay {
    /// Always the same.
    Constant(Nanos),
    /// Uniformly random in `from..=to`, by session and request.
    Uniform {
        /// Shortest.
        from: Nanos,
        /// Longest.
        to: Nanos,
        /// Another seed gives other times.
        seed: u64,
    },
}

impl Delay {
    /// No time at all.
    pub const NONE: Self = Self::Constant(Nanos::ZERO);

    /// Its duration this time.
    #[inline]
    pub fn value(&self, session: u64, request: u64) -> Nanos {
        match *self {
            Self::Constant(time) => time,
            Self::Uniform { from, to, seed } => {
                let word = By::Each.word(seed, session, request);
                Nanos(from.0 + random::below(word, to.since(from).0.saturating_add(1)))
            }
        }
    }
}

/// A number of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Size {
    /// Always the same.
    Fixed(u64),
    /// Uniformly random in `from..=to`, by request alone, so that the other end knows it too.
    Uniform {
        /// Fewest.
        from: u64,
        /// Most.
        to: u64,
        /// Another seed gives other sizes.
        seed: u64,
    },
    /// One of several by chance, by request alone.
    Weighted(Weighted<u64>),
}

impl Size {
    /// Bytes in request `request` of a session.
    #[inline]
    pub fn value(&self, request: u64) -> u64 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Uniform { from, to, seed } => {
                let word = By::Request.word(*seed, 0, request);
                from + random::below(word, to.saturating_sub(*from).saturating_add(1))
            }
            Self::Weighted(weighted) => *weighted.pick(By::Request.word(weighted.seed, 0, request)),
        }
    }
}

/// Several things by weight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weighted<T> {
    items: Arc<[T]>,
    /// Of item `i`: the weights up to and including its own.
    up_to: Arc<[u64]>,
    seed: u64,
}

impl<T> Weighted<T> {
    /// Things and how often each comes in relation to the others; `None` if there is none with a weight above zero.
    pub fn new(items: impl IntoIterator<Item = (T, u32)>, seed: u64) -> Option<Self> {
        let (items, weights): (Vec<T>, Vec<u32>) =
            items.into_iter().filter(|(_, weight)| *weight > 0).unzip();
        let sum = |sum: &mut u64, weight| {
            *sum += u64::from(weight);
            Some(*sum)
        };
        let up_to: Vec<u64> = weights.into_iter().scan(0, sum).collect();
        (!items.is_empty()).then(|| Self { items: items.into(), up_to: up_to.into(), seed })
    }

    /// One thing alone.
    pub fn one(item: T) -> Self {
        Self { items: Arc::new([item]), up_to: Arc::new([1]), seed: 0 }
    }

    /// All of them.
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// The seed of the choice.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Index of what a random word stands for.
    #[inline]
    pub(crate) fn index(&self, word: u64) -> usize {
        if self.items.len() == 1 {
            return 0;
        }
        let total = self.up_to.last().copied().unwrap_or(1);
        let point = random::below(word, total);
        self.up_to.partition_point(|end| *end <= point)
    }

    /// The value for a random word.
    #[inline]
    pub(crate) fn pick(&self, word: u64) -> &T {
        &self.items[self.index(word)]
    }
}

/// Data to send: parts in a row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Content {
    /// The parts.
    pub parts: Vec<Part>,
}

/// A part of what is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// These bytes.
    Bytes(Arc<[u8]>),
    /// Bytes without meaning. They depend on the request's number and their place in it, not on the session's number,
    /// so the other end can verify them.
    Generated(Size),
    /// A number in decimal digits, with leading zeros up to `width`.
    Decimal(Values, u8),
    /// A number in lower-case hexadecimal digits, with leading zeros up to `width`.
    Hex(Values, u8),
    /// A number in this number of bytes (1 to 8), most significant first; excess bits are dropped.
    Binary(Values, u8),
    /// One of these.
    List {
        /// The texts, at least one.
        items: Arc<[Arc<[u8]>]>,
        /// One after the other or by chance.
        order: SelectionOrder,
        /// Index of the turn.
        by: By,
    },
}

/// Numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Values {
    /// `first + step · (turn mod count)`, modulo 2^64.
    Range {
        /// The first.
        first: u64,
        /// From one to the next.
        step: u64,
        /// Number of those before it begins again; 0 is never.
        count: u64,
        /// Index of the turn.
        by: By,
    },
    /// Uniformly random in `from..=to`.
    Random {
        /// Smallest.
        from: u64,
        /// Largest.
        to: u64,
        /// Another seed gives other numbers.
        seed: u64,
        /// Index of the turn.
        by: By,
    },
}

impl Values {
    /// The session's number.
    pub const SESSION: Self = Self::Range { first: 0, step: 1, count: 0, by: By::Session };
    /// The request's number.
    pub const REQUEST: Self = Self::Range { first: 0, step: 1, count: 0, by: By::Request };

    /// Whether they differ from session to session.
    pub(crate) fn follow_session(&self) -> bool {
        let (Self::Range { by, .. } | Self::Random { by, .. }) = self;
        *by != By::Request
    }

    /// The number for a request of a session; `turn` is the request's number among the requests of all sessions.
    pub fn value(&self, session: u64, request: u64, turn: u64) -> u64 {
        match *self {
            Self::Range { first, step, count, by } => {
                let turn = by.turn(session, request, turn);
                first.wrapping_add(step.wrapping_mul(turn.checked_rem(count).unwrap_or(turn)))
            }
            Self::Random { from, to, seed, by } => {
                let span = u128::from(to.saturating_sub(from)) + 1;
                let word = by.word(seed, session, request);
                from.wrapping_add(((u128::from(word) * span) >> 64) as u64)
            }
        }
    }
}

/// The place for a size, `{{bytes}}` in profiles.
const SIZE_PLACE: &str = "{bytes}";

impl Content {
    /// These bytes.
    pub fn bytes(bytes: impl AsRef<[u8]>) -> Self {
        Self { parts: vec![Part::Bytes(bytes.as_ref().into())] }
    }

    /// Bytes without meaning.
    pub fn generated(size: Size) -> Self {
        Self { parts: vec![Part::Generated(size)] }
    }

    /// With a size in the place for it, `{{bytes}}` in profiles; `None` if it has no such place.
    pub fn sized(&self, bytes: u64) -> Option<Self> {
        let mut found = false;
        let fill = |part: &Part| {
            let Part::Bytes(text) = part else { return part.clone() };
            let text = String::from_utf8_lossy(text);
            found |= text.contains(SIZE_PLACE);
            Part::Bytes(text.replace(SIZE_PLACE, &bytes.to_string()).into_bytes().into())
        };
        let parts = self.parts.iter().map(fill).collect();
        found.then_some(Self { parts })
    }

    /// Whether it differs from session to session, so that the other end can't know it.
    pub fn follows_session(&self) -> bool {
        self.parts.iter().any(|part| match part {
            Part::Bytes(_) | Part::Generated(_) => false,
            Part::Decimal(values, _) | Part::Hex(values, _) | Part::Binary(values, _) => {
                values.follow_session()
            }
            Part::List { by, .. } => *by != By::Request,
        })
    }
}
