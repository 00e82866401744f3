//! Runs programs.
//!
//! Where a flow is in its program is one number: the step, counted as if all repetitions were written out. From it
//! follow the operation, how many sends and expects came before, and so what is sent: a flow keeps no loop counters.
//!
//! The number of iterations of a timed loop is not known from any number. So such a loop ends a section of the program,
//! counted as having endless steps, and the next section has its own numbers: steps, sends and expects begin at its
//! multiple of 2^28. It begins when all data of the one before are acknowledged, and so need no retransmission.

use super::{Expect, Op, Program};
use crate::counts::Reason;
use crate::extra::Extras;
use crate::flow::{Ctx, Flag, Flow};
use crate::message::{Message, Vars};
use crate::pattern;
use crate::vary::{Delay, turn};
use std::sync::Arc;
use tcp::End;
use units::Nanos;

/// Where a flow is. 0 is before it is open.
pub(in crate::program) mod state {
    pub(in crate::program) const EXPECT: u8 = 1;
    pub(in crate::program) const WAIT: u8 = 2;
    /// Waits for its turn to send, or for another call.
    pub(in crate::program) const TURN: u8 = 3;
    /// Waits for acknowledgements.
    pub(in crate::program) const BLOCKED: u8 = 4;
    pub(in crate::program) const STREAM: u8 = 5;
    pub(in crate::program) const END: u8 = 6;
}

/// Messages on their way at most.
const UNACKED_MAX: u16 = 1024;
/// Datagrams whose bytes can still be written.
const DATAGRAMS_MAX: u16 = 16;
/// Operations carried out before others get their turn.
const BUDGET: u32 = 256;
/// Bytes of a stream passed for sending and not acknowledged.
const STREAM_AHEAD: u64 = 4 << 20;
/// Bytes kept for later before reading stops.
const STASH_MAX: usize = 64 << 10;
/// Steps and messages whose places are written out: most programs have no more.
pub(super) const NEAR: u32 = 64;
/// Bytes shown of what was expected and of what came instead.
const SHOWN_MAX: usize = 24;
const LEFT_MASK: u64 = (1 << 40) - 1;

/// Steps, sends and expects of a section, if there are several.
const SECTION_BITS: u32 = 28;
const SECTION: u32 = 1 << SECTION_BITS;

/// A program made ready.
#[derive(Debug)]
pub(crate) struct Machine {
    /// All operations but repetitions.
    items: Vec<Item>,
    /// All but the last end with a loop for a time.
    sections: Vec<Section>,
    /// Number of messages it sends and expects, if known.
    sends: u64,
    expects: u64,
    /// Whether its last step expects data: data after that are unsolicited.
    ends_with_expect: bool,
}

/// Detail of a server that sends more than its client expects.
const SURPLUS: &str = "more bytes than expected";

/// A part of a program whose steps are counted together.
#[derive(Debug)]
struct Section {
    block: Block,
    /// Where the first steps are.
    near: Vec<Place>,
    /// Senders of the first messages, in `items`.
    senders: Vec<u32>,
}

impl Section {
    fn new(block: Block) -> Self {
        let near = (0..NEAR).map_while(|step| block.locate(step)).collect();
        let senders = (0..NEAR).map_while(|number| block.sender(number)).collect();
        Self { block, near, senders }
    }

    #[inline]
    fn locate(&self, step: u32) -> Option<Place> {
        match self.near.get(step as usize) {
            Some(place) => Some(*place),
            None => self.block.locate(step),
        }
    }

    #[inline]
    fn sender(&self, number: u32) -> Option<u32> {
        match self.senders.get(number as usize) {
            Some(item) => Some(*item),
            None => self.block.sender(number),
        }
    }
}

#[derive(Debug, Default)]
struct Block {
    nodes: Vec<Node>,
    /// For node `i`: steps, sends and expects before it; one more for the whole block.
    before: Vec<Tally>,
}

#[derive(Debug)]
enum Node {
    /// In the machine's `items`.
    Item(u32),
    Repeat(Block),
}

#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    steps: u64,
    sends: u64,
    expects: u64,
}

impl Tally {
    fn plus(self, other: Self, times: u64) -> Self {
        let add = |mine: u64, theirs: u64| mine.saturating_add(theirs.saturating_mul(times));
        Self {
            steps: add(self.steps, other.steps),
            sends: add(self.sends, other.sends),
            expects: add(self.expects, other.expects),
        }
    }
}

#[derive(Debug)]
pub(super) enum Item {
    Send(Message),
    Stream,
    Bytes(u64),
    /// Whether it is compared without `verify`, too.
    Content(Message, bool),
    /// A delimiter, and of each prefix the longest that is also its suffix.
    Until(Arc<[u8]>, Vec<u8>),
    End,
    Wait(Delay),
    HalfClose,
    Close,
    Reset,
    Pause,
    Resume,
    /// A loop for a time begins.
    Clock,
    /// A round of it ends, which lasts so long.
    Round(Nanos),
}

/// Where a step is.
struct StepPosition<'a> {
    item: &'a Item,
    sends: u64,
    expects: u64,
}

/// The same, in the machine's `items`.
#[derive(Debug, Clone, Copy)]
struct Place {
    item: u32,
    sends: u64,
    expects: u64,
}

impl Block {
    /// Puts its operations into `items`.
    fn new(ops: &[Op], items: &mut Vec<Item>) -> Self {
        let mut block = Self { nodes: Vec::new(), before: vec![Tally::default()] };
        for op in ops {
            match op {
                Op::Repeat { times, ops } => {
                    let inner = Self::new(ops, items);
                    block.push(inner.all(), Node::Repeat(inner), times.map_or(u64::MAX, u64::from));
                }
                op => block.push_item(Item::new(op), items),
            }
        }
        block
    }

    fn push_item(&mut self, item: Item, items: &mut Vec<Item>) {
        let tally = item.tally();
        items.push(item);
        self.push(tally, Node::Item(items.len() as u32 - 1), 1);
    }

    fn push(&mut self, tally: Tally, node: Node, times: u64) {
        if tally.steps > 0 && times > 0 {
            let before = self.all();
            self.before.push(before.plus(tally, times));
            self.nodes.push(node);
        }
    }

    /// Index of the last item for which `begun` holds of what is before it; it holds up to some item, and no further.
    #[inline]
    fn holding(&self, begun: impl Fn(&Tally) -> bool) -> usize {
        /// Number of items up to which a linear search is faster.
        const FEW: usize = 8;
        let begun = match self.before.len() {
            0..=FEW => self.before.iter().take_while(|tally| begun(tally)).count(),
            _ => self.before.partition_point(begun),
        };
        begun - 1
    }

    /// Its last operation.
    fn last(&self) -> Option<u32> {
        match self.nodes.last()? {
            Node::Item(item) => Some(*item),
            Node::Repeat(inner) => inner.last(),
        }
    }

    fn all(&self) -> Tally {
        self.before.last().copied().unwrap_or_default()
    }

    fn locate(&self, step: u32) -> Option<Place> {
        let (mut step, mut sends, mut expects) = (u64::from(step), 0, 0);
        let mut block = self;
        loop {
            if step >= block.all().steps {
                return None;
            }
            let index = block.holding(|tally| tally.steps <= step);
            let before = block.before[index];
            step -= before.steps;
            sends += before.sends;
            expects += before.expects;
            match &block.nodes[index] {
                Node::Repeat(inner) => {
                    let all = inner.all();
                    if step >= all.steps {
                        let round = step / all.steps;
                        step -= round * all.steps;
                        sends += round * all.sends;
                        expects += round * all.expects;
                    }
                    block = inner;
                }
                Node::Item(item) => return Some(Place { item: *item, sends, expects }),
            }
        }
    }

    /// The operation that sends message `number`.
    fn sender(&self, number: u32) -> Option<u32> {
        let mut number = u64::from(number);
        let mut block = self;
        loop {
            if number >= block.all().sends {
                return None;
            }
            let index = block.holding(|tally| tally.sends <= number);
            number -= block.before[index].sends;
            match &block.nodes[index] {
                Node::Repeat(inner) => {
                    if number >= inner.all().sends {
                        number %= inner.all().sends;
                    }
                    block = inner;
                }
                Node::Item(item) => return Some(*item),
            }
        }
    }
}

impl Item {
    fn new(op: &Op) -> Self {
        match op {
            Op::Send(content) => Self::Send(Message::of(content)),
            Op::Stream => Self::Stream,
            Op::Expect(Expect::Bytes(bytes)) => Self::Bytes(*bytes),
            Op::Expect(Expect::Content(content)) => {
                let message = Message::of(content);
                let compares = message.is_known();
                Self::Content(message, compares)
            }
            Op::Expect(Expect::Recorded(content)) => Self::Content(Message::of(content), false),
            Op::Expect(Expect::Until(delimiter)) => Self::Until(delimiter.clone(), borders(delimiter)),
            Op::Expect(Expect::End) => Self::End,
            Op::Wait(delay) => Self::Wait(*delay),
            Op::Repeat { .. } | Op::RepeatFor { .. } => unreachable!("blocks and sections take them apart"),
            Op::HalfClose => Self::HalfClose,
            Op::Close => Self::Close,
            Op::Reset => Self::Reset,
            Op::Pause => Self::Pause,
            Op::Resume => Self::Resume,
        }
    }

    /// Its counts.
    fn tally(&self) -> Tally {
        let one = Tally { steps: 1, sends: 0, expects: 0 };
        match self {
            Self::Send(_) | Self::Stream => Tally { sends: 1, ..one },
            Self::Bytes(_) | Self::Content(..) | Self::Until(..) | Self::End => Tally { expects: 1, ..one },
            _ => one,
        }
    }
}

/// Of each prefix of `text` the length of the longest proper prefix that is also its suffix.
fn borders(text: &[u8]) -> Vec<u8> {
    let mut borders: Vec<u8> = vec![0; text.len()];
    let mut border = 0usize;
    for end in 1..text.len().min(255) {
        while border > 0 && text[border] != text[end] {
            border = usize::from(borders[border - 1]);
        }
        border += usize::from(text[border] == text[end]);
        borders[end] = border as u8;
    }
    borders
}

impl Machine {
    pub(crate) fn new(program: &Program) -> Self {
        let (mut items, mut sections) = (Vec::new(), Vec::new());
        let mut rest = &program.ops[..];
        while let Some(at) = rest.iter().position(|op| matches!(op, Op::RepeatFor { .. })) {
            let mut block = Block::new(&rest[..at], &mut items);
            if let Op::RepeatFor { time, ops } = &rest[at] {
                block.push_item(Item::Clock, &mut items);
                let mut round = Block::new(ops, &mut items);
                round.push_item(Item::Round(*time), &mut items);
                block.push(round.all(), Node::Repeat(round), u64::MAX);
            }
            sections.push(Section::new(block));
            rest = &rest[at + 1..];
        }
        let block = Block::new(rest, &mut items);
        let last = block.last().map(|last| &items[last as usize]);
        let ends_with_expect = matches!(last, Some(Item::Bytes(_) | Item::Content(..) | Item::Until(..)));
        sections.push(Section::new(block));
        let all = sections.iter().fold(Tally::default(), |sum, section| sum.plus(section.block.all(), 1));
        Self { sends: all.sends, expects: all.expects, items, sections, ends_with_expect }
    }

    /// All its operations as they come, repetitions written out, if they are few.
    pub(super) fn written_out(&self) -> Option<Vec<&Item>> {
        let [only] = &self.sections[..] else { return None };
        let steps = only.block.all().steps;
        let is_whole = steps <= u64::from(NEAR) && only.near.len() as u64 == steps;
        is_whole.then(|| only.near.iter().map(|place| &self.items[place.item as usize]).collect())
    }

    /// The section that a number of a step or message is in, and the number there.
    #[inline]
    fn section(&self, number: u32) -> Option<(&Section, u32)> {
        match &self.sections[..] {
            [only] => Some((only, number)),
            all => Some((all.get((number >> SECTION_BITS) as usize)?, number % SECTION)),
        }
    }

    #[inline]
    fn locate(&self, step: u32) -> Option<StepPosition<'_>> {
        let (section, within) = self.section(step)?;
        let place = section.locate(within)?;
        let before = u64::from(step - within);
        let item = &self.items[place.item as usize];
        Some(StepPosition { item, sends: before + place.sends, expects: before + place.expects })
    }

    /// The operation that sends message `number`.
    #[inline]
    fn sender(&self, number: u32) -> Option<&Item> {
        let (section, within) = self.section(number)?;
        Some(&self.items[section.sender(within)? as usize])
    }

    /// The round of a timed loop is over; returns whether to continue: with another, or, if the time is over and all is
    /// acknowledged, with the steps after the loop.
    fn round(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, time: Nanos) -> bool {
        let began = ctx.extras.of(flow).began;
        let is_full = flow.step % SECTION > SECTION - BUDGET || flow.sent % SECTION > SECTION - BUDGET;
        if ctx.now.since(began) < time && !is_full {
            return true;
        }
        if ctx.is_udp() {
            while flow.unacked > 0 {
                flow.drop_oldest(self.message_len(flow, flow.oldest()));
            }
        } else if flow.unacked > 0 {
            flow.state = state::BLOCKED;
            return false;
        }
        let next = (flow.step / SECTION + 1) * SECTION;
        (flow.step, flow.sent) = (next.wrapping_sub(1), next);
        true
    }

    /// Variables of message `number`.
    fn sent(&self, flow: &Flow, number: u64) -> Vars {
        self.vars(flow, number, self.sends)
    }

    /// Variables of expected message `number`.
    fn expected_of(&self, flow: &Flow, number: u64) -> Vars {
        self.vars(flow, number, self.expects)
    }

    fn vars(&self, flow: &Flow, request: u64, each: u64) -> Vars {
        let session = u64::from(flow.number);
        let turn = turn(session, request, Some(each).filter(|each| *each <= u64::from(u32::MAX)));
        Vars { session, request, turn, body: 0, seconds: 0 }
    }

    pub(crate) fn opened(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.state = state::TURN;
        if ctx.is_client()
            && ctx.common.up.is_some()
            && matches!(self.locate(0), Some(StepPosition { item: Item::Stream | Item::End, .. }))
        {
            let end = flow.up_end(ctx.now);
            ctx.wake_at(flow, end);
        }
        self.advance(ctx, flow);
    }

    /// Goes on as far as it goes.
    fn advance(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        self.run(ctx, flow);
        if ctx.is_udp() {
            return self.feed_datagrams(ctx, flow);
        }
        if flow.state == state::EXPECT && flow.has(Flag::Stashed) {
            let input = ctx.extras.unstash(flow);
            if input.len() > STASH_MAX && !flow.has(Flag::Paused) {
                ctx.ask.read = Some(true);
            }
            self.feed(ctx, flow, &input);
            ctx.extras.give_back(flow, input);
        }
        if flow.has(Flag::PeerClosed) && !flow.has(Flag::Stashed) {
            self.peer_closed(ctx, flow);
        }
    }

    fn run(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        for turn in 0..BUDGET {
            if !self.carry_out(ctx, flow, turn == 0) {
                return;
            }
            flow.step = flow.step.wrapping_add(1);
        }
        flow.state = state::TURN;
        ctx.wake_at(flow, ctx.now);
    }

    /// Carries out the current operation of a flow; returns whether to continue. `first` is the first of several in a
    /// row.
    #[inline(never)]
    fn carry_out(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, first: bool) -> bool {
        if flow.has(Flag::Failed) {
            return false;
        }
        let Some(place) = self.locate(flow.step) else {
            self.end(ctx, flow);
            return false;
        };
        match place.item {
            Item::Send(message) => {
                let vars = self.sent(flow, place.sends);
                return self.send(ctx, flow, message, &vars, first);
            }
            Item::Stream => {
                flow.state = state::STREAM;
                flow.sent = flow.sent.wrapping_add(1);
                flow.unacked = flow.unacked.saturating_add(1);
                ctx.extras.set_left(flow, 0);
                self.stream(ctx, flow, 0);
                return false;
            }
            Item::Bytes(0) if !ctx.is_udp() => {}
            Item::Content(message, _) if self.expected_len(flow, message, place.expects) == 0 => {}
            Item::Bytes(_) | Item::Content(..) | Item::Until(..) | Item::End => {
                self.begin_expect(ctx, flow);
                return false;
            }
            Item::Wait(delay) => {
                flow.state = state::WAIT;
                let time = delay.value(u64::from(flow.number), u64::from(flow.step));
                let mut end = ctx.now.saturating_add(time);
                if ctx.is_client() && ctx.common.up.is_some() {
                    end = end.min(flow.up_end(ctx.now));
                }
                ctx.wake_at(flow, end);
                return false;
            }
            Item::HalfClose => {
                if !flow.has(Flag::Closing) {
                    flow.set(Flag::Closing);
                    ctx.ask.close = true;
                }
            }
            Item::Close => {
                flow.state = state::END;
                ctx.close(flow);
                return false;
            }
            Item::Reset => {
                flow.state = state::END;
                flow.set(Flag::Done);
                ctx.ask.reset = true;
                return false;
            }
            Item::Pause => {
                flow.set(Flag::Paused);
                ctx.ask.read = Some(false);
            }
            Item::Resume => {
                flow.unset(Flag::Paused);
                ctx.ask.read = Some(true);
            }
            Item::Clock => ctx.extras.of(flow).began = ctx.now,
            Item::Round(time) => return self.round(ctx, flow, *time),
        }
        true
    }

    /// Sends a message; returns whether to continue.
    #[inline]
    fn send(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, message: &Message, vars: &Vars, first: bool) -> bool {
        if flow.has(Flag::Closing) {
            return true;
        }
        if ctx.is_client() && first && ctx.shall_end(flow) {
            flow.set(Flag::Stopped);
            self.end(ctx, flow);
            return false;
        }
        if ctx.is_udp() && ctx.ask.send > 0 {
            flow.state = state::TURN;
            ctx.wake_at(flow, ctx.now);
            return false;
        }
        if !ctx.is_udp() && flow.unacked >= UNACKED_MAX {
            flow.state = state::BLOCKED;
            return false;
        }
        if ctx.is_client() {
            if !ctx.may_request(flow) {
                flow.state = state::TURN;
                return false;
            }
            flow.mark(ctx.now);
            flow.unset(Flag::FirstByte);
            ctx.counts.requests += 1;
        } else if ctx.is_udp() {
            ctx.counts.transactions += 1;
        }
        if ctx.is_udp() && flow.unacked >= DATAGRAMS_MAX {
            flow.drop_oldest(self.message_len(flow, flow.oldest()));
        }
        ctx.send(flow, message.len(vars));
        true
    }

    fn message_len(&self, flow: &Flow, number: u32) -> u64 {
        match self.sender(number) {
            Some(Item::Send(message)) => message.fixed_len().unwrap_or_else(|| {
                let vars = self.sent(flow, number.into());
                message.len(&vars)
            }),
            _ => u64::MAX,
        }
    }

    /// Bytes of expected message `number`.
    #[inline]
    fn expected_len(&self, flow: &Flow, message: &Message, number: u64) -> u64 {
        message.fixed_len().unwrap_or_else(|| message.len(&self.expected_of(flow, number)))
    }

    /// Asks for more of the stream if little is on its way.
    fn stream(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, acknowledged: u64) {
        let ahead = ctx.extras.left(flow).wrapping_sub(acknowledged) & LEFT_MASK;
        if ahead <= STREAM_AHEAD / 2 {
            let more = STREAM_AHEAD - ahead;
            ctx.ask.send += more;
            ctx.counts.bytes_sent += more;
            let asked = ctx.extras.left(flow) + more;
            ctx.extras.set_left(flow, asked & LEFT_MASK);
        }
    }

    fn begin_expect(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.state = state::EXPECT;
        ctx.extras.set_left(flow, 0);
        flow.waiting = 0;
        if ctx.is_client() {
            ctx.arm(flow, ctx.common.patience.response);
        } else if ctx.common.patience.idle.is_some() {
            flow.mark(ctx.now);
            ctx.arm(flow, ctx.common.patience.idle);
        }
    }

    fn end(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.state = state::END;
        if ctx.is_client() {
            ctx.end_client(flow);
        } else if ctx.is_udp() || flow.has(Flag::PeerClosed) {
            ctx.close(flow);
        } else {
            flow.set(Flag::Done);
        }
    }

    #[inline]
    pub(crate) fn received(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) {
        if flow.has(Flag::Failed) {
            return;
        }
        if flow.state == state::END {
            return self.surplus(ctx, flow, data.len());
        }
        flow.set(Flag::Progress);
        if ctx.is_udp() {
            return self.datagram(ctx, flow, data);
        }
        self.feed(ctx, flow, data);
    }

    fn feed(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, mut data: &[u8]) {
        while flow.state == state::EXPECT && !data.is_empty() {
            let Some(place) = self.locate(flow.step) else { return };
            let Some((used, complete)) = self.expect(ctx, flow, &place, data) else { return };
            data = &data[used..];
            if complete {
                self.expected(ctx, flow);
                self.run(ctx, flow);
            }
        }
        if data.is_empty() || flow.has(Flag::Failed) || self.expects == 0 {
            return;
        }
        if flow.state == state::END {
            return self.surplus(ctx, flow, data.len());
        }
        ctx.extras.stash(flow, data);
        let kept = ctx.extras.find(flow).map_or(0, |extra| extra.input.len());
        if kept > STASH_MAX {
            ctx.ask.read = Some(false);
        }
    }

    /// More data arrived than a client expects: it fails, and the surplus is no goodput. Datagrams may be duplicated,
    /// and a client that leaves without waiting for a response ignores it.
    #[cold]
    fn surplus(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, bytes: usize) {
        if ctx.is_client() && !ctx.is_udp() && self.ends_with_expect && !flow.has(Flag::Stopped) {
            ctx.counts.bytes_received = ctx.counts.bytes_received.saturating_sub(bytes as u64);
            ctx.counts.detail(SURPLUS);
            ctx.fail(flow, Reason::WrongContent);
        }
    }

    /// An expect is complete: goes to the next operation.
    fn expected(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if ctx.is_client() {
            ctx.last_byte(flow, flow.at);
        } else {
            ctx.counts.requests += 1;
        }
        flow.step = flow.step.wrapping_add(1);
    }

    /// Takes what is expected from the beginning of `data`: how much, and whether that was all. `None` is a failure.
    #[inline]
    fn expect(
        &self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        place: &StepPosition<'_>,
        data: &[u8],
    ) -> Option<(usize, bool)> {
        let got = ctx.extras.left(flow);
        if got == 0 && ctx.is_client() {
            ctx.first_byte(flow, flow.at);
        }
        let of = |whole: u64| ((whole - got).min(data.len() as u64) as usize, whole);
        let (used, whole) = match place.item {
            Item::Bytes(bytes) => of(*bytes),
            Item::Content(message, compares) => {
                let (used, whole) = of(self.expected_len(flow, message, place.expects));
                let verify = ctx.common.verify;
                if verify || *compares {
                    let vars = self.expected_of(flow, place.expects);
                    if !message.agrees(&vars, got, &data[..used], verify) {
                        if *compares {
                            tell_apart(ctx, message, &vars, got, data);
                        }
                        ctx.fail(flow, Reason::WrongContent);
                        return None;
                    }
                }
                (used, whole)
            }
            Item::Until(delimiter, borders) => {
                ctx.extras.set_left(flow, got + 1);
                return Some(find(delimiter, borders, &mut flow.waiting, data));
            }
            _ => (data.len(), u64::MAX),
        };
        ctx.extras.set_left(flow, (got + used as u64) & LEFT_MASK);
        Some((used, got + used as u64 == whole))
    }

    fn datagram(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) {
        if flow.state != state::EXPECT {
            if self.expects > 0 {
                ctx.keep_datagram(flow, data);
            }
            return;
        }
        self.take_datagram(ctx, flow, data);
        self.feed_datagrams(ctx, flow);
    }

    fn feed_datagrams(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        while flow.state == state::EXPECT && !flow.has(Flag::Failed) {
            let Some(data) = ctx.extras.find_mut(flow).and_then(|extra| extra.datagrams.pop_front()) else {
                return;
            };
            self.take_datagram(ctx, flow, &data);
        }
    }

    /// One datagram, one expect.
    fn take_datagram(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) {
        let Some(place) = self.locate(flow.step) else { return };
        if matches!(place.item, Item::End) {
            return;
        }
        if matches!(place.item, Item::Bytes(0)) || data.is_empty() {
            if ctx.is_client() {
                ctx.first_byte(flow, flow.at);
            }
        } else {
            match self.expect(ctx, flow, &place, data) {
                Some((used, true)) if used == data.len() || matches!(place.item, Item::Until(..)) => {}
                Some(_) => return ctx.fail(flow, Reason::WrongContent),
                None => return,
            }
        }
        self.expected(ctx, flow);
        self.run(ctx, flow);
    }

    pub(crate) fn finished(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.set(Flag::PeerClosed);
        if !flow.has(Flag::Failed) && !flow.has(Flag::Stashed) {
            self.peer_closed(ctx, flow);
        }
    }

    /// The other end has closed, and all it sent was taken or is not wanted.
    fn peer_closed(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        match flow.state {
            state::EXPECT => {
                if matches!(self.locate(flow.step), Some(StepPosition { item: Item::End, .. })) {
                    self.expected(ctx, flow);
                    return self.run(ctx, flow);
                }
                let boundary = ctx.extras.left(flow) == 0 && !ctx.is_client();
                if !boundary {
                    ctx.fail_softly(flow, Reason::ClosedEarly);
                }
                flow.state = state::END;
                ctx.close(flow);
            }
            state::STREAM | state::END => {
                flow.state = state::END;
                ctx.close(flow);
            }
            state::WAIT | state::TURN if ctx.is_client() => {
                if let Some(requests) = self.unasked(flow) {
                    ctx.counts.unasked += requests;
                    flow.state = state::END;
                    ctx.close(flow);
                }
            }
            _ => {}
        }
    }

    /// Requests a client has left to send, if all before had responses and the next one can no longer be sent: its
    /// server has closed. Of a program without end, 0.
    fn unasked(&self, flow: &Flow) -> Option<u64> {
        let here = self.locate(flow.step)?;
        if here.expects == 0 {
            return None;
        }
        let mut asks = false;
        for step in flow.step..flow.step.saturating_add(NEAR) {
            match self.locate(step)?.item {
                Item::Send(_) => asks = true,
                Item::Bytes(_) | Item::Content(..) | Item::Until(..) if asks => {
                    let ends = self.sends <= u64::from(u32::MAX);
                    return Some(if ends { self.sends - here.sends } else { 0 });
                }
                Item::Bytes(_) | Item::Content(..) | Item::Until(..) | Item::End => return None,
                _ => {}
            }
        }
        None
    }

    #[inline]
    pub(crate) fn acknowledged(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, offset: u64) {
        while flow.unacked > 0 {
            let len = self.message_len(flow, flow.oldest());
            if flow.since_base(offset) < len {
                break;
            }
            ctx.counts.transactions += u64::from(!ctx.is_client());
            flow.drop_oldest(len);
        }
        match flow.state {
            state::BLOCKED if flow.unacked < UNACKED_MAX / 2 => self.advance(ctx, flow),
            state::STREAM if flow.unacked == 1 && !flow.has(Flag::Closing) => {
                let acknowledged = flow.since_base(offset);
                self.stream(ctx, flow, acknowledged);
            }
            _ => {}
        }
    }

    pub(crate) fn woke(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        let at = flow.state;
        match at {
            state::WAIT if ctx.is_client() && ctx.shall_end(flow) => {
                flow.set(Flag::Stopped);
                self.end(ctx, flow);
            }
            state::WAIT => {
                flow.step = flow.step.wrapping_add(1);
                self.advance(ctx, flow);
            }
            state::TURN => self.advance(ctx, flow),
            state::EXPECT if ctx.is_client() => {
                let sink = matches!(self.locate(flow.step), Some(StepPosition { item: Item::End, .. }));
                if sink && ctx.shall_end(flow) {
                    flow.set(Flag::Stopped);
                    ctx.end_client(flow);
                } else if ctx.has_run_out(flow, ctx.common.patience.response) {
                    ctx.fail(flow, Reason::ResponseTimeout);
                }
            }
            state::EXPECT if ctx.has_run_out(flow, ctx.common.patience.idle) => {
                ctx.fail(flow, Reason::IdleTimeout);
            }
            state::STREAM if ctx.is_client() && ctx.shall_end(flow) => {
                // It goes on until its turn to close comes.
                flow.set(Flag::Stopped);
                ctx.end_client(flow);
                if flow.has(Flag::Closing) {
                    flow.state = state::END;
                }
            }
            state::END if ctx.is_client() => ctx.end_client(flow),
            _ => {}
        }
    }

    /// The run is over: closes now, or once the transaction it is at is done.
    pub(crate) fn stop(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        let at_boundary = match flow.state {
            0 => return,
            state::EXPECT if ctx.is_client() => {
                matches!(self.locate(flow.step), Some(StepPosition { item: Item::End, .. }))
            }
            state::EXPECT => ctx.extras.left(flow) == 0,
            _ => true,
        };
        if at_boundary {
            flow.set(Flag::Stopped);
            if flow.state != state::EXPECT {
                flow.state = state::END;
            }
            ctx.close(flow);
        }
    }

    /// Whether it waits for something that is neither the other end's close nor a stream without end.
    pub(crate) fn awaits_reply(&self, flow: &Flow) -> bool {
        flow.state == state::EXPECT
            && self.locate(flow.step).is_some_and(|place| !matches!(place.item, Item::End))
    }

    /// Whether nothing was missing when a flow ended.
    pub(crate) fn is_complete(&self, flow: &Flow, extras: &Extras, client: bool, end: End) -> bool {
        let served = end == End::Closed || flow.step > 0;
        flow.has(Flag::Done) || !client && flow.state == state::EXPECT && extras.left(flow) == 0 && served
    }

    pub(crate) fn fill(&self, flow: &Flow, _: &Extras, offset: u64, out: &mut [u8]) {
        let (mut at, mut number) = (flow.since_base(offset), flow.oldest());
        let mut out = out;
        while !out.is_empty() && number != flow.sent {
            let vars = self.sent(flow, number.into());
            let Some(item) = self.sender(number) else { break };
            let Item::Send(message) = item else {
                return pattern::write(u64::from(number), at, out);
            };
            let len = message.len(&vars);
            if at < len {
                let written = message.write(&vars, at, out);
                out = &mut out[written..];
                at += written as u64;
            }
            if at >= len {
                at -= len;
                number = number.wrapping_add(1);
            }
        }
        out.fill(0);
    }
}

/// Says what came in place of what was expected.
#[cold]
fn tell_apart(ctx: &mut Ctx<'_>, message: &Message, vars: &Vars, offset: u64, data: &[u8]) {
    let mut expected = [0; SHOWN_MAX];
    let len = message.write(vars, offset, &mut expected);
    let came = &data[..data.len().min(SHOWN_MAX)];
    let text = format!("expected '{}', received '{}'", expected[..len].escape_ascii(), came.escape_ascii());
    ctx.counts.detail(&text);
}

/// Looks for a delimiter, `matched` bytes of which ended what came before: bytes used, and whether it is found.
fn find(delimiter: &[u8], borders: &[u8], matched: &mut u8, data: &[u8]) -> (usize, bool) {
    let mut at = usize::from(*matched);
    for (index, byte) in data.iter().enumerate() {
        while at > 0 && delimiter.get(at) != Some(byte) {
            at = usize::from(borders[at - 1]);
        }
        at += usize::from(delimiter.get(at) == Some(byte));
        if at >= delimiter.len() {
            *matched = 0;
            return (index + 1, true);
        }
    }
    *matched = at as u8;
    (data.len(), false)
}
