//! `eagre top`: live view of a server's runs in a terminal.
//!
//! Not here: measuring. Every figure comes from the server; quitting leaves runs running.

pub(crate) mod client;
mod draw;
mod ended;
mod feed;
mod figures;
mod model;

use crate::{Exit, Failure};
use client::{ClientError, Server, Trust};
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use draw::Palette;
use feed::Feed;
use model::{Key, Model, Subject, Update, UserCommand};
use std::cell::RefCell;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Time to wait for a key before reading updates.
const KEY_TIMEOUT: Duration = Duration::from_millis(50);
/// Maximum number of streams with --once.
const STREAMS_MAX: usize = 50;

#[derive(clap::Args)]
pub(crate) struct TopArgs {
    /// Server URL
    #[arg(default_value = "http://127.0.0.1:8443")]
    url: String,
    /// Access token; prefer the environment variable EAGRE_TOKEN, which other users cannot read
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// Id of the run or campaign to show [default: the running or latest one]
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Print one snapshot and exit (default without a terminal)
    #[arg(long)]
    once: bool,
    /// Trust only the certificate authorities in this file (PEM)
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Accept any certificate
    #[arg(long, conflicts_with = "ca")]
    insecure: bool,
}

pub(crate) fn top(args: &TopArgs) -> Result<Exit, Failure> {
    let token = args.token.clone().or_else(|| std::env::var("EAGRE_TOKEN").ok().filter(|t| !t.is_empty()));
    let trust = match &args.ca {
        Some(file) => Trust::File(file),
        None if args.insecure => Trust::Insecure,
        None => Trust::System,
    };
    let server = Server::new(&args.url, token, trust).map_err(Failure::bad_input)?;
    // The first response reveals a wrong address or token.
    let lists = feed::read_lists(&server).map_err(|e| failure(&server, &e))?;
    let mut model = Model::new(server.base(), None);
    model.apply(lists);
    model.apply(feed::read_ports(&server).map_err(|e| failure(&server, &e))?);
    model.pinned = args.run.as_ref().map(|id| chosen(&model, id)).transpose()?;
    if args.once || !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        print!("{}", snapshot(&server, model)?);
        return Ok(Exit::Done);
    }
    watch(server, model)
}

fn failure(server: &Server, error: &ClientError) -> Failure {
    let text = format!("{}: {error}", server.base());
    match error {
        ClientError::Refused { .. } => Failure::bad_input(text),
        ClientError::Unreachable(_) => Failure::refused(format!(
            "{text}; 'eagre serve' starts a server, and 'eagre top URL' looks at another one"
        )),
        ClientError::Unexpected(_) => Failure::refused(text),
    }
}

/// The run or campaign with an id.
fn chosen(model: &Model, id: &str) -> Result<Subject, Failure> {
    let found = model.subjects().into_iter().find(|subject| subject.id() == id);
    found.ok_or_else(|| {
        let known: Vec<String> = model.subjects().iter().map(|subject| subject.id().to_owned()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Failure::bad_input(format!("--run: unknown id '{id}'; {} has {known}", model.server))
    })
}

/// The newest figures as text.
fn snapshot(server: &Server, mut model: Model) -> Result<String, Failure> {
    if let Some(subject) = model.wanted() {
        model.show(subject.clone());
        let model = RefCell::new(&mut model);
        // Wait for figures; a campaign between trials can have none.
        let apply = |update: Update| {
            let mut model = model.borrow_mut();
            let between_trials = matches!(update, Update::Campaign(_));
            model.apply(update);
            model.live.is_none() && !between_trials
        };
        feed::follow_once(server, &subject, &apply).map_err(|e| failure(server, &e))?;
    }
    Ok(figures::snapshot(&model, STREAMS_MAX))
}

/// Runs the live view until the user quits.
fn watch(server: Server, mut model: Model) -> Result<Exit, Failure> {
    // Reading from a closed terminal never returns, so this exits without the loop below.
    let leave = || {
        ratatui::restore();
        std::process::exit(Exit::Done as i32);
    };
    ctrlc::set_handler(leave)
        .map_err(|e| Failure::refused(format!("cannot install the signal handler: {e}")))?;
    let (updates, inbox) = channel();
    let mut feed = Feed::new(server, updates);
    let mut terminal = ratatui::try_init().map_err(|e| Failure::refused(format!("the terminal: {e}")))?;
    let ended = run_loop(&mut terminal, &mut model, &mut feed, &inbox);
    ratatui::restore();
    ended.map_err(|e| Failure::refused(format!("the terminal: {e}")))?;
    Ok(Exit::Done)
}

fn run_loop(
    terminal: &mut ratatui::DefaultTerminal,
    model: &mut Model,
    feed: &mut Feed,
    inbox: &Receiver<Update>,
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
        if event::poll(KEY_TIMEOUT)? {
            stale = true;
            let command = pressed(event::read()?).and_then(|key| model.key(key));
            match command {
                Some(UserCommand::Quit) => return Ok(()),
                Some(command) => feed.send(command),
                None => {}
            }
        }
        for update in inbox.try_iter() {
            model.apply(update);
            stale = true;
        }
    }
}

/// The key of a key event. Other events, such as a resize, only redraw.
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
