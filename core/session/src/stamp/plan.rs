//! Test packets of clients, and reflection of servers. Pure data.

use stamp::{Form, Format};
use units::Nanos;

/// STAMP, both ends. A client's session is a session of STAMP: packets with numbers from 0, between two addresses and ports. A server's is
/// all that comes from one address and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StampPlan {
    /// Form of packets: in the clear, or authenticated by a key.
    pub form: Form,
    /// Format of this side's timestamps; the other one's is read as it comes.
    pub format: Format,
    /// Test packets of a session; `None`: until it is closed from outside.
    pub packets: Option<u32>,
    /// Time from packet to packet, not zero; `None`: each as soon as the entry's rate of requests has a turn for it.
    pub interval: Option<Nanos>,
    /// Bytes of a test packet's UDP payload: [`Form::base`], or at least [`HEADER`](stamp::HEADER) more.
    pub length: usize,
    /// Whether reflectors count the replies of each session instead of copying the sender's numbers. Servers do it then; clients can see
    /// in which direction packets are lost.
    pub is_stateful: bool,
    /// Time after which a packet without a reply counts as lost, not zero.
    pub wait: Nanos,
    /// Whether both ends are here, and read one clock: delays of one direction are known then.
    pub has_one_clock: bool,
}
