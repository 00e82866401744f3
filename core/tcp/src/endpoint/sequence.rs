//! Sequence numbers modulo 2^32 (RFC 9293 section 3.4).

/// Whether `a` is before `b`.
#[inline(always)]
pub(crate) const fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// Whether `a` is after `b`.
#[inline(always)]
pub(crate) const fn after(a: u32, b: u32) -> bool {
    before(b, a)
}

/// The later one.
#[inline(always)]
pub(crate) const fn later(a: u32, b: u32) -> u32 {
    if before(a, b) { b } else { a }
}

/// The earlier one.
#[inline(always)]
pub(crate) const fn earlier(a: u32, b: u32) -> u32 {
    if before(b, a) { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_across_the_wrap() {
        assert!(before(u32::MAX, 0) && after(0, u32::MAX) && !before(7, 7) && !after(7, 7));
        assert_eq!((later(u32::MAX - 1, 3), earlier(u32::MAX - 1, 3)), (3, u32::MAX - 1));
    }
}
