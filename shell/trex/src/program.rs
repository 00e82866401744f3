//! A field program as the words of a profile: variables, writes, checksums, length, repetition.
//!
//! All variables come first, and a variable that advances when another wraps comes after it; all else keeps its order.

use crate::document::{Instruction, Op, Vm};
use crate::yaml::Node;
use std::collections::HashMap;

/// Result of converting a program.
#[derive(Debug, Default)]
pub(crate) struct Program {
    /// `vary`.
    pub vary: Vec<(String, Node)>,
    /// `frame.checksums`.
    pub checksums: Vec<String>,
    /// `size`, and the mean length without FCS.
    pub size: Option<(Node, f64)>,
    /// Packets after which all repeats.
    pub repeats: Option<u64>,
    /// Whether values are drawn from the stream's generator.
    pub draws: bool,
}

/// A variable: its name in the profile, its bytes, and its mean.
struct Var {
    name: String,
    size: u8,
    mean: f64,
}

/// Translates a program for a template.
///
/// # Errors
/// All parts that the profile language does not support.
pub(crate) fn program(vm: &Vm, template: &[u8]) -> Result<Program, Vec<String>> {
    let mut made = Maker { template, ..Maker::default() };
    for instruction in in_order(&vm.instructions) {
        made.variable(instruction);
    }
    for instruction in &vm.instructions {
        made.action(instruction);
    }
    made.out.repeats = vm.cache.filter(|cache| *cache > 0 && !made.vars.is_empty());
    if made.errors.is_empty() { Ok(made.out) } else { Err(made.errors) }
}

/// Variables in the order they are given, but each after the one whose wrap it waits for.
fn in_order(instructions: &[Instruction]) -> Vec<&Instruction> {
    let mut out: Vec<&Instruction> = Vec::new();
    let name_of = |i: &Instruction| variable_of(i).map(|(name, _)| name.to_owned());
    let waits =
        |name: &str| instructions.iter().any(|i| variable_of(i).is_some_and(|(_, next)| next == Some(name)));
    for first in instructions {
        let Some((name, mut next)) = variable_of(first) else { continue };
        if waits(name) && !is_circle(instructions, name) {
            continue;
        }
        out.push(first);
        while let Some(wanted) = next {
            let Some(found) = instructions.iter().find(|i| name_of(i).as_deref() == Some(wanted)) else {
                break;
            };
            if out.iter().any(|have| std::ptr::eq(*have, found)) {
                break;
            }
            out.push(found);
            next = variable_of(found).and_then(|(_, next)| next);
        }
    }
    out
}

/// Whether a variable waits for itself, by way of others.
fn is_circle(instructions: &[Instruction], name: &str) -> bool {
    let next = |name: &str| {
        instructions.iter().filter_map(variable_of).find(|(n, _)| *n == name).and_then(|(_, next)| next)
    };
    let mut at = next(name);
    for _ in 0..instructions.len() {
        match at {
            Some(found) if found == name => return true,
            Some(found) => at = next(found),
            None => return false,
        }
    }
    false
}

/// Name of the variable that an instruction defines, and of the one that waits for it.
fn variable_of(instruction: &Instruction) -> Option<(&str, Option<&str>)> {
    match instruction {
        Instruction::FlowVar { name, next_var, .. }
        | Instruction::FlowVarRandLimit { name, next_var, .. } => Some((name, next_var.as_deref())),
        Instruction::TupleFlowVar { name, .. } => Some((name, None)),
        _ => None,
    }
}

#[derive(Default)]
struct Maker<'a> {
    template: &'a [u8],
    out: Program,
    vars: HashMap<String, Var>,
    after: HashMap<String, String>,
    /// Bytes of headers whose checksums are to be computed, in order.
    fixed: Vec<std::ops::Range<usize>>,
    errors: Vec<String>,
}

impl Maker<'_> {
    fn variable(&mut self, instruction: &Instruction) {
        match instruction {
            Instruction::FlowVar {
                name,
                size,
                op,
                init_value,
                min_value,
                max_value,
                step,
                value_list,
                next_var,
            } => {
                let range = (*min_value, *max_value, *init_value, (*step).max(1));
                let (pairs, mean) = match value_list {
                    Some(values) => (listed(values, *op), mean_of(values)),
                    None => (counted(range, *op, *size), (*min_value as f64 + *max_value as f64) / 2.0),
                };
                if *op == Op::Random {
                    self.out.draws = true;
                    if self.after.contains_key(name) || next_var.is_some() {
                        self.errors
                            .push(format!("variable '{name}' is drawn and part of a chain of variables"));
                    }
                }
                self.define(name, *size, mean, pairs);
                self.links(name, next_var.as_deref());
            }
            Instruction::FlowVarRandLimit { name, size, limit, seed, min_value, max_value, next_var } => {
                let pairs = vec![
                    ("lcg".to_owned(), Node::text(range(*min_value, *max_value, *size))),
                    ("seed".to_owned(), Node::text(seed & 0xffff_ffff)),
                    ("limit".to_owned(), Node::text((*limit).max(1))),
                ];
                self.define(name, *size, (*min_value as f64 + *max_value as f64) / 2.0, pairs);
                self.links(name, next_var.as_deref());
            }
            Instruction::TupleFlowVar { name, ip_min, ip_max, port_min, port_max, limit_flows, flags } => {
                let mut ip = vec![
                    ("from".to_owned(), Node::text(value(*ip_min, 4))),
                    ("to".to_owned(), Node::text(value(*ip_max, 4))),
                ];
                let pairs = u128::from(ip_max - ip_min + 1) * u128::from(port_max - port_min + 1);
                if *limit_flows > 0 && u128::from(*limit_flows) < pairs {
                    ip.push(("period".to_owned(), Node::text(limit_flows)));
                }
                self.define(&format!("{name}.ip"), 4, 0.0, ip);
                let stays = flags & 1 == 1;
                let last = if stays { port_min } else { port_max };
                self.after.insert(format!("{name}.port"), variable_name(&format!("{name}.ip")));
                let port =
                    vec![("from".to_owned(), Node::text(port_min)), ("to".to_owned(), Node::text(last))];
                self.define(&format!("{name}.port"), 2, 0.0, port);
            }
            _ => {}
        }
    }

    /// Notes that `next` waits for `name`.
    fn links(&mut self, name: &str, next: Option<&str>) {
        if let Some(next) = next {
            self.after.insert(next.to_owned(), variable_name(name));
        }
    }

    fn define(&mut self, name: &str, size: u8, mean: f64, pairs: Vec<(String, Node)>) {
        let own = variable_name(name);
        if self.out.vary.iter().any(|(key, _)| *key == own) {
            self.errors.push(format!("variable '{name}' is defined more than once"));
            return;
        }
        let mut all = vec![("bytes".to_owned(), Node::text(size))];
        all.extend(pairs);
        if let Some(other) = self.after.get(name) {
            all.push(("after".to_owned(), Node::text(other)));
        }
        self.out.vary.push((own.clone(), Node::Line(all)));
        self.vars.insert(name.to_owned(), Var { name: own, size, mean });
    }

    fn action(&mut self, instruction: &Instruction) {
        match instruction {
            Instruction::WriteFlowVar { name, pkt_offset, add_value, is_big_endian } => {
                let Some(var) = self.vars.get(name) else { return self.missing(name) };
                let (from, size) = (usize::from(*pkt_offset), var.size);
                let mut pairs = vec![("same_as".to_owned(), Node::text(&var.name))];
                if *add_value != 0 {
                    pairs.push(("plus".to_owned(), Node::text(wrapped(*add_value, size))));
                }
                self.write(from..from + usize::from(size), pairs, *is_big_endian);
            }
            Instruction::WriteMaskFlowVar {
                name,
                pkt_offset,
                pkt_cast_size,
                mask,
                shift,
                add_value,
                is_big_endian,
            } => self.masked(name, *pkt_offset, *pkt_cast_size, *mask, *shift, *add_value, *is_big_endian),
            Instruction::TrimPktSize { name } => {
                let Some(var) = self.vars.get(name) else { return self.missing(name) };
                let pairs =
                    vec![("same_as".to_owned(), Node::text(&var.name)), ("plus".to_owned(), Node::text(4))];
                let size = (Node::Line(pairs), var.mean);
                if self.out.size.replace(size).is_some() {
                    self.errors.push("the packet is cut by more than one variable".to_owned());
                }
            }
            Instruction::FixChecksumIpv4 { pkt_offset } => {
                self.checksum(format!("ipv4@{pkt_offset}"), usize::from(*pkt_offset), 20);
            }
            Instruction::FixChecksumHw { l2_len, l3_len, l4_type } => {
                let (l3, l4) = (usize::from(*l2_len), usize::from(l2_len + l3_len));
                if self.template.get(l3).is_some_and(|byte| byte >> 4 == 4) {
                    self.checksum(format!("ipv4@{l3}"), l3, usize::from(*l3_len));
                }
                match l4_type {
                    11 => self.checksum(format!("udp@{l4} over {l3}"), l4, 8),
                    13 => self.checksum(format!("tcp@{l4} over {l3}"), l4, 20),
                    17 => {}
                    other => self.errors.push(format!(
                        "checksum of a header of type {other}: use 11 (UDP), 13 (TCP), 17 (IP)"
                    )),
                }
            }
            Instruction::FixChecksumIcmpv6 { l2_len, l3_len } => {
                let l4 = usize::from(l2_len + l3_len);
                self.checksum(format!("icmpv6@{l4} over {l2_len}"), l4, 4);
            }
            _ => {}
        }
    }

    fn missing(&mut self, name: &str) {
        self.errors.push(format!("variable '{name}' is not defined"));
    }

    fn checksum(&mut self, text: String, at: usize, length: usize) {
        self.fixed.push(at..at + length);
        if !self.out.checksums.contains(&text) {
            self.out.checksums.push(text);
        }
    }

    fn masked(&mut self, name: &str, at: u16, size: u8, mask: u64, shift: i32, add: i64, is_big: bool) {
        let Some(var) = self.vars.get(name) else { return self.missing(name) };
        let mut source = var.name.clone();
        let mut pairs = Vec::new();
        if add != 0 && shift != 0 {
            // The sum comes before the shift: a variable of its own holds it.
            let sum = format!("{source}.{}", self.out.vary.len());
            let own = vec![
                ("bytes".to_owned(), Node::text(4)),
                ("same_as".to_owned(), Node::text(&source)),
                ("plus".to_owned(), Node::text(wrapped(add, 4))),
            ];
            self.out.vary.push((sum.clone(), Node::Line(own)));
            source = sum;
        }
        pairs.push(("same_as".to_owned(), Node::text(source)));
        if shift != 0 {
            pairs.push(("shift".to_owned(), Node::text(shift)));
        } else if add != 0 {
            pairs.push(("plus".to_owned(), Node::text(wrapped(add, size))));
        }
        let whole = if size >= 8 { u64::MAX } else { (1 << (8 * u32::from(size))) - 1 };
        if mask & whole != whole {
            pairs.push(("mask".to_owned(), Node::text(format!("0x{:x}", mask & whole))));
        }
        let from = usize::from(at);
        self.write(from..from + usize::from(size), pairs, is_big);
    }

    fn write(&mut self, place: std::ops::Range<usize>, mut pairs: Vec<(String, Node)>, is_big: bool) {
        if place.end > self.template.len() {
            self.errors.push(format!(
                "a write to bytes {} to {} is beyond the packet's {} bytes",
                place.start,
                place.end,
                self.template.len()
            ));
            return;
        }
        if let Some(fixed) =
            self.fixed.iter().find(|fixed| fixed.start < place.end && place.start < fixed.end)
        {
            self.errors.push(format!(
                "a write to byte {} comes after the checksum of the header at {}; write first",
                place.start, fixed.start
            ));
        }
        if !is_big && place.len() > 1 {
            pairs.push(("endian".to_owned(), Node::text("little")));
        }
        let key = format!("bytes[{}..{}]", place.start, place.end);
        let has_mask = pairs.iter().any(|(key, _)| key == "mask");
        if let Some(before) = self.out.vary.iter().position(|(other, _)| *other == key) {
            if has_mask {
                // The same bytes, said in bits, are another key.
                let bits = format!("bits[{}..{}]", place.start * 8, place.end * 8);
                if is_big && !self.out.vary.iter().any(|(other, _)| *other == bits) {
                    self.out.vary.push((bits, Node::Line(pairs)));
                } else {
                    self.errors.push(format!(
                        "more than two writes of some bits of bytes {} to {}",
                        place.start, place.end
                    ));
                }
                return;
            }
            self.out.vary.remove(before);
        }
        self.out.vary.push((key, Node::Line(pairs)));
    }
}

fn mean_of(values: &[u64]) -> f64 {
    let (low, high) = (values.iter().min(), values.iter().max());
    (low.copied().unwrap_or(0) as f64 + high.copied().unwrap_or(0) as f64) / 2.0
}

fn listed(values: &[u64], op: Op) -> Vec<(String, Node)> {
    let mut nodes: Vec<Node> = values.iter().map(Node::text).collect();
    if op == Op::Dec {
        nodes.reverse();
    }
    let mut pairs = vec![("list".to_owned(), Node::List(nodes))];
    if op == Op::Random {
        pairs.push(("order".to_owned(), Node::text("lcg")));
    }
    pairs
}

fn counted((low, high, first, step): (u64, u64, u64, u64), op: Op, size: u8) -> Vec<(String, Node)> {
    if op == Op::Random {
        return vec![("lcg".to_owned(), Node::text(range(low, high, size)))];
    }
    let (from, to) = if op == Op::Inc { (low, high) } else { (high, low) };
    let mut pairs = vec![
        ("from".to_owned(), Node::text(value(from, size))),
        ("to".to_owned(), Node::text(value(to, size))),
    ];
    if first != from {
        pairs.push(("begin".to_owned(), Node::text(value(first, size))));
    }
    if step != 1 {
        pairs.push(("step".to_owned(), Node::text(step)));
    }
    pairs
}

fn range(low: u64, high: u64, size: u8) -> String {
    format!("{}..{}", value(low, size), value(high, size))
}

/// A value for people: four bytes that look like an address as such.
fn value(value: u64, size: u8) -> String {
    match u32::try_from(value) {
        Ok(address) if size == 4 && address >= 1 << 24 => std::net::Ipv4Addr::from(address).to_string(),
        _ => value.to_string(),
    }
}

/// Addend to a number of this size.
fn wrapped(add: i64, size: u8) -> u64 {
    let whole = if size >= 8 { u64::MAX } else { (1 << (8 * u32::from(size))) - 1 };
    add as u64 & whole
}

/// A variable's name in the profile.
fn variable_name(name: &str) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '_' }).collect();
    format!("${plain}")
}
