//! A system without the libraries of TLS.

use crate::key_logs::KeyLogs;
use session::GroupKey;
use session::plan::{SessionPlan, SidePlan, TlsPlan};
use session::secure::Layer;
use std::sync::Arc;

/// The encryption of an entry: there is none.
pub(super) enum Encryption {}

impl Encryption {
    /// That of `plan`, which has `tls`.
    pub(super) fn new(_: &SessionPlan, _: &Arc<TlsPlan>, _: bool, _: &KeyLogs) -> Result<Self, String> {
        Err("this form of Eagre has no TLS and no QUIC; leave 'tls' and HTTP/3 out, or run it with 'eagre sim'"
            .to_owned())
    }

    /// The layer of a group: there is none.
    pub(super) fn layer(
        &self,
        _: &SessionPlan,
        _: &SidePlan,
        _: GroupKey,
        _: u8,
        _: u64,
    ) -> Result<Layer, String> {
        match *self {}
    }
}
