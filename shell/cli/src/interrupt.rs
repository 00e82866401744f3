//! Ctrl-C, SIGTERM and SIGHUP: one handler for the process, which stops the trial that runs now.

use crate::{Exit, Failure};
use engine::Control;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// From the first interrupt until another one ends the process at once: twice Ctrl-C in a hurry must not cost the result.
const STOPS_WITHIN: Duration = Duration::from_secs(2);

static CURRENT: Mutex<Option<Control>> = Mutex::new(None);
static IS_INSTALLED: Mutex<bool> = Mutex::new(false);
static REQUESTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Signals then stop what `control` controls, instead of the previous target.
///
/// # Errors
/// The handler can't be installed.
pub(crate) fn stops(control: Control) -> Result<(), Failure> {
    *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) = Some(control);
    install()
}

/// Signals then set the flag that is returned, for work that checks it.
///
/// # Errors
/// The handler can't be installed.
pub(crate) fn sets_flag() -> Result<Arc<AtomicBool>, Failure> {
    install()?;
    Ok(flag())
}

fn install() -> Result<(), Failure> {
    let mut is_installed = IS_INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    if *is_installed {
        return Ok(());
    }
    let mut first = None;
    ctrlc::set_handler(move || {
        REQUESTED.store(true, Ordering::Relaxed);
        if let Some(control) = &*CURRENT.lock().unwrap_or_else(PoisonError::into_inner) {
            control.stop();
        }
        let first = *first.get_or_insert_with(Instant::now);
        if first.elapsed() > STOPS_WITHIN {
            eprintln!("eagre: ended at once, without a result: it did not stop when interrupted first");
            os::process::end_now(Exit::Interrupted as i32);
        }
    })
    .map_err(|e| Failure::refused(format!("cannot install the Ctrl-C handler: {e}")))?;
    *is_installed = true;
    Ok(())
}

/// A flag that is set once a signal has requested a stop.
pub(crate) fn flag() -> Arc<AtomicBool> {
    REQUESTED.clone()
}

/// Whether a signal has requested a stop.
pub(crate) fn is_requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}
