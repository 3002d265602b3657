//! Differences of texts, with the words that have changed.

use similar::{ChangeTag, TextDiff};

use super::line::{Line, Span, Wrap};
use super::sanitize::sanitize;
use super::theme::Tone;

/// Lines of context around a change.
const CONTEXT: usize = 3;
/// Lines beyond this size are not compared word by word.
const MAX_WORD_DIFF: usize = 2048;

/// Returns the difference of two texts, and how many lines were added and removed.
pub(crate) fn difference(before: &str, after: &str) -> (Vec<Line>, usize, usize) {
    let (before, after) = (sanitize(before), sanitize(after));
    let diff = TextDiff::from_lines(before.as_ref(), after.as_ref());
    let (mut lines, mut added, mut removed) = (Vec::new(), 0, 0);
    for (number, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        if number > 0 {
            lines.push(Line::text("  ⋮", Tone::Dim));
        }
        for op in group {
            let changes: Vec<_> =
                diff.iter_changes(op).map(|change| (change.tag(), change.value())).collect();
            let of = |tag| {
                changes
                    .iter()
                    .filter(move |(of, _)| *of == tag)
                    .map(|(_, text)| text.trim_end_matches('\n'))
            };
            let old: Vec<&str> = of(ChangeTag::Delete).collect();
            let new: Vec<&str> = of(ChangeTag::Insert).collect();
            added += new.len();
            removed += old.len();
            lines.extend(of(ChangeTag::Equal).map(|text| plain("  ", text, Tone::Dim)));
            // Lines that stand for each other show the words that differ.
            let paired = old.len() == new.len();
            lines.extend(old.iter().enumerate().map(|(at, text)| {
                match new.get(at).filter(|_| paired) {
                    Some(other) => words("- ", text, other, ChangeTag::Delete),
                    None => plain("- ", text, Tone::Removed),
                }
            }));
            lines.extend(new.iter().enumerate().map(|(at, text)| {
                match old.get(at).filter(|_| paired) {
                    Some(other) => words("+ ", other, text, ChangeTag::Insert),
                    None => plain("+ ", text, Tone::Added),
                }
            }));
        }
    }
    (lines, added, removed)
}

fn plain(mark: &str, text: &str, tone: Tone) -> Line {
    Line::code(format!("{mark}{text}"), tone)
}

/// Returns the old or the new one of two lines, with the words that differ.
fn words(mark: &str, old: &str, new: &str, side: ChangeTag) -> Line {
    let (tone, word) = match side {
        ChangeTag::Delete => (Tone::Removed, Tone::RemovedWord),
        _ => (Tone::Added, Tone::AddedWord),
    };
    if old.len() + new.len() > MAX_WORD_DIFF {
        return plain(mark, if side == ChangeTag::Delete { old } else { new }, tone);
    }
    let diff = TextDiff::from_words(old, new);
    let mut spans = vec![Span::new(mark, tone)];
    for change in diff.iter_all_changes() {
        if change.tag() == ChangeTag::Equal {
            spans.push(Span::new(change.value(), tone));
        } else if change.tag() == side {
            spans.push(Span::new(change.value(), word));
        }
    }
    Line::new(spans, Wrap::Joined)
}

/// Returns the lines of a unified difference, and how many lines it adds and removes.
pub(crate) fn unified(patch: &str) -> (Vec<Line>, usize, usize) {
    let (mut added, mut removed) = (0, 0);
    let text = sanitize(patch);
    let lines = text.lines().map(|line| {
        let tone = match line.as_bytes().first() {
            _ if line.starts_with("+++") || line.starts_with("---") => Tone::Dim,
            Some(b'+') => {
                added += 1;
                Tone::Added
            }
            Some(b'-') => {
                removed += 1;
                Tone::Removed
            }
            Some(b'@') => Tone::Accent,
            _ => Tone::Dim,
        };
        Line::code(line, tone)
    });
    let lines = lines.collect();
    (lines, added, removed)
}

#[cfg(test)]
mod tests {
    use super::super::theme::Tone;
    use super::{difference, unified};
    use crate::text::line::Body;

    #[test]
    fn m43_the_words_that_changed_are_marked() {
        let (lines, added, removed) = difference("let a = 1;\nkeep\n", "let a = 2;\nkeep\n");
        assert_eq!((added, removed, lines.len()), (1, 1, 3));
        let Body::Text(spans, _) = &lines[1].body else { panic!() };
        let changed: Vec<&str> = spans
            .iter()
            .filter(|span| span.tone == Tone::AddedWord)
            .map(|span| span.text.as_str())
            .collect();
        assert!(changed.concat().contains('2'), "{spans:?}");
    }

    #[test]
    fn m43_a_patch_is_counted() {
        let (_, added, removed) = unified("--- a\n+++ b\n@@ -1 +1,2 @@\n-x\n+y\n+z");
        assert_eq!((added, removed), (2, 1));
    }
}
