//! Meaning and validity of the fields of a request or a response (RFC 9113 section 8, RFC 9114 section 4).

/// Bytes of buffers that are kept for the next head.
const KEPT: usize = 512;
/// Bytes of values that are kept of a head's fields ([`Head::value`]); those beyond it count as absent.
const VALUES: usize = 16 << 10;

/// A head as it is read.
#[derive(Debug, Default)]
pub struct Head {
    /// `:method` of a request.
    pub method: Vec<u8>,
    /// `:path` of a request.
    pub path: Vec<u8>,
    /// `:protocol` of an extended CONNECT, where it is taken ([`Head::take_protocol`]); empty if there is none (RFC 8441 section 4).
    pub protocol: Vec<u8>,
    /// `:status` of a response; 0 if there is none.
    pub status: u16,
    /// `content-length`.
    pub length: Option<u64>,
    /// `expect: 100-continue`: its sender waits for a 100 before it sends the body (RFC 9110 section 10.1.1).
    pub waits: bool,
    /// Whether its fields exceed the announced size: all other results are meaningless then.
    pub is_too_large: bool,
    /// Names of fields whose values are kept, and of each in turn its value's place in `values`.
    wanted: &'static [&'static str],
    found: Vec<(u8, u16, u16)>,
    values: Vec<u8>,
    /// Values that were wanted and too long.
    dropped: u32,
    takes_protocol: bool,
    is_response: bool,
    is_trailer: bool,
    has: u8,
    regular: bool,
    wrong: Option<&'static str>,
    /// The header block it was read from, if the same bytes always mean the same; empty otherwise.
    source: Vec<u8>,
}

const METHOD: u8 = 1;
const SCHEME: u8 = 2;
const PATH: u8 = 4;
const AUTHORITY: u8 = 8;
const STATUS: u8 = 16;
const PROTOCOL: u8 = 32;

impl Head {
    /// Resets it: the fields of a response or of a request follow, or trailers.
    pub fn begin(&mut self, is_response: bool, is_trailer: bool) {
        self.method.clear();
        self.path.clear();
        self.path.shrink_to(KEPT);
        self.protocol.clear();
        (self.status, self.length, self.waits, self.is_too_large) = (0, None, false, false);
        self.found.clear();
        self.dropped = 0;
        self.values.clear();
        self.values.shrink_to(KEPT);
        self.source.clear();
        (self.is_response, self.is_trailer, self.has, self.regular, self.wrong) =
            (is_response, is_trailer, 0, false, None);
    }

    /// Remembers the header block it was read from, which means the same next time: one without a dynamic table. Long ones and heads
    /// that break a rule are not remembered.
    pub fn remember(&mut self, block: &[u8]) {
        if block.len() <= KEPT && self.wrong.is_none() && !self.is_too_large {
            self.source.extend_from_slice(block);
        }
    }

    /// Whether it was read from this header block, so that its content is already here.
    #[inline]
    pub fn is_from(&self, block: &[u8]) -> bool {
        !self.source.is_empty() && self.source == block
    }

    /// Takes requests of extended CONNECT from the next head on.
    pub fn take_protocol(&mut self) {
        self.takes_protocol = true;
    }

    /// Keeps the values of fields of these names, in lower case, from the next head on.
    pub fn keep(&mut self, names: &'static [&'static str]) {
        self.wanted = names;
        self.source.clear();
    }

    /// The value of a field whose name was given to [`Head::keep`]; the first if it came several times.
    pub fn value(&self, name: &str) -> Option<&[u8]> {
        let name = self.wanted.iter().position(|wanted| *wanted == name)?;
        let (_, from, to) = self.found.iter().find(|(index, ..)| usize::from(*index) == name)?;
        self.values.get(usize::from(*from)..usize::from(*to))
    }

    /// All values of a field whose name was given to [`Head::keep`], in order.
    pub fn values(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        let wanted = self.wanted.iter().position(|wanted| *wanted == name);
        let found = self.found.iter().filter(move |(index, ..)| Some(usize::from(*index)) == wanted);
        found.filter_map(|(_, from, to)| self.values.get(usize::from(*from)..usize::from(*to)))
    }

    /// Number of values that were to be kept and not, because all together are too long.
    pub fn values_dropped(&self) -> u32 {
        self.dropped
    }

    /// Whether it is one of trailers.
    pub fn is_trailer(&self) -> bool {
        self.is_trailer
    }

    /// The next field.
    #[inline]
    pub fn field(&mut self, name: &[u8], value: &[u8]) {
        if self.wrong.is_none() {
            self.wrong = self.take(name, value).err();
        }
    }

    #[inline]
    fn take(&mut self, name: &[u8], value: &[u8]) -> Result<(), &'static str> {
        // RFC 9113 section 8.2.1.
        if value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n')) {
            return Err("a field value with control characters");
        }
        if let (Some(b' ' | b'\t'), _) | (_, Some(b' ' | b'\t')) = (value.first(), value.last()) {
            return Err("a field value with space around it");
        }
        let Some((b':', rest)) = name.split_first() else {
            self.regular = true;
            return self.regular(name, value);
        };
        if self.is_trailer {
            return Err("a pseudo-header field in trailers");
        }
        if self.regular {
            return Err("a pseudo-header field after others");
        }
        let (which, takes) = match rest {
            b"status" => (STATUS, self.is_response),
            b"method" => (METHOD, !self.is_response),
            b"scheme" => (SCHEME, !self.is_response),
            b"path" => (PATH, !self.is_response),
            b"authority" => (AUTHORITY, !self.is_response),
            b"protocol" if self.takes_protocol => (PROTOCOL, !self.is_response),
            _ => return Err("an unknown pseudo-header field"),
        };
        if !takes {
            return Err("a pseudo-header field that is not for this end");
        }
        if self.has & which != 0 {
            return Err("a pseudo-header field twice");
        }
        self.has |= which;
        match which {
            METHOD => self.method.extend_from_slice(value),
            PATH => self.path.extend_from_slice(value),
            PROTOCOL => self.protocol.extend_from_slice(value),
            STATUS => {
                let [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] = *value else {
                    return Err("a :status that is none");
                };
                self.status = u16::from(a - b'0') * 100 + u16::from(b - b'0') * 10 + u16::from(c - b'0');
            }
            _ => {}
        }
        Ok(())
    }

    #[inline]
    fn regular(&mut self, name: &[u8], value: &[u8]) -> Result<(), &'static str> {
        let is_name = |byte: &u8| matches!(byte, 0x21..=0x39 | 0x3b..=0x40 | 0x5b..=0x7e);
        if name.is_empty() || !name.iter().all(is_name) {
            return Err("a field name that is none, or not in lower case");
        }
        match name {
            b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding" | b"upgrade" => {
                return Err("a field of the connection, which only HTTP/1 has");
            }
            b"te" if value != b"trailers" => return Err("a TE other than trailers"),
            b"content-length" if !self.is_trailer => {
                let length = number(value).ok_or("a bad content-length")?;
                if self.length.is_some_and(|other| other != length) {
                    return Err("different values of content-length");
                }
                self.length = Some(length);
            }
            b"expect" => self.waits = value.eq_ignore_ascii_case(b"100-continue"),
            _ => {}
        }
        let Some(index) = self.wanted.iter().position(|wanted| wanted.as_bytes() == name) else {
            return Ok(());
        };
        if self.values.len() + value.len() > VALUES {
            self.dropped += 1;
        } else {
            let from = self.values.len() as u16;
            self.values.extend_from_slice(value);
            self.found.push((index as u8, from, self.values.len() as u16));
        }
        Ok(())
    }

    /// Error of a complete head.
    pub fn wrong(&self) -> Option<&'static str> {
        let missing = |which| self.has & which != which;
        self.wrong.or_else(|| match (self.is_trailer, self.is_response) {
            (true, _) => None,
            (false, true) => missing(STATUS).then_some("no :status"),
            // RFC 9113 sections 8.3.1 and 8.5.
            // RFC 8441 section 4.
            (false, false) if self.has & PROTOCOL != 0 && self.method != b"CONNECT" => {
                Some("a :protocol without CONNECT")
            }
            (false, false) if self.has & PROTOCOL != 0 && missing(AUTHORITY | SCHEME | PATH) => {
                Some("an extended CONNECT without :authority, :scheme or :path")
            }
            (false, false) if self.method == b"CONNECT" => missing(AUTHORITY).then_some("no :authority"),
            (false, false) if missing(METHOD | SCHEME | PATH) => Some("no :method, :scheme or :path"),
            (false, false) => self.path.is_empty().then_some("an empty :path"),
        })
    }
}

/// A decimal number below 2^40.
fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 13 || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = text.iter().fold(0, |value, byte| value * 10 + u64::from(byte - b'0'));
    (value < 1 << 40).then_some(value)
}
