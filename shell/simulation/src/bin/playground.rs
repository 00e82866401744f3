//! The playground's module: [`simulation::playground::reply`] for a page of a browser.
//!
//! Elsewhere this program does nothing.

#![forbid(unsafe_code)]

fn main() {
    #[cfg(not(unix))]
    browser::serve(simulation::playground::reply);
}
