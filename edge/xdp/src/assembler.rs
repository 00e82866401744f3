//! Programs from instructions (RFC 9669), with labels to jump to.

use crate::bpf::Instruction;

/// Registers (RFC 9669 section 2).
pub(crate) const R0: u8 = 0;
pub(crate) const R1: u8 = 1;
pub(crate) const R2: u8 = 2;
pub(crate) const R3: u8 = 3;
pub(crate) const R4: u8 = 4;
pub(crate) const R5: u8 = 5;
pub(crate) const R6: u8 = 6;
pub(crate) const R7: u8 = 7;
pub(crate) const R8: u8 = 8;
pub(crate) const R9: u8 = 9;
/// The end of the stack.
pub(crate) const FRAME: u8 = 10;

/// Return values of a program (linux/bpf.h, enum xdp_action).
pub(crate) const XDP_DROP: i32 = 1;
pub(crate) const XDP_PASS: i32 = 2;

/// Operations on two registers, or on a register and a number (RFC 9669 section 4.1), of 64 bits.
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
pub(crate) enum Op {
    Add = 0x07,
    Subtract = 0x17,
    Multiply = 0x27,
    Or = 0x47,
    And = 0x57,
    ShiftLeft = 0x67,
    ShiftRight = 0x77,
    Xor = 0xa7,
    Set = 0xb7,
}

/// Comparisons of unsigned numbers (RFC 9669 section 4.3).
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
pub(crate) enum If {
    Equal = 0x15,
    Greater = 0x25,
    AtLeast = 0x35,
    Not = 0x55,
    Less = 0xa5,
}

/// Number of bytes of memory that are loaded or stored (RFC 9669 section 5).
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
pub(crate) enum Size {
    Four = 0x00,
    Two = 0x08,
    One = 0x10,
    Eight = 0x18,
}

/// The second operand is a register.
const FROM_REGISTER: u8 = 0x08;
const LOAD: u8 = 0x61;
const STORE: u8 = 0x63;
const SET_32: u8 = 0xbc;
const ATOMIC: u8 = 0xdb;
const EXCHANGE: i32 = 0xe1;
const LOAD_64: u8 = 0x18;
const JUMP: u8 = 0x05;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;

/// The number in a [`LOAD_64`] is a map's descriptor; the value is the map, or where its only value lies.
const MAP: u8 = 1;
const VALUE_OF_MAP: u8 = 2;

/// A place in a program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Label(usize);

/// A program under way.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    code: Vec<Instruction>,
    /// Where each label is.
    labels: Vec<Option<usize>>,
    /// Jumps, and where to.
    jumps: Vec<(usize, Label)>,
}

impl Assembler {
    fn push(&mut self, opcode: u8, to: u8, from: u8, offset: i16, immediate: i32) {
        self.code.push(Instruction { opcode, registers: from << 4 | to, offset, immediate });
    }

    /// A label that [`Self::here`] puts somewhere.
    pub(crate) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Puts the label in front of the next instruction.
    pub(crate) fn here(&mut self, label: Label) {
        self.labels[label.0] = Some(self.code.len());
    }

    /// An operation with a number.
    pub(crate) fn op(&mut self, op: Op, to: u8, value: i32) {
        self.push(op as u8, to, 0, 0, value);
    }

    /// An operation with a register.
    pub(crate) fn op_register(&mut self, op: Op, to: u8, from: u8) {
        self.push(op as u8 | FROM_REGISTER, to, from, 0, 0);
    }

    pub(crate) fn set(&mut self, to: u8, value: i32) {
        self.op(Op::Set, to, value);
    }

    pub(crate) fn copy(&mut self, to: u8, from: u8) {
        self.op_register(Op::Set, to, from);
    }

    /// The lower 32 bits.
    pub(crate) fn copy_low(&mut self, to: u8, from: u8) {
        self.push(SET_32, to, from, 0, 0);
    }

    pub(crate) fn load(&mut self, size: Size, to: u8, from: u8, offset: i16) {
        self.push(LOAD | size as u8, to, from, offset, 0);
    }

    pub(crate) fn store(&mut self, size: Size, to: u8, offset: i16, from: u8) {
        self.push(STORE | size as u8, to, from, offset, 0);
    }

    /// Stores eight bytes; earlier stores are visible to every reader of them. The register may be lost.
    pub(crate) fn publish(&mut self, to: u8, offset: i16, from: u8) {
        // This processor keeps stores in order; others need one that waits.
        if cfg!(target_arch = "x86_64") {
            self.store(Size::Eight, to, offset, from);
        } else {
            self.push(ATOMIC, to, from, offset, EXCHANGE);
        }
    }

    /// The map with this descriptor.
    pub(crate) fn map(&mut self, to: u8, descriptor: i32) {
        self.push(LOAD_64, to, MAP, 0, descriptor);
        self.push(0, 0, 0, 0, 0);
    }

    /// Where the only value of a map lies.
    pub(crate) fn value_of_map(&mut self, to: u8, descriptor: i32) {
        self.push(LOAD_64, to, VALUE_OF_MAP, 0, descriptor);
        self.push(0, 0, 0, 0, 0);
    }

    /// Jumps if the register compares so with a number.
    pub(crate) fn jump_if(&mut self, compares: If, register: u8, value: i32, target: Label) {
        self.jumps.push((self.code.len(), target));
        self.push(compares as u8, register, 0, 0, value);
    }

    /// Jumps if the register compares so with another.
    pub(crate) fn jump_if_register(&mut self, compares: If, register: u8, other: u8, target: Label) {
        self.jumps.push((self.code.len(), target));
        self.push(compares as u8 | FROM_REGISTER, register, other, 0, 0);
    }

    pub(crate) fn jump(&mut self, target: Label) {
        self.jumps.push((self.code.len(), target));
        self.push(JUMP, 0, 0, 0, 0);
    }

    /// Calls a function of the kernel, by its number in linux/bpf.h. Registers 1 to 5 are lost.
    pub(crate) fn call(&mut self, function: i32) {
        self.push(CALL, 0, 0, 0, function);
    }

    /// Ends the program with what is in register 0.
    pub(crate) fn exit(&mut self) {
        self.push(EXIT, 0, 0, 0, 0);
    }

    /// Ends the program with a number.
    pub(crate) fn exit_with(&mut self, value: i32) {
        self.set(R0, value);
        self.exit();
    }

    /// The program.
    ///
    /// # Panics
    /// A label that is jumped to is nowhere, or too far.
    pub(crate) fn finish(mut self) -> Vec<Instruction> {
        for (at, label) in self.jumps {
            let target = self.labels[label.0].expect("a label is put somewhere");
            let distance = target as i64 - at as i64 - 1;
            self.code[at].offset = i16::try_from(distance).expect("programs are short");
        }
        self.code
    }
}
