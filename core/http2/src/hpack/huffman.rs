//! The Huffman code of strings (RFC 7541 section 5.2, appendix B). It is canonical: the lengths determine it.

use std::sync::LazyLock;

/// Bits of each byte's code, and of the end's.
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];
/// The symbol that ends a text and is never written whole.
const END: u16 = 256;
const LONGEST: usize = 30;

struct Tables {
    /// Code of each symbol.
    codes: [u32; 257],
    /// Symbols in order of their codes.
    symbols: [u16; 257],
    /// By length: the first code, how many there are, and where their symbols begin.
    lengths: [(u32, u32, u32); LONGEST + 1],
    /// By the next eight bits: the symbol and its bits, if it has no more than eight.
    short: [(u8, u8); 256],
}

static TABLES: LazyLock<Box<Tables>> = LazyLock::new(|| {
    let mut symbols: [u16; 257] = std::array::from_fn(|symbol| symbol as u16);
    symbols.sort_by_key(|symbol| (LENGTHS[usize::from(*symbol)], *symbol));
    let mut tables = Box::new(Tables {
        codes: [0; 257],
        symbols,
        lengths: [(0, 0, 0); LONGEST + 1],
        short: [(0, 0); 256],
    });
    let (mut code, mut before) = (0u32, LENGTHS[usize::from(symbols[0])]);
    for (place, symbol) in symbols.into_iter().enumerate() {
        let len = LENGTHS[usize::from(symbol)];
        code <<= len - before;
        before = len;
        tables.codes[usize::from(symbol)] = code;
        let (first, count, at) = &mut tables.lengths[usize::from(len)];
        if *count == 0 {
            (*first, *at) = (code, place as u32);
        }
        *count += 1;
        if len <= 8 {
            let from = (code << (8 - len)) as usize;
            tables.short[from..from + (1 << (8 - len))].fill((symbol as u8, len));
        }
        code += 1;
    }
    tables
});

/// Appends what `data` stands for to `out`. None if it is no text: the end's code in it, or padding that is not the
/// beginning of it or has more than seven bits.
pub fn decode(data: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let tables = &**TABLES;
    let (mut bits, mut have) = (0u64, 0u32);
    let mut input = data.iter();
    loop {
        while have <= 56
            && let Some(byte) = input.next()
        {
            bits = bits << 8 | u64::from(*byte);
            have += 8;
        }
        if have == 0 {
            return Some(());
        }
        // Behind the last bit come ones, as if the padding went on.
        let window = if have >= 32 {
            (bits >> (have - 32)) as u32
        } else {
            ((bits << (32 - have)) | ((1 << (32 - have)) - 1)) as u32
        };
        let (symbol, len) = tables.short[(window >> 24) as usize];
        if len > 0 {
            if u32::from(len) > have {
                return is_padding(bits, have);
            }
            out.push(symbol);
            have -= u32::from(len);
            continue;
        }
        let (symbol, len) = (10..=LONGEST).find_map(|len| {
            let (first, count, at) = tables.lengths[len];
            let place = (window >> (32 - len)).wrapping_sub(first);
            (place < count).then(|| (tables.symbols[(at + place) as usize], len as u32))
        })?;
        if len > have {
            return is_padding(bits, have);
        }
        if symbol == END {
            return None;
        }
        out.push(symbol as u8);
        have -= len;
    }
}

/// Whether the last `have` bits are padding.
fn is_padding(bits: u64, have: u32) -> Option<()> {
    let ones = (1u64 << have) - 1;
    (have < 8 && bits & ones == ones).then_some(())
}

/// Bytes of a text in this code.
pub fn len(text: &[u8]) -> usize {
    let bits: usize = text.iter().map(|byte| usize::from(LENGTHS[usize::from(*byte)])).sum();
    bits.div_ceil(8)
}

/// Appends a text in this code.
pub fn encode(text: &[u8], out: &mut Vec<u8>) {
    let tables = &**TABLES;
    let (mut bits, mut have) = (0u64, 0u32);
    for byte in text {
        let len = u32::from(LENGTHS[usize::from(*byte)]);
        bits = bits << len | u64::from(tables.codes[usize::from(*byte)]);
        have += len;
        while have >= 8 {
            have -= 8;
            out.push((bits >> have) as u8);
        }
    }
    if have > 0 {
        out.push((bits << (8 - have)) as u8 | ((1u16 << (8 - have)) - 1) as u8);
    }
}
