//! Each worker's part of a trial's ports: a transmitter with its streams, a receiver.

use super::hosts::hosts_mtu;
use super::resolved::{Trial, TrialStream};
use super::rig::Rig;
use crate::error::EngineError;
use crate::worker::cap::Cap;
use crate::worker::receive::Receiver;
use crate::worker::template::{Blocks, Template};
use crate::worker::transmit::{Signer, Transmitter, TxLoad, TxStream};
use crate::worker::varied::{Remake, Varied};
use field::Program;
use jit::{Jit, Runner};
use port::TxOffload;
use profile::plan::{ChainLink, ChainPlan, ChecksumBy};
use replay::{Loops, TracePacket};
use sched::{Chain, Link, Schedule, Share};
use std::collections::HashMap;
use std::ops::Range;
use units::{FrameLen, Nanos};
use wire::signature::{LaneMark, Stamp};
use wire::{Packet, PacketSpec};

/// One worker's side of every port.
pub(crate) type Endpoints<'q> = (Vec<Transmitter<'q>>, Vec<Receiver<'q>>);

impl Trial<'_> {
    /// The ports that each worker sends from, and its share of them.
    pub(crate) fn senders(&self, queues: &[usize], workers: usize) -> Vec<Vec<(usize, Share)>> {
        let mut all = vec![Vec::new(); workers];
        let mut next = 0;
        for (port, queues) in queues.iter().enumerate() {
            let senders = workers.min(*queues);
            let first = self.first_sender(port, senders, workers, next);
            for n in 0..senders {
                all[(first + n) % workers].push((port, Share { index: n as u16, of: senders as u16 }));
            }
            next += if senders < workers { senders } else { 0 };
        }
        all
    }

    /// The first worker of a port. Ports with fewer queues than there are workers are spread over these, each port
    /// whole: the receiving worker also replies. Sessions belong to the first workers.
    fn first_sender(&self, port: usize, senders: usize, workers: usize, next: usize) -> usize {
        if senders < workers && !self.has_sessions(port) { next } else { 0 }
    }

    /// Both sides of every port for each worker. If fields vary, what writes them is made in `jit`.
    pub(crate) fn endpoints<'q>(
        &self,
        rig: &'q mut Rig,
        workers: usize,
        jit: &mut Option<Jit>,
    ) -> Result<Vec<Endpoints<'q>>, EngineError> {
        let mut all: Vec<Endpoints<'q>> = (0..workers).map(|_| (Vec::new(), Vec::new())).collect();
        let mut next = 0;
        let marks = self.marks();
        for (index, port) in rig.ports.iter_mut().enumerate() {
            let senders = port.queues.tx.len().min(workers);
            let mtu = hosts_mtu(port.port.facts());
            let (entries, exit) = match &mut port.punt {
                Some(punt) => (&mut punt.entries[..], Some(&mut punt.exit)),
                None => (&mut [][..], None),
            };
            let (mut entries, mut exit) = (entries.iter_mut(), exit);
            let wanted = crate::emulation::wanted(&self.plan.ports[index]);
            let first = self.first_sender(index, senders, workers, next);
            for (n, queue) in port.queues.tx.iter_mut().take(workers).enumerate() {
                let share = Share { index: n as u16, of: senders as u16 };
                let mut transmitter = self.transmitter(queue.as_mut(), index, share, jit)?;
                transmitter.limit(self.cap(index, senders as u16));
                if let Some(exit) = exit.take() {
                    transmitter.punt(exit);
                }
                all[(first + n) % workers].0.push(transmitter);
            }
            // A port with more receive queues than there are workers: they take turns at them.
            for (n, queue) in port.queues.rx.iter_mut().enumerate() {
                let mut receiver = Receiver::new(queue.as_mut(), index, self.mark, mtu);
                receiver.count_marks(marks.clone());
                receiver.track(self.trackers.clone());
                receiver.compare(self.integrity.clone());
                if let Some(entry) = entries.next() {
                    receiver.punt(entry);
                }
                receiver.leave_to_control(wanted.clone());
                all[(first + n) % workers].1.push(receiver);
            }
            next += if senders < workers { senders } else { 0 };
        }
        Ok(all)
    }

    /// Whether clients or servers of sessions are behind a port.
    pub(crate) fn has_sessions(&self, port: usize) -> bool {
        let plans = self.plan.sessions.iter().map(|entry| &entry.session);
        plans.flat_map(|plan| plan.client.iter().chain(&plan.server)).any(|side| side.port == port)
    }

    /// The streams that this process sends from a port, with their numbers.
    fn sent_from(&self, port: usize) -> impl Iterator<Item = (usize, &TrialStream)> {
        let here = self.plan.sent_elsewhere.is_none();
        self.streams.iter().enumerate().filter(move |(_, stream)| here && stream.from == port)
    }

    /// Maximum rate of a worker on a port that `senders` workers send from.
    fn cap(&self, port: usize, senders: u16) -> Option<Cap> {
        let limit = self.plan.ports[port].rate_max?;
        Cap::new(limit, senders, self.plan.longest_frame().max(64))
    }

    fn transmitter<'q>(
        &self,
        queue: &'q mut dyn port::TxQueue,
        port: usize,
        share: Share,
        jit: &mut Option<Jit>,
    ) -> Result<Transmitter<'q>, EngineError> {
        let signer = self.signer(share);
        let all = 0..self.streams.len();
        let mut load = self.load(port, share, all.clone(), jit)?;
        self.schedule(&mut load, port, share, all, Nanos::ZERO);
        Ok(Transmitter::new(queue, port, signer, load, self.shape))
    }

    fn signer(&self, share: Share) -> Signer {
        Signer { mark: self.mark, lane: share.index as u8 }
    }

    /// Load of one of a port's workers from `streams`, without a schedule.
    pub(crate) fn load(
        &self,
        port: usize,
        share: Share,
        streams: Range<usize>,
        jit: &mut Option<Jit>,
    ) -> Result<TxLoad, EngineError> {
        let mut load = TxLoad::default();
        for (index, stream) in self.sent_from(port).filter(|(index, _)| streams.contains(index)) {
            let templates = self.templates(index, share, &mut load.blocks, jit)?;
            let paced = stream.load.pace.is_paced();
            load.streams.push(TxStream::new(index as u32, templates.content(&mut load.varied), paced));
        }
        Ok(load)
    }

    /// When it is sent: from `begin` on. Streams of the port before them have the first places in its schedule.
    pub(crate) fn schedule(
        &self,
        load: &mut TxLoad,
        port: usize,
        share: Share,
        streams: Range<usize>,
        begin: Nanos,
    ) {
        let (mut loads, mut places) = (Vec::new(), HashMap::new());
        for (place, (index, stream)) in (0..).zip(self.sent_from(port)) {
            if !streams.contains(&index) {
                continue;
            }
            places.insert(index, place);
            if !stream.chained {
                loads.push((place, stream.load.clone()));
            }
            load.ends.push(stream.end);
        }
        let chains: Vec<Chain> =
            self.plan.chains.iter().filter_map(|chain| self.chain(chain, &places)).collect();
        let (duration, stagger) = (self.plan.duration.since(begin), self.plan.stagger);
        load.schedule = Schedule::beginning(&loads, &chains, begin, duration, share, stagger);
    }

    /// A chain of the plan as the schedule of its port has it; `None` if it is another port's.
    fn chain(&self, chain: &ChainPlan, places: &HashMap<usize, u32>) -> Option<Chain> {
        let link = |link: &ChainLink| {
            let load = self.streams[link.stream].load.clone();
            let (gap, ends_at_last) = (link.gap, link.ends_at_last);
            Some(Link { stream: *places.get(&link.stream)?, load, gap, ends_at_last })
        };
        let links = chain.links.iter().map(link).collect::<Option<Vec<_>>>()?;
        let ChainPlan { loops, repeat_from, last, .. } = *chain;
        Some(Chain { links, loops, repeat_from, last, start_delay: Nanos::ZERO })
    }

    /// A worker's templates of a stream.
    fn templates(
        &self,
        index: usize,
        share: Share,
        blocks: &mut Blocks,
        jit: &mut Option<Jit>,
    ) -> Result<Varied, EngineError> {
        let (stream, plan) = (&self.streams[index], &self.plan.streams[index]);
        let lane = self.mark.lane(index as u32, share.index as u8);
        let bad = |reason: String| EngineError::Stream { stream: plan.name.clone(), reason };
        if let Some(trace) = &plan.replay {
            let template = |packet: &TracePacket| {
                let mut frame = packet.bytes.clone();
                for (place, mac) in stream.macs.iter().enumerate() {
                    if let Some(mac) = mac {
                        frame[6 * place..][..6].copy_from_slice(mac);
                    }
                }
                Template::of_bytes(blocks, &frame)
            };
            let templates = trace.packets.iter().map(template).collect();
            let loops =
                || plan.loop_addresses.as_ref().map(|rule| Remake::Loops(Loops::new(trace, rule).into()));
            let remake = plan.flows.clone().map(Remake::Flows).or_else(loops);
            return Ok(Varied::in_turn(templates, remake));
        }
        let (mut filler, spec) = (None, stream.packet(plan));
        let mut built = |size: &FrameLen| -> Result<Packet, EngineError> {
            let mut packet = spec.build(*size).map_err(|e| bad(e.to_string()))?;
            if let Some(integrity) = &self.integrity {
                filler = integrity.filler(index as u32, share.index as u8, &spec, &mut packet);
            }
            Ok(packet)
        };
        if let Some(vary) = &plan.vary {
            let lane = stream.measured.then_some(lane);
            let (mut templates, mut programs) = (Vec::new(), Vec::new());
            for size in &plan.sizes.lengths {
                let mut packet = built(size)?;
                programs.push(Program::new(vary, &mut packet, lane).map_err(|e| bad(e.to_string()))?);
                templates.push(Template::new(blocks, &packet, None, TxOffload::default()));
            }
            let made = match jit.take() {
                Some(jit) => jit,
                None => Jit::new().map_err(|e| EngineError::Machine(e.to_string()))?,
            };
            let runner = Runner::new(jit.insert(made), programs).map_err(|e| bad(e.to_string()))?;
            return Ok(Varied::new(templates, &plan.sizes, Some(runner)).filled_by(filler));
        }
        let templates = plan.sizes.lengths.iter().map(|size| self.signed(index, &lane, built(size)?, blocks));
        let templates = templates.collect::<Result<_, _>>()?;
        Ok(Varied::new(templates, &plan.sizes, None).filled_by(filler))
    }

    /// The template of a packet in which nothing varies but the signature, if it has one.
    fn signed(
        &self,
        index: usize,
        lane: &LaneMark,
        mut packet: Packet,
        blocks: &mut Blocks,
    ) -> Result<Template, EngineError> {
        let stream = &self.streams[index];
        if !stream.measured {
            return Ok(Template::new(blocks, &packet, None, TxOffload::default()));
        }
        if self.plan.ports[stream.from].checksum == ChecksumBy::Offload
            && let Some((stamp, l2_len, l3_len)) = Stamp::prepare_offload(&mut packet, lane)
        {
            let offload = offload(&self.plan.streams[index].packet, l2_len as u8, l3_len as u16);
            return Ok(Template::new(blocks, &packet, Some(stamp), offload));
        }
        let stamp = Stamp::prepare(&mut packet, lane).ok_or_else(|| EngineError::Stream {
            stream: self.plan.streams[index].name.clone(),
            reason: format!("a frame of {} bytes has no room for the signature", packet.bytes.len() + 4),
        })?;
        Ok(Template::new(blocks, &packet, Some(stamp), TxOffload::default()))
    }
}

fn offload(packet: &PacketSpec, l2_len: u8, l3_len: u16) -> TxOffload {
    let has = |name: &str| packet.headers.iter().any(|h| h.protocol.name == name);
    let family = if has("ipv4") { port::TX_FLAG_IPV4 } else { port::TX_FLAG_IPV6 };
    let transport = if has("tcp") { port::TX_FLAG_TCP_CHECKSUM } else { port::TX_FLAG_UDP_CHECKSUM };
    TxOffload { flags: family | transport, l2_len, l3_len }
}
