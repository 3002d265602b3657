//! The commands that a person may want to type next.

use unicode_width::UnicodeWidthStr as _;

use super::{DIM, terminal_width};

/// The column at which commands begin.
const INDENT: usize = 6;

/// A command to type next, and its purpose if that is not obvious.
#[derive(Debug, Clone)]
pub(crate) struct NextCommand {
    command: String,
    purpose: &'static str,
}

impl NextCommand {
    /// Creates a command with its purpose.
    pub(crate) fn new(command: impl Into<String>, purpose: &'static str) -> Self {
        Self { command: command.into(), purpose }
    }
}

/// Prints commands to type next below an empty line. A command is always complete: one
/// that is too long for the terminal is continued on the next line, as a shell reads it.
pub(crate) fn print_next(commands: impl IntoIterator<Item = NextCommand>) {
    let commands: Vec<NextCommand> = commands.into_iter().collect();
    let lines = layout(&commands, terminal_width().unwrap_or(usize::MAX));
    let labels = std::iter::once("next").chain(std::iter::repeat(""));
    if !lines.is_empty() {
        anstream::println!();
    }
    for ((command, purpose), label) in lines.into_iter().zip(labels) {
        let line = format!("{DIM}{label:INDENT$}{DIM:#}{command}{DIM}{purpose}{DIM:#}");
        anstream::println!("{line}");
    }
}

/// Returns the lines: each with a command, or a part of one, and its purpose.
fn layout(commands: &[NextCommand], columns: usize) -> Vec<(String, String)> {
    let room = columns.saturating_sub(INDENT);
    let width = commands.iter().map(|next| next.command.width()).max().unwrap_or_default();
    let purpose_width = commands.iter().map(|next| next.purpose.width()).max().unwrap_or_default();
    let beside = width + 2 + purpose_width <= room;
    let mut lines = Vec::new();
    for NextCommand { command, purpose } in commands {
        if purpose.is_empty() {
            lines
                .extend(break_command(command, room).into_iter().map(|part| (part, String::new())));
        } else if beside {
            lines.push((format!("{command:width$}  "), (*purpose).to_owned()));
        } else {
            lines
                .extend(break_command(command, room).into_iter().map(|part| (part, String::new())));
            let wrapped = super::wrap(purpose, room.saturating_sub(2));
            lines.extend(wrapped.into_iter().map(|part| (String::new(), format!("  {part}"))));
        }
    }
    lines
}

/// Breaks a command between words into lines that a shell reads as one.
fn break_command(command: &str, room: usize) -> Vec<String> {
    if command.width() <= room {
        return vec![command.to_owned()];
    }
    let mut lines = vec![String::new()];
    for option in command.replace(" --", "\n--").lines() {
        let line = lines
            .last_mut()
            .filter(|line| line.is_empty() || line.width() + option.width() + 3 <= room);
        match line {
            Some(line) if line.is_empty() => line.push_str(option),
            Some(line) => line.push_str(&format!(" {option}")),
            None => {
                if let Some(line) = lines.last_mut() {
                    line.push_str(" \\");
                }
                lines.push(format!("  {option}"));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{NextCommand, break_command, layout};

    #[test]
    fn o22_a_long_command_is_continued_on_the_next_line() {
        let command = "ostler dead-letter abandon out_1 --org bella --reason \"no\"";
        assert_eq!(break_command(command, 80), [command]);
        assert_eq!(
            break_command(command, 50),
            ["ostler dead-letter abandon out_1 --org bella \\", "  --reason \"no\""]
        );
    }

    #[test]
    fn o22_a_purpose_stands_beside_or_below_its_command() {
        let next = [NextCommand::new("ostler serve", "answers"), NextCommand::new("ls", "lists")];
        let line = |command: &str, purpose: &str| (command.to_owned(), purpose.to_owned());
        let beside = [line("ostler serve  ", "answers"), line("ls            ", "lists")];
        assert_eq!(layout(&next, 40), beside);
        let below =
            [line("ostler serve", ""), line("", "  answers"), line("ls", ""), line("", "  lists")];
        assert_eq!(layout(&next, 20), below);
    }
}
