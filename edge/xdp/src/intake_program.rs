//! The program that the kernel runs for each received frame: a test packet leaves a record and ends there, everything else goes
//! to the AF_XDP socket of its queue.
//!
//! A record is the content of the signature, the frame's length and the instant, nothing more: counting happens in the
//! same place as for every other port. So this program decides only which frames need not be delivered: frames that
//! have a signature of this run at their end, of a stream there is, and either arrive where and as long as they should,
//! or can be no report of an error that quotes one.

use crate::assembler::{
    Assembler, FRAME, If, Label, Op, R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, Size, XDP_DROP, XDP_PASS,
};
use crate::bpf::Instruction;
use wire::signature;

/// Slots of a queue's ring: 16 ms at 4 Mpps. A record takes one, and a second one after it if it has a separate
/// instant.
pub(crate) const SLOTS: u32 = 1 << 17;
/// Bytes of a slot. Where a record has the signature's middle eight bytes (sequence number, and the lower 32 bits of the time),
/// and below one another the stream, the length, whether it has an instant, and the signature's last two bytes. The second slot
/// starts with the instant (CLOCK_MONOTONIC, ns). Small, as each line of the cache goes from one core to another and back.
pub(crate) const SLOT_BYTES: u32 = 16;
pub(crate) const MIDDLE: u32 = 0;
pub(crate) const PACKED: u32 = 8;
pub(crate) const AT: u32 = 0;
/// In the packed word: bits below the length, below the mark of an instant, and below the signature's last bytes.
pub(crate) const LENGTH_SHIFT: u32 = 24;
pub(crate) const INSTANT_SHIFT: u32 = 40;
pub(crate) const TAIL_SHIFT: u32 = 48;

/// Bytes in front of the first slot.
pub(crate) const HEADER_BYTES: u32 = 4096;
/// Bytes of a ring.
pub(crate) const RING_BYTES: u32 = HEADER_BYTES + SLOTS * SLOT_BYTES;
/// Where the header counts slots written, and packets that found no room (8 bytes each). Only the program writes there, and to
/// the next two.
pub(crate) const WRITTEN: u32 = 0;
pub(crate) const FULL: u32 = 8;
/// Number of the slot that was written in the first place: an empty ring begins there anew, so that a frequent reader
/// uses a few lines of the cache.
pub(crate) const FIRST: u32 = 16;
/// Records that share the last instant read, below the time when the packet of that instant was sent (32 bits).
pub(crate) const SHARED: u32 = 24;
/// Where it counts slots read. Only the process writes there, and to what follows.
pub(crate) const READ: u32 = 64;
/// Where the mark of the run is; 0 while all frames go to the socket.
pub(crate) const MARK: u32 = 128;
/// The two keys of the check, and the number of streams.
pub(crate) const KEYS: u32 = 136;
pub(crate) const STREAMS: u32 = 152;

/// Maximum number of records that share the instant of the one before them: reading the clock takes longer than all the
/// rest. Their reader knows when they were not there yet.
pub(crate) const SHARED_MAX: u32 = 7;
/// They must have been sent so soon after that one, ns: seven at 5 Mpps, none below 0.7 Mpps.
const SHARED_NS: i32 = 1_500;

/// Streams at most.
pub(crate) const STREAMS_MAX: u32 = 1 << 16;
/// Bytes of a stream's lengths: of the shortest frame and of the longest, 2 bytes each.
pub(crate) const LENGTHS_BYTES: u32 = 4;

/// Maximum length of inspected frames, bytes: a number of ones.
const FRAME_BYTES_MAX: i32 = 0x3fff;

/// Offsets in `struct xdp_md`, of 4 bytes each.
const DATA: i16 = 0;
const DATA_END: i16 = 4;
const RX_QUEUE: i16 = 16;

/// Functions of the kernel (linux/bpf.h).
const MAP_LOOKUP_ELEM: i32 = 1;
const KTIME_GET_NS: i32 = 5;
const REDIRECT_MAP: i32 = 51;

/// Places on the stack.
const QUEUE_AT: i16 = -4;
const MIDDLE_AT: i16 = -16;
const STREAM_AT: i16 = -24;
const LENGTH_AT: i16 = -32;
const TAIL_AT: i16 = -40;

/// The frame's context and the queue's ring.
const CONTEXT: u8 = R6;
const RING: u8 = R7;

/// Maps used by the program, by descriptor.
pub(crate) struct Maps {
    /// The rings of the queues, and how many there are.
    pub(crate) rings: i32,
    pub(crate) queues: u32,
    /// Lengths of the streams' frames.
    pub(crate) lengths: i32,
    /// AF_XDP sockets of the interface's queues.
    pub(crate) sockets: i32,
}

/// The program for an interface whose queues from `first_queue` on have rings.
pub(crate) fn program(maps: &Maps, first_queue: u32) -> Vec<Instruction> {
    let mut a = Assembler::default();
    let (pass, record) = (a.label(), a.label());
    a.copy(CONTEXT, R1);
    find_ring(&mut a, maps, first_queue, pass);
    read_signature(&mut a, pass);
    check_signature(&mut a, pass);
    check_stream(&mut a, maps, record, pass);
    a.here(record);
    write_record(&mut a);
    a.here(pass);
    a.load(Size::Four, R2, CONTEXT, RX_QUEUE);
    a.map(R1, maps.sockets);
    a.set(R3, XDP_PASS);
    a.call(REDIRECT_MAP);
    a.exit();
    a.finish()
}

/// The ring of the frame's queue, and in R3 the run's mark.
fn find_ring(a: &mut Assembler, maps: &Maps, first_queue: u32, pass: Label) {
    a.load(Size::Four, R1, CONTEXT, RX_QUEUE);
    if maps.queues == 1 {
        a.jump_if(If::Not, R1, first_queue as i32, pass);
        a.value_of_map(RING, maps.rings);
    } else {
        a.op(Op::Subtract, R1, first_queue as i32);
        a.store(Size::Four, FRAME, QUEUE_AT, R1);
        a.copy(R2, FRAME);
        a.op(Op::Add, R2, i32::from(QUEUE_AT));
        a.map(R1, maps.rings);
        a.call(MAP_LOOKUP_ELEM);
        a.jump_if(If::Equal, R0, 0, pass);
        a.copy(RING, R0);
    }
    a.load(Size::Eight, R3, RING, MARK as i16);
    a.jump_if(If::Equal, R3, 0, pass);
}

/// The signature's words in R0, R1 and R2, and what is needed later on the stack; the mark in R3 fits.
fn read_signature(a: &mut Assembler, pass: Label) {
    const LEN: i32 = signature::LEN as i32;
    a.load(Size::Four, R8, CONTEXT, DATA);
    a.load(Size::Four, R9, CONTEXT, DATA_END);
    a.copy(R4, R9);
    a.op_register(Op::Subtract, R4, R8);
    a.jump_if(If::Less, R4, LEN, pass);
    a.jump_if(If::Greater, R4, FRAME_BYTES_MAX, pass);
    a.store(Size::Eight, FRAME, LENGTH_AT, R4);
    a.op(Op::Add, R4, -LEN);
    a.op(Op::And, R4, FRAME_BYTES_MAX);
    a.op_register(Op::Add, R8, R4);
    a.copy(R1, R8);
    a.op(Op::Add, R1, LEN);
    a.jump_if_register(If::Greater, R1, R9, pass);
    a.load(Size::Eight, R0, R8, 0);
    a.load(Size::Eight, R1, R8, 8);
    a.load(Size::Two, R2, R8, 16);
    a.copy(R5, R0);
    a.op(Op::And, R5, (1 << signature::MARK_BITS) - 1);
    a.jump_if_register(If::Not, R5, R3, pass);
    a.store(Size::Eight, FRAME, MIDDLE_AT, R1);
    a.store(Size::Eight, FRAME, TAIL_AT, R2);
    a.copy(R5, R0);
    a.op(Op::ShiftRight, R5, signature::MARK_BITS as i32);
    a.op(Op::And, R5, (1 << signature::STREAM_BITS) - 1);
    a.store(Size::Eight, FRAME, STREAM_AT, R5);
}

/// The check in R0 fits: the product of 64 bits by 64, its halves xored, the upper 16 bits.
fn check_signature(a: &mut Assembler, pass: Label) {
    const CHECK_BITS: i32 = 16;
    a.load(Size::Eight, R5, RING, KEYS as i16);
    a.op_register(Op::Xor, R1, R5);
    a.copy(R3, R0);
    a.op(Op::ShiftLeft, R3, CHECK_BITS);
    a.op(Op::ShiftRight, R3, CHECK_BITS);
    a.op(Op::ShiftLeft, R2, 64 - CHECK_BITS);
    a.op_register(Op::Or, R3, R2);
    a.load(Size::Eight, R5, RING, KEYS as i16 + 8);
    a.op_register(Op::Xor, R3, R5);
    a.op(Op::ShiftRight, R0, 64 - CHECK_BITS);
    // The factors are in R1 and R3, the lower half of the product in R2.
    a.copy(R2, R1);
    a.op_register(Op::Multiply, R2, R3);
    // The upper half from four products of 32 bits by 32.
    a.copy(R4, R1);
    a.op(Op::ShiftRight, R4, 32);
    a.copy(R5, R3);
    a.op(Op::ShiftRight, R5, 32);
    a.copy_low(R1, R1);
    a.copy_low(R3, R3);
    a.copy(R8, R1);
    a.op_register(Op::Multiply, R8, R3);
    a.op(Op::ShiftRight, R8, 32);
    a.copy(R9, R1);
    a.op_register(Op::Multiply, R9, R5);
    a.op_register(Op::Multiply, R3, R4);
    a.op_register(Op::Multiply, R5, R4);
    // No sum of these passes 64 bits: (2^32 − 1)² + 2 (2^32 − 1) = 2^64 − 1.
    a.copy_low(R1, R9);
    a.op_register(Op::Add, R8, R1);
    a.op_register(Op::Add, R8, R3);
    a.op(Op::ShiftRight, R8, 32);
    a.op(Op::ShiftRight, R9, 32);
    a.op_register(Op::Add, R5, R9);
    a.op_register(Op::Add, R5, R8);
    a.op_register(Op::Xor, R5, R2);
    a.op(Op::ShiftRight, R5, 64 - CHECK_BITS);
    a.jump_if_register(If::Not, R5, R0, pass);
}

/// There is such a stream, and the frame need not be delivered.
fn check_stream(a: &mut Assembler, maps: &Maps, record: Label, pass: Label) {
    const ETHERTYPE: i16 = 12;
    const IPV4: i32 = 0x0800_u16.swap_bytes() as i32;
    const IPV6: i32 = 0x86dd_u16.swap_bytes() as i32;
    const IPV4_PROTOCOL: (i16, i32) = (14 + 9, 1);
    const IPV6_PROTOCOL: (i16, i32) = (14 + 6, 58);
    let (unexpected, is_v4) = (a.label(), a.label());
    a.load(Size::Eight, R8, FRAME, STREAM_AT);
    a.jump_if(If::AtLeast, R8, STREAMS_MAX as i32, pass);
    a.load(Size::Eight, R1, RING, STREAMS as i16);
    a.jump_if_register(If::AtLeast, R8, R1, pass);
    a.op(Op::ShiftLeft, R8, LENGTHS_BYTES.trailing_zeros() as i32);
    a.value_of_map(R2, maps.lengths);
    a.op_register(Op::Add, R2, R8);
    a.load(Size::Eight, R4, FRAME, LENGTH_AT);
    a.load(Size::Two, R1, R2, 0);
    a.load(Size::Two, R3, R2, 2);
    a.jump_if_register(If::Less, R4, R1, unexpected);
    a.jump_if_register(If::Greater, R4, R3, unexpected);
    a.jump(record);
    // Another port's, or of another length. What may be ICMP is looked at elsewhere.
    a.here(unexpected);
    a.load(Size::Four, R1, CONTEXT, DATA);
    a.load(Size::Four, R2, CONTEXT, DATA_END);
    a.copy(R3, R1);
    a.op(Op::Add, R3, i32::from(IPV4_PROTOCOL.0.max(IPV6_PROTOCOL.0)) + 1);
    a.jump_if_register(If::Greater, R3, R2, pass);
    a.load(Size::Two, R3, R1, ETHERTYPE);
    a.jump_if(If::Equal, R3, IPV4, is_v4);
    a.jump_if(If::Not, R3, IPV6, pass);
    a.load(Size::One, R3, R1, IPV6_PROTOCOL.0);
    a.jump_if(If::Equal, R3, IPV6_PROTOCOL.1, pass);
    a.jump(record);
    a.here(is_v4);
    a.load(Size::One, R3, R1, IPV4_PROTOCOL.0);
    a.jump_if(If::Equal, R3, IPV4_PROTOCOL.1, pass);
}

/// Leaves a record, or counts that there is no room; ends the program either way.
fn write_record(a: &mut Assembler) {
    let (full, is_begun, read_clock) = (a.label(), a.label(), a.label());
    a.load(Size::Eight, R8, RING, WRITTEN as i16);
    a.copy(R1, R8);
    a.load(Size::Eight, R2, RING, READ as i16);
    a.op_register(Op::Subtract, R1, R2);
    a.jump_if(If::AtLeast, R1, SLOTS as i32 - 1, full);
    a.jump_if(If::Not, R1, 0, is_begun);
    a.store(Size::Eight, RING, FIRST as i16, R8);
    a.here(is_begun);
    // Sent soon after the packet of the last instant, and few share that.
    a.load(Size::Eight, R9, FRAME, MIDDLE_AT);
    a.op(Op::ShiftRight, R9, 32);
    a.load(Size::Eight, R3, RING, SHARED as i16);
    a.copy(R4, R3);
    a.op(Op::And, R4, 0xff);
    a.jump_if(If::AtLeast, R4, SHARED_MAX as i32, read_clock);
    a.copy(R4, R3);
    a.op(Op::ShiftRight, R4, 32);
    a.copy(R5, R9);
    a.op_register(Op::Subtract, R5, R4);
    a.copy_low(R5, R5);
    a.jump_if(If::AtLeast, R5, SHARED_NS, read_clock);
    a.op(Op::Add, R3, 1);
    a.store(Size::Eight, RING, SHARED as i16, R3);
    pack(a);
    find_slot(a);
    store_record(a);
    a.op(Op::Add, R8, 1);
    a.publish(RING, WRITTEN as i16, R8);
    a.exit_with(XDP_DROP);
    a.here(read_clock);
    a.op(Op::ShiftLeft, R9, 32);
    a.store(Size::Eight, RING, SHARED as i16, R9);
    a.call(KTIME_GET_NS);
    pack(a);
    a.set(R5, 1);
    a.op(Op::ShiftLeft, R5, INSTANT_SHIFT as i32);
    a.op_register(Op::Or, R4, R5);
    find_slot(a);
    store_record(a);
    a.op(Op::Add, R8, 1);
    find_slot(a);
    a.store(Size::Eight, R2, AT as i16, R0);
    a.op(Op::Add, R8, 1);
    a.publish(RING, WRITTEN as i16, R8);
    a.exit_with(XDP_DROP);
    a.here(full);
    a.load(Size::Eight, R1, RING, FULL as i16);
    a.op(Op::Add, R1, 1);
    a.store(Size::Eight, RING, FULL as i16, R1);
    a.exit_with(XDP_DROP);
}

/// The record's words in R3 and R4.
fn pack(a: &mut Assembler) {
    a.load(Size::Eight, R4, FRAME, TAIL_AT);
    a.op(Op::ShiftLeft, R4, TAIL_SHIFT as i32);
    a.load(Size::Eight, R3, FRAME, LENGTH_AT);
    a.op(Op::ShiftLeft, R3, LENGTH_SHIFT as i32);
    a.op_register(Op::Or, R4, R3);
    a.load(Size::Eight, R3, FRAME, STREAM_AT);
    a.op_register(Op::Or, R4, R3);
    a.load(Size::Eight, R3, FRAME, MIDDLE_AT);
}

/// The place of the slot with the number in R8, in R2.
fn find_slot(a: &mut Assembler) {
    a.copy(R1, R8);
    a.load(Size::Eight, R2, RING, FIRST as i16);
    a.op_register(Op::Subtract, R1, R2);
    a.op(Op::And, R1, SLOTS as i32 - 1);
    a.op(Op::ShiftLeft, R1, SLOT_BYTES.trailing_zeros() as i32);
    a.op(Op::Add, R1, HEADER_BYTES as i32);
    a.copy(R2, RING);
    a.op_register(Op::Add, R2, R1);
}

/// Stores what [`pack`] found in the slot at R2.
fn store_record(a: &mut Assembler) {
    a.store(Size::Eight, R2, MIDDLE as i16, R3);
    a.store(Size::Eight, R2, PACKED as i16, R4);
}
