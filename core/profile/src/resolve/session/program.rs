//! Programs, and conversations from captures, which become programs.

use super::app::{Surroundings, nothing};
use super::labels::{Condition, Step, follow, is_last, never_ends, repeats_timed};
use crate::document::app::{
    ConversationDoc, GotoDoc, OpDoc, OpKeys, OpWord, ProgramDoc, ResetDoc, TimingDoc,
};
use crate::document::content::ContentDoc;
use crate::document::quantity::Duration;
use crate::document::session::SessionDoc;
use crate::resolve::Resolver;
use indexmap::IndexMap;
use session::plan::{AppPlan, Carrier, Content, Expect, Op, Part, Program, TIMED_MAX};
use session::{ConversationOptions, OtherPackets, conversations};
use std::sync::Arc;
use units::Nanos;

/// A conversation of a capture, ready to be had again.
pub(super) struct Conversation {
    pub(super) app: AppPlan,
    pub(super) carrier: Carrier,
    /// The server's port in the capture.
    pub(super) port: u16,
}

impl Resolver<'_> {
    pub(super) fn program(
        &mut self,
        path: &str,
        doc: &ProgramDoc,
        around: &Surroundings,
        room: Option<u64>,
    ) -> AppPlan {
        let mut side = |key: &str, ops: &[OpDoc], ours: bool| {
            let path = format!("{path}.{key}");
            if !ops.is_empty() {
                return Arc::new(Program { ops: self.ops(&path, ops, room, true) });
            }
            if ours && !self.reading.is_broken(&path) {
                self.reading.fail(&path, format!("no steps: an emulated {key} needs a program"));
            }
            nothing()
        };
        let client = side("client", &doc.client, around.client);
        let server = side("server", &doc.server, around.server);
        AppPlan::Program { client, server }
    }

    /// Checks that a client's program opens its stream of QUIC: a server knows of no stream on which nothing came (RFC 9000 section 3.1).
    pub(super) fn check_opens_stream(&mut self, path: &str, entry: &SessionDoc, app: &AppPlan) {
        let AppPlan::Program { client, .. } = app else { return };
        if entry.is_quic() && !entry.is_in_datagrams() && waits_first(&client.ops) == Some(true) {
            let reason = "a stream of QUIC begins with what its client sends, and this one waits for the server first; begin with 'send', or use 'quic: {datagrams: true}'";
            self.reading.fail(format!("{path}.client"), reason);
        }
    }

    fn ops(&mut self, path: &str, docs: &[OpDoc], room: Option<u64>, outermost: bool) -> Vec<Op> {
        let mut steps = Vec::new();
        for (index, doc) in docs.iter().enumerate() {
            let path = format!("{path}[{index}]");
            let Some(step) = self.program_step(&path, doc, room) else { continue };
            steps.push((path, step));
        }
        let ops = if steps.iter().any(|(_, step)| !matches!(step, Step::Op(_))) {
            match follow(&steps) {
                Ok(ops) => ops,
                Err((at, reason)) => {
                    let path = steps.get(at).map_or(path, |(path, _)| path.as_str());
                    self.reading.fail(path, reason);
                    return Vec::new();
                }
            }
        } else {
            self.in_order(steps, outermost)
        };
        let timed = ops.iter().filter(|op| matches!(op, Op::RepeatFor { .. })).count();
        if timed > TIMED_MAX || timed > 0 && !outermost || ops.iter().any(repeats_timed) {
            let reason =
                format!("'repeat' with 'for' is not allowed in a loop, nor more than {TIMED_MAX} times");
            self.reading.fail(path, reason);
        }
        ops
    }

    fn in_order(&mut self, steps: Vec<(String, Step)>, outermost: bool) -> Vec<Op> {
        let (mut ops, last) = (Vec::new(), steps.len().wrapping_sub(1));
        for (index, (path, step)) in steps.into_iter().enumerate() {
            let Step::Op(op) = step else { continue };
            if is_last(&op) && !outermost {
                self.reading.fail(path, "ends the program: it is not allowed in 'repeat'");
            } else if never_ends(&op) && index < last {
                self.reading.fail(path, "never ends: it must be the last step");
            }
            ops.push(op);
        }
        ops
    }

    fn program_step(&mut self, path: &str, doc: &OpDoc, room: Option<u64>) -> Option<Step> {
        let OpDoc::Full(keys) = doc else { return self.op(path, doc, room).map(Step::Op) };
        let values = |map: &IndexMap<String, i64>| map.iter().map(|(name, n)| (name.clone(), *n)).collect();
        Some(match &**keys {
            OpKeys { label: Some(label), .. } => Step::Label(label.0.clone()),
            OpKeys { goto: Some(GotoDoc::Word(label)), .. } => Step::Goto(label.0.clone(), None),
            OpKeys { goto: Some(GotoDoc::Full(goto)), .. } => {
                let Some(condition) = Condition::read(&goto.condition) else {
                    let reason = "expected a variable, ==, !=, <, <=, > or >=, and a number, such as 'n > 0'";
                    self.reading.fail(format!("{path}.goto.if"), reason);
                    return None;
                };
                Step::Goto(goto.label.0.clone(), Some(condition))
            }
            OpKeys { set: Some(values_of), .. } => Step::Set(values(values_of)),
            OpKeys { add: Some(values_of), .. } => Step::Add(values(values_of)),
            _ => return self.op(path, doc, room).map(Step::Op),
        })
    }

    fn op(&mut self, path: &str, doc: &OpDoc, room: Option<u64>) -> Option<Op> {
        let keys = match doc {
            OpDoc::Word(word) => return self.op_word(path, *word, room.is_some()),
            OpDoc::Full(keys) => &**keys,
        };
        match keys {
            OpKeys { send: Some(content), .. } => {
                Some(Op::Send(self.sent(&format!("{path}.send"), content, room)))
            }
            OpKeys { expect: Some(content), .. } => {
                let content = self.sent(&format!("{path}.expect"), content, room);
                Some(Op::Expect(Expect::Content(content)))
            }
            OpKeys { expect_until: Some(content), .. } => {
                let path = format!("{path}.expect_until");
                match &self.content(&path, content).parts[..] {
                    [Part::Bytes(bytes)] if (1..=255).contains(&bytes.len()) => {
                        Some(Op::Expect(Expect::Until(bytes.clone())))
                    }
                    _ => {
                        self.reading
                            .fail(path, "1 to 255 bytes that are always the same end what is waited for");
                        None
                    }
                }
            }
            OpKeys { wait: Some(delay), .. } => {
                Some(Op::Wait(self.delay(&format!("{path}.wait"), Some(delay))))
            }
            OpKeys { repeat: Some(repeat), .. } => {
                let ops = self.ops(&format!("{path}.repeat.do"), &repeat.steps, room, false);
                match (repeat.times, &repeat.time) {
                    (Some(times), None) => Some(Op::Repeat { times: times.times(), ops }),
                    (None, Some(Duration(time))) => Some(Op::RepeatFor { time: *time, ops }),
                    _ => {
                        self.reading.fail(format!("{path}.repeat"), "expected either 'times' or 'for'");
                        None
                    }
                }
            }
            _ => None,
        }
    }

    fn op_word(&mut self, path: &str, word: OpWord, udp: bool) -> Option<Op> {
        let (op, name) = match word {
            OpWord::Stream => (Op::Stream, "stream"),
            OpWord::HalfClose => (Op::HalfClose, "half_close"),
            OpWord::Close => (Op::Close, "close"),
            OpWord::Reset => (Op::Reset, "reset"),
            OpWord::ExpectEnd => (Op::Expect(Expect::End), "expect_end"),
            OpWord::Pause => (Op::Pause, "pause"),
            OpWord::Resume => (Op::Resume, "resume"),
        };
        if udp && word != OpWord::Close {
            self.reading.fail(path, format!("'{name}' is of TCP, and these sessions go over UDP"));
            return None;
        }
        Some(op)
    }

    /// Content of one send: at least a byte, at most a datagram.
    fn sent(&mut self, path: &str, doc: &ContentDoc, room: Option<u64>) -> Content {
        let content = self.content(path, doc);
        let bytes = longest(&content);
        if bytes == 0 && !self.reading.is_broken(path) {
            self.reading.fail(path, "is empty; send at least 1B");
        }
        self.fits_datagram(path, bytes, room);
        content
    }

    /// A conversation of a capture file.
    pub(super) fn conversation(&mut self, path: &str, doc: &ConversationDoc) -> Option<Conversation> {
        let file_path = format!("{path}.file");
        let bytes = self.file(&file_path, &doc.file)?;
        let capture = match pcap::read_and_free(bytes) {
            Ok(capture) => capture,
            Err(error) => {
                self.reading.fail(file_path, format!("'{}': {error}", doc.file));
                return None;
            }
        };
        let pauses = (doc.timing == TimingDoc::AsCaptured).then_some(Nanos::ZERO);
        let answer_delay = doc.answer_delay.as_ref();
        let answer_delay = answer_delay.map(|delay| self.delay(&format!("{path}.answer_delay"), Some(delay)));
        let datagram_max =
            doc.datagram_max.as_ref().map(|bytes| usize::try_from(bytes.0).unwrap_or(usize::MAX));
        if datagram_max == Some(0) {
            self.reading.fail(format!("{path}.datagram_max"), "must be at least 1B");
            return None;
        }
        self.warnings.extend(capture.warnings.iter().map(|warning| format!("{path}: {warning}")));
        let options =
            ConversationOptions { pauses, answer_delay, datagram_max, closes: doc.reset == ResetDoc::Close };
        let found = conversations(&capture, options);
        let (number, all) = (doc.conversation.unwrap_or(1), found.all.len());
        let other = found.other_packets.total();
        if other > 0 {
            let (other, packets) = (units::count(other), units::count(capture.records.len() as u64));
            let reasons = of_none(&found.other_packets);
            self.warn_once(format!(
                "{path}: {other} of {packets} packets in '{}' belong to no conversation{reasons}",
                doc.file
            ));
        }
        let Some(one) = found.all.into_iter().nth(number as usize - 1) else {
            let reason = match all {
                0 => format!("'{}' holds no data over TCP or UDP{}", doc.file, of_none(&found.other_packets)),
                _ => format!("there is no conversation {number} in '{}'; it has {all}", doc.file),
            };
            let at = if all == 0 { file_path } else { format!("{path}.conversation") };
            self.reading.fail(at, reason);
            return None;
        };
        if one.missing > 0 {
            let warning = format!(
                "{path}: {} bytes of conversation {number} are missing in '{}'; zeros are sent instead",
                one.missing, doc.file
            );
            self.warn_once(warning);
        }
        Some(Conversation { app: one.app, carrier: one.carrier, port: one.server.port() })
    }
}

/// Why packets belong to no conversation, in a clause after a sentence.
fn of_none(other: &OtherPackets) -> String {
    let mut reasons: Vec<String> = other
        .unreadable
        .iter()
        .map(|(reason, n)| format!("{} {}", units::count(*n), replay::why(*reason, *n)))
        .collect();
    for (n, reason) in [
        (other.foreign, "neither TCP nor UDP over IP, or cut short in their headers"),
        (other.fragments, "fragments of packets that are not there whole"),
    ] {
        if n > 0 {
            reasons.push(format!("{} {reason}", units::count(n)));
        }
    }
    if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) }
}

/// Whether the first operation that sends or expects something expects it; none if there is no such operation.
fn waits_first(ops: &[Op]) -> Option<bool> {
    ops.iter().find_map(|op| match op {
        Op::Wait(_) | Op::Pause | Op::Resume => None,
        Op::Expect(_) => Some(true),
        Op::Repeat { ops, .. } | Op::RepeatFor { ops, .. } => waits_first(ops),
        Op::Send(_) | Op::Stream | Op::HalfClose | Op::Close | Op::Reset => Some(false),
    })
}

/// The most bytes a content can have.
fn longest(content: &Content) -> u64 {
    use session::plan::Size;
    let part = |part: &Part| match part {
        Part::Bytes(bytes) => bytes.len() as u64,
        Part::Generated(Size::Fixed(bytes)) => *bytes,
        Part::Generated(Size::Uniform { to, .. }) => *to,
        Part::Generated(Size::Weighted(weighted)) => weighted.items().iter().copied().max().unwrap_or(0),
        Part::Decimal(_, width) => u64::from((*width).max(20)),
        Part::Hex(_, width) => u64::from((*width).max(16)),
        Part::Binary(_, width) => u64::from(*width),
        Part::List { items, .. } => items.iter().map(|item| item.len() as u64).max().unwrap_or(0),
    };
    content.parts.iter().map(part).sum()
}
