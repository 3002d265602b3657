//! Long text in pieces that a channel takes, cut where a reader would pause.

use unicode_segmentation::UnicodeSegmentation as _;

use super::rich::{Rich, Span};

/// How long a piece may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Length {
    /// What is counted.
    pub unit: Unit,
    /// The most of them; at least two, since a character may count as that.
    pub most: usize,
}

/// What a channel counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Characters.
    Chars,
    /// Units of UTF-16, of which an emoji has two or more.
    Utf16,
}

impl Length {
    /// How long a text is.
    pub fn of(self, text: &str) -> usize {
        match self.unit {
            Unit::Chars => text.chars().count(),
            Unit::Utf16 => text.encode_utf16().count(),
        }
    }

    /// Whether a text is short enough.
    pub fn fits(self, text: &str) -> bool {
        self.of(text) <= self.most
    }
}

impl Rich {
    /// The pieces of a text, each short enough, none empty, in order. What is lost
    /// is white space at a cut, and nothing else.
    pub fn split(&self, length: Length) -> Vec<Self> {
        let text = self.plain();
        let mut pieces = Vec::new();
        let mut start = text.len() - text.trim_start_matches('\n').len();
        while start < text.len() {
            let end = start + cut(&text[start..], length);
            let piece = text[start..end].trim_end();
            if !piece.is_empty() {
                pieces.push(self.slice(start, start + piece.len()));
            }
            start = end + skipped(&text[..end], &text[end..]);
        }
        pieces
    }

    /// The part between two bytes of the text.
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

/// Where to cut: all of it if it fits, else behind the last pause in the second
/// half of what fits, the greatest kind of pause first.
fn cut(text: &str, length: Length) -> usize {
    let (fits, half) = longest(text, length);
    if fits == text.len() {
        return fits;
    }
    let head = &text[..fits];
    let behind = |pause: &str| head.rfind(pause).map(|at| at + pause.len());
    // A pause that stands right behind what fits is as good as one inside.
    let at_end = text[fits..].starts_with(char::is_whitespace).then_some(fits);
    let pauses = [
        behind("\n\n"),
        behind("\n"),
        [". ", "! ", "? ", "。"].iter().filter_map(|pause| behind(pause)).max(),
        at_end,
        head.rfind(char::is_whitespace),
    ];
    let good = pauses.into_iter().flatten().find(|at| *at >= half.max(1));
    good.unwrap_or(fits)
}

/// How many bytes fit without taking a character apart that a reader sees as one,
/// and how many the first half of them are.
fn longest(text: &str, length: Length) -> (usize, usize) {
    let (mut fits, mut half, mut used) = (0, 0, 0);
    for cluster in text.graphemes(true) {
        used += length.of(cluster);
        if used > length.most {
            break;
        }
        fits += cluster.len();
        if used * 2 <= length.most {
            half = fits;
        }
    }
    if fits > 0 || text.is_empty() {
        return (fits, half);
    }
    // One such character alone is too long: it has to be taken apart.
    let mut used = 0;
    for c in text.chars() {
        used += length.of(c.encode_utf8(&mut [0; 4]));
        if used > length.most && fits > 0 {
            break;
        }
        fits += c.len_utf8();
    }
    (fits, 0)
}

/// The white space behind a cut that is not repeated. The indentation of a line
/// stays, since in code it matters.
fn skipped(before: &str, rest: &str) -> usize {
    let blank = rest.len() - rest.trim_start().len();
    match rest[..blank].rfind('\n') {
        Some(at) => at + 1,
        None if before.ends_with('\n') => 0,
        None => blank,
    }
}

#[cfg(test)]
mod tests {
    use super::{Length, Unit};
    use crate::text::{Html, Rich};
    use proptest::prelude::{any, prop, prop_oneof, proptest};
    use proptest::strategy::{Just, Strategy};

    /// C16: over-length text is split where a reader would pause.
    #[test]
    fn c16_long_text_is_cut_at_the_greatest_pause() {
        let check = |text: &str, most: usize, expected: &[&str]| {
            let pieces = Rich::verbatim(text).split(Length { unit: Unit::Chars, most });
            let pieces: Vec<String> = pieces.iter().map(Rich::plain).collect();
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
    fn a_unit_of_utf_16_is_what_telegram_counts() {
        let length = Length { unit: Unit::Utf16, most: 4 };
        let pieces = Rich::verbatim("🍕🍕🍕").split(length);
        assert_eq!(pieces.iter().map(Rich::plain).collect::<Vec<_>>(), ["🍕🍕", "🍕"]);
    }

    #[test]
    fn formatting_goes_on_behind_a_cut() {
        let rich = Rich::markdown("```py\none\ntwo\n```\n**three four**");
        let pieces = rich.split(Length { unit: Unit::Chars, most: 6 });
        let pieces: Vec<String> = pieces.iter().map(|piece| piece.html(Html::Telegram)).collect();
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

    /// Text with all that can go wrong at a cut.
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

    /// Whether tags are closed in the order in which they were opened, and no
    /// entity is cut.
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
        /// C16: nothing is lost, the order is kept, every piece is within the
        /// limit and valid.
        #[test]
        fn c16_pieces_hold_all_of_a_text(
            text in markdown(),
            most in 2usize..60,
            utf16 in any::<bool>(),
            verbatim in any::<bool>(),
        ) {
            let unit = if utf16 { Unit::Utf16 } else { Unit::Chars };
            let length = Length { unit, most };
            let rich = if verbatim { Rich::verbatim(&text) } else { Rich::markdown(&text) };
            let pieces = rich.split(length);
            let joined: String = pieces.iter().map(Rich::plain).collect();
            assert_eq!(dense(&joined), dense(&rich.plain()));
            for piece in &pieces {
                let plain = piece.plain();
                assert!(length.fits(&plain) && !plain.trim().is_empty(), "{plain:?}");
                assert!(well_formed(&piece.html(Html::Telegram)), "{plain:?}");
            }
        }

        /// A text that fits is one piece.
        #[test]
        fn c16_what_fits_is_not_cut(text in "[a-z][a-z \n]{0,40}[a-z]") {
            let pieces = Rich::verbatim(&text).split(Length { unit: Unit::Chars, most: 50 });
            assert_eq!(pieces, [Rich::verbatim(&text)]);
        }
    }
}
