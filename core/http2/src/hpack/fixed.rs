//! The static table (RFC 7541 appendix A).

/// Names and values; the first is number 1.
#[rustfmt::skip]
pub(crate) const TABLE: [(&str, &str); 61] = [
    (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"),
    (":scheme", "http"), (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"),
    (":status", "304"), (":status", "400"), (":status", "404"), (":status", "500"), ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""), ("accept", ""),
    ("access-control-allow-origin", ""), ("age", ""), ("allow", ""), ("authorization", ""), ("cache-control", ""),
    ("content-disposition", ""), ("content-encoding", ""), ("content-language", ""), ("content-length", ""),
    ("content-location", ""), ("content-range", ""), ("content-type", ""), ("cookie", ""), ("date", ""), ("etag", ""),
    ("expect", ""), ("expires", ""), ("from", ""), ("host", ""), ("if-match", ""), ("if-modified-since", ""),
    ("if-none-match", ""), ("if-range", ""), ("if-unmodified-since", ""), ("last-modified", ""), ("link", ""),
    ("location", ""), ("max-forwards", ""), ("proxy-authenticate", ""), ("proxy-authorization", ""), ("range", ""),
    ("referer", ""), ("refresh", ""), ("retry-after", ""), ("server", ""), ("set-cookie", ""),
    ("strict-transport-security", ""), ("transfer-encoding", ""), ("user-agent", ""), ("vary", ""), ("via", ""),
    ("www-authenticate", ""),
];

/// The number of a field, if it is here.
pub(crate) fn whole(name: &[u8], value: &[u8]) -> Option<u32> {
    let same = |(n, v): &(&str, &str)| n.as_bytes() == name && v.as_bytes() == value && !v.is_empty();
    TABLE.iter().position(same).map(|place| place as u32 + 1)
}

/// The number of a field with this name, if there is one.
pub(crate) fn named(name: &[u8]) -> Option<u32> {
    TABLE.iter().position(|(n, _)| n.as_bytes() == name).map(|place| place as u32 + 1)
}
