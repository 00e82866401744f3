//! Reading capture files: the packets to send, and a report of packets that are left out or modified.

use super::Resolver;
use crate::document::replay::{ReplayChecksumsDoc, ReplayDoc, TooLongDoc, TrailerDoc, UnsendableDoc};
use pcap::NoFrame;
use replay::{CaptureOptions, CaptureReport, Checksums, Frames, TooLong};
use units::{Nanos, count};

impl Resolver<'_> {
    /// The frames of a capture file, as `replay` takes them.
    pub(super) fn frames_of(&mut self, path: &str, name: &str, replay: &ReplayDoc) -> Option<Frames> {
        let bytes = self.file(&format!("{path}.file"), &replay.file)?;
        let capture = self.of_file(path, replay, pcap::read(&bytes[..]))?;
        self.warnings.extend(capture.warnings.iter().map(|warning| format!("stream {name}: {warning}")));
        if let Some(gap) = &replay.max_gap {
            self.within_a_year(&format!("{path}.max_gap"), gap.0);
        }
        let options = capture_options(replay);
        let mut frames = self.of_file(path, replay, Frames::new(&capture, &options))?;
        if replay.to_ipv6 {
            let made = frames.make_ipv6();
            self.of_file(path, replay, made)?;
        }
        let said = sentences(&frames.report, &options, &|kind| {
            capture.records.iter().filter(|record| capture.link_type(record) == Some(kind)).count() as u64
        });
        self.warnings.extend(said.into_iter().map(|sentence| format!("stream {name}: {sentence}")));
        Some(frames)
    }
}

/// Treatment of packets that can't be sent unmodified.
pub(crate) fn capture_options(replay: &ReplayDoc) -> CaptureOptions {
    CaptureOptions {
        skip_unsendable: replay.unsendable == UnsendableDoc::Skip,
        too_long: too_long(replay.too_long),
        mtu: replay.mtu.as_ref().map(|mtu| usize::from(mtu.0)),
        checksums: match replay.checksums {
            ReplayChecksumsDoc::Keep => Checksums::Keep,
            ReplayChecksumsDoc::Unfinished => Checksums::Unfinished,
            ReplayChecksumsDoc::All => Checksums::All,
        },
        gap_max: replay.max_gap.as_ref().map(|gap| gap.0),
        cut_trailers: replay.trailer == TrailerDoc::Cut,
    }
}

/// Treatment of packets that are too long.
pub(super) fn too_long(written: TooLongDoc) -> TooLong {
    match written {
        TooLongDoc::Refuse => TooLong::Refuse,
        TooLongDoc::Skip => TooLong::Skip,
        TooLongDoc::Cut => TooLong::Cut,
        TooLongDoc::Segment => TooLong::Segment,
    }
}

/// A number of packets.
fn packets(n: u64) -> String {
    format!("{} packet{}", count(n), if n == 1 { "" } else { "s" })
}

/// Report of left-out and modified packets of a capture, in sentences.
fn sentences(report: &CaptureReport, options: &CaptureOptions, of_kind: &dyn Fn(u16) -> u64) -> Vec<String> {
    let mut all = Vec::new();
    if report.left_out() > 0 {
        let reasons = left_out(report, of_kind).join("; ");
        all.push(format!("{} of {} left out: {reasons}", count(report.left_out()), packets(report.packets)));
    }
    let fitted = &report.fitted;
    if fitted.cut > 0 {
        all.push(format!("{} cut to the longest length", packets(fitted.cut)));
    }
    if fitted.segmented > 0 || fitted.fragmented > 0 {
        let cut = fitted.segmented + fitted.fragmented;
        all.push(format!(
            "{} cut into {} ({} into TCP segments, {} into IP fragments)",
            packets(cut),
            count(fitted.pieces),
            count(fitted.segmented),
            count(fitted.fragmented)
        ));
    }
    if fitted.shortened > 0 {
        all.push(format!(
            "{} too long and not captured whole: they are filled up to the longest length only",
            packets(fitted.shortened)
        ));
    }
    if report.lengths > 0 {
        all.push(format!(
            "{} had an IP length of 0, left to a network card: it is filled in",
            packets(report.lengths)
        ));
    }
    all.extend(checksums(report, options.checksums));
    let (backward, first) = report.backward;
    if backward > 0 {
        all.push(format!(
            "{} in the file after packets with later times, the first is packet {first}: all are sent in the order of their times",
            packets(backward)
        ));
    }
    let (gaps, by) = report.gaps;
    if gaps > 0 {
        all.push(format!("{} pauses shortened to 'max_gap', by {} in all", count(gaps), rounded(by)));
    }
    all
}

fn rounded(time: Nanos) -> Nanos {
    const SECOND: u64 = 1_000_000_000;
    if time.0 > 100 * SECOND { Nanos(time.0 / SECOND * SECOND) } else { time }
}

/// Why packets are left out.
fn left_out(report: &CaptureReport, of_kind: &dyn Fn(u16) -> u64) -> Vec<String> {
    let unsendable = report.unsendable.iter().map(|(reason, n)| match reason {
        NoFrame::NotIp(kind) if of_kind(*kind) > *n => {
            format!("{} of link type {kind} without IP", packets(*n))
        }
        reason => format!("{} {}", packets(*n), replay::why(*reason, *n)),
    });
    let mut reasons: Vec<String> = unsendable.collect();
    if report.fitted.skipped > 0 {
        reasons.push(format!(
            "{} too long; 'too_long: cut' or 'segment' sends them",
            packets(report.fitted.skipped)
        ));
    }
    reasons
}

/// Which checksums are wrong, and what becomes of them.
fn checksums(report: &CaptureReport, which: Checksums) -> Option<String> {
    let (mut left, mut repaired, mut kinds) = (0, 0, Vec::new());
    for (name, counts) in &report.checksums {
        let wrong = counts.unfinished + counts.wrong;
        left += wrong - counts.repaired;
        repaired += counts.repaired;
        let of_card = match counts.unfinished {
            0 => String::new(),
            n => format!(" ({} left to a network card)", count(n)),
        };
        kinds.push(format!("{} of {name}{of_card}", count(wrong)));
    }
    let kinds = kinds.join(", ");
    let remedy = match which {
        _ if left == 0 => String::new(),
        Checksums::Keep => {
            format!("; {} stay wrong, 'checksums: unfinished' or 'all' puts them right", count(left))
        }
        _ => format!("; {} stay wrong, 'checksums: all' puts them right", count(left)),
    };
    let done = if repaired == 0 { String::new() } else { format!("; {} put right", count(repaired)) };
    (left + repaired > 0).then(|| format!("wrong checksums: {kinds}{done}{remedy}"))
}
