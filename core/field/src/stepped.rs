//! Variables as a generator has them that steps from packet to packet: a small model, and that programs, which know only
//! numbers, have the same values.

use crate::{Choice, FlowOrder, Flows, ListOrder, Pick, Program, Source, Variable, Vary};
use proptest::prelude::*;
use std::sync::Arc;

/// Step of a variable.
#[derive(Debug, Clone)]
enum Op {
    /// Up, or down, by steps from `begin`, within `min..=max` padded to whole steps.
    Count { down: bool, min: u64, max: u64, step: u64, begin: u64 },
    /// An index that runs.
    Walk(Vec<u128>),
    /// Drawn by the generator all share.
    Draw { bytes: u8, min: u64, max: u64 },
    /// An index drawn by it.
    DrawEntry { bytes: u8, values: Vec<u128> },
    /// Drawn by a separate generator, which begins again.
    Repeat { bytes: u8, min: u64, max: u64, seed: u32, limit: u64 },
}

#[derive(Debug, Clone)]
struct Stepper {
    op: Op,
    /// The one it waits for to wrap.
    after: Option<usize>,
    /// Current value, index, or draws so far.
    at: u64,
    state: u32,
    wrapped: bool,
}

fn draw(state: &mut u32) -> u64 {
    *state = ((u64::from(*state) * 214_013 + 2_531_011) % (1 << 32)) as u32;
    u64::from(*state / 65_536 % 32_768)
}

fn draw_of(bytes: u8, state: &mut u32) -> u64 {
    match bytes {
        1 | 2 => draw(state),
        4 => draw(state) * 65_536 + draw(state),
        _ => {
            let first = draw_of(4, state);
            (first << 32) + draw_of(4, state)
        }
    }
}

/// So much of a span that a number leaves.
fn within(drawn: u64, min: u64, max: u64) -> u64 {
    (u128::from(min) + u128::from(drawn) % (u128::from(max) - u128::from(min) + 1)) as u64
}

impl Stepper {
    fn new(op: Op, after: Option<usize>) -> Self {
        let (at, state) = match op {
            Op::Count { begin, .. } => (begin, 0),
            Op::Repeat { seed, .. } => (0, seed),
            _ => (0, 0),
        };
        Self { op, after, at, state, wrapped: false }
    }

    /// From one packet to the next.
    fn step(&mut self) {
        self.wrapped = false;
        match &self.op {
            Op::Count { down, min, max, step, .. } => {
                let padded = (max - min + 1).div_ceil(*step) * step;
                let room = if *down {
                    self.at.wrapping_sub(max.wrapping_sub(padded - 1))
                } else {
                    (min + (padded - 1)) - self.at
                };
                self.wrapped = room < *step;
                self.at = match (down, self.wrapped) {
                    (false, false) => self.at + step,
                    (false, true) => min + (step - room - 1),
                    (true, false) => self.at.wrapping_sub(*step),
                    (true, true) => max - (step - room - 1),
                };
            }
            Op::Walk(values) => {
                self.at += 1;
                self.wrapped = self.at == values.len() as u64;
                self.at %= values.len() as u64;
            }
            Op::Repeat { bytes, seed, limit, .. } => {
                draw_of(*bytes, &mut self.state);
                self.at += 1;
                if self.at == *limit {
                    (self.at, self.state, self.wrapped) = (0, *seed, true);
                }
            }
            Op::Draw { .. } | Op::DrawEntry { .. } => {}
        }
    }

    /// The value in this packet; draws of the shared generator are made.
    fn value(&self, shared: &mut u32) -> u128 {
        match &self.op {
            Op::Count { .. } => self.at.into(),
            Op::Walk(values) => values[self.at as usize],
            Op::Draw { bytes, min, max } => within(draw_of(*bytes, shared), *min, *max).into(),
            Op::DrawEntry { bytes, values } => {
                values[(draw_of(*bytes, shared) % values.len() as u64) as usize]
            }
            Op::Repeat { bytes, min, max, .. } => {
                within(draw_of(*bytes, &mut self.state.clone()), *min, *max).into()
            }
        }
    }
}

/// The values of `packets` packets; all begin again every `period`.
fn stepped(all: &[Stepper], seed: u32, packets: usize, period: Option<usize>) -> Vec<Vec<u128>> {
    let (mut steppers, mut shared) = (all.to_vec(), seed);
    let mut rows: Vec<Vec<u128>> = Vec::new();
    for packet in 0..packets {
        if period.is_some_and(|period| packet % period == 0) {
            (steppers, shared) = (all.to_vec(), seed);
        } else if packet > 0 {
            for index in 0..steppers.len() {
                let goes = steppers[index].after.is_none_or(|after| steppers[after].wrapped);
                steppers[index].wrapped = false;
                if goes {
                    steppers[index].step();
                }
            }
        }
        rows.push(steppers.iter().map(|stepper| stepper.value(&mut shared)).collect());
    }
    rows
}

/// The same as a program's variables.
fn program(all: &[Stepper], seed: u32, period: Option<u64>) -> Vec<Variable> {
    let drawn = |stepper: &Stepper| match stepper.op {
        Op::Draw { bytes, .. } | Op::DrawEntry { bytes, .. } => random::lcg::draws(bytes),
        _ => 0,
    };
    let stride = all.iter().map(drawn).sum();
    let mut skip = 0;
    let variable = |stepper: &Stepper| {
        let (source, phase) = match stepper.op.clone() {
            Op::Count { down, min, max, step, begin } => {
                let from_start = if down { max - begin } else { begin - min };
                let first = u128::from(if down { max } else { min });
                let rest = u128::from(from_start % step);
                let first = if down { first.wrapping_sub(rest) } else { first + rest };
                let count = ((max - min) / step + 1).into();
                let step_by = if down { u128::from(step).wrapping_neg() } else { step.into() };
                (Source::Range { first, step: step_by, count, width: 64 }, from_start / step)
            }
            Op::Walk(values) => (Source::List { values: values.into(), order: ListOrder::Sequential }, 0),
            Op::Draw { bytes, min, max } => {
                let pick = Pick::Range { from: min, to: max };
                (Source::Lcg { seed, skip, stride, bytes, limit: None, pick }, 0)
            }
            Op::DrawEntry { bytes, values } => {
                let pick = Pick::List(values.into());
                (Source::Lcg { seed, skip, stride, bytes, limit: None, pick }, 0)
            }
            Op::Repeat { bytes, min, max, seed, limit } => {
                let (pick, stride) = (Pick::Range { from: min, to: max }, random::lcg::draws(bytes));
                (Source::Lcg { seed, skip: 0, stride, bytes, limit: Some(limit), pick }, 0)
            }
        };
        skip += drawn(stepper);
        let period = period.filter(|_| stepper.after.is_none());
        Variable { after: stepper.after, phase, period, ..Variable::new(source) }
    };
    all.iter().map(variable).collect()
}

fn values(variables: Vec<Variable>, flows: Option<Flows>, packets: u64) -> Vec<Vec<u128>> {
    let vary = Vary { variables, writes: vec![], flows };
    let mut packet = packet();
    let program = Program::new(&vary, &mut packet, None).unwrap();
    (0..packets).map(|number| program.values(number)).collect()
}

/// A packet that nothing is written to.
fn packet() -> wire::Packet {
    wire::PacketSpec::default().build_unpadded().unwrap()
}

fn op() -> impl Strategy<Value = Op> {
    let bytes = prop::sample::select(vec![1u8, 2, 4, 8]);
    let list = prop::collection::vec(any::<u128>(), 1..6);
    let counts = (any::<bool>(), 0u64..300, 0u64..40, 1u64..9, any::<u64>()).prop_map(
        |(down, min, more, step, begin)| {
            // A range that counts down is padded below its smallest value.
            let min = min + 10;
            let begin = min + begin % (more + 1);
            Op::Count { down, min, max: min + more, step, begin }
        },
    );
    let edge = || prop_oneof![3 => any::<u64>(), 1 => Just(0), 1 => Just(u64::MAX), 1 => 0u64..70_000];
    let bounds = move || (edge(), edge()).prop_map(|(a, b)| (a.min(b), a.max(b)));
    prop_oneof![
        4 => counts,
        2 => list.clone().prop_map(Op::Walk),
        2 => (bytes.clone(), bounds()).prop_map(|(bytes, (min, max))| Op::Draw { bytes, min, max }),
        1 => (bytes.clone(), list).prop_map(|(bytes, values)| Op::DrawEntry { bytes, values }),
        2 => (bytes, bounds(), any::<u32>(), 1u64..9)
            .prop_map(|(bytes, (min, max), seed, limit)| Op::Repeat { bytes, min, max, seed, limit }),
    ]
}

/// Steppers in chains of any length; those that draw from the shared generator are in none.
fn steppers(ops: Vec<(Op, Option<prop::sample::Index>)>) -> Vec<Stepper> {
    let mut all: Vec<Stepper> = Vec::new();
    for (op, after) in ops {
        let shared = |op: &Op| matches!(op, Op::Draw { .. } | Op::DrawEntry { .. });
        let waits = after.filter(|_| !all.is_empty() && !shared(&op)).map(|after| after.index(all.len()));
        let waits = waits.filter(|at| !shared(&all[*at].op));
        all.push(Stepper::new(op, waits));
    }
    all
}

proptest! {
    #[test]
    fn numbers_have_the_values_that_steps_have(
        ops in prop::collection::vec((op(), prop::option::of(any::<prop::sample::Index>())), 1..7),
        seed: u32,
        period in prop::option::of(1u64..60),
    ) {
        let all = steppers(ops);
        let expected = stepped(&all, seed, 300, period.map(|period| period as usize));
        // The period of every variable, or of the packets themselves.
        prop_assert_eq!(&values(program(&all, seed, period), None, 300), &expected);
        let flows = period.map(|count| Flows { count, length: 0, order: FlowOrder::Sequential });
        prop_assert_eq!(&values(program(&all, seed, None), flows, 300), &expected);
    }
}

/// By hand: 16 to 24 by 3 from 20 on, padded to 16..=24; the next digit moves when it wraps.
#[test]
fn an_odometer_carries_where_it_wraps() {
    let low = Op::Count { down: false, min: 16, max: 23, step: 3, begin: 20 };
    let high = Op::Count { down: true, min: 0, max: 9, step: 1, begin: 1 };
    let all = [Stepper::new(low, None), Stepper::new(high, Some(0))];
    let expected = [[20, 1], [23, 1], [17, 0], [20, 0], [23, 0], [17, 9], [20, 9]];
    assert_eq!(stepped(&all, 0, 7, None), expected);
    assert_eq!(values(program(&all, 0, None), None, 7), expected);
}

#[test]
fn a_choice_goes_by_a_variable() {
    let source = Source::Range { first: 60, step: 2, count: 3, width: 16 };
    let vary =
        Vary { variables: vec![Variable { phase: 1, ..Variable::new(source) }], writes: vec![], flows: None };
    let choice = Choice::variable(&vary, 0, 60, vec![7, 0, 8, 0, 9]).unwrap();
    assert_eq!([0, 1, 2, 3].map(|number| choice.pick(number)), [8, 9, 7, 8]);
    let beyond = Choice::variable(&vary, 0, 62, vec![1, 2]).unwrap();
    assert_eq!([0, 1, 2].map(|number| beyond.pick(number)), [1, 2, 1]);
}

#[test]
fn a_period_belongs_to_the_first_of_a_chain() {
    let range = || Variable::new(Source::Range { first: 0, step: 1, count: 2, width: 8 });
    let second = Variable { after: Some(0), period: Some(4), ..range() };
    let vary = Vary { variables: vec![range(), second], writes: vec![], flows: None };
    let mut packet = packet();
    let error = Program::new(&vary, &mut packet, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "variable 1: it begins again with variable 0, after which it advances; the period belongs there"
    );
    let none = Vary { variables: vec![Variable { period: Some(0), ..range() }], writes: vec![], flows: None };
    assert!(Program::new(&none, &mut packet, None).is_err());
    let list: Arc<[u128]> = Arc::from([]);
    let lcg = Source::Lcg { seed: 0, skip: 0, stride: 1, bytes: 3, limit: None, pick: Pick::List(list) };
    assert!(
        Program::new(
            &Vary { variables: vec![Variable::new(lcg)], writes: vec![], flows: None },
            &mut packet,
            None
        )
        .is_err()
    );
}
