//! The Date field's form of an instant. Source: RFC 9110 section 5.6.7.

/// Bytes of a date.
pub(crate) const LEN: usize = 29;
const DAYS: [&[u8; 3]; 7] = [b"Thu", b"Fri", b"Sat", b"Sun", b"Mon", b"Tue", b"Wed"];
const MONTHS: [&[u8; 3]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
/// Days of 400 years, after which the calendar begins again.
const CYCLE: u64 = 146_097;

/// `Sun, 06 Nov 1994 08:49:37 GMT` of seconds since 1970-01-01 UTC, up to the year 9999.
pub(crate) fn imf(seconds: u64) -> [u8; LEN] {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let mut out = *b"Thu, 01 Jan 1970 00:00:00 GMT";
    out[..3].copy_from_slice(DAYS[(days % 7) as usize]);
    two(&mut out[5..7], day);
    out[8..11].copy_from_slice(MONTHS[month]);
    two(&mut out[12..14], year / 100);
    two(&mut out[14..16], year);
    two(&mut out[17..19], second / 3_600);
    two(&mut out[20..22], second / 60 % 60);
    two(&mut out[23..25], second % 60);
    out
}

fn two(out: &mut [u8], number: u64) {
    out[0] = b'0' + (number / 10 % 10) as u8;
    out[1] = b'0' + (number % 10) as u8;
}

/// Year, month from 0 and day from 1 of a day since 1970-01-01.
fn civil(days: u64) -> (u64, usize, u64) {
    // Years begin in March here, so that the day that comes and goes is a year's last. 719,468 days lie between the first
    // of them and 1970.
    let days = days + 719_468;
    let (cycle, day) = (days / CYCLE, days % CYCLE);
    let year = (day - day / 1_460 + day / 36_524 - day / (CYCLE - 1)) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let next = month >= 10;
    let month = if next { month - 10 } else { month + 2 };
    (cycle * 400 + year + u64::from(next), month as usize, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_look_like_this() {
        for (seconds, text) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_399, "Mon, 28 Feb 2000 23:59:59 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (951_868_800, "Wed, 01 Mar 2000 00:00:00 GMT"),
            (1_798_761_599, "Thu, 31 Dec 2026 23:59:59 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        ] {
            assert_eq!(std::str::from_utf8(&imf(seconds)), Ok(text));
        }
    }
}
