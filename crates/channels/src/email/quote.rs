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
    let lines = lines_with_offsets(text);
    let end = (0..lines.len()).find(|at| begins_quote(&lines[*at..])).map(|at| lines[at].0);
    let new_text = text[..end.unwrap_or(text.len())].trim();
    if new_text.is_empty() { text.trim() } else { new_text }
}

/// Returns each line with its byte offset.
fn lines_with_offsets(text: &str) -> Vec<(usize, &str)> {
    let mut at = 0;
    let line = |line: &'_ str| {
        let start = at;
        at += line.len();
        start
    };
    let starts: Vec<usize> = text.split_inclusive('\n').map(line).collect();
    starts.into_iter().zip(text.lines()).collect()
}

/// Returns whether a quotation begins here and extends to the end.
fn begins_quote(rest: &[(usize, &str)]) -> bool {
    let line = |at: usize| rest.get(at).map_or("", |(_, line)| line.trim());
    let first = line(0).to_lowercase();
    if SEPARATORS.iter().any(|separator| first.starts_with(separator)) {
        return true;
    }
    // Outlook quotes the headers of the mail.
    if first.starts_with("from: ")
        && ["sent: ", "date: "].iter().any(|name| line(1).to_lowercase().starts_with(name))
    {
        return true;
    }
    // The line "… wrote:" may be broken into two.
    let is_attribution =
        |text: &str| text.ends_with(':') && WROTE_WORDS.iter().any(|wrote| text.contains(wrote));
    let joined = format!("{first} {}", line(1).to_lowercase());
    let attribution_lines = if is_attribution(&first) {
        1
    } else if is_attribution(&joined) && !first.is_empty() && first.contains(['@', ',', '<']) {
        2
    } else {
        0
    };
    let quoted = |line: &str| line.trim_start().starts_with('>');
    if attribution_lines > 0 {
        let next = rest
            .iter()
            .skip(attribution_lines)
            .map(|(_, line)| *line)
            .find(|line| !line.trim().is_empty());
        return next.is_none_or(quoted) || first.contains('@') || first.starts_with("on ");
    }
    quoted(&first) && rest.iter().all(|(_, line)| line.trim().is_empty() || quoted(line))
}

#[cfg(test)]
mod tests {
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

    proptest! {
        #[test]
        fn the_result_is_a_prefix_and_never_empty(text in "(> |On |wrote:|From: x|Sent: y|[a-z@ ]{0,5}|\r?\n){0,20}") {
            let new_text = strip_quoted_text(&text);
            assert!(text.trim().starts_with(new_text));
            assert_eq!(new_text.is_empty(), text.trim().is_empty());
        }
    }
}
