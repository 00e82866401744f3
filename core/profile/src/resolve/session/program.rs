//! Programs, and conversations from captures, which become programs.

use super::app::{Surroundings, nothing};
use crate::document::app::{ConversationDoc, OpDoc, OpKeys, OpWord, ProgramDoc, TimingDoc};
use crate::document::content::ContentDoc;
use crate::resolve::Resolver;
use session::plan::{AppPlan, Carrier, Content, Expect, Op, Part, Program};
use session::{ConversationOptions, conversations};
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

    fn ops(&mut self, path: &str, docs: &[OpDoc], room: Option<u64>, outermost: bool) -> Vec<Op> {
        let mut ops = Vec::new();
        for (index, doc) in docs.iter().enumerate() {
            let path = format!("{path}[{index}]");
            let Some(op) = self.op(&path, doc, room) else { continue };
            let is_last = matches!(op, Op::Stream | Op::Close | Op::Reset);
            let endless = matches!(op, Op::Repeat { times: None, .. });
            if is_last && !outermost {
                self.reading.fail(path, "ends the program: it is not allowed in 'repeat'");
            } else if (is_last || endless) && index + 1 < docs.len() {
                self.reading.fail(path, "never ends: it must be the last step");
            }
            ops.push(op);
        }
        ops
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
                Some(Op::Repeat { times: repeat.times.times(), ops })
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

    /// What is sent at once: at least a byte, at most a datagram.
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
        let capture = match pcap::read(&bytes[..]) {
            Ok(capture) => capture,
            Err(error) => {
                self.reading.fail(file_path, format!("'{}': {error}", doc.file));
                return None;
            }
        };
        let pauses = (doc.timing == TimingDoc::AsCaptured).then_some(Nanos::ZERO);
        let found = conversations(&capture, ConversationOptions { pauses });
        let (number, all) = (doc.conversation.unwrap_or(1), found.all.len());
        let Some(one) = found.all.into_iter().nth(number as usize - 1) else {
            let reason = match all {
                0 => format!("in '{}' nothing is said over TCP or UDP", doc.file),
                _ => format!("there is no conversation {number} in '{}'; it has {all}", doc.file),
            };
            let at = if all == 0 { file_path } else { format!("{path}.conversation") };
            self.reading.fail(at, reason);
            return None;
        };
        if one.missing > 0 {
            let warning = format!(
                "{path}: of what conversation {number} says {} bytes are not in '{}'; zeros are said instead",
                one.missing, doc.file
            );
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        Some(Conversation { app: one.app, carrier: one.carrier, port: one.server.port() })
    }
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
