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
mod code;
mod runner;
mod shape;

pub use runner::Runner;

use code::Code;
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable, SetError};
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
    isa: Option<OwnedTargetIsa>,
    codes: HashMap<Shape, Arc<Code>>,
}

impl Jit {
    /// A compiler for this host. One that interprets if there is none, or if the system forbids running code that was
    /// not loaded from a file: see [`Jit::compiles`].
    pub fn new() -> Result<Self, JitError> {
        let isa = host().map_err(JitError::Compile)?;
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

/// Target of the compiler; `None` if the compiler does not know this processor. The generated code requires 64 bits and
/// little-endian byte order.
fn host() -> Result<Option<OwnedTargetIsa>, String> {
    let Ok(builder) = cranelift_native::builder() else { return Ok(None) };
    if cfg!(any(target_endian = "big", not(target_pointer_width = "64"))) {
        return Ok(None);
    }
    let flags = flags().map_err(|error| error.to_string())?;
    builder.finish(flags).map(Some).map_err(|error| error.to_string())
}

fn flags() -> Result<settings::Flags, SetError> {
    let mut flags = settings::builder();
    flags.set("opt_level", "speed")?;
    flags.set("is_pic", "false")?;
    // Functions of this program may be further away than a short call reaches.
    flags.set("use_colocated_libcalls", "false")?;
    flags.set("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" })?;
    Ok(settings::Flags::new(flags))
}
