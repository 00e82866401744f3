//! Containment of panics: the part that fails ends, the run with it, and what was counted stays.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a part of the tester; returns the reason if it panics. Data that the part was changing may be inconsistent
/// then: only counts and returned resources may be used after that.
pub(crate) fn contain<T>(part: &str, body: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(body)).map_err(|payload| reason(part, &*payload))
}

/// The end of a part in a sentence.
pub(crate) fn reason(part: &str, payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    format!("{part} failed: {}; this is a bug of the tester, please report it", text.unwrap_or("it panicked"))
}
