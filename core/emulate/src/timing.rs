//! Retransmission times of messages without a reply.

use units::Nanos;

/// Doublings of the retransmission time (RFC 2131 section 4.1).
const DOUBLINGS_MAX: u32 = 4;

/// Time until the message that was sent `sent` times is repeated: `first`, doubled each time up to sixteen times, and up to a
/// quarter of `first` more or less (RFC 2131 section 4.1: 4, 8, 16, 32, 64 s, each ±1 s).
pub(crate) fn back_off(first: Nanos, sent: u8, word: u64) -> Nanos {
    let base = first.0.saturating_mul(1 << u32::from(sent.saturating_sub(1)).min(DOUBLINGS_MAX));
    let spread = first.0 / 4;
    Nanos(base.saturating_sub(spread).saturating_add(random::below(word, spread.saturating_mul(2).max(1))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backs_off_as_the_rfc_says() {
        for (sent, around) in [(1, 4), (2, 8), (3, 16), (4, 32), (5, 64), (6, 64), (255, 64)] {
            let (low, high) = (Nanos::from_secs(around - 1), Nanos::from_secs(around + 1));
            for word in [0, 1 << 63, u64::MAX] {
                let wait = back_off(Nanos::from_secs(4), sent, word);
                assert!((low..=high).contains(&wait), "{sent}: {wait:?}");
            }
        }
    }
}
