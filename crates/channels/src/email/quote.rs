//! Removing the quoted text of a reply. Pure functions only.

/// Words in the line before a quotation, in several languages. The line ends with a
/// colon.
const WROTE_WORDS: [&str; 9] = [
    "wrote",
    "ha scritto",
    "scrive",
    "schrieb",
    "a écrit",
    "escribió",
    "escreveu",
    "schreef",
    "napisał",
];

/// Lines that begin a quoted mail.
const SEPARATORS: [&str; 6] = [
    "-----original message-----",
    "---------- forwarded message",
    "-----messaggio originale-----",
    "-----ursprüngliche nachricht-----",
    "-----message d'origine-----",
    "________________________________",
];

/// Removes the quotation at the end of a text. A text that is only a quotation is
/// returned unchanged.
pub(super) fn strip_quoted_text(text: &str) -> &str {
    let lines = Lines::new(text);
    let end = (0..lines.all.len()).find(|at| lines.begins_quote(*at));
    let new_text = text[..end.map_or(text.len(), |at| lines.all[at].offset)].trim();
    if new_text.is_empty() { text.trim() } else { new_text }
}

/// A line of a mail.
struct Line {
    /// In bytes, from the start of the text.
    offset: usize,
    /// Trimmed, in lower case.
    text: String,
}

impl Line {
    fn is_quoted(&self) -> bool {
        self.text.starts_with('>')
    }
}

/// The lines of a mail, with what is known about those that follow each of them. The
/// facts are computed once, so that the work grows with the text and not faster.
struct Lines {
    all: Vec<Line>,
    /// The first line from which on all lines are quoted or empty.
    quoted_from: usize,
    /// For each line, the first one from there on that is not empty.
    next_text: Vec<Option<usize>>,
}

impl Lines {
    fn new(text: &str) -> Self {
        let mut offset = 0;
        let line = |line: &str| {
            let start = offset;
            offset += line.len();
            Line { offset: start, text: line.trim().to_lowercase() }
        };
        let all: Vec<Line> = text.split_inclusive('\n').map(line).collect();
        let own = |line: &Line| !line.text.is_empty() && !line.is_quoted();
        let quoted_from = all.iter().rposition(own).map_or(0, |last| last + 1);
        let mut next_text = vec![None; all.len() + 2];
        for (at, line) in all.iter().enumerate().rev() {
            next_text[at] = if line.text.is_empty() { next_text[at + 1] } else { Some(at) };
        }
        Self { all, quoted_from, next_text }
    }

    fn text(&self, at: usize) -> &str {
        self.all.get(at).map_or("", |line| line.text.as_str())
    }

    /// Returns whether a quotation begins at a line and extends to the end.
    fn begins_quote(&self, at: usize) -> bool {
        let (first, second) = (self.text(at), self.text(at + 1));
        if SEPARATORS.iter().any(|separator| first.starts_with(separator)) {
            return true;
        }
        // Outlook quotes the headers of the mail.
        if first.starts_with("from: ")
            && ["sent: ", "date: "].iter().any(|name| second.starts_with(name))
        {
            return true;
        }
        match attribution_lines(first, second) {
            0 => self.all[at].is_quoted() && at >= self.quoted_from,
            lines => {
                let next = self.next_text.get(at + lines).copied().flatten();
                next.is_none_or(|next| self.all[next].is_quoted())
                    || first.contains('@')
                    || first.starts_with("on ")
            }
        }
    }
}

/// Returns how many lines a line such as "… wrote:" takes: it may be broken into two.
fn attribution_lines(first: &str, second: &str) -> usize {
    let is_attribution =
        |text: &str| text.ends_with(':') && WROTE_WORDS.iter().any(|wrote| text.contains(wrote));
    if is_attribution(first) {
        1
    } else if first.contains(['@', ',', '<']) && is_attribution(&format!("{first} {second}")) {
        2
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::strip_quoted_text;
    use proptest::prelude::proptest;

    #[test]
    fn quoted_text_is_removed() {
        let check =
            |text: &str, expected: &str| assert_eq!(strip_quoted_text(text), expected, "{text:?}");
        check("Yes please", "Yes please");
        check("Yes\n\nOn Mon, 1 Jan 2026 at 10:00, Bella wrote:\n> Pizza?\n> Ciao", "Yes");
        check("Sì\n\nIl giorno lun 1 gen 2026 Bella ha scritto:\n\n> Pizza?", "Sì");
        check("Ja\nAm 01.01.2026 um 10:00 schrieb Bella <b@x>:\n> Pizza?", "Ja");
        check("Oui\n\nLe lun. 1 janv. 2026 à 10:00, Bella a écrit :\n> Pizza ?", "Oui");
        check(
            "Yes\r\n\r\nOn Mon, 1 Jan 2026 at 10:00 Bella <ciao@bella.example>\r\nwrote:\r\n\r\n> Pizza?",
            "Yes",
        );
        check("Yes\n\n-----Original Message-----\nFrom: Bella", "Yes");
        check("Yes\n\nFrom: Bella <b@x>\nSent: Monday\nTo: Rosa\n\nPizza?", "Yes");
        check("Yes\n> Pizza?\n>> Or pasta?\n", "Yes");
        check("> Pizza?\nYes\n> Pasta?\nNo", "> Pizza?\nYes\n> Pasta?\nNo");
        check("My aunt wrote:\nno more pizza", "My aunt wrote:\nno more pizza");
        check("> only quoted", "> only quoted");
        check("", "");
    }

    /// S05: the work grows with the text and not with its square.
    #[test]
    fn s05_stripping_quotes_takes_linear_time() {
        let worst = ["> a\n", "a,\n", "On x wrote:\n\n", "\n", "x wrote:\n"];
        for line in worst {
            let time = |bytes: usize| {
                let text = format!("{}b", line.repeat(bytes / line.len()));
                let run = || {
                    let started = std::time::Instant::now();
                    std::hint::black_box(strip_quoted_text(&text));
                    started.elapsed()
                };
                (0..5).map(|_| run()).min().unwrap()
            };
            // A busy machine may slow one measurement down, but not every one.
            let is_linear = || {
                let (small, large) = (time(256 * 1024), time(1024 * 1024));
                large < small * 6 + Duration::from_millis(5)
            };
            assert!((0..8).any(|_| is_linear()), "{line:?}");
        }
    }

    proptest! {
        #[test]
        fn the_result_is_a_prefix_and_never_empty(text in "(> |On |wrote:|From: x|Sent: y|[a-z@ ]{0,5}|\r?\n){0,20}") {
            let new_text = strip_quoted_text(&text);
            assert!(text.trim().starts_with(new_text));
            assert_eq!(new_text.is_empty(), text.trim().is_empty());
        }
    }
}
