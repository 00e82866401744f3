//! A system without processes: no programs run control protocols.

use crate::error::EngineError;

/// The programs of a plan: there are none.
pub(crate) enum Protocols {}

impl Protocols {
    /// Whether all are up.
    pub(crate) fn are_up(&self) -> Result<bool, EngineError> {
        match *self {}
    }
}
