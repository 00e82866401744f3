//! `eagre top`: the live view of a server's runs in a terminal.
//!
//! Not here: measuring. Every figure comes from the server; what ends here changes nothing there.

pub(crate) mod client;
mod draw;
mod ended;
mod feed;
mod figures;
mod model;

use crate::{Exit, Failure};
use client::{Server, Trouble, Trust};
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use draw::Palette;
use feed::Feed;
use model::{Key, Model, News, Order, Subject};
use std::cell::RefCell;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// How long a key is waited for before news are looked at.
const LOOK: Duration = Duration::from_millis(50);
/// Streams a snapshot shows.
const STREAMS_MAX: usize = 50;

#[derive(clap::Args)]
pub(crate) struct TopArgs {
    /// The server
    #[arg(default_value = "http://127.0.0.1:8443")]
    url: String,
    /// Who you are; better in the environment as EAGRE_TOKEN, where others can't read it
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// The run or campaign to look at, instead of what runs or ran last
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Print one snapshot and end; so it is without a terminal
    #[arg(long)]
    once: bool,
    /// Trust the authorities in this file (PEM) alone
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Trust whoever answers
    #[arg(long, conflicts_with = "ca")]
    insecure: bool,
}

pub(crate) fn top(args: &TopArgs) -> Result<Exit, Failure> {
    let token = args.token.clone().or_else(|| std::env::var("EAGRE_TOKEN").ok().filter(|t| !t.is_empty()));
    let trust = match &args.ca {
        Some(file) => Trust::File(file),
        None if args.insecure => Trust::Anybody,
        None => Trust::Machine,
    };
    let server = Server::new(&args.url, token, trust).map_err(Failure::bad_input)?;
    // The first answer decides whether there is anything to look at: a wrong address or token ends here, in words.
    let lists = feed::read_lists(&server).map_err(|e| failure(&server, &e))?;
    let mut model = Model::new(server.base(), None);
    model.hear(lists);
    model.pinned = args.run.as_ref().map(|id| chosen(&model, id)).transpose()?;
    if args.once || !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        print!("{}", snapshot(&server, model)?);
        return Ok(Exit::Done);
    }
    watch(server, model)
}

fn failure(server: &Server, trouble: &Trouble) -> Failure {
    let text = format!("{}: {trouble}", server.base());
    match trouble {
        Trouble::Refused { .. } => Failure::bad_input(text),
        Trouble::Away(_) | Trouble::Odd(_) => Failure::refused(text),
    }
}

/// The run or campaign with an id.
fn chosen(model: &Model, id: &str) -> Result<Subject, Failure> {
    let found = model.subjects().into_iter().find(|subject| subject.id() == id);
    found.ok_or_else(|| {
        let known: Vec<String> = model.subjects().iter().map(|subject| subject.id().to_owned()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Failure::bad_input(format!("--run: {} knows no '{id}'; it knows {known}", model.server))
    })
}

/// The newest figures there are, as text.
fn snapshot(server: &Server, mut model: Model) -> Result<String, Failure> {
    if let Some(subject) = model.wanted() {
        model.show(subject.clone());
        let model = RefCell::new(&mut model);
        // Until there are figures: whoever has ended has its last ones, a campaign between trials may have none.
        let hear = |news: News| {
            let mut model = model.borrow_mut();
            let between_trials = matches!(news, News::Campaign(_));
            model.hear(news);
            model.live.is_none() && !between_trials
        };
        feed::follow_once(server, &subject, &hear).map_err(|e| failure(server, &e))?;
    }
    Ok(figures::snapshot(&model, STREAMS_MAX))
}

/// The picture, until the person has seen enough.
fn watch(server: Server, mut model: Model) -> Result<Exit, Failure> {
    // Where the terminal has gone, reading from it comes to no end: so this ends without asking the loop below.
    let leave = || {
        ratatui::restore();
        std::process::exit(Exit::Done as i32);
    };
    ctrlc::set_handler(leave).map_err(|e| Failure::refused(format!("no way to listen for the end: {e}")))?;
    let (news, inbox) = channel();
    let mut feed = Feed::new(server, news);
    let mut terminal = ratatui::try_init().map_err(|e| Failure::refused(format!("the terminal: {e}")))?;
    let seen = look(&mut terminal, &mut model, &mut feed, &inbox);
    ratatui::restore();
    seen.map_err(|e| Failure::refused(format!("the terminal: {e}")))?;
    Ok(Exit::Done)
}

fn look(
    terminal: &mut ratatui::DefaultTerminal,
    model: &mut Model,
    feed: &mut Feed,
    inbox: &Receiver<News>,
) -> io::Result<()> {
    let palette = Palette { colour: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) };
    let mut stale = true;
    loop {
        if let Some(subject) = model.wanted() {
            stale |= model.shown.as_ref() != Some(&subject);
            model.show(subject);
        }
        feed.follow(model.shown.clone());
        if stale {
            terminal.draw(|frame| draw::draw(frame, model, palette))?;
        }
        stale = false;
        if event::poll(LOOK)? {
            stale = true;
            let order = pressed(event::read()?).and_then(|key| model.key(key));
            match order {
                Some(Order::Quit) => return Ok(()),
                Some(order) => feed.order(order),
                None => {}
            }
        }
        for told in inbox.try_iter() {
            model.hear(told);
            stale = true;
        }
    }
}

/// A key of ours, if that is what happened. A new size of the terminal is none, but everything is drawn anew.
fn pressed(event: Event) -> Option<Key> {
    let Event::Key(KeyEvent { code, modifiers, kind, .. }) = event else { return None };
    if kind == KeyEventKind::Release {
        return None;
    }
    Some(match code {
        KeyCode::Char('c' | 'd') if modifiers.contains(KeyModifiers::CONTROL) => Key::Interrupt,
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::Home => Key::Home,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        _ => return None,
    })
}
