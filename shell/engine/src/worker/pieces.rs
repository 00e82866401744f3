//! Fragments for the hosts behind a port: packets are reassembled, and go to sessions or hosts as if they had come
//! whole.
//!
//! Not here: fragments of test packets, which are measured as they come, and of packets for others.

use fragment::{Cut, Fragment, FragmentCounts, Reassembler};
use neighbour::Hosts;
use units::Nanos;

/// Time between two errors about fragments at least (RFC 4443 section 2.4 (f)).
const COMPLAINT_GAP: Nanos = Nanos::from_millis(1);

/// State of one worker for packets that arrive at one queue in fragments.
#[derive(Debug)]
pub(crate) struct Pieces {
    reassembler: Reassembler,
    /// Frames with whole packets.
    whole: Vec<Vec<u8>>,
    /// Errors about fragments, to be sent.
    complaints: Vec<Vec<u8>>,
    next_complaint: Nanos,
    /// Whether something was taken in since the last look.
    has_news: bool,
    /// The longest IP packet of hosts' replies.
    mtu: usize,
    /// Identification of a reply's fragments.
    id: u32,
}

impl Pieces {
    pub(crate) fn new(mtu: usize) -> Self {
        Self {
            reassembler: Reassembler::default(),
            whole: Vec::new(),
            complaints: Vec::new(),
            next_complaint: Nanos::ZERO,
            has_news: false,
            mtu,
            id: 0,
        }
    }

    /// Takes a frame if it holds a fragment for one of the hosts; returns whether it does.
    #[cold]
    pub(crate) fn take(&mut self, now: Nanos, hosts: &Hosts, data: &[u8]) -> bool {
        let Some(fragment) = Fragment::read(data) else { return false };
        let owner = hosts.owner(fragment.vlans(), fragment.to());
        if owner.is_none_or(|owner| fragment.to_mac() != hosts.host(owner).mac) {
            return false;
        }
        if now >= self.next_complaint
            && let Some(complaint) = fragment.complaint(data)
        {
            self.complaints.push(complaint);
            self.next_complaint = now.saturating_add(COMPLAINT_GAP);
        }
        self.whole.extend(self.reassembler.take(now, &fragment));
        self.has_news = true;
        true
    }

    #[inline(always)]
    pub(crate) fn has_news(&self) -> bool {
        self.has_news
    }

    /// Passes whole packets on to sessions, and others to the hosts, whose replies are fragmented if they are long.
    #[cold]
    ///
    /// `offer` lets sessions take a frame in, and returns whether it is not theirs.
    pub(crate) fn pass_on(
        &mut self,
        counts: &mut FragmentCounts,
        hosts: &Hosts,
        answers: &mut Vec<Vec<u8>>,
        mut offer: impl FnMut(&[u8]) -> bool,
    ) {
        self.has_news = false;
        answers.append(&mut self.complaints);
        counts.merge(&self.reassembler.take_counts());
        for frame in self.whole.drain(..) {
            let Some(answer) = offer(&frame).then(|| hosts.answer(&frame)).flatten() else { continue };
            self.id = self.id.wrapping_add(1);
            match Cut::new(&answer, self.mtu, self.id) {
                Some(cut) => answers.extend(cut.frames(&answer)),
                None => answers.push(answer),
            }
        }
    }

    /// Gives up what is not complete.
    pub(crate) fn finish(&mut self, counts: &mut FragmentCounts) {
        self.reassembler.finish();
        counts.merge(&self.reassembler.take_counts());
    }
}
