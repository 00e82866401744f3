//! A decimal number followed by a unit: the text form that all quantities share.

use std::fmt;

/// Why a text is not the quantity it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuantityError {
    text: String,
    expected: &'static str,
}

impl QuantityError {
    /// `text` was given where `expected` (with an example) was wanted.
    pub fn new(text: &str, expected: &'static str) -> Self {
        Self { text: text.to_owned(), expected }
    }

    /// Valid syntax, with an example.
    pub fn expected(&self) -> &'static str {
        self.expected
    }
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is not {}", self.text, self.expected)
    }
}

impl std::error::Error for QuantityError {}

/// An unsigned decimal: `mantissa` × 10^-`scale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decimal {
    mantissa: u128,
    scale: u32,
}

impl Decimal {
    /// The number times 10^`power`, if that is a whole number that fits 64 bits.
    pub(crate) fn times_ten_to(self, power: u32) -> Option<u64> {
        let whole = if power >= self.scale {
            self.mantissa.checked_mul(10u128.checked_pow(power - self.scale)?)?
        } else {
            let divisor = 10u128.checked_pow(self.scale - power)?;
            if !self.mantissa.is_multiple_of(divisor) {
                return None;
            }
            self.mantissa / divisor
        };
        u64::try_from(whole).ok()
    }
}

/// Splits `text` into its number and the unit after it (white space between them is allowed).
pub(crate) fn split(text: &str) -> Option<(Decimal, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.contains('.') || fraction.len() > 18 || number.ends_with('.') {
        return None;
    }
    let mut mantissa: u128 = 0;
    let mut digits = 0;
    for c in whole.chars().chain(fraction.chars()).filter(|c| *c != '_') {
        mantissa = mantissa.checked_mul(10)?.checked_add(u128::from(c.to_digit(10)?))?;
        digits += 1;
    }
    if digits == 0 {
        return None;
    }
    let scale = fraction.chars().filter(|c| *c != '_').count() as u32;
    Some((Decimal { mantissa, scale }, unit.trim_start()))
}

/// Writes `value` × 10^-`scale` without trailing zeros.
pub(crate) fn write(f: &mut fmt::Formatter<'_>, value: u64, scale: u32) -> fmt::Result {
    let unit = 10u64.pow(scale);
    let (whole, fraction) = (value / unit, value % unit);
    if fraction == 0 {
        return write!(f, "{whole}");
    }
    let digits = format!("{fraction:0width$}", width = scale as usize);
    write!(f, "{whole}.{}", digits.trim_end_matches('0'))
}
