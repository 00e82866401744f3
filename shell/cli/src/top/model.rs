//! State of the view. Pure: updates and keys come in, commands come out.
//!
//! Not here: the server, the terminal, drawing.

use api::{Campaign, Live, Names, Port, Run, State};
use serde::Deserialize;
use std::collections::VecDeque;

/// Snapshots kept for the port curves: one minute at two per second.
pub(crate) const HISTORY_MAX: usize = 120;
/// Rate change of '+' and '-'.
const STEP: f64 = 0.1;

/// The subject shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A run, by its id.
    Run(String),
    /// A campaign, by its id.
    Campaign(String),
}

impl Subject {
    /// Its id.
    pub(crate) fn id(&self) -> &str {
        match self {
            Self::Run(id) | Self::Campaign(id) => id,
        }
    }
}

/// Live figures; a campaign's include the running trial's names.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Snapshot {
    /// The columns' names, if they are not the run's.
    #[serde(default)]
    pub(crate) names: Option<Names>,
    /// The figures.
    #[serde(flatten)]
    pub(crate) live: Live,
}

/// An update from the server.
#[derive(Debug, Clone)]
pub(crate) enum Update {
    /// All runs and campaigns, newest first.
    Lists {
        /// Runs.
        runs: Vec<Run>,
        /// Campaigns.
        campaigns: Vec<Campaign>,
    },
    /// All ports; a port of an agent is named 'agent/port'.
    Ports(Vec<Port>),
    /// The followed run.
    Run(Box<Run>),
    /// The followed campaign.
    Campaign(Box<Campaign>),
    /// Figures of the followed subject.
    Snapshot(Subject, Box<Snapshot>),
    /// The server is unreachable, with the reason.
    Unreachable(String),
    /// The outcome of a command, or an error.
    Message(String),
}

/// Command requested by a key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum UserCommand {
    /// Send at this share of the profile's rate.
    Scale {
        /// The run.
        run: String,
        /// 0 pauses, 1 is the profile's rate.
        scale: f64,
    },
    /// Set the counters of this run to zero.
    Clear(String),
    /// End it.
    Stop(Subject),
    /// End the program.
    Quit,
}

/// A key with a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    /// A character.
    Char(char),
    /// Scrolls up a row.
    Up,
    /// Scrolls down a row.
    Down,
    /// Scrolls up a page.
    PageUp,
    /// Scrolls down a page.
    PageDown,
    /// The newer run.
    Left,
    /// The older run.
    Right,
    /// Back to the first row.
    Home,
    /// Confirms.
    Enter,
    /// Cancels.
    Escape,
    /// Deletes a character.
    Backspace,
    /// Ctrl-C.
    Interrupt,
}

/// Sort order of streams: largest first, names from A.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    /// Packets lost, then the rate sent.
    Loss,
    /// Rate sent.
    Sent,
    /// Rate received.
    Received,
    /// 99th percentile of latency.
    Latency,
    /// Name.
    Name,
}

impl Sort {
    /// Name for the heading.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::Sent => "rate sent",
            Self::Received => "rate received",
            Self::Latency => "latency",
            Self::Name => "name",
        }
    }
}

/// Overlay over the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overlay {
    /// Nothing.
    Nothing,
    /// The keys.
    Help,
    /// Confirmation of a stop.
    Stop,
    /// The filter is being typed.
    Filter,
}

/// State of the view.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    /// The server's address.
    pub(crate) server: String,
    /// Why the server is unreachable, or that the connection is pending.
    pub(crate) unreachable: Option<String>,
    /// Runs, newest first.
    pub(crate) runs: Vec<Run>,
    /// Campaigns, newest first.
    pub(crate) campaigns: Vec<Campaign>,
    /// All ports of the server.
    pub(crate) ports: Vec<Port>,
    /// The user's choice; else the running or latest subject is shown.
    pub(crate) pinned: Option<Subject>,
    /// The subject of the figures.
    pub(crate) shown: Option<Subject>,
    /// The columns' names.
    pub(crate) names: Names,
    /// The newest figures.
    pub(crate) live: Option<Live>,
    /// Packets per second sent and received by each port, the newest last.
    pub(crate) history: Vec<VecDeque<(f64, f64)>>,
    /// Order of streams.
    pub(crate) sort: Sort,
    /// Only streams whose name contains this are shown.
    pub(crate) filter: String,
    /// The first stream shown, counted in the sorted list.
    pub(crate) first: usize,
    /// Overlay over the view.
    pub(crate) overlay: Overlay,
    /// The newest message for the bottom line.
    pub(crate) message: Option<String>,
    /// The last requested share of the profile's rate, while not paused.
    scale: f64,
    /// Whether the run shown was paused here.
    pub(crate) paused: bool,
    /// Number of stream rows that fit, as last drawn.
    pub(crate) rows: usize,
}

impl Model {
    /// The state before the first response.
    pub(crate) fn new(server: &str, pinned: Option<Subject>) -> Self {
        Self {
            server: server.to_owned(),
            unreachable: Some("connecting …".to_owned()),
            runs: Vec::new(),
            campaigns: Vec::new(),
            ports: Vec::new(),
            pinned,
            shown: None,
            names: Names::default(),
            live: None,
            history: Vec::new(),
            sort: Sort::Loss,
            filter: String::new(),
            first: 0,
            overlay: Overlay::Nothing,
            message: None,
            scale: 1.0,
            paused: false,
            rows: 1,
        }
    }

    /// Subject to show: the chosen one, else a running one, else the latest.
    pub(crate) fn wanted(&self) -> Option<Subject> {
        if let Some(pinned) = &self.pinned {
            return Some(pinned.clone());
        }
        let all = self.subjects();
        all.iter().find(|subject| !self.has_ended(subject)).or(all.first()).cloned()
    }

    /// All runs and campaigns, newest first.
    pub(crate) fn subjects(&self) -> Vec<Subject> {
        let runs = self.runs.iter().map(|run| (&run.started, Subject::Run(run.id.clone())));
        let campaigns = self.campaigns.iter().map(|c| (&c.started, Subject::Campaign(c.id.clone())));
        let mut all: Vec<_> = runs.chain(campaigns).collect();
        // RFC 3339 times sort as text.
        all.sort_by(|(a, _), (b, _)| b.cmp(a));
        all.into_iter().map(|(_, subject)| subject).collect()
    }

    /// Shows another subject.
    pub(crate) fn show(&mut self, subject: Subject) {
        if self.shown.as_ref() != Some(&subject) {
            self.live = None;
            self.names = Names::default();
            self.history.clear();
            (self.first, self.scale, self.paused) = (0, 1.0, false);
            self.shown = Some(subject);
        }
    }

    /// The run that is shown.
    pub(crate) fn run(&self) -> Option<&Run> {
        let Some(Subject::Run(id)) = &self.shown else { return None };
        self.runs.iter().find(|run| run.id == *id)
    }

    /// The campaign that is shown.
    pub(crate) fn campaign(&self) -> Option<&Campaign> {
        let Some(Subject::Campaign(id)) = &self.shown else { return None };
        self.campaigns.iter().find(|campaign| campaign.id == *id)
    }

    fn state(&self, subject: &Subject) -> Option<State> {
        match subject {
            Subject::Run(id) => self.runs.iter().find(|run| run.id == *id).map(|run| run.state),
            Subject::Campaign(id) => self.campaigns.iter().find(|c| c.id == *id).map(|c| c.state),
        }
    }

    fn has_ended(&self, subject: &Subject) -> bool {
        self.state(subject).is_none_or(State::has_ended)
    }

    /// Applies an update.
    pub(crate) fn apply(&mut self, update: Update) {
        match update {
            Update::Lists { runs, campaigns } => {
                (self.runs, self.campaigns, self.unreachable) = (runs, campaigns, None);
                let everything = self.subjects();
                let gone = self.pinned.take_if(|pinned| !everything.contains(pinned));
                if let Some(gone) = gone {
                    self.message = Some(format!("the server no longer has {}", gone.id()));
                }
            }
            Update::Ports(ports) => self.ports = ports,
            Update::Run(run) => match self.runs.iter_mut().find(|known| known.id == run.id) {
                Some(known) => *known = *run,
                None => self.runs.insert(0, *run),
            },
            Update::Campaign(campaign) => {
                match self.campaigns.iter_mut().find(|known| known.id == campaign.id) {
                    Some(known) => *known = *campaign,
                    None => self.campaigns.insert(0, *campaign),
                }
            }
            Update::Snapshot(subject, snapshot) if self.shown.as_ref() == Some(&subject) => {
                self.record(*snapshot)
            }
            Update::Snapshot(..) => {}
            Update::Unreachable(reason) => self.unreachable = Some(reason),
            Update::Message(message) => self.message = Some(message),
        }
    }

    fn record(&mut self, snapshot: Snapshot) {
        let names = snapshot.names.or_else(|| self.run().map(|run| run.names.clone())).unwrap_or_default();
        let (before, live) = (self.live.as_ref().map(|live| live.at_s), snapshot.live);
        // The next trial of a campaign starts new curves.
        if names != self.names || before.is_some_and(|before| live.at_s < before) {
            self.history.clear();
            self.names = names;
        }
        self.history.resize(live.ports.tx_pps.len(), VecDeque::new());
        for (history, rates) in self.history.iter_mut().zip(live.ports.tx_pps.iter().zip(&live.ports.rx_pps))
        {
            if history.len() == HISTORY_MAX {
                history.pop_front();
            }
            history.push_back((*rates.0, *rates.1));
        }
        self.live = Some(live);
    }

    /// Indexes of the shown streams, sorted.
    pub(crate) fn sorted_streams(&self) -> Vec<usize> {
        let Some(live) = &self.live else { return Vec::new() };
        let streams = &live.streams;
        let count = streams.tx.len().min(self.names.streams.len());
        let mut order: Vec<usize> =
            (0..count).filter(|&n| self.names.streams[n].contains(&self.filter)).collect();
        let at = |column: &[Option<u64>], n: usize| column.get(n).copied().flatten();
        let rate = |column: &[f64], n: usize| column.get(n).copied().unwrap_or(0.0);
        // Streams with equal figures stay in the profile's order.
        match self.sort {
            Sort::Name => order.sort_by(|&a, &b| self.names.streams[a].cmp(&self.names.streams[b])),
            Sort::Sent => {
                order.sort_by(|&a, &b| rate(&streams.tx_pps, b).total_cmp(&rate(&streams.tx_pps, a)))
            }
            Sort::Received => {
                order.sort_by(|&a, &b| rate(&streams.rx_pps, b).total_cmp(&rate(&streams.rx_pps, a)));
            }
            Sort::Latency => order.sort_by_key(|&n| std::cmp::Reverse(at(&streams.latency_p99_ns, n))),
            // Rates change with every interval, and rows would jump.
            Sort::Loss => order.sort_by_key(|&n| std::cmp::Reverse(at(&streams.lost, n))),
        }
        order
    }

    /// Handles a key; returns a command for the server or the program.
    pub(crate) fn key(&mut self, key: Key) -> Option<UserCommand> {
        if key == Key::Interrupt {
            return Some(UserCommand::Quit);
        }
        match self.overlay {
            Overlay::Nothing => self.plain_key(key),
            Overlay::Help => {
                self.overlay = Overlay::Nothing;
                None
            }
            Overlay::Stop => {
                self.overlay = Overlay::Nothing;
                let yes = matches!(key, Key::Enter | Key::Char('y' | 'Y'));
                yes.then(|| self.shown.clone().map(UserCommand::Stop)).flatten()
            }
            Overlay::Filter => {
                match key {
                    Key::Enter => self.overlay = Overlay::Nothing,
                    Key::Escape => (self.filter, self.overlay) = (String::new(), Overlay::Nothing),
                    Key::Backspace => drop(self.filter.pop()),
                    Key::Char(c) => self.filter.push(c),
                    _ => {}
                }
                self.first = 0;
                None
            }
        }
    }

    fn plain_key(&mut self, key: Key) -> Option<UserCommand> {
        match key {
            Key::Char('q') => return Some(UserCommand::Quit),
            Key::Char('p' | ' ') => return self.pause_or_resume(),
            Key::Char('+' | '=') => return self.faster(1.0 + STEP),
            Key::Char('-' | '_') => return self.faster(1.0 - STEP),
            Key::Char('c') => return self.clear(),
            Key::Char('s') => self.confirm_stop(),
            Key::Char('?' | 'h') => self.overlay = Overlay::Help,
            Key::Char('/') => self.overlay = Overlay::Filter,
            Key::Char('l') => self.sort = Sort::Loss,
            Key::Char('t') => self.sort = Sort::Sent,
            Key::Char('r') => self.sort = Sort::Received,
            Key::Char('y') => self.sort = Sort::Latency,
            Key::Char('n') => self.sort = Sort::Name,
            Key::Escape => self.filter.clear(),
            Key::Left => self.choose(-1),
            Key::Right => self.choose(1),
            Key::Up => self.scroll(-1),
            Key::Down => self.scroll(1),
            Key::PageUp => self.scroll(-(self.rows as isize)),
            Key::PageDown => self.scroll(self.rows as isize),
            Key::Home => self.first = 0,
            _ => {}
        }
        None
    }

    /// The run whose rate can be changed; sets a message if there is none.
    fn changeable(&mut self) -> Option<String> {
        let refusal = match &self.shown {
            Some(subject) if self.has_ended(subject) => "the run has ended",
            Some(Subject::Run(id)) => return Some(id.clone()),
            Some(Subject::Campaign(_)) => "cannot change the rate: the campaign's method sets it",
            None => "nothing is running",
        };
        self.message = Some(refusal.to_owned());
        None
    }

    fn pause_or_resume(&mut self) -> Option<UserCommand> {
        let run = self.changeable()?;
        self.paused = !self.paused;
        Some(UserCommand::Scale { run, scale: if self.paused { 0.0 } else { self.scale } })
    }

    fn faster(&mut self, times: f64) -> Option<UserCommand> {
        let run = self.changeable()?;
        (self.scale, self.paused) = (self.scale * times, false);
        Some(UserCommand::Scale { run, scale: self.scale })
    }

    fn clear(&mut self) -> Option<UserCommand> {
        if let Some(subject @ Subject::Campaign(_)) = &self.shown
            && !self.has_ended(subject)
        {
            self.message = Some("cannot set counters to zero: the campaign's method counts".to_owned());
            return None;
        }
        self.changeable().map(UserCommand::Clear)
    }

    fn confirm_stop(&mut self) {
        match &self.shown {
            Some(subject) if !self.has_ended(subject) => self.overlay = Overlay::Stop,
            Some(_) => self.message = Some("already ended".to_owned()),
            None => self.message = Some("nothing is running".to_owned()),
        }
    }

    /// Shows the next subject in the list.
    fn choose(&mut self, step: isize) {
        let all = self.subjects();
        let at = self.shown.as_ref().and_then(|shown| all.iter().position(|subject| subject == shown));
        let next = at.map_or(0, |at| at.saturating_add_signed(step).min(all.len().saturating_sub(1)));
        if let Some(subject) = all.get(next) {
            self.pinned = Some(subject.clone());
        }
    }

    fn scroll(&mut self, by: isize) {
        let last = self.sorted_streams().len().saturating_sub(self.rows);
        self.first = self.first.saturating_add_signed(by).min(last);
    }
}

#[cfg(test)]
#[path = "model_tests.rs"]
pub(crate) mod tests;
