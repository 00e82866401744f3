//! A system without files, threads and interfaces, such as a browser.

use std::convert::Infallible;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

pub use crate::usage::ThreadUsage;

/// A file in the making: there are none.
#[derive(Debug)]
pub struct Draft(Infallible);

impl Draft {
    /// A new draft of `path`.
    ///
    /// # Errors
    /// Always: there are no files.
    pub fn create_with_mode(_: &Path, _: u32) -> io::Result<Self> {
        Err(io::Error::new(ErrorKind::Unsupported, "there are no files here"))
    }

    /// Gives the draft its name before it is whole.
    ///
    /// # Errors
    /// None: there is no draft.
    pub fn publish(&mut self) -> io::Result<()> {
        match self.0 {}
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// None: there is no draft.
    pub fn commit(self) -> io::Result<()> {
        match self.0 {}
    }
}

impl Write for Draft {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        match self.0 {}
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.0 {}
    }
}

/// Cores.
pub mod cpu {
    pub use crate::usage::ThreadUsage;

    /// Cores the calling thread may run on: not known.
    pub fn allowed() -> Vec<usize> {
        Vec::new()
    }
}

/// Changes of interfaces.
pub mod link_watch {
    pub use crate::link_change::LinkChange;
}

/// Memory.
pub mod memory {
    /// Bytes this process may still take: not known, so no limit.
    pub fn available_bytes() -> u64 {
        u64::MAX
    }

    /// There are no pages to make present.
    pub fn make_present(_: &mut [u32]) {}

    /// There are no pages.
    pub fn use_small_pages(_: &mut [u32]) {}
}
