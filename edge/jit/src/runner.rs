//! One stream's programs on one worker.

use crate::block::{self, STATE_WORDS};
use crate::code::Code;
use crate::entry::Run;
use crate::shape::{Advance, Shape};
use crate::{Jit, JitError};
use field::{Inputs, Program};
use port::Burst;
use std::ops::Range;
use std::sync::Arc;

/// One stream's programs on one worker.
pub struct Runner {
    /// Never changed: the blocks hold addresses of what is in them.
    programs: Vec<Program>,
    compiled: Option<Compiled>,
}

struct Compiled {
    variants: Vec<Variant>,
    /// That of the first variant. Of all others' it shares the variables, which is all the state depends on.
    shape: Shape,
    constants: Box<[u64]>,
    state: Box<[u64]>,
    /// The number the state is for.
    next: Option<u64>,
}

struct Variant {
    code: Arc<Code>,
    block: Box<[u64]>,
}

impl Runner {
    /// Prepares to run `variants`: one `Vary` bound to packets that differ in length only.
    pub fn new(jit: &mut Jit, variants: Vec<Program>) -> Result<Self, JitError> {
        let Some(first) = variants.first() else { return Err(JitError::NoVariants) };
        let differs = |other: &Program| {
            (first.variables(), first.flows(), first.patches())
                != (other.variables(), other.flows(), other.patches())
        };
        if let Some(variant) = variants.iter().position(differs) {
            return Err(JitError::VariantsDiffer { variant });
        }
        let compiled = Compiled::new(jit, &variants)?;
        Ok(Self { programs: variants, compiled })
    }

    /// Writes packets `number ..` into frames `range` of the burst, which hold copies of the packet of `variant`,
    /// regardless of their previous contents. The sequence number counts up, wrapping; `time` is that of all, in
    /// nanoseconds.
    ///
    /// Continuing where the last run ended is fastest.
    ///
    /// # Panics
    /// If the burst has no such frames, there is no such variant, or a frame is not as long as the variant's packet.
    #[inline]
    pub fn run(
        &mut self,
        burst: &mut Burst,
        range: Range<usize>,
        variant: usize,
        number: u64,
        sequence: u32,
        time: u64,
    ) {
        let before_wrap = (u32::MAX - sequence) as usize;
        if range.len() > before_wrap + 1 {
            let middle = range.start + before_wrap + 1;
            self.run(burst, range.start..middle, variant, number, sequence, time);
            let number = number.wrapping_add(before_wrap as u64 + 1);
            return self.run(burst, middle..range.end, variant, number, 0, time);
        }
        if range.is_empty() {
            return;
        }
        let program = &self.programs[variant];
        let end = number.checked_add(range.len() as u64);
        match (&mut self.compiled, end) {
            (Some(compiled), Some(end)) => {
                let call = Call { variant, numbers: number..end, sequence, time };
                compiled.run(program, burst, range, call);
            }
            // Where numbers begin again the state does not.
            _ => interpret(program, burst, range, Inputs { number, sequence, time }),
        }
    }
}

/// Arguments of a run.
struct Call {
    variant: usize,
    numbers: Range<u64>,
    sequence: u32,
    time: u64,
}

fn interpret(program: &Program, burst: &mut Burst, range: Range<usize>, mut inputs: Inputs) {
    for index in range {
        program.write(burst.frame_mut(index).data_mut(), &inputs);
        inputs.number = inputs.number.wrapping_add(1);
        inputs.sequence = inputs.sequence.wrapping_add(1);
    }
}

impl Compiled {
    /// `None` if programs are interpreted. Compiled code holds addresses of `programs`, but not through the vector's
    /// own location: they lie behind it.
    fn new(jit: &mut Jit, programs: &[Program]) -> Result<Option<Self>, JitError> {
        let shapes: Vec<_> = programs.iter().map(Shape::of).collect();
        let mut variants = Vec::new();
        for (program, shape) in programs.iter().zip(&shapes) {
            shape.assert_inside(program.template().len());
            let Some(code) = jit.code(shape)? else { return Ok(None) };
            variants.push(Variant { code, block: block::variant(program, shape) });
        }
        let (Some(shape), [first, ..]) = (shapes.into_iter().next(), programs) else { return Ok(None) };
        let constants = block::constants(first, &shape);
        let state = vec![0; shape.variables.len() * STATE_WORDS].into();
        Ok(Some(Self { variants, shape, constants, state, next: None }))
    }

    #[inline]
    fn run(&mut self, program: &Program, burst: &mut Burst, range: Range<usize>, call: Call) {
        if self.next != Some(call.numbers.start) {
            self.seed(program, call.numbers.start);
        }
        self.next = None;
        let Variant { code, block } = &self.variants[call.variant];
        // SAFETY: the code below reads the slice, and writes to the frames' bytes only.
        let heads = unsafe { burst.heads()[range].as_mut_ptr_range() };
        let sequence = u64::from(call.sequence);
        let (tail, factors) =
            program.lane().map_or((0, [0; 2]), |l| (l.tail(call.time), l.factors(call.time)));
        let run = Run {
            heads: heads.start,
            end: heads.end,
            state: self.state.as_mut_ptr(),
            constants: self.constants.as_ptr(),
            variant: block.as_ptr(),
            number: call.numbers.start,
            stamp: sequence | call.time << 32,
            tail: u64::from(tail),
            stamp_sum: sequence + (call.time & 0xffff_ffff) + u64::from(tail),
            factors,
        };
        // SAFETY: the heads are those of a burst, which points to valid frames that nobody else uses, and there is one
        // at least. The code writes to a frame only if it is as long as the program's, and then only where the program
        // does, inside of it (`assert_inside`). The blocks have the layout the code was compiled for, as they were made
        // from the same shape (the constants from the first variant's, with the same variables), and the addresses in
        // them are of `self.programs` and the lists they share, which live as long as `self`. The state's indices into
        // lists are below their lengths, because `seed` makes them so and the code keeps them so.
        let stopped = unsafe { (code.entry)(&run) };
        assert!(stopped == run.end, "a frame of the burst is not as long as its program's packet");
        self.next = Some(call.numbers.end);
    }

    /// Sets the state to what it is before packet `number`.
    fn seed(&mut self, program: &Program, number: u64) {
        if self.shape.advance == Advance::Stepwise {
            block::seed(program, &self.shape, &self.constants, &mut self.state, number);
        }
    }
}

impl Shape {
    /// Verifies what the safety of compiled code rests on: that it writes inside a frame of `len` bytes.
    fn assert_inside(&self, len: usize) {
        let chunks = self.chunks.iter().map(|chunk| chunk.offset + chunk.bytes);
        let checksums = self.checksums.iter().map(|checksum| checksum.offset + checksum.bytes);
        let end = chunks.chain(checksums).max().unwrap_or(0);
        assert!(end <= len && (!self.signed || len >= wire::signature::VARYING));
    }
}
