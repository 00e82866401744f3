//! Field programs as machine code: the same bytes as `field`'s interpreter writes, many times faster.
//!
//! Code is compiled once for each *shape* of program (`shape.rs`); a program's constants are read from blocks
//! (`block.rs`), so ten thousand streams that differ only in addresses and seeds share one function. On a host without
//! compiler support, the interpreter runs instead.
//!
//! Not here: what a program means. That is `field`, and any difference is a bug here.
//!
//! Invariant: what the code keeps between calls is a cache. A run of packets comes out the same regardless of earlier
//! runs.

#![allow(unsafe_code)]

mod block;
#[cfg(unix)]
mod code;
#[cfg(not(unix))]
#[path = "no_code.rs"]
mod code;
mod entry;
mod runner;
mod shape;

pub use runner::Runner;

use code::{Code, Target};
use shape::Shape;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Why programs can't be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JitError {
    /// There is no program.
    NoVariants,
    /// Two variants are not bound from the same `Vary`, or not to packets with the same headers.
    VariantsDiffer {
        /// Index of the one that differs from the first.
        variant: usize,
    },
    /// The compiler refuses: a fault of this crate.
    Compile(String),
}

impl fmt::Display for JitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoVariants => write!(f, "there is no program to run"),
            Self::VariantsDiffer { variant } => {
                write!(f, "variant {variant} of the program writes other values or places than the first")
            }
            Self::Compile(reason) => write!(f, "the program can't be compiled: {reason}"),
        }
    }
}

impl std::error::Error for JitError {}

/// Compiles programs and keeps the code of each shape. One for a trial.
pub struct Jit {
    /// `None`: interpret.
    isa: Option<Target>,
    codes: HashMap<Shape, Arc<Code>>,
}

impl Jit {
    /// A compiler for this host. One that interprets if there is none, or if the system forbids running code that was
    /// not loaded from a file: see [`Jit::compiles`].
    pub fn new() -> Result<Self, JitError> {
        let isa = code::host().map_err(JitError::Compile)?;
        let isa = isa.filter(|isa| Code::compile(isa, &Shape::default()).is_ok());
        Ok(Self { isa, codes: HashMap::new() })
    }

    /// One that never compiles: slow, and right by definition.
    pub fn interpreter() -> Self {
        Self { isa: None, codes: HashMap::new() }
    }

    /// Whether programs are compiled, not interpreted.
    pub fn compiles(&self) -> bool {
        self.isa.is_some()
    }

    /// Shapes compiled so far.
    pub fn shapes(&self) -> usize {
        self.codes.len()
    }

    /// The code of a shape; `None` if programs are interpreted.
    fn code(&mut self, shape: &Shape) -> Result<Option<Arc<Code>>, JitError> {
        let Some(isa) = &self.isa else { return Ok(None) };
        if let Some(code) = self.codes.get(shape) {
            return Ok(Some(code.clone()));
        }
        let code = Arc::new(Code::compile(isa, shape)?);
        self.codes.insert(shape.clone(), code.clone());
        Ok(Some(code))
    }
}
