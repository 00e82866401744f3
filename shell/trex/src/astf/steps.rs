//! Programs as steps: loops become `repeat`, other jumps `goto`; datagrams have the lengths that the other end sends.

use super::{Buffer, Command, Program};
use crate::base64;
use crate::yaml::Node;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Steps of a program that are considered, loops written out, to find how long its datagrams are.
const STEPS_MAX: usize = 1 << 20;
/// Longest data that is printed as it is; what a profile fills up beyond is arbitrary.
const PRINTED_MAX: usize = 16 << 10;
/// Loops in loops.
const DEPTH_MAX: usize = 16;

/// A program of a template, read.
pub(super) struct Reader<'a> {
    pub program: &'a Program,
    pub buffers: &'a [Buffer],
    /// Lengths of the datagrams that each waiting step gets.
    pub lengths: BTreeMap<usize, Vec<u64>>,
    /// Delay before each response of a server.
    pub delay: Option<Node>,
    pub notes: Vec<String>,
}

/// A step of a program, or a loop.
enum Part {
    Step(usize),
    Loop { times: Times, body: Vec<Part> },
}

/// Number of times.
#[derive(Clone, Copy)]
enum Times {
    Endless,
    Count(u64),
    /// This number of seconds.
    For(f64),
}

impl<'a> Reader<'a> {
    pub(super) fn new(program: &'a Program, buffers: &'a [Buffer], delay: Option<Node>) -> Self {
        Self { program, buffers, lengths: BTreeMap::new(), delay, notes: Vec::new() }
    }

    /// The steps.
    pub(super) fn steps(&mut self) -> Result<Vec<Node>, String> {
        match self.parts() {
            Ok(parts) => self.nodes(&parts),
            Err(reason) => {
                let is_other =
                    |jump: &Command| jump.name == "jmp_cmp" || jump.offset.is_some_and(|offset| offset > 0);
                let jumps = || self.program.commands.iter().filter(|command| command.name.starts_with("jmp"));
                if jumps().all(|jump| jump.name != "jmp_dp") && jumps().any(is_other) {
                    return self.labelled();
                }
                Err(reason)
            }
        }
    }

    /// The steps with labels and jumps as they are.
    fn labelled(&mut self) -> Result<Vec<Node>, String> {
        let commands = &self.program.commands;
        let mut targets = BTreeSet::new();
        for (at, command) in
            commands.iter().enumerate().filter(|(_, command)| command.name.starts_with("jmp"))
        {
            let to = command.offset.and_then(|offset| at.checked_add_signed(offset as isize));
            let to = to.filter(|to| *to <= commands.len());
            targets.insert(to.ok_or_else(|| format!("step {at}: a jump out of the program"))?);
        }
        let line = |key: &str, node: Node| Node::Line(vec![(key.to_owned(), node)]);
        let value = |command: &Command, n: i64| {
            Node::Line(vec![(format!("v{}", command.id.unwrap_or(0)), Node::text(n))])
        };
        let label = |at: usize| Node::text(format!("step{at}"));
        let variables: BTreeSet<u32> = commands
            .iter()
            .filter(|command| matches!(command.name.as_str(), "set_var" | "add_var" | "jmp_nz" | "jmp_cmp"))
            .map(|command| command.id.unwrap_or(0))
            .collect();
        let zero = variables.iter().map(|id| (format!("v{id}"), Node::text(0))).collect();
        let mut nodes = if variables.is_empty() { Vec::new() } else { vec![line("set", Node::Line(zero))] };
        for at in 0..=commands.len() {
            if targets.contains(&at) {
                nodes.push(line("label", label(at)));
            }
            let Some(command) = commands.get(at) else { break };
            let to = || label(at.saturating_add_signed(command.offset.unwrap_or(0) as isize));
            let jump_if = |sign: &str, n: i64| {
                let condition = format!("v{} {sign} {n}", command.id.unwrap_or(0));
                let keys = vec![("label".to_owned(), to()), ("if".to_owned(), Node::text(condition))];
                line("goto", Node::Line(keys))
            };
            match command.name.as_str() {
                "set_var" => nodes.push(line("set", value(command, command.val.unwrap_or(0)))),
                "add_var" => nodes.push(line("add", value(command, command.val.unwrap_or(0)))),
                "jmp" => nodes.push(line("goto", to())),
                "jmp_nz" => nodes.extend([line("add", value(command, -1)), jump_if("!=", 0)]),
                "jmp_cmp" => {
                    let sign = match command.op.as_deref() {
                        Some("lt") => "<",
                        Some("le") => "<=",
                        Some("gt") => ">",
                        Some("ge") => ">=",
                        Some("eq") => "==",
                        Some("ne") => "!=",
                        _ => return Err(format!("step {at}: an unknown comparison")),
                    };
                    nodes.push(jump_if(sign, command.val.unwrap_or(0)));
                }
                _ => nodes.extend(self.step(at)?),
            }
        }
        Ok(nodes)
    }

    fn parts(&self) -> Result<Vec<Part>, String> {
        let mut variables = BTreeMap::new();
        self.block(0..self.program.commands.len(), &mut variables, 0)
    }

    /// Finds loops: a step that later ones jump back to begins one.
    fn block(
        &self,
        range: Range<usize>,
        variables: &mut BTreeMap<u32, i64>,
        depth: usize,
    ) -> Result<Vec<Part>, String> {
        if depth > DEPTH_MAX {
            return Err(format!("more than {DEPTH_MAX} loops in loops"));
        }
        let commands = &self.program.commands;
        // Where loops begin, and the last jump back to there.
        let loops: BTreeMap<usize, usize> =
            range.clone().filter_map(|from| Some((target(commands, from)?, from))).collect();
        let (mut parts, mut at) = (Vec::new(), range.start);
        while at < range.end {
            let Some(&jump) = loops.get(&at) else {
                let command = &commands[at];
                match command.name.as_str() {
                    "set_var" => {
                        variables.insert(command.id.unwrap_or(0), command.val.unwrap_or(0));
                    }
                    "add_var" => {
                        let value = variables.entry(command.id.unwrap_or(0)).or_default();
                        *value = value.saturating_add(command.val.unwrap_or(0));
                    }
                    "jmp" | "jmp_nz" | "jmp_dp" | "jmp_cmp" => {
                        return Err(format!("step {at}: a jump forward, or into a loop"));
                    }
                    _ => parts.push(Part::Step(at)),
                }
                at += 1;
                continue;
            };
            let end = &commands[jump];
            let variable = end.id.unwrap_or(0);
            let times = match end.name.as_str() {
                "jmp" => Times::Endless,
                "jmp_dp" => Times::For(self.time(at, jump)?),
                _ => {
                    let times = variables.get(&variable).copied().filter(|times| *times > 0);
                    Times::Count(times.ok_or_else(|| {
                        format!(
                            "step {jump}: a loop by a variable that is not set to a number above 0 before it"
                        )
                    })? as u64)
                }
            };
            let body = self.block(at..jump, variables, depth + 1)?;
            variables.insert(variable, 0);
            parts.push(Part::Loop { times, body });
            if matches!(times, Times::Endless) && jump + 1 < range.end {
                return Err(format!("step {}: never reached", jump + 1));
            }
            at = jump + 1;
        }
        Ok(parts)
    }

    /// Seconds of the loop for a time from `begin` to the jump `end`, whose clock must start with it.
    fn time(&self, begin: usize, end: usize) -> Result<f64, String> {
        let jump = &self.program.commands[end];
        let clock = begin.checked_sub(1).map(|before| &self.program.commands[before]);
        clock
            .filter(|clock| clock.name == "set_tick_var" && clock.id == jump.id)
            .and(jump.duration)
            .ok_or_else(|| {
                format!("step {end}: a loop for a time ('jmp_dp') whose clock is not set right before it")
            })
    }

    fn nodes(&mut self, parts: &[Part]) -> Result<Vec<Node>, String> {
        let mut nodes = Vec::new();
        for part in parts {
            match part {
                Part::Step(at) => nodes.extend(self.step(*at)?),
                Part::Loop { times, body } => {
                    let body = self.nodes(body)?;
                    let often = match times {
                        Times::Endless => ("times".to_owned(), Node::text("endless")),
                        Times::Count(times) => ("times".to_owned(), Node::text(times)),
                        Times::For(seconds) => (
                            "for".to_owned(),
                            Node::text(crate::convert::time(seconds.clamp(0.0, 1e6) * 1e9)),
                        ),
                    };
                    let repeat = vec![often, ("do".to_owned(), Node::Items(body))];
                    nodes.push(Node::Block(vec![("repeat".to_owned(), Node::Block(repeat))]));
                }
            }
        }
        Ok(nodes)
    }

    fn step(&mut self, at: usize) -> Result<Vec<Node>, String> {
        let command = &self.program.commands[at];
        let key = |key: &str, node: Node| vec![Node::Line(vec![(key.to_owned(), node)])];
        Ok(match command.name.as_str() {
            "tx" | "tx_msg" => {
                let data = self.data(at, command)?;
                let before = self.delay.clone().map(|delay| key("wait", delay));
                before.into_iter().flatten().chain(key("send", data)).collect()
            }
            "rx" => key("expect", bytes(command.min_bytes.unwrap_or(0))),
            "rx_msg" => {
                let lengths = self.lengths.get(&at).cloned().unwrap_or_default();
                if lengths.is_empty() {
                    return Err(format!("step {at}: waits for datagrams that the other end does not send"));
                }
                lengths.into_iter().flat_map(|length| key("expect", bytes(length))).collect()
            }
            "delay" | "delay_rnd" => key("wait", delay(command)),
            "reset" => vec![Node::text("reset")],
            "nc" => vec![Node::text("expect_end")],
            "close_msg" => vec![Node::text("close")],
            "connect" => Vec::new(),
            "tx_mode" => self.without_effect("set_send_blocking"),
            "keepalive" => self.without_effect("set_keepalive_msg"),
            "set_tick_var" | "add_tick_var" => Vec::new(),
            "add_stats" | "add_tick_stats" => self.without_effect("counters of programs"),
            other => return Err(format!("step {at}: '{other}' is not supported")),
        })
    }

    fn without_effect(&mut self, what: &str) -> Vec<Node> {
        let note = format!("{what}: no effect");
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
        Vec::new()
    }

    fn buffer(&self, at: usize, command: &Command) -> Result<&'a Buffer, String> {
        let index = command.buf_index.ok_or_else(|| format!("step {at}: sends nothing"))?;
        self.buffers.get(index).ok_or_else(|| format!("step {at}: there is no buffer {index}"))
    }

    fn data(&mut self, at: usize, command: &Command) -> Result<Node, String> {
        let wrong = || format!("step {at}: its data is not base64");
        match self.buffer(at, command)? {
            Buffer::Whole(text) => Ok(printed(&base64::decode(text).ok_or_else(wrong)?)),
            Buffer::Filled { base, size, fill } => {
                let mut data = base64::decode(base).ok_or_else(wrong)?;
                let fill = base64::decode(fill).ok_or_else(wrong)?;
                let size = usize::try_from(*size).map_err(|_| wrong())?.max(data.len());
                if size <= PRINTED_MAX && !fill.is_empty() {
                    data.extend(fill.iter().cycle().take(size - data.len()));
                    return Ok(printed(&data));
                }
                let rest = size - data.len();
                let note = format!("what fills data up to more than {PRINTED_MAX} bytes is arbitrary");
                if !self.notes.contains(&note) {
                    self.notes.push(note);
                }
                let head = (!data.is_empty()).then(|| printed(&data));
                Ok(Node::List(head.into_iter().chain((rest > 0).then(|| bytes(rest as u64))).collect()))
            }
        }
    }

    fn length(&self, at: usize) -> Result<u64, String> {
        let command = &self.program.commands[at];
        let wrong = || format!("step {at}: its data is not base64");
        Ok(match self.buffer(at, command)? {
            Buffer::Whole(text) => base64::decode(text).ok_or_else(wrong)?.len() as u64,
            Buffer::Filled { base, size, .. } => {
                (*size).max(base64::decode(base).ok_or_else(wrong)?.len() as u64)
            }
        })
    }

    /// Its steps of a kind, in the order in which they come, loops written out.
    fn in_turn(&self, kind: &str) -> Result<Vec<usize>, String> {
        let mut out = Vec::new();
        if self.program.commands.iter().all(|command| command.name != kind) {
            return Ok(out);
        }
        self.walk(&self.parts()?, kind, &mut out, &mut 0)?;
        Ok(out)
    }

    fn walk(&self, parts: &[Part], kind: &str, out: &mut Vec<usize>, seen: &mut usize) -> Result<(), String> {
        for part in parts {
            *seen += 1;
            if *seen > STEPS_MAX {
                return Err(format!("more than {STEPS_MAX} steps, loops written out"));
            }
            match part {
                Part::Step(at) if self.program.commands[*at].name == kind => out.push(*at),
                Part::Step(_) => {}
                Part::Loop { times, body } => {
                    // Of a loop without a number two rounds show whether all are alike.
                    let times = if let Times::Count(times) = times { *times } else { 2 };
                    for _ in 0..times {
                        self.walk(body, kind, out, seen)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Learns from the `other` end how long the datagrams are that it waits for.
    pub(super) fn learn(&mut self, other: &Reader<'_>) -> Result<(), String> {
        let sent: Vec<u64> =
            other.in_turn("tx_msg")?.into_iter().map(|at| other.length(at)).collect::<Result<_, _>>()?;
        let mut sent = sent.into_iter();
        for at in self.in_turn("rx_msg")? {
            let count = self.program.commands[at].min_pkts.unwrap_or(1);
            let lengths: Vec<u64> =
                sent.by_ref().take(usize::try_from(count).unwrap_or(usize::MAX)).collect();
            if (lengths.len() as u64) < count {
                break;
            }
            if self.lengths.entry(at).or_insert_with(|| lengths.clone()) != &lengths {
                return Err(format!(
                    "step {at}: waits in a loop for datagrams whose lengths differ from round to round"
                ));
            }
        }
        Ok(())
    }
}

/// Where the jump at `from` goes, if it goes back and only a count or a time decides.
fn target(commands: &[Command], from: usize) -> Option<usize> {
    let command = &commands[from];
    let is_loop = matches!(command.name.as_str(), "jmp" | "jmp_nz" | "jmp_dp");
    let back = command.offset.filter(|offset| is_loop && *offset <= 0)?;
    from.checked_sub(usize::try_from(back.unsigned_abs()).ok()?)
}

/// Time to wait.
pub(super) fn delay(command: &Command) -> Node {
    let time = |usec: f64| crate::convert::time(usec.clamp(0.0, 1e12) * 1e3);
    match (command.usec, command.min_usec, command.max_usec) {
        (Some(usec), ..) => Node::text(time(usec)),
        (None, min, max) => {
            let min = min.unwrap_or(0.0);
            Node::text(format!("{}..{}", time(min), time(max.unwrap_or(min).max(min))))
        }
    }
}

fn bytes(count: u64) -> Node {
    Node::Line(vec![("bytes".to_owned(), Node::text(format!("{count}B")))])
}

/// Data as a text if it is one, else as hexadecimal digits.
fn printed(data: &[u8]) -> Node {
    let is_text = |byte: &u8| byte.is_ascii_graphic() || b" \r\n\t".contains(byte);
    let text = std::str::from_utf8(data).ok().filter(|text| text.bytes().all(|byte| is_text(&byte)));
    // A text that YAML could take for a number or a word of its own.
    match text.filter(|text| text.contains([' ', '\r', '\n', ':', '/'])) {
        Some(text) => Node::text(text.replace('{', "{{")),
        None => {
            let digits: String = data.iter().map(|byte| format!("{byte:02x}")).collect();
            Node::Line(vec![("hex".to_owned(), Node::text(format!("{digits} ")))])
        }
    }
}
