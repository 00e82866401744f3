//! Exit codes: the one list that `main`, `--help` and the manual pages read. docs/exit-codes.md explains them.

/// Exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Exit {
    /// Done, with a successful outcome.
    Done = 0,
    /// Done, but a criterion failed, or less than half succeeded.
    Failed = 1,
    /// Bad input.
    BadInput = 2,
    /// The machine refused a port, memory or a privilege.
    Refused = 3,
    /// Done, but the tester was disturbed where it matters.
    CannotJudge = 4,
    /// Done, but a method found no value.
    NothingFound = 5,
    /// Of two sides, the first is better.
    FirstBetter = 6,
    /// Of two sides, the second is better.
    SecondBetter = 7,
    /// Stopped by Ctrl-C or a signal before the end.
    Interrupted = 130,
}

impl Exit {
    /// All codes, from the mildest to the gravest.
    pub(crate) const ALL: [Self; 9] = [
        Self::Done,
        Self::FirstBetter,
        Self::SecondBetter,
        Self::NothingFound,
        Self::CannotJudge,
        Self::Failed,
        Self::BadInput,
        Self::Refused,
        Self::Interrupted,
    ];

    /// Meaning, as help, manual pages and docs/exit-codes.md have it.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::Done => "Done, with a successful outcome.",
            Self::Failed => "Done, but a pass criterion failed, or less than half succeeded.",
            Self::BadInput => "Bad input: an option, a profile, or an unreadable file.",
            Self::Refused => "The machine refused a port, memory or a privilege.",
            Self::CannotJudge => {
                "Done, but cannot be judged here: the tester was disturbed where it matters (--on-disturbed)."
            }
            Self::NothingFound => "Done, but nothing was found.",
            Self::FirstBetter => "Done, and of two sides the first is better (eagre versus).",
            Self::SecondBetter => "Done, and of two sides the second is better (eagre versus).",
            Self::Interrupted => "Interrupted by Ctrl-C or a signal.",
        }
    }

    /// The code that a process of this program ended with; `None` for other codes and for signals.
    pub(crate) fn from_code(code: Option<i32>) -> Option<Self> {
        Self::ALL.into_iter().find(|exit| Some(*exit as i32) == code)
    }

    /// The graver of two: what several runs end with together.
    pub(crate) fn and(self, other: Self) -> Self {
        let grade = |exit: Self| Self::ALL.iter().position(|one| *one == exit);
        if grade(other) > grade(self) { other } else { self }
    }

    /// Whether the run completed, regardless of its outcome.
    pub(crate) fn is_an_outcome(self) -> bool {
        matches!(
            self,
            Self::Done
                | Self::Failed
                | Self::CannotJudge
                | Self::NothingFound
                | Self::FirstBetter
                | Self::SecondBetter
        )
    }

    /// The list for `eagre --help`.
    pub(crate) fn help() -> String {
        let mut all = Self::ALL;
        all.sort_by_key(|exit| *exit as u8);
        let rows = all.map(|exit| format!("  {:>3}  {}\n", exit as u8, exit.about()));
        format!("Exit codes:\n{}", rows.concat())
    }
}

/// A failed command: its message and exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) text: String,
}

impl Failure {
    pub(crate) fn bad_input(text: impl Into<String>) -> Self {
        Self { exit: Exit::BadInput, text: text.into() }
    }

    pub(crate) fn refused(text: impl Into<String>) -> Self {
        Self { exit: Exit::Refused, text: text.into() }
    }
}

impl From<engine::EngineError> for Failure {
    fn from(error: engine::EngineError) -> Self {
        let exit = match error {
            engine::EngineError::Stopped { .. } => Exit::Interrupted,
            _ if error.is_bad_input() => Exit::BadInput,
            _ => Exit::Refused,
        };
        Self { exit, text: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_graver_code_wins() {
        assert_eq!(Exit::Done.and(Exit::NothingFound), Exit::NothingFound);
        assert_eq!(Exit::Failed.and(Exit::CannotJudge), Exit::Failed, "a failure is known for sure");
        assert_eq!(Exit::Interrupted.and(Exit::Failed), Exit::Interrupted);
    }

    #[test]
    fn codes_of_processes_are_known() {
        for exit in Exit::ALL {
            assert_eq!(Exit::from_code(Some(exit as i32)), Some(exit));
        }
        assert_eq!((Exit::from_code(Some(101)), Exit::from_code(None)), (None, None));
    }
}
