//! A stream whose packets differ: in length, in fields, or altogether.

use super::integrity::Filler;
use super::template::{Blocks, Template};
use field::Choice;
use jit::Runner;
use port::Burst;
use profile::plan::Sizes;
use replay::{Flows, Loops};
use std::ops::Range;
use std::sync::Arc;
use wire::signature::LaneMark;

/// Data of one worker for sending such a stream.
pub(crate) struct Varied {
    /// The kinds of packet there are.
    templates: Vec<Template>,
    /// Which packet is of which kind.
    choice: Choice,
    /// Writes the fields that vary, if any do.
    runner: Option<Runner>,
    /// Turns captured packets into others, if enabled.
    remake: Option<Remake>,
    /// Fills payloads that are compared where they arrive.
    filler: Option<Filler>,
}

/// How captured packets become others.
pub(crate) enum Remake {
    /// Those of flows.
    Flows(Arc<Flows>),
    /// Those of loops, with other addresses.
    Loops(Arc<Loops>),
}

impl Remake {
    #[inline]
    fn write(&self, number: u64, frame: &mut [u8]) {
        match self {
            Self::Flows(flows) => flows.write(number, frame),
            Self::Loops(loops) => loops.write(number, frame),
        }
    }
}

/// Packets of a stream.
pub(crate) enum TxContent {
    /// All of one template.
    Same(Template),
    /// Index among the streams whose packets differ.
    Varied(u32),
}

impl TxContent {
    /// Joins others: templates' bytes lie `blocks` further on, after this number of streams whose packets differ.
    pub(crate) fn shift(&mut self, blocks: u32, varied: u32) {
        match self {
            Self::Same(template) => template.shift(blocks),
            Self::Varied(index) => *index += varied,
        }
    }
}

/// Packets to build: some of the frames of a burst, from a number on.
pub(crate) struct Slice {
    /// Which frames.
    pub(crate) frames: Range<usize>,
    /// Frames before this one hold their template already.
    pub(crate) fresh: usize,
    /// Number of the first packet in its stream.
    pub(crate) number: u64,
    /// Lane that they belong to.
    pub(crate) lane: LaneMark,
    /// The first one's sequence number in the lane.
    pub(crate) sequence: u32,
    /// When they leave.
    pub(crate) time: u64,
}

impl Varied {
    /// Templates for each of `sizes`, with `runner` bound to all of them.
    pub(crate) fn new(templates: Vec<Template>, sizes: &Sizes, runner: Option<Runner>) -> Self {
        Self { templates, choice: sizes.choice.clone(), runner, remake: None, filler: None }
    }

    /// Templates that are sent one after the other, and again, each time as `remake` makes them: packets of flows, which are numbered flow by
    /// flow, or of loops.
    pub(crate) fn in_turn(templates: Vec<Template>, remake: Option<Remake>) -> Self {
        let choice = Choice::sequence((0..templates.len() as u32).collect());
        Self { templates, choice, runner: None, remake, filler: None }
    }

    /// With payloads that are compared where they arrive, if there is what fills them.
    pub(crate) fn filled_by(self, filler: Option<Filler>) -> Self {
        Self { filler, ..self }
    }

    /// The stream's content: its template, if there is one and no field varies, else its place among `all` that differ.
    pub(crate) fn content(mut self, all: &mut Vec<Self>) -> TxContent {
        if self.runner.is_none()
            && self.remake.is_none()
            && self.filler.is_none()
            && self.templates.len() == 1
            && let Some(only) = self.templates.pop()
        {
            return TxContent::Same(only);
        }
        all.push(self);
        TxContent::Varied(all.len() as u32 - 1)
    }

    /// Sends all of them to another hardware address.
    pub(crate) fn send_to(&mut self, blocks: &mut Blocks, mac: [u8; 6]) {
        self.templates.iter_mut().for_each(|template| template.send_to(blocks, mac));
    }

    /// Its templates' bytes lie `blocks` further on.
    pub(crate) fn shift(&mut self, blocks: u32) {
        self.templates.iter_mut().for_each(|template| template.shift(blocks));
    }

    #[inline(always)]
    fn kind(&self, number: u64) -> usize {
        if self.templates.len() == 1 { 0 } else { self.choice.pick(number) as usize }
    }

    /// Makes frames hold their packets.
    #[inline]
    pub(crate) fn build(&mut self, burst: &mut Burst, blocks: &Blocks, slice: &Slice) {
        let end = slice.frames.end;
        let mut at = slice.frames.start;
        while at < end {
            let done = at - slice.frames.start;
            let number = slice.number + done as u64;
            let sequence = slice.sequence.wrapping_add(done as u32);
            let kind = self.kind(number);
            let until = self.until(kind, number, at, end);
            let template = &self.templates[kind];
            template.fill(burst, blocks, at.max(slice.fresh)..until.max(slice.fresh));
            if let Some(remake) = &self.remake {
                (number..)
                    .zip(at..until)
                    .for_each(|(number, i)| remake.write(number, burst.frame_mut(i).data_mut()));
            }
            if let Some(filler) = &self.filler {
                for (k, i) in (at..until).enumerate() {
                    filler.write(burst.frame_mut(i).data_mut(), sequence.wrapping_add(k as u32));
                }
            }
            match (&mut self.runner, &template.stamp) {
                (Some(runner), _) => runner.run(burst, at..until, kind, number, sequence, slice.time),
                (None, Some(stamp)) => {
                    stamp.write_all(burst.data_mut(at..until), &slice.lane.at(slice.time), sequence);
                }
                (None, None) => {}
            }
            at = until;
        }
    }

    /// The frame after the last of those from `at` on that are of the same kind.
    #[inline(always)]
    fn until(&self, kind: usize, number: u64, at: usize, end: usize) -> usize {
        if self.templates.len() == 1 {
            return end;
        }
        let mut until = at + 1;
        while until < end && self.kind(number + (until - at) as u64) == kind {
            until += 1;
        }
        until
    }

    /// Bytes with FCS of the `run` packets from `number` on.
    #[inline]
    pub(crate) fn bytes(&self, number: u64, run: u32) -> u64 {
        if let [only] = &self.templates[..] {
            return u64::from(run) * only.frame_bytes();
        }
        (number..number + u64::from(run)).map(|number| self.templates[self.kind(number)].frame_bytes()).sum()
    }
}
