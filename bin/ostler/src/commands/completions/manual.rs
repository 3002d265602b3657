//! A manual page of a command, in the form that `man` reads.

use clap::Command;
use clap_mangen::Man;

/// The longest line of a page in bytes, with room for characters that `man` rewrites.
const MAX_LINE: usize = 72;

/// Returns the manual page of a command.
pub(super) fn page(name: &str, command: Command) -> anyhow::Result<String> {
    let date = jiff::Zoned::now().date();
    let notes = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let has_subcommands = command.get_subcommands().next().is_some();
    let man = Man::new(command);
    let mut body = Vec::new();
    man.render_name_section(&mut body)?;
    man.render_synopsis_section(&mut body)?;
    man.render_description_section(&mut body)?;
    man.render_options_section(&mut body)?;
    if has_subcommands {
        man.render_subcommands_section(&mut body)?;
    }
    let (title, version) = (name.to_uppercase(), env!("CARGO_PKG_VERSION"));
    let mut text = format!(".TH {title} 1 {date} \"ostler {version}\" Ostler\n");
    text.push_str(".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n");
    text.push_str(&tidy(&String::from_utf8_lossy(&body)));
    text.push_str(&notes_section(&notes));
    Ok(text)
}

/// Removes what `mandoc -Tlint` objects to: duplicate preludes, line breaks beside vertical
/// space, trailing spaces and long lines.
fn tidy(body: &str) -> String {
    let is_prelude = |line: &str| line.starts_with(".ie ") || line.starts_with(".el ");
    let lines: Vec<&str> = body.lines().filter(|line| !is_prelude(line)).collect();
    let is_space = |at: Option<&&str>| at.is_some_and(|line| line.starts_with(".sp"));
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        let beside_space = is_space(lines.get(at + 1)) || at > 0 && is_space(lines.get(at - 1));
        let repeated = text.ends_with(".br\n") || text.ends_with(".sp\n");
        if *line == ".br" && (beside_space || repeated) || line.trim().is_empty() {
            continue;
        }
        text.push_str(&break_line(line.trim_end()));
    }
    text
}

/// Breaks a line of text between words. Lines with requests stay whole.
fn break_line(line: &str) -> String {
    if line.len() <= MAX_LINE || line.starts_with('.') {
        return format!("{line}\n");
    }
    let (mut text, mut width) = (String::new(), 0);
    for word in line.split(' ') {
        if width > 0 && width + 1 + word.len() > MAX_LINE {
            text.push('\n');
            width = 0;
            // A word that begins like a request is text.
            if word.starts_with(['.', '\'']) {
                text.push_str("\\&");
            }
        } else if width > 0 {
            text.push(' ');
            width += 1;
        }
        text.push_str(word);
        width += word.len();
    }
    text + "\n"
}

/// Returns the examples and notes of a command, as they are.
fn notes_section(notes: &str) -> String {
    let notes = notes.trim();
    let Some(examples) = notes.strip_prefix("Examples:") else {
        return String::new();
    };
    let lines = examples.trim_matches('\n').lines().map(|line| {
        let text = line.replace('\\', "\\e").replace('-', "\\-");
        let guard = if text.starts_with(['.', '\'']) { "\\&" } else { "" };
        if text.is_empty() { ".sp\n".to_owned() } else { format!("{guard}{text}\n") }
    });
    format!(".SH EXAMPLES\n.nf\n{}.fi\n", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::{break_line, notes_section, tidy};

    #[test]
    fn o24_long_lines_are_broken_between_words() {
        let line = format!("{} .conf and the rest", "x".repeat(70));
        assert_eq!(break_line(&line), format!("{}\n\\&.conf and the rest\n", "x".repeat(70)));
        assert_eq!(break_line("short"), "short\n");
        assert_eq!(tidy("a\n.br\n.sp\nb\n\n.br\nc\n"), "a\n.sp\nb\n.br\nc\n");
    }

    #[test]
    fn o24_examples_keep_their_lines() {
        assert_eq!(
            notes_section("Examples:\n  ostler ls --json\n\nNotes."),
            ".SH EXAMPLES\n.nf\n  ostler ls \\-\\-json\n.sp\nNotes.\n.fi\n"
        );
    }
}
