//! Splitting long text into pieces, at paragraphs, lines, sentences or words.

use unicode_segmentation::UnicodeSegmentation as _;

use super::rich_text::{RichText, Span};

/// The maximum length of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LengthLimit {
    pub unit: LengthUnit,
    /// At least 2, because a character may count as two units.
    pub max: usize,
}

/// The unit in which a channel counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LengthUnit {
    Chars,
    /// UTF-16 code units; an emoji has two or more.
    Utf16,
}

impl LengthLimit {
    /// Returns the length of a text in this unit.
    pub fn measure(self, text: &str) -> usize {
        match self.unit {
            LengthUnit::Chars => text.chars().count(),
            LengthUnit::Utf16 => text.encode_utf16().count(),
        }
    }

    /// Returns whether a text is within the limit.
    pub fn fits(self, text: &str) -> bool {
        self.measure(text) <= self.max
    }
}

impl RichText {
    /// Splits the text into pieces within the limit. No piece is empty; only white
    /// space at the cuts is lost.
    pub fn split(&self, limit: LengthLimit) -> Vec<Self> {
        let text = self.to_plain();
        let mut pieces = Vec::new();
        let mut start = text.len() - text.trim_start_matches('\n').len();
        while start < text.len() {
            let end = start + cut(&text[start..], limit);
            let piece = text[start..end].trim_end();
            if !piece.is_empty() {
                pieces.push(self.slice(start, start + piece.len()));
            }
            start = end + skipped_whitespace(&text[..end], &text[end..]);
        }
        pieces
    }

    /// Returns the part between two byte offsets.
    fn slice(&self, from: usize, to: usize) -> Self {
        let mut part = Self::default();
        let mut at = 0;
        for Span { text, style } in &self.spans {
            let (first, last) = (from.max(at), to.min(at + text.len()));
            if first < last {
                part.push(&text[first - at..last - at], style);
            }
            at += text.len();
        }
        part
    }
}

/// Returns the byte offset of the cut: the end of the text if it fits, otherwise the
/// last break in the second half of what fits. Paragraphs are preferred to lines,
/// lines to sentences, sentences to words.
fn cut(text: &str, limit: LengthLimit) -> usize {
    let (fits, half) = longest_prefix(text, limit);
    if fits == text.len() {
        return fits;
    }
    let head = &text[..fits];
    let after = |separator: &str| head.rfind(separator).map(|at| at + separator.len());
    // White space right after what fits is as good as white space inside.
    let at_end = text[fits..].starts_with(char::is_whitespace).then_some(fits);
    let breaks = [
        after("\n\n"),
        after("\n"),
        [". ", "! ", "? ", "。"].iter().filter_map(|separator| after(separator)).max(),
        at_end,
        head.rfind(char::is_whitespace),
    ];
    let best = breaks.into_iter().flatten().find(|at| *at >= half.max(1));
    best.unwrap_or(fits)
}

/// Returns how many bytes fit without splitting a grapheme cluster, and how many
/// bytes fit in half of the limit.
fn longest_prefix(text: &str, limit: LengthLimit) -> (usize, usize) {
    let (mut fits, mut half, mut used) = (0, 0, 0);
    for cluster in text.graphemes(true) {
        used += limit.measure(cluster);
        if used > limit.max {
            break;
        }
        fits += cluster.len();
        if used * 2 <= limit.max {
            half = fits;
        }
    }
    if fits > 0 || text.is_empty() {
        return (fits, half);
    }
    // A single cluster exceeds the limit and has to be split.
    let mut used = 0;
    for c in text.chars() {
        used += limit.measure(c.encode_utf8(&mut [0; 4]));
        if used > limit.max && fits > 0 {
            break;
        }
        fits += c.len_utf8();
    }
    (fits, 0)
}

/// Returns how many bytes of white space to skip after a cut. The indentation of a
/// line is kept, because it matters in code.
fn skipped_whitespace(before: &str, rest: &str) -> usize {
    let blank = rest.len() - rest.trim_start().len();
    match rest[..blank].rfind('\n') {
        Some(at) => at + 1,
        None if before.ends_with('\n') => 0,
        None => blank,
    }
}

#[cfg(test)]
mod tests {
    /// Returns the processor time of this thread, so that a busy machine changes nothing; where
    /// the system does not tell it, the time.
    fn cpu_time() -> std::time::Duration {
        static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
        let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
        let nanos = stat.and_then(|text| text.split(' ').next()?.parse().ok());
        nanos.map_or_else(
            || START.get_or_init(std::time::Instant::now).elapsed(),
            std::time::Duration::from_nanos,
        )
    }

    /// Returns whether four times the text takes at most six times as long, in one
    /// of a few measurements.
    fn is_linear(part: &str, work: &dyn Fn(&str)) -> bool {
        let time = |bytes: usize| {
            let text = part.repeat(bytes / part.len());
            let run = || {
                let started = cpu_time();
                work(&text);
                cpu_time().saturating_sub(started)
            };
            (0..2).map(|_| run()).min().unwrap_or_default()
        };
        let slack = std::time::Duration::from_millis(10);
        (0..6).any(|_| {
            let (small, large) = (time(64 * 1024), time(256 * 1024));
            large < small * 6 + slack
        })
    }

    /// S05: reading, rendering and splitting Markdown takes linear time.
    #[test]
    fn s05_markdown_takes_linear_time() {
        let work = |text: &str| {
            let rich = crate::text::RichText::from_markdown(text);
            std::hint::black_box(rich.to_html(crate::text::HtmlDialect::Telegram));
            std::hint::black_box(
                rich.split(super::LengthLimit { unit: super::LengthUnit::Utf16, max: 4096 }),
            );
        };
        for part in ["*a ", "[a](", "> ", "- a\n", "`", "a b\n\n", "|a|b|\n", "![", "<b>", "**a** "]
        {
            assert!(is_linear(part, &work), "{part:?}");
        }
    }

    use super::{LengthLimit, LengthUnit};
    use crate::text::{HtmlDialect, RichText};
    use proptest::prelude::{any, prop, prop_oneof, proptest};
    use proptest::strategy::{Just, Strategy};

    #[test]
    fn c16_long_text_is_split_at_paragraphs_lines_sentences_or_words() {
        let check = |text: &str, max: usize, expected: &[&str]| {
            let pieces =
                RichText::from_verbatim(text).split(LengthLimit { unit: LengthUnit::Chars, max });
            let pieces: Vec<String> = pieces.iter().map(RichText::to_plain).collect();
            assert_eq!(pieces, expected, "{text:?}");
        };
        check("short", 10, &["short"]);
        check("", 10, &[]);
        check(" \n ", 10, &[]);
        check("one two three", 9, &["one two", "three"]);
        check("one two three", 7, &["one two", "three"]);
        check("first.\n\nsecond line", 12, &["first.", "second line"]);
        check("first\nsecond line", 12, &["first", "second line"]);
        check("Yes. It is so", 9, &["Yes.", "It is so"]);
        check("abcdefghij", 4, &["abcd", "efgh", "ij"]);
        check("if x:\n    deep()", 10, &["if x:", "    deep()"]);
        check("ab 👨‍👩‍👧 c", 7, &["ab", "👨‍👩‍👧 c"]);
    }

    #[test]
    fn length_is_counted_in_utf_16_units() {
        let limit = LengthLimit { unit: LengthUnit::Utf16, max: 4 };
        let pieces = RichText::from_verbatim("🍕🍕🍕").split(limit);
        assert_eq!(pieces.iter().map(RichText::to_plain).collect::<Vec<_>>(), ["🍕🍕", "🍕"]);
    }

    #[test]
    fn formatting_continues_in_the_next_piece() {
        let rich = RichText::from_markdown("```py\none\ntwo\n```\n**three four**");
        let pieces = rich.split(LengthLimit { unit: LengthUnit::Chars, max: 6 });
        let pieces: Vec<String> =
            pieces.iter().map(|piece| piece.to_html(HtmlDialect::Telegram)).collect();
        assert_eq!(
            pieces,
            [
                "<pre><code class=\"language-py\">one</code></pre>",
                "<pre><code class=\"language-py\">two</code></pre>",
                "<b>three</b>",
                "<b>four</b>",
            ]
        );
    }

    /// Text with everything that is difficult to split.
    fn markdown() -> impl Strategy<Value = String> {
        let bit = prop_oneof![
            "[a-z]{1,12}",
            Just(" ".to_owned()),
            Just("\n".to_owned()),
            Just("\n\n".to_owned()),
            Just("**bold words** ".to_owned()),
            Just("_it_ ".to_owned()),
            Just("`a < b && c`".to_owned()),
            Just("\n```py\nx = 1\n  y = 2\n```\n".to_owned()),
            Just("[menu](https://x.it/?a=1&b=2)".to_owned()),
            Just("\n- item\n".to_owned()),
            Just("\n> quoted\n".to_owned()),
            Just("🍕👨‍👩‍👧e\u{301}".to_owned()),
            "\\PC{0,6}",
        ];
        prop::collection::vec(bit, 0..40).prop_map(|bits| bits.concat())
    }

    fn dense(text: &str) -> String {
        text.chars().filter(|c| !c.is_whitespace()).collect()
    }

    /// Returns whether tags are nested correctly and no entity is cut.
    fn well_formed(html: &str) -> bool {
        let mut open = Vec::new();
        let mut rest = html;
        while let Some(at) = rest.find(['<', '&']) {
            rest = &rest[at..];
            let entity = rest.starts_with('&');
            let Some(end) = rest.find(if entity { ';' } else { '>' }) else { return false };
            let tag = &rest[1..end];
            if entity {
                if !["amp", "lt", "gt", "quot"].contains(&tag) {
                    return false;
                }
            } else if let Some(name) = tag.strip_prefix('/') {
                if open.pop() != Some(name) {
                    return false;
                }
            } else {
                open.push(tag.split(' ').next().unwrap_or_default());
            }
            rest = &rest[end + 1..];
        }
        open.is_empty()
    }

    proptest! {
        #[test]
        fn c16_pieces_contain_the_whole_text_within_the_limit(
            text in markdown(),
            max in 2usize..60,
            utf16 in any::<bool>(),
            verbatim in any::<bool>(),
        ) {
            let unit = if utf16 { LengthUnit::Utf16 } else { LengthUnit::Chars };
            let limit = LengthLimit { unit, max };
            let rich = if verbatim { RichText::from_verbatim(&text) } else { RichText::from_markdown(&text) };
            let pieces = rich.split(limit);
            let joined: String = pieces.iter().map(RichText::to_plain).collect();
            assert_eq!(dense(&joined), dense(&rich.to_plain()));
            for piece in &pieces {
                let plain = piece.to_plain();
                assert!(limit.fits(&plain) && !plain.trim().is_empty(), "{plain:?}");
                assert!(well_formed(&piece.to_html(HtmlDialect::Telegram)), "{plain:?}");
            }
        }

        #[test]
        fn c16_text_within_the_limit_is_not_split(text in "[a-z][a-z \n]{0,40}[a-z]") {
            let pieces = RichText::from_verbatim(&text).split(LengthLimit { unit: LengthUnit::Chars, max: 50 });
            assert_eq!(pieces, [RichText::from_verbatim(&text)]);
        }
    }
}
