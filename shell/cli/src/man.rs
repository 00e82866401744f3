//! `eagre man`: one manual page per command, generated from the definition in `args`.
//!
//! Not here: text about options. Added by hand: exit codes, files and cross-references.

use crate::args::Args;
use crate::print::Stdout;
use crate::{Exit, Failure, examples};
use clap::CommandFactory;
use clap_mangen::Man;
use std::io::{self, Write};
use std::path::Path;

/// Files, on the main page.
const FILES: &str = r#".SH FILES
.TP
.I $XDG_DATA_HOME/eagre/results.db
Stored results. If the variable is not set, the file is below
.IR ~/.local/share .
.TP
.I /usr/share/doc/eagre
Reference documentation and example profiles.
"#;

/// Prints the main page, or writes all pages to a directory, which is created if missing.
pub(crate) fn man(folder: Option<&Path>) -> Result<Exit, Failure> {
    let mut whole = Args::command().disable_help_subcommand(true);
    whole.build();
    match folder {
        None => {
            let page = page(&whole, None).map_err(|e| Failure::refused(format!("the page: {e}")))?;
            Stdout.write_all(&page).map_err(|e| Failure::refused(format!("standard output: {e}")))?;
        }
        Some(folder) => {
            let failure = |e: io::Error| Failure::refused(format!("{}: {e}", folder.display()));
            std::fs::create_dir_all(folder).map_err(failure)?;
            write_pages(&whole, None, folder).map_err(failure)?;
        }
    }
    Ok(Exit::Done)
}

/// Writes the page of a command and of its subcommands.
fn write_pages(command: &clap::Command, above: Option<&str>, folder: &Path) -> io::Result<()> {
    let name = full_name(command);
    os::draft::replace(&folder.join(format!("{name}.1")), page(command, above)?)?;
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write_pages(below, Some(&name), folder)?;
    }
    Ok(())
}

/// A command's full name, as in page names: `eagre-results-list`.
fn full_name(command: &clap::Command) -> String {
    command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned()
}

/// Exit codes, on every page.
fn exit_status() -> String {
    let mut all = Exit::ALL;
    all.sort_by_key(|exit| *exit as u8);
    let rows = all.map(|exit| format!(".TP\n{}\n{}\n", exit as u8, exit.about().replace("--", "\\-\\-")));
    format!(".SH EXIT STATUS\n{}", rows.concat())
}

/// One page in roff with man(7) macros. `above` is the parent command's page.
fn page(command: &clap::Command, above: Option<&str>) -> io::Result<Vec<u8>> {
    let version = concat!("eagre ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).source(version).manual("Eagre");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(&mut text)?;
    }
    if command.has_subcommands() {
        man.render_subcommands_section(&mut text)?;
    }
    text.extend_from_slice(examples::section(full_name(command).trim_start_matches("eagre-")).as_bytes());
    text.extend_from_slice(exit_status().as_bytes());
    match above {
        None => text.extend_from_slice(FILES.as_bytes()),
        // A hyphen that is part of a name, not one that may end a line.
        Some(above) => writeln!(text, ".SH SEE ALSO\n.BR {} (1)", above.replace('-', "\\-"))?,
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole() -> clap::Command {
        let mut whole = Args::command().disable_help_subcommand(true);
        whole.build();
        whole
    }

    #[test]
    fn the_first_page_names_every_command_and_exit_code() {
        let text = String::from_utf8(page(&whole(), None).unwrap()).unwrap();
        for command in whole().get_subcommands().filter(|command| !command.is_hide_set()) {
            let name = full_name(command).replace('-', "\\-");
            assert!(text.contains(&name), "{name} is not on the page");
        }
        for code in Exit::ALL {
            assert!(text.contains(&format!(".TP\n{}\n", code as u8)), "{code:?}");
        }
    }

    #[test]
    fn a_command_below_another_is_called_by_all_its_words() {
        let whole = whole();
        let list = whole.find_subcommand("results").and_then(|results| results.find_subcommand("list"));
        assert_eq!(full_name(list.unwrap()), "eagre-results-list");
    }
}
