//! Labels, jumps and variables of programs.
//!
//! Nothing that decides a jump comes from outside: all sessions take the same way. So it is gone once, here, and what is left
//! are the steps in the order in which they come, repetitions found again in it. No session keeps variables.

use session::plan::Op;
use std::collections::HashMap;

/// Most steps, jumps and variables included, that are gone through.
const STEPS_MAX: usize = 1 << 18;
/// The longest part that is searched for after itself, steps.
const PERIOD_MAX: usize = 256;

/// A step as written.
#[derive(Debug)]
pub(super) enum Step {
    Op(Op),
    Label(String),
    /// To a label, always or on a condition.
    Goto(String, Option<Condition>),
    Set(Vec<(String, i64)>),
    Add(Vec<(String, i64)>),
}

/// Condition of a jump: a variable compared with a number.
#[derive(Debug)]
pub(super) struct Condition {
    variable: String,
    compare: fn(i64, i64) -> bool,
    number: i64,
}

impl Condition {
    /// `n > 0`; `None` if it is nothing of the kind.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let (variable, sign, number) = (words.next()?, words.next()?, words.next()?.parse().ok()?);
        let compare: fn(i64, i64) -> bool = match sign {
            "==" => |a, b| a == b,
            "!=" => |a, b| a != b,
            "<" => |a, b| a < b,
            "<=" => |a, b| a <= b,
            ">" => |a, b| a > b,
            ">=" => |a, b| a >= b,
            _ => return None,
        };
        words.next().is_none().then(|| Self { variable: variable.to_owned(), compare, number })
    }
}

/// Whether nothing may come after it, since the program ends with it.
pub(super) fn is_last(op: &Op) -> bool {
    matches!(op, Op::Stream | Op::Close | Op::Reset)
}

/// Whether nothing comes after it.
pub(super) fn never_ends(op: &Op) -> bool {
    is_last(op) || matches!(op, Op::Repeat { times: None, .. })
}

/// Whether there is a loop for a time in a loop.
pub(super) fn repeats_timed(op: &Op) -> bool {
    let (Op::Repeat { ops, .. } | Op::RepeatFor { ops, .. }) = op else { return false };
    ops.iter().any(|op| matches!(op, Op::RepeatFor { .. }) || repeats_timed(op))
}

/// The operations in the order in which they come.
///
/// # Errors
/// The place of a step, and what is wrong there.
pub(super) fn follow(steps: &[(String, Step)]) -> Result<Vec<Op>, (usize, String)> {
    let mut labels = HashMap::new();
    for (at, (_, step)) in steps.iter().enumerate() {
        if let Step::Label(name) = step
            && labels.insert(name.as_str(), at).is_some()
        {
            return Err((at, format!("label '{name}' is there already")));
        }
    }
    let mut way = Way { variables: HashMap::new(), trace: Vec::new(), seen: HashMap::new() };
    let mut reached = vec![false; steps.len()];
    let (mut at, mut count, mut endless) = (0, 0, None);
    while at < steps.len() && endless.is_none() {
        reached[at] = true;
        count += 1;
        if count > STEPS_MAX {
            let reason =
                format!("the program has not ended after {STEPS_MAX} steps; write long loops as 'repeat'");
            return Err((at, reason));
        }
        let next = at + 1;
        at = match &steps[at].1 {
            Step::Op(op) => {
                way.trace.push(at as u32);
                if never_ends(op) { steps.len() } else { next }
            }
            Step::Label(_) => next,
            Step::Set(values) => {
                way.variables.extend(values.iter().map(|(name, n)| (name.as_str(), *n)));
                next
            }
            Step::Add(values) => {
                for (name, n) in values {
                    let value = way.variables.get_mut(name.as_str());
                    let value = value.ok_or_else(|| (at, format!("variable '{name}' is not set before")))?;
                    *value = value.saturating_add(*n);
                }
                next
            }
            Step::Goto(label, condition) => {
                let to = *labels
                    .get(label.as_str())
                    .ok_or_else(|| (at, format!("there is no label '{label}'")))?;
                match condition.as_ref().map_or(Ok(true), |condition| way.holds(condition)) {
                    Err(reason) => return Err((at, reason)),
                    Ok(false) => next,
                    Ok(true) if to < at => {
                        endless = way.comes_back(to);
                        if endless == Some(way.trace.len()) {
                            return Err((at, "jumps for ever, and nothing is done".to_owned()));
                        }
                        to
                    }
                    Ok(true) => to,
                }
            }
        };
    }
    if let Some(at) = reached.iter().position(|reached| !reached) {
        return Err((at, "is never reached".to_owned()));
    }
    let again = endless.map(|begin| way.trace.split_off(begin));
    let mut folder = Folder::new(steps);
    let mut tokens = folder.fold(way.trace);
    if let Some(again) = again {
        let body = folder.fold(again);
        tokens.push(folder.token(None, body));
    }
    Ok(tokens.into_iter().map(|token| folder.op(token)).collect())
}

/// Where a jump leads, and the variables by name.
type Place<'a> = (usize, Vec<(&'a str, i64)>);

/// Progress through the program.
struct Way<'a> {
    variables: HashMap<&'a str, i64>,
    /// Places of the operations, in the order in which they come.
    trace: Vec<u32>,
    /// Number of them when a jump led back to a place with these variables.
    seen: HashMap<Place<'a>, usize>,
}

impl Way<'_> {
    fn holds(&self, condition: &Condition) -> Result<bool, String> {
        let value = self.variables.get(condition.variable.as_str());
        let value = value.ok_or_else(|| format!("variable '{}' is not set before", condition.variable))?;
        Ok((condition.compare)(*value, condition.number))
    }

    /// Notes that a jump leads back to `to`; if everything is as it was there before, all that came since comes for ever: from
    /// which place in the trace on.
    fn comes_back(&mut self, to: usize) -> Option<usize> {
        let mut state: Vec<_> = self.variables.iter().map(|(name, n)| (*name, *n)).collect();
        state.sort_unstable();
        let now = self.trace.len();
        match self.seen.entry((to, state)) {
            std::collections::hash_map::Entry::Occupied(before) => Some(*before.get()),
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(now);
                None
            }
        }
    }
}

/// Finds repetitions. A token below the number of steps is one of these, the others are repetitions.
struct Folder<'a> {
    steps: &'a [(String, Step)],
    repeats: Vec<(Option<u32>, Vec<u32>)>,
    known: HashMap<(Option<u32>, Vec<u32>), u32>,
}

impl<'a> Folder<'a> {
    fn new(steps: &'a [(String, Step)]) -> Self {
        Self { steps, repeats: Vec::new(), known: HashMap::new() }
    }

    /// The token of a repetition; `None` is without end.
    fn token(&mut self, times: Option<u32>, body: Vec<u32>) -> u32 {
        let next = (self.steps.len() + self.repeats.len()) as u32;
        let key = (times, body);
        if let Some(token) = self.known.get(&key) {
            return *token;
        }
        self.known.insert(key.clone(), next);
        self.repeats.push(key);
        next
    }

    /// The same with repetitions, innermost first.
    fn fold(&mut self, mut tokens: Vec<u32>) -> Vec<u32> {
        loop {
            let before = tokens.len();
            // A loop in a loop is the shorter of the two.
            for period in 1..=PERIOD_MAX.min(before / 2) {
                tokens = self.folded(&tokens, period);
            }
            if tokens.len() == before {
                return tokens;
            }
        }
    }

    /// The same with repetitions of parts of `period` tokens.
    fn folded(&mut self, tokens: &[u32], period: usize) -> Vec<u32> {
        let (mut out, mut at) = (Vec::new(), 0);
        while at < tokens.len() {
            let rest = &tokens[at..];
            if rest.len() < 2 * period || rest[..period] != rest[period..2 * period] {
                out.push(tokens[at]);
                at += 1;
                continue;
            }
            let body = &rest[..period];
            let times = rest.chunks(period).take_while(|part| *part == body).count();
            let token = self.token(u32::try_from(times).ok(), body.to_vec());
            out.push(token);
            at += times * period;
        }
        out
    }

    fn op(&self, token: u32) -> Op {
        match (token as usize).checked_sub(self.steps.len()) {
            Some(repeat) => {
                let (times, body) = &self.repeats[repeat];
                Op::Repeat { times: *times, ops: body.iter().map(|token| self.op(*token)).collect() }
            }
            None => match &self.steps[token as usize].1 {
                Step::Op(op) => op.clone(),
                _ => unreachable!("only operations are in the trace"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use session::plan::Expect;

    fn op(n: u64) -> Step {
        Step::Op(Op::Expect(Expect::Bytes(n)))
    }

    fn named(steps: Vec<Step>) -> Vec<(String, Step)> {
        steps.into_iter().map(|step| (String::new(), step)).collect()
    }

    fn goto(label: &str, condition: &str) -> Step {
        Step::Goto(label.to_owned(), Condition::read(condition))
    }

    fn label(name: &str) -> Step {
        Step::Label(name.to_owned())
    }

    fn set(name: &str, n: i64) -> Step {
        Step::Set(vec![(name.to_owned(), n)])
    }

    fn add(name: &str, n: i64) -> Step {
        Step::Add(vec![(name.to_owned(), n)])
    }

    fn times(times: Option<u32>, ops: Vec<Op>) -> Op {
        Op::Repeat { times, ops }
    }

    fn e(n: u64) -> Op {
        Op::Expect(Expect::Bytes(n))
    }

    #[test]
    fn loops_in_loops_are_found_again() {
        let steps = named(vec![
            op(1),
            set("i", 5),
            label("outer"),
            set("j", 3),
            label("inner"),
            op(2),
            add("j", -1),
            goto("inner", "j > 0"),
            op(3),
            add("i", -1),
            goto("outer", "i != 0"),
            op(4),
        ]);
        let inner = times(Some(3), vec![e(2)]);
        assert_eq!(follow(&steps).unwrap(), [e(1), times(Some(5), vec![inner, e(3)]), e(4)]);
    }

    #[test]
    fn jumps_lead_forward_and_round_for_ever() {
        let steps = named(vec![
            set("n", 0),
            label("again"),
            goto("odd", "n == 1"),
            op(1),
            set("n", 1),
            goto("again", "n == 1"),
            label("odd"),
            op(2),
            set("n", 0),
            goto("again", ""),
        ]);
        let ops = follow(&steps).unwrap();
        let Some((Op::Repeat { times: None, ops: round }, before)) = ops.split_last() else {
            panic!("{ops:?}")
        };
        let mut first: Vec<&Op> = before.iter().chain(round).chain(round).collect();
        first.truncate(4);
        assert_eq!(first, [&e(1), &e(2), &e(1), &e(2)]);
    }

    #[test]
    fn what_is_wrong_has_a_place() {
        for (steps, at, reason) in [
            (vec![op(1), goto("nowhere", "")], 1, "no label 'nowhere'"),
            (vec![label("a"), op(1), label("a")], 2, "'a' is there already"),
            (vec![label("a"), op(1), add("n", 1), goto("a", "")], 2, "'n' is not set before"),
            (vec![label("a"), op(1), goto("a", "n > 1")], 2, "'n' is not set before"),
            (vec![label("a"), set("n", 1), goto("a", "")], 2, "jumps for ever"),
            (vec![goto("b", ""), op(1), label("b"), op(2)], 1, "is never reached"),
            (vec![set("n", 0), label("a"), op(1), add("n", 1), goto("a", "n > 0")], 1, "has not ended after"),
        ] {
            let (place, said) = follow(&named(steps)).unwrap_err();
            assert!(said.contains(reason), "{said}");
            assert!(place == at || reason.contains("ended"), "{place}: {said}");
        }
        for text in ["n", "n >", "n > x", "n => 1", "n > 1 2", ""] {
            assert!(Condition::read(text).is_none(), "{text}");
        }
    }

    /// Operations, repetitions written out.
    fn written_out(ops: &[Op], out: &mut Vec<Op>) {
        for op in ops {
            match op {
                Op::Repeat { times, ops } => (0..times.unwrap_or(1)).for_each(|_| written_out(ops, out)),
                op => out.push(op.clone()),
            }
        }
    }

    proptest! {
        #[test]
        fn folded_steps_are_the_same_steps(trace in proptest::collection::vec(0u32..3, 0..200)) {
            let steps = named(vec![op(0), op(1), op(2)]);
            let mut folder = Folder::new(&steps);
            let tokens = folder.fold(trace.clone());
            let ops: Vec<Op> = tokens.into_iter().map(|token| folder.op(token)).collect();
            let mut out = Vec::new();
            written_out(&ops, &mut out);
            prop_assert_eq!(out, trace.into_iter().map(|n| e(n.into())).collect::<Vec<_>>());
        }
    }
}
