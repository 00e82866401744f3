//! The program that the kernel runs for each frame: it copies the next frame from a shared array, makes the frame as long, and
//! sends it out of an interface.
//!
//! Frames are written by the process, as for any other port; the program does not know what they hold.

use crate::assembler::{Assembler, If, Op, R0, R1, R2, R3, R4, R6, R7, R8, R9, Size, XDP_DROP};
use crate::bpf::Instruction;

/// Slots of the array: frames that one call can send.
pub(crate) const SLOTS: u32 = 1024;
/// Bytes of a slot: the frame's length and the frame.
pub(crate) const SLOT_BYTES: u32 = 2048;
/// Bytes of the length at a slot's start.
pub(crate) const LENGTH_BYTES: u32 = 8;
/// Longest frame without FCS, bytes.
pub(crate) const FRAME_BYTES_MAX: u32 = SLOT_BYTES - LENGTH_BYTES;
/// Shortest frame without FCS that the kernel takes, bytes: an Ethernet header.
pub(crate) const FRAME_BYTES_MIN: u32 = 14;
/// Bytes in front of the first slot.
pub(crate) const HEADER_BYTES: u32 = 64;

/// Offset in the header of the next slot (8 bytes); the program increments it, and the lowest bits count.
pub(crate) const NEXT: u32 = 0;
/// Offset in the header of the length of frames passed to the program (8 bytes).
pub(crate) const GIVEN: u32 = 8;
/// Where the program counts frames it could not make (8 bytes).
pub(crate) const REFUSED: u32 = 16;

const CONTEXT: u8 = R6;
const BASE: u8 = R7;
const SLOT: u8 = R8;
const LENGTH: u8 = R9;

/// Functions of the kernel (linux/bpf.h).
const REDIRECT: i32 = 23;
const XDP_ADJUST_TAIL: i32 = 65;
const XDP_STORE_BYTES: i32 = 190;

/// The program for frames of the array `map`, an open map's descriptor, and the interface `index`.
pub(crate) fn program(map: i32, index: u32) -> Vec<Instruction> {
    let mut a = Assembler::default();
    let (as_given, refused) = (a.label(), a.label());
    a.copy(CONTEXT, R1);
    a.value_of_map(BASE, map);
    a.load(Size::Eight, SLOT, BASE, NEXT as i16);
    a.copy(R1, SLOT);
    a.op(Op::Add, R1, 1);
    a.store(Size::Eight, BASE, NEXT as i16, R1);
    a.op(Op::And, SLOT, SLOTS as i32 - 1);
    a.op(Op::ShiftLeft, SLOT, SLOT_BYTES.trailing_zeros() as i32);
    a.op(Op::Add, SLOT, HEADER_BYTES as i32);
    a.copy(R1, BASE);
    a.op_register(Op::Add, R1, SLOT);
    a.copy(SLOT, R1);
    a.load(Size::Eight, LENGTH, SLOT, 0);
    a.jump_if(If::Greater, LENGTH, FRAME_BYTES_MAX as i32, refused);
    a.jump_if(If::Less, LENGTH, FRAME_BYTES_MIN as i32, refused);
    // The frame as it is given has another length, or it has not.
    a.load(Size::Eight, R1, BASE, GIVEN as i16);
    a.copy(R2, LENGTH);
    a.op_register(Op::Subtract, R2, R1);
    a.jump_if(If::Equal, R2, 0, as_given);
    a.copy(R1, CONTEXT);
    a.call(XDP_ADJUST_TAIL);
    a.jump_if(If::Not, R0, 0, refused);
    a.here(as_given);
    a.copy(R1, CONTEXT);
    a.set(R2, 0);
    a.copy(R3, SLOT);
    a.op(Op::Add, R3, LENGTH_BYTES as i32);
    a.copy(R4, LENGTH);
    a.call(XDP_STORE_BYTES);
    a.jump_if(If::Not, R0, 0, refused);
    a.set(R1, index as i32);
    a.set(R2, 0);
    a.call(REDIRECT);
    a.exit();
    a.here(refused);
    a.load(Size::Eight, R1, BASE, REFUSED as i16);
    a.op(Op::Add, R1, 1);
    a.store(Size::Eight, BASE, REFUSED as i16, R1);
    a.exit_with(XDP_DROP);
    a.finish()
}
