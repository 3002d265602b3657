//! Builds what a model is shown: a system prompt made of sections, and the end of
//! the conversation, both within hard limits.

use std::fmt::Write as _;

use crate::history::Item;
use crate::tokens;

/// A part of a system prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section<'a> {
    /// Identifies the section in the report of what was trimmed.
    pub name: &'static str,
    pub text: &'a str,
    /// The approximate limit for this section.
    pub max_tokens: u64,
}

/// A section that did not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrimmedSection {
    pub name: &'static str,
    /// The number of bytes left out.
    pub bytes: usize,
}

/// Joins sections into a system prompt and reports what did not fit. Sections are
/// ordered by importance: if the total is too long, the last ones are trimmed
/// first. Empty sections are skipped.
pub fn system_prompt(sections: &[Section<'_>], max_tokens: u64) -> (String, Vec<TrimmedSection>) {
    let (mut prompt, mut trimmed, mut remaining) = (String::new(), Vec::new(), max_tokens);
    for Section { name, text, max_tokens } in sections {
        let text = text.trim();
        let kept = truncate_to(text, (*max_tokens).min(remaining));
        if kept.len() < text.len() {
            trimmed.push(TrimmedSection { name, bytes: text.len() - kept.len() });
        }
        if kept.is_empty() {
            continue;
        }
        remaining = remaining.saturating_sub(tokens::of_text(kept) + 1);
        let gap = if prompt.is_empty() { "" } else { "\n\n" };
        let _ = write!(prompt, "{gap}{kept}");
    }
    (prompt, trimmed)
}

/// Returns the start of a text within a token limit, cut at a line end if one is
/// near.
fn truncate_to(text: &str, max_tokens: u64) -> &str {
    if tokens::of_text(text) <= max_tokens {
        return text;
    }
    let bytes =
        usize::try_from(max_tokens.saturating_mul(tokens::BYTES_PER_TOKEN)).unwrap_or(usize::MAX);
    let kept = &text[..text.floor_char_boundary(bytes)];
    match kept.rfind('\n') {
        Some(line) if line * 2 > kept.len() => kept[..line].trim_end(),
        _ => kept,
    }
}

/// Returns the end of a conversation within both limits. It starts with a user
/// message, never with the results of calls that are not included, and always
/// contains the last user message and everything after it.
pub fn window(history: &[Item], max_items: usize, max_tokens: u64) -> &[Item] {
    let (mut start, mut sum) = (None, 0_u64);
    for (at, item) in history.iter().enumerate().rev() {
        sum = sum.saturating_add(tokens::of_item(item));
        let fits = history.len() - at <= max_items && sum <= max_tokens;
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
    use super::{Section, TrimmedSection, system_prompt, window};
    use crate::history::Item;

    fn section(name: &'static str, text: &'static str, max_tokens: u64) -> Section<'static> {
        Section { name, text, max_tokens }
    }

    #[test]
    fn sections_are_joined_and_empty_ones_are_skipped() {
        let (prompt, trimmed) = system_prompt(
            &[section("a", "One.", 100), section("b", " \n", 100), section("c", "Two.\n", 100)],
            100,
        );
        assert_eq!((prompt.as_str(), trimmed), ("One.\n\nTwo.", vec![]));
    }

    #[test]
    fn a_long_section_is_cut_at_a_line() {
        let text = "first line\nsecond line\nthird line";
        let (prompt, trimmed) = system_prompt(&[section("docs", text, 6)], 100);
        assert_eq!(prompt, "first line\nsecond line");
        assert_eq!(trimmed, [TrimmedSection { name: "docs", bytes: 11 }]);
        let (prompt, _) = system_prompt(&[section("docs", "ßßßß", 1)], 100);
        assert_eq!(prompt, "ßß");
    }

    #[test]
    fn the_last_sections_are_trimmed_first() {
        let (prompt, trimmed) =
            system_prompt(&[section("soul", "12345678", 9), section("docs", "12345678", 9)], 4);
        assert_eq!(prompt, "12345678\n\n1234");
        assert_eq!(trimmed, [TrimmedSection { name: "docs", bytes: 4 }]);
        let (_, trimmed) =
            system_prompt(&[section("soul", "12345678", 9), section("docs", "1", 9)], 2);
        assert_eq!(trimmed, [TrimmedSection { name: "docs", bytes: 1 }]);
    }

    fn conversation(turns: usize) -> Vec<Item> {
        (0..turns).flat_map(|_| [Item::user("question"), Item::assistant("answer")]).collect()
    }

    /// A15: the window holds the most recent entries, within both limits.
    #[test]
    fn a15_a_window_starts_with_a_user_message() {
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
