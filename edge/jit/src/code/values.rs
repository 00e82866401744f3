//! Variables: their values in a packet, and how they advance to the next.

use super::{Pair, Writer};
use crate::block::{FLOW_WORDS, STATE_WORDS, VARIABLE_WORDS, flow, state, word};
use crate::shape::{Advance, Becomes, Hold, Span, ValueKind, VariableShape, Wraps};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlags, StackSlotData, StackSlotKind, Value, types};
use cranelift_frontend::Variable;
use field::Bound;
use random::{lcg, permutation};

/// Asks the interpreter for a variable's value.
///
/// # Safety
/// `variable` must point to a variable that has turns, `value` to room for one.
unsafe extern "C" fn value_of(variable: *const Bound, turn: u64, value: *mut [u64; 2]) {
    // SAFETY: the caller says so.
    unsafe {
        let computed = (*variable).value(turn);
        *value = [computed as u64, (computed >> 64) as u64];
    }
}

/// Asks the interpreter for a variable's value at a number.
///
/// # Safety
/// `variable` must point to a variable that has turns, `value` to room for one.
unsafe extern "C" fn value_at(variable: *const Bound, number: u64, value: *mut [u64; 2]) {
    // SAFETY: the caller says so.
    unsafe {
        let computed = (*variable).at(number);
        *value = [computed as u64, (computed >> 64) as u64];
    }
}

/// State of one variable in a packet.
#[derive(Clone, Copy)]
enum Standing {
    /// From the state.
    State,
    /// In this turn; there is no state.
    Turn(Value),
}

/// Values that begin again with the index.
#[derive(Clone, Copy)]
enum Restart {
    /// Nothing else.
    Index,
    /// A range, with its first value.
    Range { wide: bool },
    /// A generator, with its first state.
    State,
}

impl Writer<'_> {
    pub(super) fn load_states(&mut self) {
        for index in 0..self.states.len() {
            for (at, variable) in self.state_words(index) {
                let value = self.load(types::I64, self.run.state, (index * STATE_WORDS + at) * 8);
                self.build.def_var(variable, value);
            }
        }
    }

    pub(super) fn store_states(&mut self) {
        for index in 0..self.states.len() {
            for (at, variable) in self.state_words(index) {
                let value = self.build.use_var(variable);
                let offset = (index * STATE_WORDS + at) * 8;
                self.store(value, self.run.state, offset);
            }
        }
    }

    /// The words of a variable's state that are in use.
    fn state_words(&self, index: usize) -> Vec<(usize, Variable)> {
        let VariableShape { kind, hold, wide } = self.shape.variables[index];
        let (value, high) = (state::VALUE, state::VALUE + 1);
        let mut words = match kind {
            ValueKind::Unused | ValueKind::Derived { .. } => return vec![],
            ValueKind::Range { wraps: Wraps::ByIndex, .. } => vec![value, high, state::INDEX],
            ValueKind::Range { .. } => vec![value, high],
            ValueKind::List => vec![state::INDEX],
            ValueKind::Lcg { limited: true, .. } => vec![value, state::INDEX],
            ValueKind::Lcg { limited: false, .. } => vec![value],
            ValueKind::Random(_)
            | ValueKind::RandomList
            | ValueKind::WeightedList
            | ValueKind::Called
            | ValueKind::Numbered => vec![value],
        };
        words.retain(|at| wide || *at != high);
        words.extend((hold == Hold::Counted).then_some(state::LEFT));
        if self.shape.advance != Advance::Stepwise {
            words.clear();
        }
        words.into_iter().map(|at| (at, self.states[index][at])).collect()
    }

    /// The values of all variables that are in use.
    pub(super) fn values(&mut self) -> Vec<Option<Pair>> {
        let flow = self.flow();
        let mut values: Vec<Option<Pair>> = Vec::new();
        for index in 0..self.shape.variables.len() {
            let VariableShape { kind, hold, wide } = self.shape.variables[index];
            let standing = match flow {
                Some(flow) if kind != ValueKind::Unused => Standing::Turn(self.turn(index, hold, flow)),
                _ => Standing::State,
            };
            let value = match kind {
                ValueKind::Unused => None,
                ValueKind::Derived { of, shift } => {
                    let original = values[of].expect("the original of what is used is used");
                    Some(self.derived(index, original, shift, wide))
                }
                ValueKind::Range { wraps, masked, .. } => {
                    Some(self.range(index, standing, wraps, masked, wide))
                }
                ValueKind::Random(span) => Some(self.random(index, standing, span, wide)),
                ValueKind::List | ValueKind::RandomList | ValueKind::WeightedList => {
                    Some(self.list(index, standing, kind, wide))
                }
                ValueKind::Called => Some(self.called(index, standing, value_of, wide)),
                ValueKind::Numbered => Some(self.called(index, standing, value_at, wide)),
                ValueKind::Lcg { draws, becomes, .. } => Some(self.drawn(index, draws, becomes, wide)),
            };
            values.push(value.map(|value| Pair { high: value.high.filter(|_| wide), ..value }));
        }
        values
    }

    /// The number of the packet's flow, unless there is a state.
    fn flow(&mut self) -> Option<Value> {
        let renewed = match self.shape.advance {
            Advance::Stepwise => return None,
            Advance::Round => {
                let number = self.build.use_var(self.number);
                let count = self.flow_word(flow::COUNT);
                return Some(self.build.ins().urem(number, count));
            }
            Advance::Drawn { renewed } => renewed,
        };
        let number = self.build.use_var(self.number);
        let (count, key) = (self.flow_word(flow::COUNT), self.flow_word(flow::KEY));
        if !renewed {
            let state = self.random_state(key, number);
            let word = self.mix(state);
            return Some(self.build.ins().umulhi(word, count));
        }
        let together = self.flow_word(flow::TOGETHER);
        let generation = self.build.ins().udiv(number, together);
        let gone = self.build.ins().imul(generation, together);
        let place = self.build.ins().isub(number, gone);
        let state = self.random_state(key, generation);
        let word = self.mix(state);
        let place = self.permuted(word, place, together);
        let one_of = self.build.ins().urem(place, count);
        let before = self.build.ins().imul(generation, count);
        Some(self.build.ins().iadd(before, one_of))
    }

    /// Value of [`Permutation::at`] at `place` of `len`.
    fn permuted(&mut self, key: Value, place: Value, len: Value) -> Value {
        let (bits, rows) = (self.flow_word(flow::BITS), self.flow_word(flow::ROWS));
        let one = self.build.ins().iconst(types::I64, 1);
        let columns = self.build.ins().ishl(one, bits);
        let columns = self.build.ins().iadd_imm(columns, -1);
        let at = self.build.declare_var(types::I64);
        self.build.def_var(at, place);
        let [walk, done] = [(); 2].map(|()| self.build.create_block());
        self.build.ins().jump(walk, &[]);

        self.build.switch_to_block(walk);
        let from = self.build.use_var(at);
        let mut column = self.build.ins().band(from, columns);
        let mut row = self.build.ins().ushr(from, bits);
        for round in 0..permutation::ROUNDS {
            let key = self.build.ins().rotl_imm(key, i64::from(round * permutation::TURN));
            if round % 2 == 1 {
                let spread = self.spread(row, key);
                let moved = self.build.ins().iadd(column, spread);
                column = self.build.ins().band(moved, columns);
            } else {
                let spread = self.spread(column, key);
                let moved = self.build.ins().umulhi(spread, rows);
                let moved = self.build.ins().iadd(row, moved);
                let wrapped = self.build.ins().isub(moved, rows);
                // Below zero, it is larger than any row.
                row = self.build.ins().umin(moved, wrapped);
            }
        }
        let row = self.build.ins().ishl(row, bits);
        let found = self.build.ins().bor(row, column);
        self.build.def_var(at, found);
        let is_beyond = self.build.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, found, len);
        self.build.ins().brif(is_beyond, walk, &[], done, &[]);

        self.build.switch_to_block(done);
        found
    }

    /// Spreads the bits of a small number, as a permutation does.
    fn spread(&mut self, value: Value, key: Value) -> Value {
        let mut z = self.build.ins().iadd(value, key);
        for factor in random::FACTORS {
            z = self.build.ins().imul_imm(z, factor as i64);
            let shifted = self.build.ins().ushr_imm(z, i64::from(permutation::SHIFT));
            z = self.build.ins().bxor(z, shifted);
        }
        z
    }

    /// The turn of a variable at `number`.
    fn turn(&mut self, index: usize, hold: Hold, number: Value) -> Value {
        match hold {
            Hold::Never => number,
            Hold::Forever => self.build.ins().iconst(types::I64, 0),
            Hold::Counted => {
                let divisor = self.constant(index, word::DIVISOR);
                self.build.ins().udiv(number, divisor)
            }
        }
    }

    fn range(&mut self, index: usize, standing: Standing, wraps: Wraps, masked: bool, wide: bool) -> Pair {
        let mut value = match standing {
            Standing::State => self.state_pair(index, wide),
            Standing::Turn(turn) => self.range_at(index, turn, wraps, wide),
        };
        if masked {
            let mask = self.constant_pair(index, word::MASK, wide);
            value = self.and(value, mask);
        }
        value
    }

    fn range_at(&mut self, index: usize, turn: Value, wraps: Wraps, wide: bool) -> Pair {
        let times = if wraps != Wraps::Never {
            let period = self.constant(index, word::PERIOD);
            self.build.ins().urem(turn, period)
        } else {
            turn
        };
        let step = self.constant_pair(index, word::ADD, wide);
        let low = self.build.ins().imul(step.low, times);
        let high = step.high.map(|high| {
            let carried = self.build.ins().umulhi(step.low, times);
            let high = self.build.ins().imul(high, times);
            self.build.ins().iadd(carried, high)
        });
        let first = self.constant_pair(index, word::FIRST, wide);
        self.add(first, Pair { low, high })
    }

    fn random(&mut self, index: usize, standing: Standing, span: Span, wide: bool) -> Pair {
        let state = self.random_standing(index, standing);
        let random = self.mix(state);
        let from = self.constant_pair(index, word::ADD, wide);
        let more = match span {
            Span::Shift => {
                let shift = self.constant(index, word::SPAN);
                Pair { low: self.build.ins().ushr(random, shift), high: None }
            }
            Span::Multiply => {
                let span = self.constant(index, word::SPAN);
                Pair { low: self.build.ins().umulhi(random, span), high: None }
            }
            Span::WideShift(less) => {
                let other = self.constant(index, word::OTHER_KEY);
                let state = self.build.ins().iadd(state, other);
                let low = self.mix(state);
                self.shift_right(Pair { low, high: Some(random) }, less)
            }
            Span::Parts => Pair { low: self.one_of_parts(index, random), high: None },
        };
        self.add(from, more)
    }

    /// Increment of `field::Draw::value` on the smallest value.
    fn one_of_parts(&mut self, index: usize, random: Value) -> Value {
        let [count, length, longer, key] = [0, 1, 2, 3].map(|at| self.constant(index, word::PARTS + at));
        let part = self.build.ins().umulhi(random, count);
        let is_longer = self.build.ins().icmp(IntCC::UnsignedLessThan, part, longer);
        let one_more = self.build.ins().uextend(types::I64, is_longer);
        let before = self.build.ins().imul(part, length);
        let longer_before = self.build.ins().umin(part, longer);
        let before = self.build.ins().iadd(before, longer_before);
        let span = self.build.ins().iadd(length, one_more);
        let state = self.random_state(key, part);
        let word = self.mix(state);
        let inside = self.build.ins().umulhi(word, span);
        self.build.ins().iadd(before, inside)
    }

    fn list(&mut self, index: usize, standing: Standing, kind: ValueKind, wide: bool) -> Pair {
        let len = |writer: &mut Self| writer.constant(index, word::PERIOD);
        let at = match (kind, standing) {
            (ValueKind::RandomList, _) => {
                let state = self.random_standing(index, standing);
                let (word, len) = (self.mix(state), len(self));
                self.build.ins().umulhi(word, len)
            }
            (ValueKind::WeightedList, _) => {
                let state = self.random_standing(index, standing);
                let word = self.mix(state);
                self.by_weight(index, word)
            }
            (_, Standing::State) => self.build.use_var(self.states[index][state::INDEX]),
            (_, Standing::Turn(turn)) => {
                let len = len(self);
                self.build.ins().urem(turn, len)
            }
        };
        self.entry(index, at, wide)
    }

    /// Element of a list at an index.
    fn entry(&mut self, index: usize, at: Value, wide: bool) -> Pair {
        let list = self.constant(index, word::ADDRESS);
        let offset = self.build.ins().ishl_imm(at, 4);
        let address = self.build.ins().iadd(list, offset);
        Pair { low: self.load(types::I64, address, 0), high: wide.then(|| self.load(types::I64, address, 8)) }
    }

    /// Result of `field::Weights::pick`: the number of sums that are not above the drawn number. Bisects, without a
    /// branch that depends on the drawn number.
    fn by_weight(&mut self, index: usize, word: Value) -> Value {
        let total = self.constant(index, word::TOTAL);
        let drawn = self.build.ins().umulhi(word, total);
        let (at, left) = (self.build.declare_var(types::I64), self.build.declare_var(types::I64));
        let (zero, len) = (self.build.ins().iconst(types::I64, 0), self.constant(index, word::PERIOD));
        self.build.def_var(at, zero);
        self.build.def_var(left, len);
        let [test, bisect, done] = [(); 3].map(|()| self.build.create_block());
        self.build.ins().jump(test, &[]);

        self.build.switch_to_block(test);
        let size = self.build.use_var(left);
        let is_found = self.build.ins().icmp_imm(IntCC::Equal, size, 1);
        self.build.ins().brif(is_found, done, &[], bisect, &[]);

        // The one sought is one of `size` from `from`.
        self.build.switch_to_block(bisect);
        let (from, half) = (self.build.use_var(at), self.build.ins().ushr_imm(size, 1));
        let middle = self.build.ins().iadd(from, half);
        let offset = self.build.ins().ishl_imm(middle, 3);
        let sums = self.constant(index, word::SUMS);
        let address = self.build.ins().iadd(sums, offset);
        let before = self.build.ins().load(types::I64, MemFlags::trusted(), address, -8);
        let is_behind = self.build.ins().icmp(IntCC::UnsignedLessThanOrEqual, before, drawn);
        let from = self.build.ins().select(is_behind, middle, from);
        let size = self.build.ins().isub(size, half);
        self.build.def_var(at, from);
        self.build.def_var(left, size);
        self.build.ins().jump(test, &[]);

        self.build.switch_to_block(done);
        self.build.use_var(at)
    }

    /// Result of `field::Pick::of` for a number drawn from the state. There is one: with flows that need none, the
    /// interpreter is used.
    fn drawn(&mut self, index: usize, draws: u32, becomes: Becomes, wide: bool) -> Pair {
        let mut state = self.build.use_var(self.states[index][state::VALUE]);
        let mut number = None;
        for _ in 0..draws {
            state = self.build.ins().imul_imm(state, i64::from(lcg::FACTOR));
            state = self.build.ins().iadd_imm(state, i64::from(lcg::ADDEND));
            let drawn = self.build.ins().ushr_imm(state, i64::from(lcg::SHIFT));
            let drawn = self.build.ins().band_imm(drawn, i64::from(lcg::DRAW_MASK));
            number = Some(match number {
                None => drawn,
                Some(before) => {
                    let before = self.build.ins().ishl_imm(before, 16);
                    self.build.ins().bor(before, drawn)
                }
            });
        }
        let number = number.expect("at least one draw");
        if becomes == Becomes::Itself {
            return Pair { low: number, high: None };
        }
        let values = self.constant(index, word::VALUES);
        let one_of = self.build.ins().urem(number, values);
        if becomes == Becomes::Entry {
            return self.entry(index, one_of, wide);
        }
        let from = self.constant(index, word::ADD);
        Pair { low: self.build.ins().iadd(from, one_of), high: None }
    }

    /// The next turn's state of a generator, 32 bits.
    fn next_state(&mut self, index: usize) {
        let variable = self.states[index][state::VALUE];
        let state = self.build.use_var(variable);
        let (factor, addend) = (self.constant(index, word::FACTOR), self.constant(index, word::ADDEND));
        let state = self.build.ins().imul(state, factor);
        let state = self.build.ins().iadd(state, addend);
        let state = self.build.ins().band_imm(state, i64::from(u32::MAX));
        self.build.def_var(variable, state);
    }

    fn called(
        &mut self,
        index: usize,
        standing: Standing,
        function: unsafe extern "C" fn(*const Bound, u64, *mut [u64; 2]),
        wide: bool,
    ) -> Pair {
        let turn = match standing {
            Standing::State => self.build.use_var(self.states[index][state::VALUE]),
            Standing::Turn(turn) => turn,
        };
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, 16, 3);
        let slot = self.build.create_sized_stack_slot(slot);
        let room = self.build.ins().stack_addr(types::I64, slot, 0);
        let variable = self.constant(index, word::ADDRESS);
        let function = self.build.ins().iconst(types::I64, function as *const () as i64);
        self.build.ins().call_indirect(self.call, function, &[variable, turn, room]);
        Pair {
            low: self.build.ins().stack_load(types::I64, slot, 0),
            high: wide.then(|| self.build.ins().stack_load(types::I64, slot, 8)),
        }
    }

    fn derived(&mut self, index: usize, original: Pair, shift: i8, wide: bool) -> Pair {
        let bits = shift.unsigned_abs();
        let shifted = match (shift < 0, wide) {
            (true, _) => self.shift_right(original, bits),
            (false, true) => self.shift_left(original, bits),
            (false, false) => Pair { low: self.shift_left_low(original.low, bits), high: None },
        };
        let add = self.constant_pair(index, word::ADD, wide);
        let sum = self.add(shifted, add);
        let mask = self.constant_pair(index, word::MASK, wide);
        self.and(sum, mask)
    }

    /// On to the next packet.
    pub(super) fn advance(&mut self) {
        if self.shape.signed {
            let stamp = self.build.use_var(self.stamp);
            let next = self.build.ins().iadd_imm(stamp, 1);
            self.build.def_var(self.stamp, next);
            self.advance_bases();
        }
        if self.shape.advance != Advance::Stepwise {
            let number = self.build.use_var(self.number);
            let next = self.build.ins().iadd_imm(number, 1);
            self.build.def_var(self.number, next);
            return;
        }
        for index in 0..self.shape.variables.len() {
            let has_state = !self.state_words(index).is_empty();
            match self.shape.variables[index].hold {
                Hold::Never if has_state => self.next_turn(index),
                Hold::Counted if has_state => self.count_down(index),
                _ => {}
            }
        }
    }

    /// One packet less in this turn; on to the next turn if it was the last.
    fn count_down(&mut self, index: usize) {
        let left = self.states[index][state::LEFT];
        let value = self.build.use_var(left);
        let value = self.build.ins().iadd_imm(value, -1);
        self.build.def_var(left, value);
        let is_over = self.build.ins().icmp_imm(IntCC::Equal, value, 0);
        self.when(is_over, |writer| {
            let divisor = writer.constant(index, word::DIVISOR);
            writer.build.def_var(left, divisor);
            writer.next_turn(index);
        });
    }

    fn next_turn(&mut self, index: usize) {
        let VariableShape { kind, wide, .. } = self.shape.variables[index];
        match kind {
            ValueKind::Unused | ValueKind::Derived { .. } => {}
            ValueKind::Range { wraps, unit, .. } => self.next_in_range(index, wraps, unit, wide),
            ValueKind::List => self.next_index(index, Restart::Index),
            ValueKind::Random(_) | ValueKind::RandomList | ValueKind::WeightedList => {
                self.add_to_state(index, random::STEP as i64)
            }
            ValueKind::Called | ValueKind::Numbered => self.add_to_state(index, 1),
            ValueKind::Lcg { limited, .. } => {
                self.next_state(index);
                if limited {
                    self.next_index(index, Restart::State);
                }
            }
        }
    }

    fn next_in_range(&mut self, index: usize, wraps: Wraps, unit: bool, wide: bool) {
        let value = self.state_pair(index, wide);
        let next = if unit && !wide {
            Pair { low: self.build.ins().iadd_imm(value.low, 1), high: None }
        } else {
            let step = self.constant_pair(index, word::ADD, wide);
            self.add(value, step)
        };
        self.set_state_pair(index, next);
        match wraps {
            Wraps::Never => {}
            Wraps::ByIndex => self.next_index(index, Restart::Range { wide }),
            Wraps::ByValue => {
                let end = self.constant(index, word::END);
                let is_round = self.build.ins().icmp(IntCC::Equal, next.low, end);
                self.when(is_round, |writer| {
                    let first = writer.constant_pair(index, word::FIRST, false);
                    writer.set_state_pair(index, first);
                });
            }
        }
    }

    fn add_to_state(&mut self, index: usize, more: i64) {
        let variable = self.states[index][state::VALUE];
        let value = self.build.use_var(variable);
        let value = self.build.ins().iadd_imm(value, more);
        self.build.def_var(variable, value);
    }

    /// Counts turns, and begins again after the last.
    fn next_index(&mut self, index: usize, restart: Restart) {
        let variable = self.states[index][state::INDEX];
        let at = self.build.use_var(variable);
        let at = self.build.ins().iadd_imm(at, 1);
        self.build.def_var(variable, at);
        let period = self.constant(index, word::PERIOD);
        let is_round = self.build.ins().icmp(IntCC::Equal, at, period);
        self.when(is_round, |writer| {
            let zero = writer.build.ins().iconst(types::I64, 0);
            writer.build.def_var(variable, zero);
            match restart {
                Restart::Index => {}
                Restart::Range { wide } => {
                    let first = writer.constant_pair(index, word::FIRST, wide);
                    writer.set_state_pair(index, first);
                }
                Restart::State => {
                    let first = writer.constant(index, word::STATE);
                    writer.build.def_var(writer.states[index][state::VALUE], first);
                }
            }
        });
    }

    /// Does something only if a condition holds.
    fn when(&mut self, condition: Value, then: impl FnOnce(&mut Self)) {
        let (yes, on) = (self.build.create_block(), self.build.create_block());
        self.build.ins().brif(condition, yes, &[], on, &[]);
        self.build.switch_to_block(yes);
        then(self);
        self.build.ins().jump(on, &[]);
        self.build.switch_to_block(on);
    }

    fn random_standing(&mut self, index: usize, standing: Standing) -> Value {
        match standing {
            Standing::State => self.build.use_var(self.states[index][state::VALUE]),
            Standing::Turn(turn) => {
                let key = self.constant(index, word::KEY);
                self.random_state(key, turn)
            }
        }
    }

    /// The state of a random sequence at turn `k`: see `random::word`.
    fn random_state(&mut self, key: Value, k: Value) -> Value {
        let step = self.build.ins().iconst(types::I64, random::STEP as i64);
        let steps = self.build.ins().imul(k, step);
        self.build.ins().iadd(key, steps)
    }

    /// `random::mix`.
    fn mix(&mut self, state: Value) -> Value {
        let mut z = state;
        for (at, shift) in random::SHIFTS.into_iter().enumerate() {
            let shifted = self.build.ins().ushr_imm(z, i64::from(shift));
            z = self.build.ins().bxor(z, shifted);
            if let Some(factor) = random::FACTORS.get(at) {
                let factor = self.build.ins().iconst(types::I64, *factor as i64);
                z = self.build.ins().imul(z, factor);
            }
        }
        z
    }

    fn add(&mut self, a: Pair, b: Pair) -> Pair {
        let low = self.build.ins().iadd(a.low, b.low);
        let high = match (a.high, b.high) {
            (None, None) => return Pair { low, high: None },
            (Some(a), Some(b)) => self.build.ins().iadd(a, b),
            (Some(high), None) | (None, Some(high)) => high,
        };
        let carried = self.build.ins().icmp(IntCC::UnsignedLessThan, low, a.low);
        let carried = self.build.ins().uextend(types::I64, carried);
        Pair { low, high: Some(self.build.ins().iadd(high, carried)) }
    }

    fn and(&mut self, a: Pair, b: Pair) -> Pair {
        let low = self.build.ins().band(a.low, b.low);
        let high = a.high.zip(b.high).map(|(a, b)| self.build.ins().band(a, b));
        Pair { low, high }
    }

    fn shift_right(&mut self, value: Pair, bits: u8) -> Pair {
        let low = self.shift_right_low(value, bits);
        let high = value.high.map(|high| self.shift_right_word(high, bits));
        Pair { low, high }
    }

    /// The lower half of a value shifted right.
    pub(super) fn shift_right_low(&mut self, value: Pair, bits: u8) -> Value {
        let low = self.shift_right_word(value.low, bits);
        match value.high {
            Some(high) if bits >= 64 => self.shift_right_word(high, bits - 64),
            Some(high) if bits > 0 => {
                let carried = self.shift_left_low(high, 64 - bits);
                self.build.ins().bor(low, carried)
            }
            _ => low,
        }
    }

    fn shift_left(&mut self, value: Pair, bits: u8) -> Pair {
        let low = self.shift_left_low(value.low, bits);
        let mut high = match bits {
            0 => return value,
            1..64 => self.shift_right_word(value.low, 64 - bits),
            _ => self.shift_left_low(value.low, bits - 64),
        };
        if let Some(upper) = value.high {
            let upper = self.shift_left_low(upper, bits);
            high = self.build.ins().bor(high, upper);
        }
        Pair { low, high: Some(high) }
    }

    /// A word shifted left; zero if by 64 or more.
    pub(super) fn shift_left_low(&mut self, word: Value, bits: u8) -> Value {
        match bits {
            0 => word,
            1..64 => self.build.ins().ishl_imm(word, i64::from(bits)),
            _ => self.build.ins().iconst(types::I64, 0),
        }
    }

    fn shift_right_word(&mut self, word: Value, bits: u8) -> Value {
        match bits {
            0 => word,
            1..64 => self.build.ins().ushr_imm(word, i64::from(bits)),
            _ => self.build.ins().iconst(types::I64, 0),
        }
    }

    fn state_pair(&mut self, index: usize, wide: bool) -> Pair {
        let [low, high] = [state::VALUE, state::VALUE + 1].map(|at| self.states[index][at]);
        Pair { low: self.build.use_var(low), high: wide.then(|| self.build.use_var(high)) }
    }

    fn set_state_pair(&mut self, index: usize, value: Pair) {
        self.build.def_var(self.states[index][state::VALUE], value.low);
        if let Some(high) = value.high {
            self.build.def_var(self.states[index][state::VALUE + 1], high);
        }
    }

    fn constant(&mut self, index: usize, at: usize) -> Value {
        let offset = (FLOW_WORDS + index * VARIABLE_WORDS + at) * 8;
        self.load(types::I64, self.run.constants, offset)
    }

    fn constant_pair(&mut self, index: usize, at: usize, wide: bool) -> Pair {
        Pair { low: self.constant(index, at), high: wide.then(|| self.constant(index, at + 1)) }
    }

    fn flow_word(&mut self, at: usize) -> Value {
        self.load(types::I64, self.run.constants, at * 8)
    }
}
