//! Fields of variable length: names, texts and plain bytes. A header has at most one.
//!
//! They hold bytes where other fields hold a number. The length is given by the header's real length, or by the bytes
//! themselves.

use crate::catalogue::ValueError;

/// A field of variable length.
#[derive(Debug)]
pub struct Variable {
    /// The name after the dot: `name` of `dns_question.name`.
    pub name: &'static str,
    /// Offset from the header's start. Fields at this offset or later in the catalogue come after its bytes.
    pub at: usize,
    /// Notation.
    pub kind: VariableKind,
    /// Its bytes if it is not set.
    pub default: &'static [u8],
    /// One line for people.
    pub doc: &'static str,
}

/// Notation of a field of variable length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableKind {
    /// A domain name, `example.com`: labels with their lengths, up to the empty one (RFC 1035 section 3.1).
    Name,
    /// A text, as it is.
    Text,
    /// Bytes as pairs of hexadecimal digits: `00 ff`.
    Bytes,
}

/// Most bytes of a label (RFC 1035 section 3.1).
const LABEL_MAX: usize = 63;
/// Most bytes of a name, its labels' lengths included (RFC 1035 section 3.1).
const NAME_MAX: usize = 255;
/// Most bytes of a field of variable length: a header must fit a frame.
const MAX: usize = 9000;

impl Variable {
    /// Reads a value as people write it.
    pub fn parse(&self, text: &str) -> Result<Vec<u8>, ValueError> {
        let bytes = match self.kind {
            VariableKind::Name => parse_name(text.trim()),
            VariableKind::Text => Some(text.as_bytes().to_vec()),
            VariableKind::Bytes => parse_bytes(text),
        };
        bytes
            .filter(|bytes| bytes.len() <= MAX)
            .ok_or_else(|| ValueError { given: text.to_owned(), expected: self.expected().to_owned() })
    }

    /// Writes a value as people read it.
    pub fn print(&self, bytes: &[u8]) -> String {
        match self.kind {
            VariableKind::Name => print_name(bytes),
            VariableKind::Text => String::from_utf8_lossy(bytes).into_owned(),
            VariableKind::Bytes => bytes.iter().map(|b| format!("{b:02x}")).collect(),
        }
    }

    /// Accepted values, for messages.
    pub fn expected(&self) -> &'static str {
        match self.kind {
            VariableKind::Name => "a domain name such as example.com",
            VariableKind::Text => "a text of at most 9000 bytes",
            VariableKind::Bytes => "bytes as pairs of hexadecimal digits such as '00 ff'",
        }
    }

    /// Number of `bytes` that it takes if they end it themselves; `None` if they do not.
    pub(crate) fn own_length(&self, bytes: &[u8]) -> Option<usize> {
        match self.kind {
            VariableKind::Name => name_length(bytes),
            VariableKind::Text | VariableKind::Bytes => None,
        }
    }
}

/// `example.com`, with or without a full stop after it; `.` is the root.
fn parse_name(text: &str) -> Option<Vec<u8>> {
    let labels = text.strip_suffix('.').unwrap_or(text);
    let mut bytes = Vec::new();
    if text != "." {
        for label in labels.split('.') {
            let fits = (1..=LABEL_MAX).contains(&label.len()) && label.bytes().all(|b| b.is_ascii_graphic());
            if !fits {
                return None;
            }
            bytes.push(label.len() as u8);
            bytes.extend(label.bytes());
        }
    }
    bytes.push(0);
    (bytes.len() <= NAME_MAX).then_some(bytes)
}

fn print_name(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut rest = bytes;
    while let Some((length, behind)) = rest.split_first()
        && let Some((label, behind)) = behind.split_at_checked(usize::from(*length))
        && !label.is_empty()
    {
        text.extend(label.iter().map(|b| char::from(*b)));
        text.push('.');
        rest = behind;
    }
    if text.len() > 1 { text.trim_end_matches('.').to_owned() } else { ".".to_owned() }
}

/// Bytes up to the empty label. A pointer to another name (RFC 1035 section 4.1.4) is no end this reader knows.
fn name_length(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match *bytes.get(at)? {
            0 => return (at < NAME_MAX).then_some(at + 1),
            label if usize::from(label) <= LABEL_MAX => at += 1 + usize::from(label),
            _ => return None,
        }
    }
}

/// Bytes from pairs of hexadecimal digits, white space between them ignored.
pub fn parse_bytes(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16).map(|d| d as u8))
        .collect::<Option<_>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn field(kind: VariableKind) -> Variable {
        Variable { name: "any", at: 0, kind, default: &[], doc: "" }
    }

    #[test]
    fn reads_what_people_write() {
        for (kind, text, bytes) in [
            (VariableKind::Name, "example.com", &b"\x07example\x03com\0"[..]),
            (VariableKind::Name, "a.", b"\x01a\0"),
            (VariableKind::Name, ".", b"\0"),
            (VariableKind::Text, " tide ", b" tide "),
            (VariableKind::Bytes, "de ad\tBE", b"\xde\xad\xbe"),
            (VariableKind::Bytes, "", b""),
        ] {
            assert_eq!(field(kind).parse(text).as_deref(), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn says_what_it_wants() {
        for (kind, texts, expected) in [
            (VariableKind::Name, ["", "a..b", "a b", ".."], "a domain name such as example.com"),
            (
                VariableKind::Bytes,
                ["0", "zz", "00f", "0x00"],
                "bytes as pairs of hexadecimal digits such as '00 ff'",
            ),
        ] {
            for text in texts {
                let error = field(kind).parse(text).unwrap_err();
                assert_eq!(error.to_string(), format!("'{text}' is not {expected}"));
            }
        }
        assert!(field(VariableKind::Name).parse(&"a".repeat(64)).is_err(), "a label has at most 63 bytes");
        assert!(field(VariableKind::Name).parse(&"a.".repeat(128)).is_err(), "a name has at most 255 bytes");
        assert!(field(VariableKind::Name).parse(&"a.".repeat(127)).is_ok());
    }

    proptest! {
        #[test]
        fn parses_what_it_prints(labels in prop::collection::vec("[a-z0-9-]{1,63}", 0..4), bytes: Vec<u8>) {
            let name = if labels.is_empty() { ".".to_owned() } else { labels.join(".") };
            let names = field(VariableKind::Name);
            let parsed = names.parse(&name).unwrap();
            prop_assert_eq!(names.print(&parsed), name);
            prop_assert_eq!(names.own_length(&parsed), Some(parsed.len()));
            let plain = field(VariableKind::Bytes);
            prop_assert_eq!(plain.parse(&plain.print(&bytes)), Ok(bytes));
        }

        #[test]
        fn survives_any_bytes(bytes: Vec<u8>, text: String) {
            for kind in [VariableKind::Name, VariableKind::Text, VariableKind::Bytes] {
                let _ = field(kind).print(&bytes);
                let _ = field(kind).parse(&text);
                prop_assert!(field(kind).own_length(&bytes).is_none_or(|length| length <= bytes.len()));
            }
        }
    }
}
