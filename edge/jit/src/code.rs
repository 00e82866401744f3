//! From a shape to machine code: one function that writes a run of packets into the frames of a burst.
//!
//! The function's loop keeps what advances in registers: it is loaded from the state before and stored after. A
//! packet's checksums are sums of a constant and of the words just written, as they lie in memory, so little-endian:
//! the sum of swapped words is the swapped sum (RFC 1071 section 2(B)).

mod checksums;
mod target;
mod values;

pub(crate) use target::{Target, host};

use crate::JitError;
use crate::block::{STATE_WORDS, variant};
use crate::entry::{Entry, Run};
use crate::shape::{Chunk, Piece, Shape};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, Function, InstBuilder, MemFlags, SigRef, Signature, Type, Value, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Module, default_libcall_names};
use port::FrameHead;
use std::mem::offset_of;

/// Machine code and the memory it lies in.
pub(crate) struct Code {
    /// Emptied when dropped.
    module: Option<JITModule>,
    pub(crate) entry: Entry,
}

// SAFETY: once compiled, the module is only kept so that its memory can be given back; the code in it may run on any
// thread, also on several at once, since it touches only what its arguments point to.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

impl Drop for Code {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: nobody runs the code: whoever could holds a reference to this.
            unsafe { module.free_memory() };
        }
    }
}

impl Code {
    pub(crate) fn compile(isa: &Target, shape: &Shape) -> Result<Self, JitError> {
        let mut module = JITModule::new(JITBuilder::with_isa(isa.clone(), default_libcall_names()));
        let failed = |error: cranelift_module::ModuleError| JitError::Compile(error.to_string());
        let mut context = module.make_context();
        context.func.signature = signature(isa.default_call_conv());
        translate(shape, &mut context.func, isa.default_call_conv());
        let id = module.declare_anonymous_function(&context.func.signature).map_err(failed)?;
        module.define_function(id, &mut context).map_err(failed)?;
        module.finalize_definitions().map_err(failed)?;
        let address = module.get_finalized_function(id);
        // SAFETY: the function was compiled with the signature of `Entry`.
        let entry = unsafe { std::mem::transmute::<*const u8, Entry>(address) };
        Ok(Self { module: Some(module), entry })
    }
}

/// That of [`Entry`].
fn signature(convention: CallConv) -> Signature {
    let mut signature = Signature::new(convention);
    signature.params = vec![AbiParam::new(types::I64)];
    signature.returns = vec![AbiParam::new(types::I64)];
    signature
}

fn translate(shape: &Shape, function: &mut Function, convention: CallConv) {
    let mut context = FunctionBuilderContext::new();
    let build = FunctionBuilder::new(function, &mut context);
    let (mut writer, heads) = Writer::new(build, shape, convention);
    writer.function(heads);
    writer.build.seal_all_blocks();
    writer.build.finalize();
}

/// A value's lower 64 bits, and its upper ones unless they are zero or do not matter.
#[derive(Clone, Copy)]
struct Pair {
    low: Value,
    high: Option<Value>,
}

/// A chunk as it is written, as a little-endian number.
#[derive(Clone, Copy)]
struct Stored {
    word: Value,
    bytes: usize,
}

/// Writes the function, instruction by instruction.
struct Writer<'a> {
    build: FunctionBuilder<'a>,
    shape: &'a Shape,
    /// Calls into this program: a variable's value, a whole checksum. Both take three words and return nothing.
    call: SigRef,
    run: Arguments,
    /// Variable state: the words of each variable's state.
    states: Vec<[Variable; STATE_WORDS]>,
    /// Packet number, where it matters.
    number: Variable,
    /// The signature's eight bytes after its check.
    stamp: Variable,
    /// Of each checksum, the sum of what is the same in all packets, and of the signature.
    bases: Vec<Variable>,
}

/// Constants of a run.
#[derive(Clone, Copy)]
struct Arguments {
    end: Value,
    state: Value,
    constants: Value,
    variant: Value,
    tail: Value,
    factors: [Value; 2],
}

impl<'a> Writer<'a> {
    /// At the function's beginning, with everything loaded; also the place of the first frame.
    fn new(mut build: FunctionBuilder<'a>, shape: &'a Shape, convention: CallConv) -> (Self, Value) {
        let entry = build.create_block();
        build.append_block_params_for_function_params(entry);
        build.switch_to_block(entry);
        let run = build.block_params(entry)[0];
        let mut call = Signature::new(convention);
        call.params = vec![AbiParam::new(types::I64); 3];
        let call = build.import_signature(call);
        let mut declare = || build.declare_var(types::I64);
        let states = shape.variables.iter().map(|_| [(); STATE_WORDS].map(|()| declare())).collect();
        let bases = shape.checksums.iter().map(|_| declare()).collect();
        let (number, stamp) = (declare(), declare());
        let mut load = |offset: usize| build.ins().load(types::I64, MemFlags::trusted(), run, offset as i32);
        let heads = load(offset_of!(Run, heads));
        let first_number = load(offset_of!(Run, number));
        let first_stamp = load(offset_of!(Run, stamp));
        let stamp_sum = load(offset_of!(Run, stamp_sum));
        let run = Arguments {
            end: load(offset_of!(Run, end)),
            state: load(offset_of!(Run, state)),
            constants: load(offset_of!(Run, constants)),
            variant: load(offset_of!(Run, variant)),
            tail: load(offset_of!(Run, tail)),
            factors: [0, 8].map(|at| load(offset_of!(Run, factors) + at)),
        };
        build.def_var(number, first_number);
        build.def_var(stamp, first_stamp);
        let mut writer = Self { build, shape, call, run, states, number, stamp, bases };
        writer.load_bases(stamp_sum);
        writer.load_states();
        (writer, heads)
    }

    /// The loop over the frames, the first of which has its place at `heads`.
    fn function(&mut self, heads: Value) {
        let len = self.load(types::I32, self.run.variant, variant::LEN * 8);
        let place = self.build.declare_var(types::I64);
        self.build.def_var(place, heads);
        let [test, write, done, failed] = [(); 4].map(|()| self.build.create_block());
        self.build.set_cold_block(failed);
        self.build.ins().jump(test, &[]);

        self.build.switch_to_block(test);
        let at = self.build.use_var(place);
        let head = self.load(types::I64, at, 0);
        let actual = self.load(types::I32, head, offset_of!(FrameHead, len));
        let differs = self.build.ins().icmp(IntCC::NotEqual, len, actual);
        self.build.ins().brif(differs, failed, &[], write, &[]);

        self.build.switch_to_block(write);
        self.packet(head);
        self.advance();
        let next = self.build.ins().iadd_imm(at, size_of::<*mut FrameHead>() as i64);
        self.build.def_var(place, next);
        let more = self.build.ins().icmp(IntCC::NotEqual, next, self.run.end);
        self.build.ins().brif(more, test, &[], done, &[]);

        self.build.switch_to_block(failed);
        self.build.ins().return_(&[at]);
        self.build.switch_to_block(done);
        self.store_states();
        self.build.ins().return_(&[self.run.end]);
    }

    /// Writes one packet.
    fn packet(&mut self, head: Value) {
        let buffer = self.load(types::I64, head, offset_of!(FrameHead, buf));
        let offset = offset_of!(FrameHead, data_off) as i32;
        let offset = self.build.ins().uload16(types::I64, MemFlags::trusted(), head, offset);
        let frame = self.build.ins().iadd(buffer, offset);
        let values = self.values();
        let chunks: Vec<_> =
            (0..self.shape.chunks.len()).map(|index| self.write_chunk(frame, index, &values)).collect();
        let check = self.shape.signed.then(|| self.write_signature(frame));
        self.write_checksums(frame, &chunks, check);
    }

    fn write_chunk(&mut self, frame: Value, index: usize, values: &[Option<Pair>]) -> Stored {
        let chunk = &self.shape.chunks[index];
        let mut number = None;
        for piece in &chunk.pieces {
            let value = values[piece.variable].expect("what is written has a value");
            let bits = self.piece(chunk, piece, value);
            number = Some(match number {
                Some(others) => self.build.ins().bor(others, bits),
                None => bits,
            });
        }
        let mut number = number.expect("a chunk has pieces");
        if chunk.fixed {
            let word = variant::CHECKSUMS + self.shape.checksums.len() + index;
            let template = self.load(types::I64, self.run.variant, word * 8);
            number = self.build.ins().bor(number, template);
        }
        let stored = self.swap(number, chunk.bytes);
        self.store(stored, frame, chunk.offset);
        let word = match chunk.bytes {
            8 => stored,
            _ => self.build.ins().uextend(types::I64, stored),
        };
        Stored { word, bytes: chunk.bytes }
    }

    /// The bits a value gives a chunk, where they belong.
    fn piece(&mut self, chunk: &Chunk, piece: &Piece, value: Pair) -> Value {
        let (moved, zeros) = match piece.shift {
            left @ 0.. => (self.shift_left_low(value.low, left as u8), left as u32),
            right => (self.shift_right_low(value, right.unsigned_abs() as u8), 0),
        };
        // What is beyond the chunk is cut off, and what was shifted in is zero.
        let kept = u64::MAX >> (64 - chunk.bytes * 8);
        if piece.mask == kept & u64::MAX.checked_shl(zeros).unwrap_or(0) {
            moved
        } else {
            self.build.ins().band_imm(moved, piece.mask as i64)
        }
    }

    /// The lowest `bytes` bytes of a number, in the order of a big-endian one.
    fn swap(&mut self, number: Value, bytes: usize) -> Value {
        let ty = Type::int(bytes as u16 * 8).expect("1, 2, 4 or 8 bytes");
        let number = if bytes < 8 { self.build.ins().ireduce(ty, number) } else { number };
        match bytes {
            1 => number,
            _ => self.build.ins().bswap(number),
        }
    }

    /// The signature's last twelve bytes: check, sequence number, time, lane. Returns the check.
    fn write_signature(&mut self, frame: Value) -> Value {
        let len = self.load(types::I64, self.run.variant, variant::LEN * 8);
        let end = self.build.ins().iadd(frame, len);
        let stamp = self.build.use_var(self.stamp);
        self.build.ins().store(unaligned(), stamp, end, -10);
        self.build.ins().istore16(unaligned(), self.run.tail, end, -2);
        let [first, second] = self.run.factors;
        let first = self.build.ins().bxor(first, stamp);
        let low = self.build.ins().imul(first, second);
        let high = self.build.ins().umulhi(first, second);
        let both = self.build.ins().bxor(high, low);
        let check = self.build.ins().ushr_imm(both, 48);
        self.build.ins().istore16(unaligned(), check, end, -12);
        check
    }

    fn load(&mut self, ty: Type, address: Value, offset: usize) -> Value {
        self.build.ins().load(ty, MemFlags::trusted(), address, offset as i32)
    }

    fn store(&mut self, value: Value, frame: Value, offset: usize) {
        self.build.ins().store(unaligned(), value, frame, offset as i32);
    }
}

/// Access to frames: the addresses are good, but may be odd.
fn unaligned() -> MemFlags {
    MemFlags::new().with_notrap()
}
