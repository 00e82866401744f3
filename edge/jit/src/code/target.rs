//! The processor that code is compiled for.

use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable, SetError};

/// The compiler's target.
pub(crate) type Target = OwnedTargetIsa;

/// Target of the compiler; `None` if the compiler does not know this processor. The generated code requires 64 bits and
/// little-endian byte order.
pub(crate) fn host() -> Result<Option<Target>, String> {
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
