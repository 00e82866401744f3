//! The protocol catalogue: headers, fields, builders, checksums, the test signature
