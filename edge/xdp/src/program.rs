//! The program that the kernel runs for each frame: it copies the next frame from a shared array, makes the frame as long, and
//! sends it out of an interface.
//!
//! Frames are written by the process, as for any other port; the program does not know what they hold.

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

/// Where the header says which slot is next (8 bytes); the program counts it up, and the lowest bits count.
pub(crate) const NEXT: u32 = 0;
/// Where the header says how long frames are when the program gets them (8 bytes).
pub(crate) const GIVEN: u32 = 8;
/// Where the program counts frames it could not make (8 bytes).
pub(crate) const REFUSED: u32 = 16;

/// Registers (RFC 9669 section 2).
const R0: u8 = 0;
const R1: u8 = 1;
const R2: u8 = 2;
const R3: u8 = 3;
const R4: u8 = 4;
const CONTEXT: u8 = 6;
const BASE: u8 = 7;
const SLOT: u8 = 8;
const LENGTH: u8 = 9;

/// Functions of the kernel (linux/bpf.h).
const REDIRECT: i32 = 23;
const XDP_ADJUST_TAIL: i32 = 65;
const XDP_STORE_BYTES: i32 = 190;

const XDP_DROP: i32 = 1;

const fn instruction(opcode: u8, to: u8, from: u8, offset: i16, immediate: i32) -> Instruction {
    Instruction { opcode, registers: from << 4 | to, offset, immediate }
}

const fn copy(to: u8, from: u8) -> Instruction {
    instruction(0xbf, to, from, 0, 0)
}

const fn set(to: u8, value: i32) -> Instruction {
    instruction(0xb7, to, 0, 0, value)
}

const fn add(to: u8, from: u8) -> Instruction {
    instruction(0x0f, to, from, 0, 0)
}

const fn add_value(to: u8, value: i32) -> Instruction {
    instruction(0x07, to, 0, 0, value)
}

const fn subtract(to: u8, from: u8) -> Instruction {
    instruction(0x1f, to, from, 0, 0)
}

const fn and(to: u8, value: i32) -> Instruction {
    instruction(0x57, to, 0, 0, value)
}

const fn shift_left(to: u8, bits: i32) -> Instruction {
    instruction(0x67, to, 0, 0, bits)
}

/// Eight bytes from memory.
const fn load(to: u8, from: u8, offset: u32) -> Instruction {
    instruction(0x79, to, from, offset as i16, 0)
}

/// Eight bytes to memory.
const fn store(to: u8, offset: u32, from: u8) -> Instruction {
    instruction(0x7b, to, from, offset as i16, 0)
}

const fn call(function: i32) -> Instruction {
    instruction(0x85, 0, 0, 0, function)
}

const EXIT: Instruction = instruction(0x95, 0, 0, 0, 0);

/// Jumps to the end, where the frame is dropped; the distance is filled in later.
const fn drop_if(opcode: u8, register: u8, value: i32) -> Instruction {
    instruction(opcode, register, 0, TO_END, value)
}

const TO_END: i16 = i16::MAX;
const IF_GREATER: u8 = 0x25;
const IF_LESS: u8 = 0xa5;
const IF_NOT: u8 = 0x55;
const IF_EQUAL: u8 = 0x15;

/// The program for frames of the array `map`, an open map's descriptor, and the interface `index`.
pub(crate) fn program(map: i32, index: u32) -> Vec<Instruction> {
    // Where the value of the map lies, in two instructions.
    let value_of_map = [instruction(0x18, BASE, 2, 0, map), instruction(0, 0, 0, 0, 0)];
    let mut all = vec![copy(CONTEXT, R1)];
    all.extend(value_of_map);
    all.extend([
        load(SLOT, BASE, NEXT),
        copy(R1, SLOT),
        add_value(R1, 1),
        store(BASE, NEXT, R1),
        and(SLOT, SLOTS as i32 - 1),
        shift_left(SLOT, SLOT_BYTES.trailing_zeros() as i32),
        add_value(SLOT, HEADER_BYTES as i32),
        copy(R1, BASE),
        add(R1, SLOT),
        copy(SLOT, R1),
        load(LENGTH, SLOT, 0),
        drop_if(IF_GREATER, LENGTH, FRAME_BYTES_MAX as i32),
        drop_if(IF_LESS, LENGTH, FRAME_BYTES_MIN as i32),
        // The frame as it is given has another length, or it has not.
        load(R1, BASE, GIVEN),
        copy(R2, LENGTH),
        subtract(R2, R1),
        instruction(IF_EQUAL, R2, 0, 3, 0),
        copy(R1, CONTEXT),
        call(XDP_ADJUST_TAIL),
        drop_if(IF_NOT, R0, 0),
        copy(R1, CONTEXT),
        set(R2, 0),
        copy(R3, SLOT),
        add_value(R3, LENGTH_BYTES as i32),
        copy(R4, LENGTH),
        call(XDP_STORE_BYTES),
        drop_if(IF_NOT, R0, 0),
        set(R1, index as i32),
        set(R2, 0),
        call(REDIRECT),
        EXIT,
    ]);
    let end = all.len();
    all.extend([
        load(R1, BASE, REFUSED),
        add_value(R1, 1),
        store(BASE, REFUSED, R1),
        set(R0, XDP_DROP),
        EXIT,
    ]);
    for (at, instruction) in all.iter_mut().enumerate().filter(|(_, one)| one.offset == TO_END) {
        instruction.offset = (end - at - 1) as i16;
    }
    all
}
