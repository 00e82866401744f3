//! Negotiation of options between two ends (RFC 1661 section 4): the automaton that LCP, IPCP and IPV6CP share.
//!
//! Not here: the options themselves, and frames; a layer that is down, which has no negotiation; termination.

use units::Nanos;

/// Number of requests without a reply after which negotiation fails (Max-Configure, RFC 1661 section 4.6).
pub(super) const REQUESTS_MAX: u8 = 10;
/// Times that a peer may want other options (Max-Failure).
pub(super) const NAKS_MAX: u8 = 10;

/// States of RFC 1661 section 4.2 in which the lower layer is up and the link wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// It has not begun.
    Starting,
    RequestSent,
    AckReceived,
    AckSent,
    Opened,
}

/// Actions that follow from an event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Effects {
    /// A Configure-Request is to be sent.
    pub(super) request: bool,
    /// The layer came up.
    pub(super) up: bool,
    /// The layer, which was up, is not any more.
    pub(super) down: bool,
}

const REQUEST: Effects = Effects { request: true, up: false, down: false };
const UP: Effects = Effects { request: false, up: true, down: false };
const AGAIN: Effects = Effects { request: true, up: false, down: true };
const NOTHING: Effects = Effects { request: false, up: false, down: false };

/// The negotiation of one layer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Negotiation {
    /// When the request is repeated.
    pub(super) due: Nanos,
    pub(super) step: Step,
    /// Of the last request.
    pub(super) id: u8,
    /// Requests since the peer's last reply.
    pub(super) sent: u8,
    /// Answers in a row that wanted other options.
    pub(super) naks: u8,
    /// Own options that the peer rejected, a bit each.
    pub(super) rejected: u8,
}

impl Negotiation {
    pub(super) const IDLE: Self =
        Self { due: Nanos::MAX, step: Step::Starting, id: 0, sent: 0, naks: 0, rejected: 0 };

    /// The lower layer is up: negotiation begins.
    pub(super) fn start(&mut self) -> Effects {
        *self = Self { step: Step::RequestSent, id: self.id, ..Self::IDLE };
        REQUEST
    }

    /// The lower layer is down.
    pub(super) fn stop(&mut self) {
        *self = Self { id: self.id, ..Self::IDLE };
    }

    /// The peer requests options, which are agreed to or not.
    pub(super) fn asked(&mut self, agreed: bool) -> Effects {
        let (step, effects) = match (self.step, agreed) {
            (Step::Starting, _) => return NOTHING,
            (Step::RequestSent | Step::AckSent, true) => (Step::AckSent, NOTHING),
            (Step::RequestSent | Step::AckSent, false) => (Step::RequestSent, NOTHING),
            (Step::AckReceived, true) => (Step::Opened, UP),
            (Step::AckReceived, false) => (Step::AckReceived, NOTHING),
            (Step::Opened, true) => (Step::AckSent, AGAIN),
            (Step::Opened, false) => (Step::RequestSent, AGAIN),
        };
        self.enter(step);
        effects
    }

    /// The peer agrees to the last request.
    pub(super) fn agreed(&mut self) -> Effects {
        let (step, effects) = match self.step {
            Step::Starting => return NOTHING,
            Step::RequestSent => (Step::AckReceived, NOTHING),
            // Crossed: RFC 1661 section 4.1, note 3.
            Step::AckReceived => (Step::RequestSent, REQUEST),
            Step::AckSent => (Step::Opened, UP),
            Step::Opened => (Step::RequestSent, AGAIN),
        };
        (self.sent, self.naks) = (0, 0);
        self.enter(step);
        effects
    }

    /// The peer wants other options than requested.
    pub(super) fn refused(&mut self) -> Effects {
        let (step, effects) = match self.step {
            Step::Starting => return NOTHING,
            Step::RequestSent | Step::AckReceived => (Step::RequestSent, REQUEST),
            Step::AckSent => (Step::AckSent, REQUEST),
            Step::Opened => (Step::RequestSent, AGAIN),
        };
        self.sent = 0;
        self.naks = self.naks.saturating_add(1);
        self.enter(step);
        effects
    }

    /// No reply arrived in time.
    pub(super) fn late(&mut self) -> Effects {
        match self.step {
            Step::Starting | Step::Opened => return NOTHING,
            Step::AckReceived => self.step = Step::RequestSent,
            Step::RequestSent | Step::AckSent => {}
        }
        REQUEST
    }

    /// The peer ends the layer, or reports that it has ended.
    pub(super) fn ended(&mut self) -> Effects {
        match self.step {
            Step::Opened => {
                self.enter(Step::RequestSent);
                AGAIN
            }
            Step::AckReceived | Step::AckSent => {
                self.step = Step::RequestSent;
                NOTHING
            }
            _ => NOTHING,
        }
    }

    /// Whether negotiation with the peer has failed.
    pub(super) fn is_hopeless(&self) -> bool {
        self.sent >= REQUESTS_MAX || self.naks >= NAKS_MAX
    }

    fn enter(&mut self, step: Step) {
        self.step = step;
        if step == Step::Opened {
            (self.due, self.sent, self.naks) = (Nanos::MAX, 0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(step: Step) -> Negotiation {
        Negotiation { step, ..Negotiation::IDLE }
    }

    /// The columns of RFC 1661 section 4.1 from Req-Sent to Opened.
    #[test]
    fn the_table_of_the_rfc() {
        use Step::{AckReceived, AckSent, Opened, RequestSent};
        type Event = fn(&mut Negotiation) -> Effects;
        let rows: [(Event, [(Step, Effects); 4]); 5] = [
            (|one| one.asked(true), [(AckSent, NOTHING), (Opened, UP), (AckSent, NOTHING), (AckSent, AGAIN)]),
            (
                |one| one.asked(false),
                [
                    (RequestSent, NOTHING),
                    (AckReceived, NOTHING),
                    (RequestSent, NOTHING),
                    (RequestSent, AGAIN),
                ],
            ),
            (
                Negotiation::agreed,
                [(AckReceived, NOTHING), (RequestSent, REQUEST), (Opened, UP), (RequestSent, AGAIN)],
            ),
            (
                Negotiation::refused,
                [(RequestSent, REQUEST), (RequestSent, REQUEST), (AckSent, REQUEST), (RequestSent, AGAIN)],
            ),
            (
                Negotiation::late,
                [(RequestSent, REQUEST), (RequestSent, REQUEST), (AckSent, REQUEST), (Opened, NOTHING)],
            ),
        ];
        for (event, expected) in rows {
            for (from, (to, effects)) in [RequestSent, AckReceived, AckSent, Opened].into_iter().zip(expected)
            {
                let mut one = at(from);
                assert_eq!((event(&mut one), one.step), (effects, to), "from {from:?}");
            }
            let mut idle = Negotiation::IDLE;
            assert_eq!((event(&mut idle), idle.step), (NOTHING, Step::Starting));
        }
    }

    #[test]
    fn who_only_refuses_is_given_up() {
        let mut one = Negotiation::IDLE;
        one.start();
        (1..NAKS_MAX).for_each(|_| _ = one.refused());
        assert!(!one.is_hopeless());
        one.refused();
        assert!(one.is_hopeless());
        one.start();
        assert!(!one.is_hopeless());
    }
}
