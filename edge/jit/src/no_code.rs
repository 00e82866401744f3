//! A system whose processes can make no code, such as a browser: programs are interpreted.

use crate::JitError;
use crate::entry::Entry;
use crate::shape::Shape;

/// There is none.
pub(crate) enum Target {}

/// There is none.
pub(crate) struct Code {
    pub(crate) entry: Entry,
}

impl Code {
    pub(crate) fn compile(target: &Target, _: &Shape) -> Result<Self, JitError> {
        match *target {}
    }
}

pub(crate) fn host() -> Result<Option<Target>, String> {
    Ok(None)
}
