//! Changes of an interface.

/// A change of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkChange {
    /// It was set down on this machine.
    SetDown,
    /// It has no carrier any more.
    CarrierLost,
    /// Frames can pass again.
    Running,
    /// It was deleted.
    Deleted,
    /// It was moved to another network namespace.
    Moved,
    /// Another XDP program is on it, or none.
    Program {
        /// The program that was on it.
        before: Option<u32>,
        /// The one that is.
        after: Option<u32>,
    },
    /// It carries shorter or longer packets.
    Mtu {
        /// Bytes of the longest IP packet before.
        before: u32,
        /// And since.
        after: u32,
    },
    /// Its link has another bit rate.
    Speed {
        /// Bits per second before.
        before: u64,
        /// And since.
        after: u64,
    },
    /// It has more or fewer queues.
    Queues {
        /// Receive and transmit queues before.
        before: (u32, u32),
        /// And since.
        after: (u32, u32),
    },
}
