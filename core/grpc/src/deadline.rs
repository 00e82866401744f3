//! Deadlines: `grpc-timeout`, a number of at most eight digits and a unit.

/// Units from the finest to the coarsest, and how many nanoseconds each has.
const UNITS: [(u8, u64); 6] = [
    (b'n', 1),
    (b'u', 1_000),
    (b'm', 1_000_000),
    (b'S', 1_000_000_000),
    (b'M', 60_000_000_000),
    (b'H', 3_600_000_000_000),
];
/// Largest number.
const MOST: u64 = 99_999_999;

/// The value of `grpc-timeout` for a time, in the finest unit that has room; rounded up.
pub fn timeout(nanos: u64) -> String {
    let fits = |(_, unit): &&(u8, u64)| nanos.div_ceil(*unit) <= MOST;
    let (unit, size) = UNITS.iter().find(fits).copied().unwrap_or(UNITS[5]);
    format!("{}{}", nanos.div_ceil(size).min(MOST), char::from(unit))
}

/// The time of a value of `grpc-timeout`, ns; `None` if it is none.
pub fn deadline(value: &[u8]) -> Option<u64> {
    let (unit, digits) = value.split_last()?;
    if digits.is_empty() || digits.len() > 8 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0'));
    let (_, size) = UNITS.iter().find(|(letter, _)| letter == unit)?;
    Some(number.saturating_mul(*size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_and_writes_units() {
        assert_eq!(timeout(1_000_000_000), "1000000u");
        assert_eq!(timeout(99_999_999), "99999999n");
        assert_eq!(timeout(100_000_000_001), "100001m");
        assert_eq!(deadline(b"1S"), Some(1_000_000_000));
        for wrong in [&b""[..], b"S", b"1", b"1s", b"123456789n", b"-1S", b"1 S"] {
            assert_eq!(deadline(wrong), None, "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn reads_what_it_wrote(nanos: u64) {
            let read = deadline(timeout(nanos).as_bytes()).unwrap();
            prop_assert!(read >= nanos && read - nanos <= nanos / 1_000_000 + 1);
        }
    }
}
