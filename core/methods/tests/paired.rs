//! Paired comparisons of devices with a known difference, by a disturbed tester: two token buckets that are 2% apart
//! are distinguished, and two that are alike are not.

use methods::{Answer, Better, Measured, Paired, PairedConfig, PairedTrial, Question, Scale, Side};

/// Packets/s that the slower bucket lets through.
const RATE: f64 = 100_000.0;
/// Packets a full bucket holds.
const DEPTH: f64 = 500.0;
/// Packets/s that are offered, and that the tester can send at most.
const OFFERED: f64 = 1.3 * RATE;
const LINE: f64 = 4.0 * RATE;
/// Steps of a trial, and their length.
const STEPS: u32 = 5_000;
const STEP_S: f64 = 2e-4;
const COMPARISONS: u64 = 50;

/// Random numbers of a trial.
struct Draws {
    key: u64,
    count: u64,
}

impl Draws {
    fn share(&mut self) -> f64 {
        self.count += 1;
        (random::word(self.key, self.count) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Load of the tester's machine.
#[derive(Clone, Copy)]
struct Machine {
    /// Pauses of the tester per second.
    pauses: f64,
    /// The longest, s.
    longest_s: f64,
}

const IDLE: Machine = Machine { pauses: 1.0, longest_s: 0.000_5 };
/// As next to two busy loops for each core: a third of the time is gone, in slices of up to 12 ms.
const BUSY: Machine = Machine { pauses: 60.0, longest_s: 0.012 };

/// Packets/s received through a token bucket of `rate`, and whether the tester stalled for more than 1% of the time.
fn trial(rate: f64, machine: Machine, draws: &mut Draws) -> Measured {
    let (mut tokens, mut due, mut received, mut paused) = (DEPTH, 0.0f64, 0.0, 0u32);
    let (mut resume, mut step) = (0, 0);
    while step < STEPS {
        tokens = (tokens + rate * STEP_S).min(DEPTH);
        due += OFFERED * STEP_S;
        if step >= resume && draws.share() < machine.pauses * STEP_S {
            resume = step + (draws.share() * machine.longest_s / STEP_S) as u32 + 1;
        }
        if step < resume {
            paused += 1;
        } else {
            // Late packets leave in a burst, of which the bucket takes no more than it has tokens for.
            let sent = due.min(LINE * STEP_S);
            due -= sent;
            let passed = sent.min(tokens).floor();
            tokens -= passed;
            received += passed;
        }
        step += 1;
    }
    let value = received / (f64::from(STEPS) * STEP_S);
    if paused > STEPS / 100 {
        return Measured::Disturbed { value: Some(value), reason: "worker 0 stalled".to_owned() };
    }
    Measured::Value(value)
}

/// Answers of comparisons of two buckets, of which B is `factor` times as fast.
fn answers(factor: f64, machine: impl Fn(PairedTrial) -> Machine) -> Vec<Answer> {
    let config = |seed| PairedConfig {
        question: Question::Differ { margin: 0.01 },
        scale: Scale::Relative,
        better: Better::Higher,
        confidence: 0.99,
        pairs: 40,
        repeats: 160,
        seed,
    };
    let compare = |seed| {
        let mut paired = Paired::new(config(seed)).unwrap();
        // The trials of a pair have one seed, but are not disturbed alike.
        let mut draws = Draws { key: random::key(seed ^ 0x5eed), count: 0 };
        while let Some(next) = paired.next_trial() {
            let rate = if next.side == Side::B { RATE * factor } else { RATE };
            paired.record(trial(rate, machine(next), &mut draws));
        }
        paired.result().answer
    };
    (0..COMPARISONS).map(compare).collect()
}

fn count(answers: &[Answer], answer: Answer) -> usize {
    answers.iter().filter(|one| **one == answer).count()
}

/// A tester's machine, by trial.
type Machines = fn(PairedTrial) -> Machine;

/// Idle, busy all the time, and busy from time to time.
fn machines() -> [(&'static str, Machines); 3] {
    [
        ("idle", |_| IDLE),
        ("busy", |_| BUSY),
        ("at times busy", |trial| if trial.pair % 5 < 3 { BUSY } else { IDLE }),
    ]
}

#[test]
fn buckets_two_per_cent_apart_are_told_apart_every_time() {
    for (name, machine) in machines() {
        let faster = answers(1.02, machine);
        assert_eq!(count(&faster, Answer::B), faster.len(), "{name}: {faster:?}");
        let slower = answers(1.0 / 1.02, machine);
        assert_eq!(count(&slower, Answer::A), slower.len(), "{name}: {slower:?}");
    }
}

#[test]
fn equal_buckets_are_called_different_at_most_once_in_fifty() {
    for (name, machine) in machines() {
        let equal = answers(1.0, machine);
        let wrong = count(&equal, Answer::A) + count(&equal, Answer::B);
        assert!(wrong <= 1, "{name}: {wrong} of {}", equal.len());
        if name != "busy" {
            assert!(count(&equal, Answer::Alike) >= 45, "{name}: {equal:?}");
        }
    }
}

#[test]
fn a_comparison_is_repeated_by_its_seed() {
    assert_eq!(answers(1.02, |_| BUSY), answers(1.02, |_| BUSY));
}
