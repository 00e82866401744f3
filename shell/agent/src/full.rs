//! The last interval and the totals of a run, as its server keeps them.
//!
//! Of a run on several machines they are made for the first reader: a document of a million streams takes a second or more.

use crate::message::Full;
use engine::RawRow;
use std::fmt;
use std::ops::Deref;
use std::sync::LazyLock;

/// Makes the whole of a snapshot.
type Make = Box<dyn FnOnce() -> Full + Send>;

/// A full snapshot. All else is made for its first reader.
pub struct FullView {
    /// Time since traffic started, s.
    pub at_s: f64,
    /// Latencies of all streams since the start.
    pub latency: RawRow,
    whole: LazyLock<Full, Make>,
}

impl FullView {
    pub(crate) fn new(at_s: f64, latency: RawRow, make: impl FnOnce() -> Full + Send + 'static) -> Self {
        Self { at_s, latency, whole: LazyLock::new(Box::new(make)) }
    }
}

impl From<Full> for FullView {
    fn from(full: Full) -> Self {
        Self::new(full.at_s, full.latency.clone(), move || full)
    }
}

impl Deref for FullView {
    type Target = Full;

    fn deref(&self) -> &Full {
        &self.whole
    }
}

impl fmt::Debug for FullView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FullView").field(&self.at_s).finish()
    }
}
