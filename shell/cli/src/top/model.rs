//! What is shown, and what keys do to it. Pure: news and keys come in, orders come out.
//!
//! Not here: the server, the terminal, how it looks.

use api::{Campaign, Live, Names, Run, State};
use serde::Deserialize;
use std::collections::VecDeque;

/// Looks kept for the small curves: at two a second, a minute.
pub(crate) const HISTORY_MAX: usize = 120;
/// What '+' and '-' make of the rate.
const STEP: f64 = 0.1;

/// What is looked at.
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

/// Live figures; those of a campaign's trials bring the trial's own names.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Look {
    /// The columns' names, if they are not the run's.
    #[serde(default)]
    pub(crate) names: Option<Names>,
    /// The figures.
    #[serde(flatten)]
    pub(crate) live: Live,
}

/// What a server had to say.
#[derive(Debug, Clone)]
pub(crate) enum News {
    /// All that it knows of, newest first.
    Lists {
        /// Runs.
        runs: Vec<Run>,
        /// Campaigns.
        campaigns: Vec<Campaign>,
    },
    /// A run that is followed.
    Run(Box<Run>),
    /// A campaign that is followed.
    Campaign(Box<Campaign>),
    /// Figures of what is followed.
    Look(Subject, Box<Look>),
    /// It can't be reached, and why.
    Away(String),
    /// What became of an order, or why there is nothing to see.
    Said(String),
}

/// What the person wants done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Order {
    /// Send at this share of what the profile says.
    Scale {
        /// The run.
        run: String,
        /// 0 pauses, 1 is the profile's rate.
        scale: f64,
    },
    /// End it.
    Stop(Subject),
    /// End the program.
    Quit,
}

/// A key, as far as it means something here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    /// A character.
    Char(char),
    /// Another row.
    Up,
    /// Another row.
    Down,
    /// As many rows as are seen.
    PageUp,
    /// As many rows as are seen.
    PageDown,
    /// The newer run.
    Left,
    /// The older run.
    Right,
    /// Back to the first row.
    Home,
    /// Done with typing, or yes.
    Enter,
    /// Never mind.
    Escape,
    /// Takes a character back.
    Backspace,
    /// Ctrl-C.
    Interrupt,
}

/// What streams are sorted by; the worst or largest first, names from A.
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
    /// In words, for the heading.
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

/// What lies over the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    /// Nothing.
    Nothing,
    /// The keys.
    Help,
    /// Whether to stop.
    Stop,
    /// The filter is being typed.
    Filter,
}

/// All that is shown.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    /// The server's address.
    pub(crate) server: String,
    /// Why the server can't be reached, if it can't; before the first answer, that it is being asked.
    pub(crate) away: Option<String>,
    /// Runs, newest first.
    pub(crate) runs: Vec<Run>,
    /// Campaigns, newest first.
    pub(crate) campaigns: Vec<Campaign>,
    /// What the person chose to look at; else it is what runs, or ran last.
    pub(crate) pinned: Option<Subject>,
    /// Whose figures these are.
    pub(crate) shown: Option<Subject>,
    /// The columns' names.
    pub(crate) names: Names,
    /// The newest figures.
    pub(crate) live: Option<Live>,
    /// Packets per second sent and received by each port, the newest last.
    pub(crate) history: Vec<VecDeque<(f64, f64)>>,
    /// How streams are sorted.
    pub(crate) sort: Sort,
    /// Streams whose name holds this are shown.
    pub(crate) filter: String,
    /// The first stream shown, counted in the sorted list.
    pub(crate) first: usize,
    /// What lies over the picture.
    pub(crate) over: Over,
    /// The newest sentence for the bottom line.
    pub(crate) said: Option<String>,
    /// What was last asked for of the run shown, as a share of the profile's rate, while not paused.
    scale: f64,
    /// Whether the run shown was paused here.
    pub(crate) paused: bool,
    /// Rows of streams that fit, as last drawn.
    pub(crate) rows: usize,
}

impl Model {
    /// Before anything is known of a server.
    pub(crate) fn new(server: &str, pinned: Option<Subject>) -> Self {
        Self {
            server: server.to_owned(),
            away: Some("asking …".to_owned()),
            runs: Vec::new(),
            campaigns: Vec::new(),
            pinned,
            shown: None,
            names: Names::default(),
            live: None,
            history: Vec::new(),
            sort: Sort::Loss,
            filter: String::new(),
            first: 0,
            over: Over::Nothing,
            said: None,
            scale: 1.0,
            paused: false,
            rows: 1,
        }
    }

    /// What to look at now: what was chosen, else what runs, else what ran last.
    pub(crate) fn wanted(&self) -> Option<Subject> {
        if let Some(pinned) = &self.pinned {
            return Some(pinned.clone());
        }
        let all = self.subjects();
        all.iter().find(|subject| !self.has_ended(subject)).or(all.first()).cloned()
    }

    /// Everything that can be looked at, newest first.
    pub(crate) fn subjects(&self) -> Vec<Subject> {
        let runs = self.runs.iter().map(|run| (&run.started, Subject::Run(run.id.clone())));
        let campaigns = self.campaigns.iter().map(|c| (&c.started, Subject::Campaign(c.id.clone())));
        let mut all: Vec<_> = runs.chain(campaigns).collect();
        // Times are written so that their order is that of their letters.
        all.sort_by(|(a, _), (b, _)| b.cmp(a));
        all.into_iter().map(|(_, subject)| subject).collect()
    }

    /// Begins to look at something else.
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

    /// Takes in what the server said.
    pub(crate) fn hear(&mut self, news: News) {
        match news {
            News::Lists { runs, campaigns } => {
                (self.runs, self.campaigns, self.away) = (runs, campaigns, None);
                let everything = self.subjects();
                let gone = self.pinned.take_if(|pinned| !everything.contains(pinned));
                if let Some(gone) = gone {
                    self.said = Some(format!("{} is not known to this server", gone.id()));
                }
            }
            News::Run(run) => match self.runs.iter_mut().find(|known| known.id == run.id) {
                Some(known) => *known = *run,
                None => self.runs.insert(0, *run),
            },
            News::Campaign(campaign) => {
                match self.campaigns.iter_mut().find(|known| known.id == campaign.id) {
                    Some(known) => *known = *campaign,
                    None => self.campaigns.insert(0, *campaign),
                }
            }
            News::Look(subject, look) if self.shown.as_ref() == Some(&subject) => self.look(*look),
            News::Look(..) => {}
            News::Away(reason) => self.away = Some(reason),
            News::Said(sentence) => self.said = Some(sentence),
        }
    }

    fn look(&mut self, look: Look) {
        let names = look.names.or_else(|| self.run().map(|run| run.names.clone())).unwrap_or_default();
        let (before, live) = (self.live.as_ref().map(|live| live.at_s), look.live);
        // Another trial of a campaign begins a new curve.
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

    /// Numbers of the streams that are shown, in their order.
    pub(crate) fn sorted_streams(&self) -> Vec<usize> {
        let Some(live) = &self.live else { return Vec::new() };
        let streams = &live.streams;
        let count = streams.tx.len().min(self.names.streams.len());
        let mut order: Vec<usize> =
            (0..count).filter(|&n| self.names.streams[n].contains(&self.filter)).collect();
        let at = |column: &[Option<u64>], n: usize| column.get(n).copied().flatten();
        let rate = |column: &[f64], n: usize| column.get(n).copied().unwrap_or(0.0);
        // Streams with the same figure stay in the profile's order.
        match self.sort {
            Sort::Name => order.sort_by(|&a, &b| self.names.streams[a].cmp(&self.names.streams[b])),
            Sort::Sent => {
                order.sort_by(|&a, &b| rate(&streams.tx_pps, b).total_cmp(&rate(&streams.tx_pps, a)))
            }
            Sort::Received => {
                order.sort_by(|&a, &b| rate(&streams.rx_pps, b).total_cmp(&rate(&streams.rx_pps, a)));
            }
            Sort::Latency => order.sort_by_key(|&n| std::cmp::Reverse(at(&streams.latency_p99_ns, n))),
            Sort::Loss => order.sort_by(|&a, &b| {
                let lost = at(&streams.lost, b).cmp(&at(&streams.lost, a));
                lost.then(rate(&streams.tx_pps, b).total_cmp(&rate(&streams.tx_pps, a)))
            }),
        }
        order
    }

    /// What a key asks for; most only change what is shown.
    pub(crate) fn key(&mut self, key: Key) -> Option<Order> {
        if key == Key::Interrupt {
            return Some(Order::Quit);
        }
        match self.over {
            Over::Nothing => self.plain_key(key),
            Over::Help => {
                self.over = Over::Nothing;
                None
            }
            Over::Stop => {
                self.over = Over::Nothing;
                let yes = matches!(key, Key::Enter | Key::Char('y' | 'Y'));
                yes.then(|| self.shown.clone().map(Order::Stop)).flatten()
            }
            Over::Filter => {
                match key {
                    Key::Enter => self.over = Over::Nothing,
                    Key::Escape => (self.filter, self.over) = (String::new(), Over::Nothing),
                    Key::Backspace => drop(self.filter.pop()),
                    Key::Char(c) => self.filter.push(c),
                    _ => {}
                }
                self.first = 0;
                None
            }
        }
    }

    fn plain_key(&mut self, key: Key) -> Option<Order> {
        match key {
            Key::Char('q') => return Some(Order::Quit),
            Key::Char('p' | ' ') => return self.pause_or_resume(),
            Key::Char('+' | '=') => return self.faster(1.0 + STEP),
            Key::Char('-' | '_') => return self.faster(1.0 - STEP),
            Key::Char('s') => self.ask_to_stop(),
            Key::Char('?' | 'h') => self.over = Over::Help,
            Key::Char('/') => self.over = Over::Filter,
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

    /// The run whose rate can be changed; says why not if there is none.
    fn changeable(&mut self) -> Option<String> {
        let refusal = match &self.shown {
            Some(subject) if self.has_ended(subject) => "it has ended: there is no rate to change",
            Some(Subject::Run(id)) => return Some(id.clone()),
            Some(Subject::Campaign(_)) => "a campaign decides on the rate itself",
            None => "nothing runs",
        };
        self.said = Some(refusal.to_owned());
        None
    }

    fn pause_or_resume(&mut self) -> Option<Order> {
        let run = self.changeable()?;
        self.paused = !self.paused;
        Some(Order::Scale { run, scale: if self.paused { 0.0 } else { self.scale } })
    }

    fn faster(&mut self, times: f64) -> Option<Order> {
        let run = self.changeable()?;
        (self.scale, self.paused) = (self.scale * times, false);
        Some(Order::Scale { run, scale: self.scale })
    }

    fn ask_to_stop(&mut self) {
        match &self.shown {
            Some(subject) if !self.has_ended(subject) => self.over = Over::Stop,
            Some(_) => self.said = Some("it has ended".to_owned()),
            None => self.said = Some("nothing runs".to_owned()),
        }
    }

    /// Looks at the next one in the list of all.
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
