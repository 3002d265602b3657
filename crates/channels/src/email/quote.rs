//! What of a reply is new: the text above what it quotes. Pure.

/// How mail programs announce what they quote, in the languages that customers
/// write. The line ends with a colon.
const WROTE: [&str; 9] = [
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
const BEGINS: [&str; 6] = [
    "-----original message-----",
    "---------- forwarded message",
    "-----messaggio originale-----",
    "-----ursprüngliche nachricht-----",
    "-----message d'origine-----",
    "________________________________",
];

/// The text without what it quotes at its end. A mail that is nothing but a
/// quotation stays as it is.
pub(super) fn without(text: &str) -> &str {
    let lines = lines(text);
    let end = (0..lines.len()).find(|at| begins_quote(&lines[*at..])).map(|at| lines[at].0);
    let kept = text[..end.unwrap_or(text.len())].trim();
    if kept.is_empty() { text.trim() } else { kept }
}

/// Each line with where it begins.
fn lines(text: &str) -> Vec<(usize, &str)> {
    let mut at = 0;
    let line = |line: &'_ str| {
        let start = at;
        at += line.len();
        start
    };
    let starts: Vec<usize> = text.split_inclusive('\n').map(line).collect();
    starts.into_iter().zip(text.lines()).collect()
}

/// Whether all from here on is quoted.
fn begins_quote(rest: &[(usize, &str)]) -> bool {
    let line = |at: usize| rest.get(at).map_or("", |(_, line)| line.trim());
    let first = line(0).to_lowercase();
    if BEGINS.iter().any(|begin| first.starts_with(begin)) {
        return true;
    }
    // Outlook writes the head of the mail.
    if first.starts_with("from: ")
        && ["sent: ", "date: "].iter().any(|name| line(1).to_lowercase().starts_with(name))
    {
        return true;
    }
    // The announcement may be broken into two lines.
    let announced =
        |text: &str| text.ends_with(':') && WROTE.iter().any(|wrote| text.contains(wrote));
    let two = format!("{first} {}", line(1).to_lowercase());
    let after = if announced(&first) {
        1
    } else if announced(&two) && !first.is_empty() && first.contains(['@', ',', '<']) {
        2
    } else {
        0
    };
    let quoted = |line: &str| line.trim_start().starts_with('>');
    if after > 0 {
        let next =
            rest.iter().skip(after).map(|(_, line)| *line).find(|line| !line.trim().is_empty());
        return next.is_none_or(quoted) || first.contains('@') || first.starts_with("on ");
    }
    quoted(&first) && rest.iter().all(|(_, line)| line.trim().is_empty() || quoted(line))
}

#[cfg(test)]
mod tests {
    use super::without;
    use proptest::prelude::proptest;

    #[test]
    fn only_what_is_new_is_kept() {
        let check = |text: &str, expected: &str| assert_eq!(without(text), expected, "{text:?}");
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
        /// What is kept is the beginning of what was written, and never nothing.
        #[test]
        fn nothing_is_made_up(text in "(> |On |wrote:|From: x|Sent: y|[a-z@ ]{0,5}|\r?\n){0,20}") {
            let kept = without(&text);
            assert!(text.trim().starts_with(kept));
            assert_eq!(kept.is_empty(), text.trim().is_empty());
        }
    }
}
