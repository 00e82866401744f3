//! Reads the access log of a web server: which requests came when. Formats: the Common Log Format and all that begin like it, as nginx's
//! `combined` and Apache's; and lines of a time and a path.
//!
//! Not here: files, and how requests are sent.

use session::plan::{LoggedRequest, Method, RequestLog};
use std::collections::HashMap;
use std::sync::Arc;
use units::Nanos;

/// Most requests of a log.
pub(super) const REQUESTS_MAX: usize = 1_000_000;
/// Longest path and query, bytes.
const TARGET_MAX: usize = 8_000;
/// Lines that a message names.
const NAMED_MAX: usize = 5;
const SECOND: u64 = 1_000_000_000;

/// Time of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Instant {
    /// Since 1970-01-01 UTC, or since any other instant that is the same for all lines.
    at: Nanos,
    /// Whether it is only known to a second.
    coarse: bool,
}

/// A log as read.
pub(super) struct Read {
    pub log: RequestLog,
    /// Lines left out because their request can't be sent, and the first of their numbers.
    pub left_out: usize,
    pub first_left_out: Vec<usize>,
}

/// A request of a line, if it can be sent.
type Line<'a> = (Instant, Option<(Method, Vec<u8>)>);

/// Reads a log; its times are divided by `speed`. An error names the lines that are in no known format.
pub(super) fn read(text: &[u8], speed: f64) -> Result<Read, String> {
    let (mut found, mut unknown, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
    let mut targets: HashMap<Vec<u8>, Arc<[u8]>> = HashMap::new();
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).enumerate();
    for (index, line) in lines.filter(|(_, line)| !line.is_empty() && line[0] != b'#') {
        match self::line(line) {
            None => unknown.push(index + 1),
            Some((_, None)) => left_out.push(index + 1),
            Some((at, Some((method, target)))) => {
                let target = targets.entry(target).or_insert_with_key(|target| target[..].into()).clone();
                found.push((at, LoggedRequest { method, target }));
            }
        }
        if found.len() > REQUESTS_MAX {
            return Err(format!(
                "has more than {REQUESTS_MAX} requests; cut it into parts (split -l {REQUESTS_MAX})"
            ));
        }
    }
    if !unknown.is_empty() {
        return Err(format!(
            "{} of it {} neither in the Common Log Format ('… [10/Oct/2026:13:55:36 +0000] \"GET /path HTTP/1.1\" …') nor a time and a \
             path ('0.250 /path', '2026-10-10T13:55:36.250Z GET /path')",
            named(&unknown),
            if unknown.len() == 1 { "is" } else { "are" }
        ));
    }
    if found.is_empty() {
        return Err("has no request that can be sent".to_owned());
    }
    found.sort_by_key(|(at, _)| at.at);
    let times = spread(&found, speed)?;
    let requests = found.into_iter().map(|(_, request)| request).collect();
    let count = left_out.len();
    left_out.truncate(NAMED_MAX);
    Ok(Read { log: RequestLog { times, requests }, left_out: count, first_left_out: left_out })
}

/// `line 3`, or `lines 3, 5 and 1,000 more`.
pub(super) fn named(lines: &[usize]) -> String {
    let first: Vec<String> = lines.iter().take(NAMED_MAX).map(usize::to_string).collect();
    let more = lines.len().saturating_sub(NAMED_MAX);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("line{} {}{rest}", if lines.len() == 1 { "" } else { "s" }, first.join(", "))
}

/// Times from the first request on. Requests of one second, where lines have no fraction of it, are spread evenly over it, in their order.
fn spread(found: &[(Instant, LoggedRequest)], speed: f64) -> Result<Arc<[Nanos]>, String> {
    let first = found.first().map_or(Nanos::ZERO, |(at, _)| at.at);
    let mut times = Vec::with_capacity(found.len());
    let mut rest = found;
    while let Some((at, _)) = rest.first() {
        let same = rest.iter().take_while(|(other, _)| other == at).count();
        let step = if at.coarse { SECOND as f64 / same as f64 } else { 0.0 };
        for index in 0..same {
            let own = at.at.since(first).0 as f64 + step * index as f64;
            times.push(Nanos((own / speed) as u64));
        }
        rest = &rest[same..];
    }
    // A line with a fraction may lie within a second of lines without.
    times.sort_unstable();
    let year = 366 * 86_400 * SECOND;
    match times.last() {
        Some(last) if last.0 > year => Err("spans more than a year: are its times of one kind?".to_owned()),
        _ => Ok(times.into()),
    }
}

/// A line's time, and its request if it can be sent; `None` is a line of no known format.
fn line(line: &[u8]) -> Option<Line<'_>> {
    common(line).or_else(|| simple(line))
}

/// `host ident user [10/Oct/2026:13:55:36 +0000] "GET /path HTTP/1.1" …`
fn common(line: &[u8]) -> Option<Line<'_>> {
    // A host may be an address in brackets.
    let opens = line.iter().enumerate().filter(|(_, byte)| **byte == b'[').map(|(at, _)| &line[at + 1..]);
    let (at, rest) = opens.take(3).find_map(|rest| {
        let close = rest.iter().position(|byte| *byte == b']')?;
        Some((clf_time(std::str::from_utf8(&rest[..close]).ok()?)?, &rest[close + 1..]))
    })?;
    let rest = rest.trim_ascii_start().strip_prefix(b"\"")?;
    let end = quoted(rest)?;
    Some((Instant { at, coarse: true }, request(&rest[..end])))
}

/// Bytes up to the closing quote; a backslash protects one.
fn quoted(text: &[u8]) -> Option<usize> {
    let mut is_protected = false;
    text.iter().position(|byte| {
        let is_end = *byte == b'"' && !is_protected;
        is_protected = *byte == b'\\' && !is_protected;
        is_end
    })
}

/// `METHOD TARGET VERSION`, or of HTTP/0.9 `METHOD TARGET`.
fn request(text: &[u8]) -> Option<(Method, Vec<u8>)> {
    let mut parts = text.split(|byte| *byte == b' ');
    let (method, target) = (method(parts.next()?)?, parts.next()?);
    let is_version = parts.next().is_none_or(|version| version.starts_with(b"HTTP/"));
    (is_version && parts.next().is_none()).then_some((method, self::target(target)?))
}

/// `TIME PATH` or `TIME METHOD PATH`.
fn simple(line: &[u8]) -> Option<Line<'_>> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let at = time(std::str::from_utf8(words.next()?).ok()?)?;
    let (second, third) = (words.next()?, words.next());
    if words.next().is_some() {
        return None;
    }
    let request = match third {
        None if !is_target(second) => return None,
        None => target(second).map(|target| (Method::Get, target)),
        Some(path) if !is_target(path) => return None,
        Some(path) => method(second).zip(target(path)),
    };
    Some((Instant { at, coarse: false }, request))
}

fn method(name: &[u8]) -> Option<Method> {
    Method::ALL.into_iter().find(|method| method.name().as_bytes() == name)
}

fn is_target(text: &[u8]) -> bool {
    [&b"/"[..], b"http://", b"https://"].iter().any(|begin| text.starts_with(begin))
}

/// Path and query of a target. Escapes of logs (`\x22`) and bytes that a path can't have are percent-encoded.
fn target(text: &[u8]) -> Option<Vec<u8>> {
    let path = match text.strip_prefix(b"http://").or_else(|| text.strip_prefix(b"https://")) {
        None => text,
        Some(rest) => &rest[rest.iter().position(|byte| *byte == b'/')?..],
    };
    if path.first() != Some(&b'/') || path.len() > TARGET_MAX {
        return None;
    }
    let mut out = Vec::with_capacity(path.len());
    let mut rest = path.split(|byte| *byte == b'#').next().unwrap_or_default();
    while let Some((byte, after)) = rest.split_first() {
        let escaped = after.strip_prefix(b"x").and_then(|hex| {
            let value = u8::from_str_radix(std::str::from_utf8(hex.get(..2)?).ok()?, 16).ok()?;
            Some((value, &hex[2..]))
        });
        let (value, after) = match (byte, escaped) {
            (b'\\', Some((value, after))) => (value, after),
            (b'\\', None) if matches!(after.first(), Some(b'"' | b'\\')) => (after[0], &after[1..]),
            _ => (*byte, after),
        };
        if (b'!'..=b'~').contains(&value) && value != b'"' {
            out.push(value);
        } else {
            out.extend_from_slice(format!("%{value:02X}").as_bytes());
        }
        rest = after;
    }
    Some(out)
}

/// `10/Oct/2026:13:55:36 +0200`: since 1970-01-01 UTC.
fn clf_time(text: &str) -> Option<Nanos> {
    let (stamp, zone) = text.split_once(' ')?;
    let (date, clock) = stamp.split_once(':')?;
    let mut parts = date.split('/');
    let day = number(parts.next()?, 1..=2)?;
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let month = parts.next().filter(|name| name.len() == 3)?;
    let month = MONTHS.find(month).filter(|at| at.is_multiple_of(3))? as u64 / 3 + 1;
    let year = number(parts.next()?, 4..=4)?;
    let seconds = instant(year, month, day, clock)?;
    Some(Nanos(u64::try_from(seconds - offset(zone)?).ok()?.checked_mul(SECOND)?))
}

/// Seconds, relative or since 1970-01-01 UTC, or an instant by RFC 3339.
fn time(text: &str) -> Option<Nanos> {
    let (whole, fraction) = match text.split_once('T') {
        None => {
            let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
            (i64::try_from(number(whole, 1..=12)?).ok()?, fraction)
        }
        Some((date, rest)) => {
            let mut parts = date.split('-');
            let (year, month, day) =
                (number(parts.next()?, 4..=4)?, number(parts.next()?, 2..=2)?, number(parts.next()?, 2..=2)?);
            let zone = rest.find(['Z', '+', '-'])?;
            let (clock, zone) = rest.split_at(zone);
            let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
            (instant(year, month, day, clock)? - offset(zone)?, fraction)
        }
    };
    let digits: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    let nanos = number(&digits, 9..=9)?;
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(Nanos(u64::try_from(whole).ok()?.checked_mul(SECOND)?.checked_add(nanos)?))
}

/// A decimal number whose length is in a range.
fn number(text: &str, digits: std::ops::RangeInclusive<usize>) -> Option<u64> {
    let is_number = digits.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// Seconds since 1970-01-01 of a day and a time such as `13:55:36`.
fn instant(year: u64, month: u64, day: u64, clock: &str) -> Option<i64> {
    let mut parts = clock.split(':').map(|part| number(part, 2..=2));
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let is_valid = (1..=12).contains(&month) && (1..=31).contains(&day) && year >= 1_970;
    if !is_valid || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // Years begin in March here, so that the day that comes and goes is a year's last.
    let (years, months) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * years + years / 4 - years / 100 + years / 400 + (153 * months + 2) / 5 + day;
    Some((days as i64 - 719_469) * 86_400 + (hour * 3_600 + minute * 60 + second) as i64)
}

/// Seconds east of UTC of `+0200`, `+02:00` or `Z`.
fn offset(text: &str) -> Option<i64> {
    if text == "Z" {
        return Some(0);
    }
    let sign = match text.get(..1)? {
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    let digits = text[1..].replace(':', "");
    let all = number(&digits, 4..=4)? as i64;
    Some(sign * (all / 100 * 3_600 + all % 100 * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(text: &str, speed: f64) -> Vec<(u64, String)> {
        let log = read(text.as_bytes(), speed).unwrap_or_else(|error| panic!("{error}")).log;
        let each = log.times.iter().zip(log.requests.iter());
        each.map(|(at, request)| {
            let target = String::from_utf8(request.target.to_vec()).unwrap();
            (at.0 / 1_000_000, format!("{} {target}", request.method.name()))
        })
        .collect()
    }

    #[test]
    fn reads_nginx_and_apache() {
        let text = concat!(
            "10.0.0.1 - - [10/Oct/2026:13:55:36 +0000] \"GET /a?b=1 HTTP/1.1\" 200 612 \"-\" \"curl/8 [x]\"\n",
            "[::1] - me [10/Oct/2026:15:55:37 +0200] \"POST /form HTTP/2.0\" 303 0\r\n",
            "\n# a comment\n",
            "h - - [10/Oct/2026:13:55:36 +0000] \"GET http://h/z\\x22\\\" HTTP/1.1\" 200 1\n",
            "h - - [10/Oct/2026:13:55:40 +0000] \"HEAD /last HTTP/1.0\" 200 1",
        );
        let expected =
            [(0, "GET /a?b=1"), (500, "GET /z%22%22"), (1_000, "POST /form"), (4_000, "HEAD /last")];
        assert_eq!(requests(text, 1.0), expected.map(|(at, what)| (at, what.to_owned())));
        assert_eq!(requests(text, 2.0)[3].0, 2_000);
    }

    #[test]
    fn reads_times_and_paths() {
        let text = "1700000000.250 /a\n1700000000.5 DELETE /b\n1700000000 /c\n1700000000.25\t/d\n";
        let expected = [(0, "GET /c"), (250, "GET /a"), (250, "GET /d"), (500, "DELETE /b")];
        assert_eq!(requests(text, 1.0), expected.map(|(at, what)| (at, what.to_owned())));
        let text = "2026-03-01T00:00:00.5+01:00 /a\n2026-02-28T23:00:01Z GET /b\n";
        assert_eq!(requests(text, 0.5), [(0, "GET /a".to_owned()), (1_000, "GET /b".to_owned())]);
    }

    #[test]
    fn instants_are_those_of_the_calendar() {
        for (text, expected) in [
            ("01/Jan/1970:00:00:00 +0000", Some(0)),
            ("29/Feb/2024:00:00:00 +0000", Some(1_709_164_800)),
            ("06/Nov/1994:08:49:37 +0000", Some(784_111_777)),
            ("06/Nov/1994:08:49:37 -0130", Some(784_117_177)),
            ("06/Nov/1994:24:49:37 +0000", None),
            ("06/anF/1994:08:49:37 +0000", None),
            ("01/Jan/1970:00:00:00 +0100", None),
        ] {
            assert_eq!(clf_time(text), expected.map(Nanos::from_secs), "{text}");
        }
    }

    #[test]
    fn lines_of_no_format_are_named() {
        let text = "0 /a\nwhat is this\n1 /b\n2\n3 b\n";
        let error = read(text.as_bytes(), 1.0).err().unwrap();
        assert!(error.starts_with("lines 2, 4, 5 of it are neither"), "{error}");
        assert_eq!(read(b"\n# nothing\n", 1.0).err().unwrap(), "has no request that can be sent");
        assert_eq!(named(&[1, 2, 3, 4, 5, 6, 7]), "lines 1, 2, 3, 4, 5 and 2 more");
    }

    #[test]
    fn requests_that_cannot_be_sent_are_left_out() {
        let line = |request: &str| format!("h - - [10/Oct/2026:13:55:36 +0000] \"{request}\" 400 0\n");
        let text = [
            "GET / HTTP/1.1",
            "-",
            "\\x16\\x03\\x01",
            "CONNECT a:443 HTTP/1.1",
            "GET /a b HTTP/1.1",
            "GET *",
        ];
        let found = read(text.map(line).concat().as_bytes(), 1.0).ok().unwrap();
        assert_eq!((found.log.requests.len(), found.left_out), (1, 5));
        assert_eq!(found.first_left_out, [2, 3, 4, 5, 6]);
    }

    #[test]
    fn any_bytes_are_read_or_refused() {
        for length in 0..200u64 {
            let bytes: Vec<u8> = (0..length).map(|at| (at * at * 31 + length * 7) as u8).collect();
            drop(read(&bytes, 1.0));
        }
    }
}
