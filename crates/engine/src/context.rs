//! What a model is shown: a system prompt of sections, and the end of the
//! conversation, both within hard limits.

use std::fmt::Write as _;

use crate::history::Item;
use crate::tokens;

/// A part of a system prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section<'a> {
    /// Its name, for the record of what was cut.
    pub name: &'static str,
    /// Its text.
    pub text: &'a str,
    /// The most tokens it may take, about.
    pub most: u64,
}

/// A section that did not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Which one.
    pub name: &'static str,
    /// How many bytes of it were left out.
    pub bytes: usize,
}

/// A system prompt, and what of its sections did not fit. Sections come in the
/// order of their importance: where all together are too long, the last ones
/// give way. Empty ones leave no trace.
pub fn system(sections: &[Section<'_>], most: u64) -> (String, Vec<Cut>) {
    let (mut prompt, mut cuts, mut left) = (String::new(), Vec::new(), most);
    for Section { name, text, most } in sections {
        let text = text.trim();
        let kept = fitting(text, (*most).min(left));
        if kept.len() < text.len() {
            cuts.push(Cut { name, bytes: text.len() - kept.len() });
        }
        if kept.is_empty() {
            continue;
        }
        left = left.saturating_sub(tokens::of_text(kept) + 1);
        let gap = if prompt.is_empty() { "" } else { "\n\n" };
        let _ = write!(prompt, "{gap}{kept}");
    }
    (prompt, cuts)
}

/// The beginning of a text that takes at most so many tokens, cut at the end of
/// a line if there is one not far away.
fn fitting(text: &str, most: u64) -> &str {
    if tokens::of_text(text) <= most {
        return text;
    }
    let bytes = usize::try_from(most.saturating_mul(tokens::BYTES)).unwrap_or(usize::MAX);
    let kept = &text[..text.floor_char_boundary(bytes)];
    match kept.rfind('\n') {
        Some(line) if line * 2 > kept.len() => kept[..line].trim_end(),
        _ => kept,
    }
}

/// The end of a conversation: at most so many entries and tokens, beginning with
/// somebody's words and never with the results of calls that are not there. The
/// last words of somebody are always in it, with all that follows them.
pub fn window(history: &[Item], most_items: usize, most_tokens: u64) -> &[Item] {
    let (mut start, mut sum) = (None, 0_u64);
    for (at, item) in history.iter().enumerate().rev() {
        sum = sum.saturating_add(tokens::of_item(item));
        let fits = history.len() - at <= most_items && sum <= most_tokens;
        if !fits && start.is_some() {
            break;
        }
        if matches!(item, Item::User { .. }) {
            start = Some(at);
        }
    }
    &history[start.unwrap_or(history.len())..]
}

#[cfg(test)]
mod tests {
    use super::{Cut, Section, system, window};
    use crate::history::Item;

    fn section(name: &'static str, text: &'static str, most: u64) -> Section<'static> {
        Section { name, text, most }
    }

    #[test]
    fn sections_are_joined_and_empty_ones_leave_no_trace() {
        let (prompt, cuts) = system(
            &[section("a", "One.", 100), section("b", " \n", 100), section("c", "Two.\n", 100)],
            100,
        );
        assert_eq!((prompt.as_str(), cuts), ("One.\n\nTwo.", vec![]));
    }

    #[test]
    fn a_long_section_is_cut_at_a_line() {
        let text = "first line\nsecond line\nthird line";
        let (prompt, cuts) = system(&[section("docs", text, 6)], 100);
        assert_eq!(prompt, "first line\nsecond line");
        assert_eq!(cuts, [Cut { name: "docs", bytes: 11 }]);
        let (prompt, _) = system(&[section("docs", "ßßßß", 1)], 100);
        assert_eq!(prompt, "ßß");
    }

    #[test]
    fn the_last_sections_give_way() {
        let (prompt, cuts) =
            system(&[section("soul", "12345678", 9), section("docs", "12345678", 9)], 4);
        assert_eq!(prompt, "12345678\n\n1234");
        assert_eq!(cuts, [Cut { name: "docs", bytes: 4 }]);
        let (_, cuts) = system(&[section("soul", "12345678", 9), section("docs", "1", 9)], 2);
        assert_eq!(cuts, [Cut { name: "docs", bytes: 1 }]);
    }

    fn conversation(turns: usize) -> Vec<Item> {
        (0..turns).flat_map(|_| [Item::user("question"), Item::assistant("answer")]).collect()
    }

    /// A15: the most recent entries, within both limits.
    #[test]
    fn a15_a_window_begins_with_somebodys_words() {
        let all = conversation(50);
        let check = |items, tokens, expected: usize| {
            let window = window(&all, items, tokens);
            assert_eq!(window.len(), expected, "{items} items, {tokens} tokens");
            assert!(matches!(window.first(), Some(Item::User { .. })));
        };
        check(20, u64::MAX, 20);
        check(21, u64::MAX, 20);
        check(1000, u64::MAX, 100);
        check(1000, 60, 10);
        check(0, 0, 2);
    }

    /// Results are never there without their calls.
    #[test]
    fn a_window_keeps_calls_and_results_together() {
        let called = Item::Assistant { text: String::new(), calls: vec![], partial: false };
        let results = Item::Results { results: vec![] };
        let turn = [Item::user("go"), called, results, Item::assistant("done")];
        let all: Vec<Item> = turn.iter().cycle().take(40).cloned().collect();
        for items in 0..45 {
            let window = window(&all, items, u64::MAX);
            assert_eq!(window.len() % 4, 0, "{items}");
            assert!(matches!(window.first(), Some(Item::User { .. })));
        }
        assert!(window(&[], 20, 100).is_empty());
        assert!(window(&[Item::assistant("hello")], 20, 100).is_empty());
    }
}
