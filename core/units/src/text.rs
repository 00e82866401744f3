//! Numbers in tables, reports and sentences: four significant figures, an SI prefix, a unit.
//!
//! Not here: exact text forms. The `Display` of a quantity parses back; these texts are rounded.

/// A number with its unit: `1.488 Mpps`, `552.9 µs`, `16.65%`, `12,345`.
///
/// Units are the units of results and findings: `pps`, `bps`, `ns`, `s`, `ratio`, `/s`, `frames`, `sessions`, `bytes`, or empty
/// for plain numbers.
pub fn quantity(value: f64, unit: &str) -> String {
    match unit {
        "ns" => nanoseconds(value),
        "s" => nanoseconds(value * 1e9),
        "ratio" => percent(value),
        "frames" | "sessions" | "bytes" | "" if value.abs() < 1e15 && value.fract() == 0.0 => {
            let count = whole(value);
            if unit.is_empty() { count } else { format!("{count} {unit}") }
        }
        _ => prefixed(value, unit),
    }
}

/// A ratio in percent, with enough digits to distinguish it from 0% and 100%: `0%`, `0.0012%`, `16.65%`, `99.9999%`.
pub fn percent(ratio: f64) -> String {
    let percent = ratio * 100.0;
    let size = percent.abs();
    if size == 0.0 {
        return "0%".to_owned();
    }
    if size < 1e-7 {
        return format!("{percent:.1e}%");
    }
    let mut digits = if size < 1.0 { 2 - size.log10().floor() as i32 } else { 2 };
    while digits < 7 && size < 100.0 && 100.0 - size < 10f64.powi(-digits) {
        digits += 1;
    }
    format!("{}%", trimmed(&format!("{percent:.*}", digits as usize)))
}

/// A difference in percent with its sign: `+1.2%`.
pub fn signed_percent(ratio: f64) -> String {
    let text = percent(ratio.abs());
    match ratio {
        r if r < 0.0 => format!("−{text}"),
        r if r > 0.0 => format!("+{text}"),
        _ => text,
    }
}

/// A count with thousands separators: `2,400,000`.
pub fn count(number: u64) -> String {
    grouped(&number.to_string())
}

/// A number rounded to a whole one, with thousands separators.
pub fn whole(value: f64) -> String {
    let digits = grouped(&format!("{:.0}", value.abs()));
    if value < 0.0 { format!("−{digits}") } else { digits }
}

fn grouped(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// An estimated time: `45 s`, `12 min`, `1.5 h`.
pub fn rough_time(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5_400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3_600.0),
    }
}

fn prefixed(value: f64, unit: &str) -> String {
    let (scaled, prefix) = match value.abs() {
        v if v >= 999.95e6 => (value / 1e9, "G"),
        v if v >= 999.95e3 => (value / 1e6, "M"),
        v if v >= 999.95 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    // `/s` follows the prefix: `1.2 k/s`.
    let text = format!("{} {prefix}{unit}", trimmed(&figures(scaled)));
    text.replace(" /", "/").trim_end().to_owned()
}

fn nanoseconds(ns: f64) -> String {
    let (scaled, unit) = match ns.abs() {
        v if v >= 999.95e6 => (ns / 1e9, "s"),
        v if v >= 999.95e3 => (ns / 1e6, "ms"),
        v if v >= 999.95 => (ns / 1e3, "µs"),
        _ => (ns, "ns"),
    };
    format!("{} {unit}", trimmed(&figures(scaled)))
}

/// Four figures.
fn figures(value: f64) -> String {
    match value.abs() {
        v if v >= 1000.0 => format!("{value:.0}"),
        v if v >= 100.0 => format!("{value:.1}"),
        v if v >= 10.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_well() {
        let all = [
            quantity(14_880_952.0, "pps"),
            quantity(999_999.0, "pps"),
            quantity(64.0, "frames"),
            quantity(12_345.0, ""),
            quantity(1_200.0, "/s"),
            quantity(552_959.0, "ns"),
            quantity(0.25, "s"),
            quantity(0.0, "pps"),
        ];
        assert_eq!(
            all,
            ["14.88 Mpps", "1 Mpps", "64 frames", "12,345", "1.2 k/s", "553 µs", "250 ms", "0 pps"]
        );
    }

    #[test]
    fn percents_keep_what_is_small() {
        let all = [0.0, 1.0, 0.166_453, 0.005, 0.000_012, 0.000_000_12, 0.999_999, 1e-10].map(percent);
        assert_eq!(all, ["0%", "100%", "16.65%", "0.5%", "0.0012%", "0.000012%", "99.9999%", "1.0e-8%"]);
        assert_eq!([signed_percent(0.01), signed_percent(-0.5), signed_percent(0.0)], ["+1%", "−50%", "0%"]);
    }

    #[test]
    fn counts_have_commas() {
        assert_eq!([0, 999, 1_000, 2_400_000].map(count), ["0", "999", "1,000", "2,400,000"]);
        assert_eq!([1_000.4, -12_345.0].map(whole), ["1,000", "−12,345"]);
    }

    #[test]
    fn estimates_are_rough() {
        assert_eq!([45.2, 720.0, 5_400.0].map(rough_time), ["45 s", "12 min", "1.5 h"]);
    }
}
