//! Commands for one instant on all machines of a run that this machine carried out after it.
//!
//! Not here: rate changes and the stop, whose times are in the result; who merges the results of all machines compares them.

use units::Nanos;

/// Less than that is no delay: messages of hosts' protocols leave within some milliseconds of an instant.
const LATE: Nanos = Nanos::from_millis(5);
/// Most notes on single commands.
const NOTES_MAX: usize = 20;

/// Commands that were carried out late.
#[derive(Debug, Default)]
pub(super) struct LateCommands {
    notes: Vec<String>,
    /// Those without a note, and the largest delay of them.
    more: u64,
    largest: Nanos,
}

impl LateCommands {
    /// Notes a command for the instant `at` if it took effect late, `now`; both since traffic started. `what` names it.
    pub(super) fn note(&mut self, what: impl FnOnce() -> String, at: Nanos, now: Nanos) {
        let late = now.since(at);
        if late < LATE {
            return;
        }
        if self.notes.len() < NOTES_MAX {
            self.notes.push(format!(
                "{} of {:.3} s took effect {} ms later by its clock",
                what(),
                at.as_secs_f64(),
                ms(late)
            ));
        } else {
            self.more += 1;
            self.largest = self.largest.max(late);
        }
    }

    /// Notes of the verdict.
    pub(super) fn notes(self) -> Vec<String> {
        let Self { mut notes, more, largest } = self;
        if more > 0 {
            notes.push(format!(
                "{more} more commands took effect later by its clock, up to {} ms",
                ms(largest)
            ));
        }
        notes
    }
}

fn ms(time: Nanos) -> u64 {
    time.0.div_ceil(1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_commands_are_named_and_many_are_counted() {
        let ms = Nanos::from_millis;
        let mut late = LateCommands::default();
        late.note(|| "the command 'down'".to_owned(), ms(2_000), ms(2_004));
        late.note(|| "the command 'down'".to_owned(), ms(2_000), ms(1_000));
        late.note(|| "the command 'withdraw'".to_owned(), ms(2_000), Nanos(2_250_000_001));
        for n in 0..30 {
            late.note(|| "the command 'up'".to_owned(), ms(3_000), ms(3_100 + n));
        }
        let notes = late.notes();
        assert_eq!(notes.len(), NOTES_MAX + 1);
        assert_eq!(notes[0], "the command 'withdraw' of 2.000 s took effect 251 ms later by its clock");
        assert_eq!(notes[NOTES_MAX], "11 more commands took effect later by its clock, up to 129 ms");
        assert!(LateCommands::default().notes().is_empty());
    }
}
