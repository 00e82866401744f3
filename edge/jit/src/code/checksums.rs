//! Checksums: a constant, what varies, folded once.

use super::{Stored, Writer, unaligned};
use crate::block::variant;
use crate::shape::{Way, Word};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use wire::Checksum;

/// A number that is never above `max`.
#[derive(Clone, Copy)]
struct Sum {
    value: Value,
    max: u64,
}

/// Computes a checksum as the interpreter does.
///
/// # Safety
/// `checksum` must point to a checksum, `frame` to `len` bytes, without other users.
unsafe extern "C" fn whole(checksum: *const Checksum, frame: *mut u8, len: u64) {
    // SAFETY: the caller says so.
    let (checksum, frame) = unsafe { (&*checksum, std::slice::from_raw_parts_mut(frame, len as usize)) };
    checksum.write(frame);
}

impl Writer<'_> {
    /// The sum of each checksum before what varies, with the first packet's signature.
    pub(super) fn load_bases(&mut self, stamp_sum: Value) {
        for (index, checksum) in self.shape.checksums.iter().enumerate() {
            let word = (variant::CHECKSUMS + index) * 8;
            let mut base = self.load(types::I64, self.run.variant, word);
            if let Way::Sum { signature: Some(odd_start), .. } = checksum.way {
                let stamp = self.in_signature(stamp_sum, odd_start);
                base = self.build.ins().iadd(base, stamp);
            }
            self.build.def_var(self.bases[index], base);
        }
    }

    /// On to the next sequence number.
    pub(super) fn advance_bases(&mut self) {
        for (index, checksum) in self.shape.checksums.iter().enumerate() {
            if let Way::Sum { signature: Some(odd_start), .. } = checksum.way {
                let one = self.build.ins().iconst(types::I64, 1);
                let one = self.in_signature(one, odd_start);
                let base = self.build.use_var(self.bases[index]);
                let base = self.build.ins().iadd(base, one);
                self.build.def_var(self.bases[index], base);
            }
        }
    }

    /// A sum over the signature's varying bytes, as it counts under a checksum that begins at an odd offset or not.
    fn in_signature(&mut self, sum: Value, odd_start: bool) -> Value {
        let mut shift = self.load(types::I64, self.run.variant, variant::SIGNATURE_SHIFT * 8);
        if odd_start {
            shift = self.build.ins().bxor_imm(shift, 8);
        }
        self.build.ins().ishl(sum, shift)
    }

    /// Writes the checksums of a packet whose signature has this `check`.
    pub(super) fn write_checksums(&mut self, frame: Value, chunks: &[Stored], check: Option<Value>) {
        let sums = self.chunk_sums(chunks);
        let mut fields: Vec<Sum> = Vec::new();
        for (index, checksum) in self.shape.checksums.iter().enumerate() {
            let (offset, max) = (checksum.offset as i32, u64::MAX >> (64 - checksum.bytes * 8));
            let base = self.build.use_var(self.bases[index]);
            let field = match &checksum.way {
                Way::Sum { zero_as_ones, parts, signature } => {
                    // With a signature the base holds a stamp sum, shifted, and has grown with up to 64 packets.
                    let max = if signature.is_some() { 0xffff + (1 << 43) } else { 0xffff };
                    let mut sum = Sum { value: base, max };
                    if let (Some(check), Some(odd_start)) = (check, *signature) {
                        let value = self.in_signature(check, odd_start);
                        sum = self.add_sums(sum, Sum { value, max: 0xffff << 8 });
                    }
                    for (_, more) in sums.iter().filter(|(covers, _)| covers.contains(&index)) {
                        sum = self.add_sums(sum, *more);
                    }
                    for part in parts {
                        if let Word::Checksum(inner) = part.word {
                            let more = self.counted(fields[inner], part.swapped);
                            sum = self.add_sums(sum, more);
                        }
                    }
                    let field = self.finish(sum, *zero_as_ones);
                    self.build.ins().istore16(unaligned(), field, frame, offset);
                    field
                }
                Way::Whole => {
                    let len = self.load(types::I64, self.run.variant, variant::LEN * 8);
                    let function = self.build.ins().iconst(types::I64, whole as *const () as i64);
                    self.build.ins().call_indirect(self.call, function, &[base, frame, len]);
                    match checksum.bytes {
                        2 => self.build.ins().uload16(types::I64, unaligned(), frame, offset),
                        _ => self.build.ins().uload32(unaligned(), frame, offset),
                    }
                }
            };
            fields.push(Sum { value: field, max });
        }
    }

    /// The chunks' words, those added up that the same checksums cover; with these checksums' indices.
    fn chunk_sums(&mut self, chunks: &[Stored]) -> Vec<(Vec<usize>, Sum)> {
        let mut sums: Vec<(Vec<(usize, bool)>, Sum)> = Vec::new();
        for (index, stored) in chunks.iter().enumerate() {
            let covers = self.covers(Word::Chunk(index));
            if covers.is_empty() {
                continue;
            }
            let word = self.chunk_sum(*stored);
            match sums.iter().position(|(others, _)| *others == covers) {
                Some(at) => sums[at].1 = self.add_sums(sums[at].1, word),
                None => sums.push((covers, word)),
            }
        }
        sums.into_iter().flat_map(|(covers, sum)| self.counted_sums(covers, sum)).collect()
    }

    /// A sum as it counts under each of the checksums that cover it: one that begins at an odd offset from what is
    /// covered counts the other way round.
    fn counted_sums(&mut self, covers: Vec<(usize, bool)>, sum: Sum) -> Vec<(Vec<usize>, Sum)> {
        // What several checksums cover is almost folded once here instead of in each of them.
        let sum = if covers.len() > 1 && sum.max > 0xf_ffff {
            self.add_halves(sum.value, 16, sum.max)
        } else {
            sum
        };
        let with = |swapped| covers.iter().filter(|c| c.1 == swapped).map(|c| c.0).collect::<Vec<_>>();
        let (plain, swapped) = (with(false), with(true));
        let mut counted = vec![(plain, sum)];
        if !swapped.is_empty() {
            counted.push((swapped, self.counted(sum, true)));
        }
        counted
    }

    /// The checksums that cover a word, and whether it counts the other way round there.
    fn covers(&self, word: Word) -> Vec<(usize, bool)> {
        let mut covers = Vec::new();
        for (index, checksum) in self.shape.checksums.iter().enumerate() {
            if let Way::Sum { parts, .. } = &checksum.way {
                covers
                    .extend(parts.iter().filter(|part| part.word == word).map(|part| (index, part.swapped)));
            }
        }
        covers
    }

    /// The words of a chunk, added up.
    fn chunk_sum(&mut self, stored: Stored) -> Sum {
        match stored.bytes {
            8 => self.add_halves(stored.word, 32, u64::MAX),
            bytes => Sum { value: stored.word, max: u64::MAX >> (64 - bytes * 8) },
        }
    }

    fn counted(&mut self, sum: Sum, swapped: bool) -> Sum {
        if swapped { Sum { value: self.build.ins().ishl_imm(sum.value, 8), max: sum.max << 8 } } else { sum }
    }

    fn add_sums(&mut self, a: Sum, b: Sum) -> Sum {
        Sum { value: self.build.ins().iadd(a.value, b.value), max: a.max + b.max }
    }

    /// The lowest `bits` of a number plus those above.
    fn add_halves(&mut self, value: Value, bits: i64, max: u64) -> Sum {
        let low_max = (1 << bits) - 1;
        let low = self.build.ins().band_imm(value, low_max as i64);
        let high = self.build.ins().ushr_imm(value, bits);
        Sum { value: self.build.ins().iadd(low, high), max: low_max + (max >> bits) }
    }

    /// Folds to 16 bits and complements: the field as a little-endian number. Only a sum of zero folds to zero.
    fn finish(&mut self, sum: Sum, zero_as_ones: bool) -> Value {
        let mut value = sum.value;
        // A number plus itself with its halves swapped has the sum of the halves, carry included, in its upper half.
        if sum.max > u64::from(u32::MAX) {
            let swapped = self.build.ins().rotl_imm(value, 32);
            value = self.build.ins().iadd(value, swapped);
            value = self.build.ins().ushr_imm(value, 32);
        }
        let value = self.build.ins().ireduce(types::I32, value);
        let swapped = self.build.ins().rotl_imm(value, 16);
        let sum = self.build.ins().iadd(value, swapped);
        let complement = self.build.ins().bnot(sum);
        let mut field = self.build.ins().ushr_imm(complement, 16);
        if zero_as_ones {
            let ones = self.build.ins().iconst(types::I32, 0xffff);
            let is_zero = self.build.ins().icmp_imm(IntCC::Equal, field, 0);
            field = self.build.ins().select(is_zero, ones, field);
        }
        self.build.ins().uextend(types::I64, field)
    }
}
