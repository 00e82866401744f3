//! Numbers for people: four figures, a prefix, a unit.

/// A number in its unit as people write it: `1.488 Mpps`, `552.9 µs`, `16.65%`.
///
/// Units are those of [`crate::Finding::unit`].
pub fn quantity(value: f64, unit: &str) -> String {
    match unit {
        "ns" => nanoseconds(value),
        "s" => nanoseconds(value * 1e9),
        "ratio" => percent(value),
        "frames" | "sessions" | "" if value.abs() < 1e15 && value.fract() == 0.0 => {
            let count = count(value);
            if unit.is_empty() { count } else { format!("{count} {unit}") }
        }
        _ => prefixed(value, unit),
    }
}

/// A ratio in percent with as many digits as it takes: `0%`, `0.0012%`, `16.65%`.
pub fn percent(ratio: f64) -> String {
    let percent = ratio * 100.0;
    let digits = match percent.abs() {
        0.0 => 0,
        small if small < 0.001 => return format!("{percent:.1e}%"),
        small if small < 0.1 => 4,
        small if small < 1.0 => 3,
        _ => 2,
    };
    format!("{}%", trimmed(&format!("{percent:.digits$}")))
}

/// A difference in percent with its sign: `+1.2%`.
pub(crate) fn signed_percent(ratio: f64) -> String {
    let text = percent(ratio.abs());
    match ratio {
        r if r < 0.0 => format!("−{text}"),
        r if r > 0.0 => format!("+{text}"),
        _ => text,
    }
}

/// A whole number with commas: `2,400,000`.
pub(crate) fn count(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("−{text}") } else { text }
}

fn prefixed(value: f64, unit: &str) -> String {
    let (scaled, prefix) = match value.abs() {
        v if v >= 999.95e6 => (value / 1e9, "G"),
        v if v >= 999.95e3 => (value / 1e6, "M"),
        v if v >= 999.95 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    // `/s` stands behind the number itself: `1.2 k/s`.
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
        let all = [0.0, 1.0, 0.166_453, 0.005, 0.000_012, 0.000_000_12].map(percent);
        assert_eq!(all, ["0%", "100%", "16.65%", "0.5%", "0.0012%", "1.2e-5%"]);
        assert_eq!([signed_percent(0.01), signed_percent(-0.5), signed_percent(0.0)], ["+1%", "−50%", "0%"]);
    }

    #[test]
    fn counts_have_commas() {
        assert_eq!([0.0, 999.0, 1_000.0, 2_400_000.0].map(count), ["0", "999", "1,000", "2,400,000"]);
    }
}
