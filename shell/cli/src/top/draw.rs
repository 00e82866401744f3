//! Draws the view: a pure function of the model, redrawn as a whole each time.
//!
//! Not here: keys, the server. Colour only repeats the text.

use super::figures;
use super::model::{Model, Overlay};
use crate::table::table;
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Borders, Clear, Paragraph, Wrap};

/// Width of a port's curve, in cells.
const CURVE: usize = 24;
const KEYS: &str = "q quit   p pause/resume   + - rate   c clear   s stop   / filter   ? help";
const HELP: &str = "\
q        quit; runs continue
p space  pause, resume
+ -      10% faster, slower
c        set counters to zero
s        stop (needs confirmation)
← →      newer, older run or campaign
↑ ↓      scroll streams; also Page Up, Page Down, Home
/        filter streams by name; Esc shows all
l t r    sort by loss, rate sent, rate received
y n      sort by latency, name
?        help; any key closes it";

/// Text styles.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Palette {
    /// Whether to use colours in addition to bold and dim text.
    pub(crate) colour: bool,
}

impl Palette {
    fn paint(self, colour: Color) -> Style {
        if self.colour { Style::new().fg(colour) } else { Style::new() }
    }

    fn bad(self) -> Style {
        self.paint(Color::Red).add_modifier(Modifier::BOLD)
    }

    fn quiet(self) -> Style {
        if self.colour { Style::new().fg(Color::DarkGray) } else { Style::new().add_modifier(Modifier::DIM) }
    }
}

/// Draws everything; stores in the model how many streams fit.
pub(crate) fn draw(frame: &mut Frame<'_>, model: &mut Model, palette: Palette) {
    let blocks = blocks(model);
    let mut heights: Vec<Constraint> =
        blocks.iter().map(|block| Constraint::Length(block.lines.len() as u16 + 1)).collect();
    heights.insert(0, Constraint::Length(2));
    heights.push(Constraint::Min(2));
    heights.push(Constraint::Length(1));
    let areas = Layout::vertical(heights).split(frame.area());
    frame.render_widget(Paragraph::new(header(model, palette)), areas[0]);
    for (block, area) in blocks.iter().zip(areas.iter().skip(1)) {
        titled(frame, *area, &block.title, block.lines.clone(), palette);
    }
    streams(frame, areas[areas.len() - 2], model, palette);
    frame.render_widget(Paragraph::new(footer(model, palette)), areas[areas.len() - 1]);
    overlay(frame, model);
}

/// Lines under a title.
struct Section {
    title: String,
    lines: Vec<Line<'static>>,
}

fn titled(frame: &mut Frame<'_>, area: Rect, title: &str, lines: Vec<Line<'_>>, palette: Palette) {
    let title = Line::styled(format!(" {title} "), Style::new().add_modifier(Modifier::BOLD));
    let block = Block::new().borders(Borders::TOP).border_style(palette.quiet()).title(title);
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

/// Server and subject, then progress or a warning.
fn header(model: &Model, palette: Palette) -> Text<'static> {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let server = Span::styled(format!(" eagre top   {}   ", model.server), palette.quiet());
    let first = match &model.unreachable {
        Some(reason) => {
            Line::from(vec![server, Span::styled(format!("not connected: {reason}"), palette.bad())])
        }
        None => Line::from(vec![server, Span::styled(figures::subject(model), bold)]),
    };
    let second = match figures::warning(model) {
        Some(warning) => Line::styled(format!(" {warning}"), palette.paint(Color::Yellow)),
        None => Line::from(format!(" {}", figures::progress(model))),
    };
    Text::from(vec![first, second])
}

/// The sections present: campaign, agents, ports, latency and workers, sessions.
fn blocks(model: &Model) -> Vec<Section> {
    let mut blocks = Vec::new();
    if let Some(campaign) = model.campaign() {
        let lines = figures::campaign(campaign).into_iter().map(Line::from).collect();
        blocks.push(Section { title: "campaign".to_owned(), lines });
    }
    let agents = figures::agents(model);
    if !agents.is_empty() {
        blocks.push(section("agents", &figures::AGENTS, agents));
    }
    let Some(live) = &model.live else { return blocks };
    let curves = model.history.iter().map(|history| {
        let top = history.iter().map(|(tx, rx)| tx.max(*rx)).fold(0.0, f64::max);
        let (tx, rx): (Vec<f64>, Vec<f64>) = history.iter().copied().unzip();
        (figures::curve(&tx, top, CURVE), figures::curve(&rx, top, CURVE))
    });
    let rows = figures::ports(model, live).into_iter().zip(curves).map(|(mut row, (tx, rx))| {
        row.insert(3, tx);
        row.push(rx);
        row
    });
    let head = ["port", "tx rate", "tx L1", "", "rx rate", "rx L1", ""];
    blocks.push(section("ports", &head, rows.collect()));
    let mut lines = Vec::new();
    lines.extend(live.latency.map(|latency| Line::from(format!("  {}", figures::latency(&latency)))));
    lines.push(Line::from(format!("  {}", figures::workers(&live.workers))));
    blocks.push(Section { title: "latency, workers".to_owned(), lines });
    if !live.sessions.active.is_empty() {
        blocks.push(section("sessions", &figures::SESSIONS, figures::sessions(model, live)));
    }
    blocks
}

fn section(title: &str, head: &[&str], rows: Vec<Vec<String>>) -> Section {
    let lines = table(head, rows).lines().map(|line| Line::from(line.to_owned())).collect();
    Section { title: title.to_owned(), lines }
}

fn streams(frame: &mut Frame<'_>, area: Rect, model: &mut Model, palette: Palette) {
    let order = model.sorted_streams();
    // One line for the title, one for the headings.
    model.rows = usize::from(area.height.saturating_sub(2)).max(1);
    model.first = model.first.min(order.len().saturating_sub(model.rows));
    let shown: Vec<usize> = order.iter().skip(model.first).take(model.rows).copied().collect();
    let Some(live) = &model.live else {
        let nothing = if model.shown.is_some() { "no figures yet" } else { "no runs" };
        return titled(frame, area, "streams", vec![Line::from(format!("  {nothing}"))], palette);
    };
    let text = table(&figures::STREAMS, shown.iter().map(|n| figures::stream(model, live, *n)).collect());
    let lost = |row: usize| live.streams.lost.get(shown[row]).copied().flatten().unwrap_or(0) > 0;
    let lines = text.lines().enumerate().map(|(number, line)| match number.checked_sub(1) {
        None => Line::styled(line.to_owned(), palette.quiet()),
        Some(row) if lost(row) => Line::styled(line.to_owned(), palette.bad()),
        Some(_) => Line::from(line.to_owned()),
    });
    let filter = if model.filter.is_empty() { String::new() } else { format!(", filter '{}'", model.filter) };
    let title = format!(
        "streams by {}{filter}: {}–{} of {}",
        model.sort.words(),
        if shown.is_empty() { 0 } else { model.first + 1 },
        model.first + shown.len(),
        order.len()
    );
    titled(frame, area, &title, lines.collect(), palette);
}

fn footer(model: &Model, palette: Palette) -> Line<'static> {
    if model.overlay == Overlay::Filter {
        return Line::from(format!(" / {}▏  Enter keeps the filter, Esc clears it", model.filter));
    }
    // The message comes first: on a narrow terminal it matters more than the keys.
    let message = model.message.as_ref();
    let message = message.map(|text| Span::styled(format!(" {text}  "), palette.paint(Color::Yellow)));
    let keys = Span::styled(format!(" {KEYS}"), palette.quiet());
    Line::from(message.into_iter().chain([keys]).collect::<Vec<_>>())
}

fn overlay(frame: &mut Frame<'_>, model: &Model) {
    let (title, text) = match model.overlay {
        Overlay::Help => (" keys ", HELP.to_owned()),
        Overlay::Stop => (" stop? ", format!("Stop {}?  y yes   any other key no", figures::subject(model))),
        Overlay::Nothing | Overlay::Filter => return,
    };
    let whole = frame.area();
    let width = text.lines().map(|line| line.chars().count()).max().unwrap_or(0) as u16 + 4;
    let height = text.lines().count() as u16 + 2;
    let area = whole
        .centered(Constraint::Length(width.min(whole.width)), Constraint::Length(height.min(whole.height)));
    frame.render_widget(Clear, area);
    let block = Block::bordered().title(title).title_alignment(Alignment::Center);
    frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: false }).block(block), area);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::model::tests::{run, showing};
    use crate::top::model::{Key, Update};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    /// Draws into a buffer; returns its lines and colours.
    fn picture(model: &mut Model, width: u16, height: u16, palette: Palette) -> (Vec<String>, Vec<Color>) {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, model, palette)).unwrap();
        let buffer = terminal.backend().buffer();
        let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        let colours = buffer.content.iter().map(|cell| cell.fg).collect();
        ((0..height).map(line).collect(), colours)
    }

    fn plain(model: &mut Model, width: u16, height: u16) -> String {
        picture(model, width, height, Palette { colour: false }).0.join("\n")
    }

    #[test]
    fn all_sections_are_drawn() {
        let text = plain(&mut showing(40), 120, 30);
        for part in [
            "demo (a): running",
            "1.5 s of 10.0 s",
            "west",
            "1.1 kpps",
            "p99.9 12 µs",
            "worker on core 1 42% busy",
            "web",
            "560/s",
            "streams by loss: 1–",
            "of 40",
            "stream-38",
            "q quit",
        ] {
            assert!(text.contains(part), "'{part}' is missing in\n{text}");
        }
        let lost = text.lines().position(|line| line.contains("stream-38")).unwrap();
        let none = text.lines().position(|line| line.contains("stream-39"));
        assert!(none.is_none_or(|none| none > lost), "the worst stream is not the first:\n{text}");
    }

    #[test]
    fn colours_can_be_disabled() {
        let (with, colours) = picture(&mut showing(9), 100, 30, Palette { colour: true });
        assert!(colours.contains(&Color::Red));
        let (without, none) = picture(&mut showing(9), 100, 30, Palette { colour: false });
        assert!(none.iter().all(|colour| *colour == Color::Reset));
        assert_eq!(with, without, "colour says something that words do not");
    }

    #[test]
    fn any_size_is_drawn() {
        let mut model = showing(40);
        for key in [None, Some('?'), Some('x'), Some('s'), Some('x'), Some('/')] {
            key.map(|c| model.key(Key::Char(c)));
            for (width, height) in [(1, 1), (5, 2), (20, 5), (40, 12), (300, 90)] {
                plain(&mut model, width, height);
            }
        }
    }

    #[test]
    fn an_unreachable_server_and_an_invalid_result_are_shown() {
        let mut model = showing(2);
        model.apply(Update::Unreachable("connection refused".to_owned()));
        assert!(plain(&mut model, 100, 20).contains("not connected: connection refused"));
        let mut done = run("a", "done", 2);
        let reasons = vec!["the tester was the limit".to_owned()];
        done.verdict = Some(result::Verdict { reasons, ..result::Verdict::default() });
        model.apply(Update::Run(Box::new(done)));
        assert!(plain(&mut model, 100, 20).contains("invalid: the tester was the limit"));
    }

    #[test]
    fn help_and_confirmation_cover_the_view() {
        let mut model = showing(2);
        model.key(Key::Char('?'));
        assert!(plain(&mut model, 100, 30).contains("10% faster, slower"));
        model.key(Key::Char('x'));
        model.key(Key::Char('s'));
        assert!(plain(&mut model, 100, 30).contains("Stop demo (a): running?"));
    }
}
