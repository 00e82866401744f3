//! Reading capture files: the packets to send, and a report of packets that are left out or modified.

use super::Resolver;
use crate::document::replay::{
    ReplayChecksumsDoc, ReplayDoc, SplitByDoc, SplitDoc, TooLongDoc, TrailerDoc, UnsendableDoc,
};
use pcap::NoFrame;
use replay::{CaptureOptions, CaptureReport, Checksums, Frames, TooLong};
use std::collections::BTreeMap;
use units::{Nanos, count};

impl Resolver<'_> {
    /// The frames of a capture file, or of both sides' files, as `replay` takes them.
    pub(super) fn frames_of(&mut self, path: &str, name: &str, replay: &ReplayDoc) -> Option<Frames> {
        if let Some(gap) = &replay.max_gap {
            self.within_a_year(&format!("{path}.max_gap"), gap.0);
        }
        let options = capture_options(replay);
        let at = format!("{path}.file");
        let Some(SplitDoc::By(SplitByDoc { other: Some(other), .. })) = &replay.split else {
            return self.frames_of_one(&at, (name, &replay.file), replay, &options);
        };
        // Their gaps are those of both together.
        let alone = CaptureOptions { gap_max: None, ..options };
        let mut frames = self.frames_of_one(&at, (name, &replay.file), replay, &alone)?;
        let others = self.frames_of_one(&format!("{path}.split.other"), (name, other), replay, &alone)?;
        if let Some(apart) = frames.join(others, options.gap_max) {
            self.warnings.push(format!(
                "stream {name}: '{}' and '{other}' do not overlap: {} lie between them; their times must be of one clock",
                replay.file,
                rounded(apart)
            ));
        }
        let (gaps, by) = frames.report.gaps;
        self.warnings.extend(shortened(gaps, by).map(|sentence| format!("stream {name}: {sentence}")));
        Some(frames)
    }

    /// The frames of one file, which a key of the profile names.
    fn frames_of_one(
        &mut self,
        path: &str,
        (name, file): (&str, &str),
        replay: &ReplayDoc,
        options: &CaptureOptions,
    ) -> Option<Frames> {
        let bytes = self.file(path, file)?;
        let capture = self.of_file(path, file, pcap::read_and_free(bytes))?;
        self.warnings.extend(capture.warnings.iter().map(|warning| format!("stream {name}: {warning}")));
        let mut kinds: BTreeMap<u16, u64> = BTreeMap::new();
        for kind in capture.records.iter().filter_map(|record| capture.link_type(record)) {
            *kinds.entry(kind).or_default() += 1;
        }
        let mut frames = self.of_file(path, file, Frames::of(capture, options))?;
        if replay.to_ipv6 {
            let made = frames.make_ipv6();
            self.of_file(path, file, made)?;
        }
        let of_kind = |kind| kinds.get(&kind).copied().unwrap_or(0);
        let said = sentences(&frames.report, options, &of_kind);
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
    all.extend(shortened(gaps, by));
    all
}

fn shortened(gaps: u64, by: Nanos) -> Option<String> {
    let sentence = || format!("{} pauses shortened to 'max_gap', by {} in all", count(gaps), rounded(by));
    (gaps > 0).then(sentence)
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
