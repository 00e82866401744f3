//! What runs on flows: application programs, HTTP/1.1, DNS, conversations from captures; when sessions are opened and
//! closed; what came of them.
//!
//! Not here: TCP (`tcp`), encryption itself (`tls`), any clock or frame.

#![forbid(unsafe_code)]

pub mod secure;
