//! The text of an HTML mail: lines, cells of tables, targets of links, and quotations with
//! marks. Tags are read one by one, so the work grows with the mail and not faster.

use mail_parser::decoders::html::html_to_text as decode_text;

/// Elements whose content is not text.
const HIDDEN: [&str; 5] = ["head", "script", "style", "template", "title"];
/// Elements that stand apart from what is around them.
const PARAGRAPHS: [&str; 15] = [
    "p",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "blockquote",
    "table",
    "ul",
    "ol",
    "dl",
    "pre",
    "hr",
    "section",
];
/// Elements that begin a line.
const LINES: [&str; 13] = [
    "div", "br", "tr", "li", "dt", "dd", "article", "header", "footer", "form", "center",
    "address", "caption",
];
/// The most marks at the beginning of a quoted line.
const MAX_QUOTES: usize = 8;

/// Converts HTML to text.
pub(super) fn html_to_text(html: &str) -> String {
    let mut writer = TextWriter::default();
    // As long as the text, for looking up names of tags.
    let lower = html.to_ascii_lowercase();
    let mut rest = html;
    loop {
        // What is not text ends with its own tag only.
        let next = match writer.hidden {
            Some(hidden) => lower[html.len() - rest.len()..].find(&format!("</{hidden}")),
            None => rest.find('<'),
        };
        let Some(open) = next else { break };
        writer.push_text(&rest[..open]);
        rest = &rest[open..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
        } else if !rest[1..].starts_with(|c: char| c.is_ascii_alphabetic() || "/!?".contains(c)) {
            writer.push_text("&lt;");
            rest = &rest[1..];
        } else {
            let Some(end) = tag_end(rest) else { return writer.finish() };
            writer.push_tag(&rest[1..end]);
            rest = &rest[end + 1..];
        }
    }
    writer.push_text(rest);
    writer.finish()
}

/// Returns where a tag ends, which is not inside a quoted value.
fn tag_end(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), close) if open == close => quote = None,
            _ => {}
        }
    }
    None
}

/// Returns the value of an attribute of a tag.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let lower = tag.to_ascii_lowercase();
    let at = lower.match_indices(name).find(|(at, _)| {
        let before = lower[..*at].ends_with(|c: char| c.is_ascii_whitespace());
        before && lower[at + name.len()..].trim_start().starts_with('=')
    });
    let value = tag[at?.0 + name.len()..].trim_start().strip_prefix('=')?.trim_start();
    let value = match value.chars().next()? {
        quote @ ('"' | '\'') => value[1..].split(quote).next()?,
        _ => value.split(|c: char| c.is_ascii_whitespace()).next()?,
    };
    Some(decode_text(value))
}

#[derive(Default)]
struct TextWriter {
    text: String,
    /// Line breaks before the next word.
    breaks: usize,
    /// Whether there is a space before the next word.
    space: bool,
    /// How many quotations are open.
    quotes: usize,
    /// The element whose content is not text.
    hidden: Option<&'static str>,
    /// Whether the row of a table has a cell already.
    in_row: bool,
    /// The target of the open link, and where its text begins.
    link: Option<(String, usize)>,
}

impl TextWriter {
    fn finish(self) -> String {
        self.text.trim().to_owned()
    }

    fn push_text(&mut self, html: &str) {
        let is_space = |text: &str| text.is_empty() || text.starts_with(char::is_whitespace);
        if self.hidden.is_some() || html.is_empty() {
            return;
        }
        let decoded = decode_text(html);
        let decoded = decoded.trim_matches([' ', '\t', '\r', '\n']);
        self.space |= is_space(html);
        if decoded.is_empty() {
            return;
        }
        self.push_word(decoded);
        self.space = html.ends_with(char::is_whitespace);
    }

    /// Writes the breaks or the space that are due, and a text.
    fn push_word(&mut self, text: &str) {
        if self.breaks > 0 || self.text.is_empty() {
            let breaks = if self.text.is_empty() { 0 } else { self.breaks };
            self.text.extend(std::iter::repeat_n('\n', breaks));
            self.text.extend(std::iter::repeat_n("> ", self.quotes.min(MAX_QUOTES)));
        } else if self.space && !self.text.ends_with(char::is_whitespace) {
            self.text.push(' ');
        }
        (self.breaks, self.space) = (0, false);
        self.text.push_str(text);
    }

    fn push_tag(&mut self, tag: &str) {
        let (tag, closes) = match tag.strip_prefix('/') {
            Some(tag) => (tag, true),
            None => (tag, false),
        };
        let name = tag.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        let name = name.to_ascii_lowercase();
        if let Some(hidden) = self.hidden {
            if closes && hidden == name {
                self.hidden = None;
            }
            return;
        }
        if let Some(hidden) = HIDDEN.into_iter().find(|hidden| *hidden == name) {
            self.hidden = Some(hidden).filter(|_| !closes && !tag.ends_with('/'));
            return;
        }
        let breaks = match name.as_str() {
            "br" => self.breaks + 1,
            paragraph if PARAGRAPHS.contains(&paragraph) => 2,
            line if LINES.contains(&line) => 1,
            _ => 0,
        };
        self.breaks = self.breaks.max(breaks);
        match (name.as_str(), closes) {
            ("blockquote", false) => self.quotes += 1,
            ("blockquote", true) => self.quotes = self.quotes.saturating_sub(1),
            ("tr", _) => self.in_row = false,
            ("td" | "th", false) if std::mem::replace(&mut self.in_row, true) => {
                self.space = true;
                self.push_word("|");
                self.space = true;
            }
            ("li", false) => {
                self.push_word("-");
                self.space = true;
            }
            ("a", false) => {
                self.link = attribute(tag, "href").map(|href| (href, self.text.len()));
            }
            ("a", true) => self.close_link(),
            _ => {}
        }
    }

    /// Writes the target of a link, unless its text is the target.
    fn close_link(&mut self) {
        let Some((href, start)) = self.link.take() else { return };
        let target = href.trim();
        let shown = self.text[start..].trim().trim_start_matches(['>', ' ', '\n']);
        let is_web = ["http://", "https://"].iter().any(|scheme| target.starts_with(scheme));
        if is_web && !shown.is_empty() && !target.contains(shown) {
            let target = format!("({target})");
            self.space = true;
            self.push_word(&target);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::proptest;

    use super::html_to_text;

    #[test]
    fn a_mail_keeps_its_lines_cells_links_and_quotations() {
        let check = |html: &str, text: &str| assert_eq!(html_to_text(html), text, "{html}");
        check("<p>Ciao <b>tutti</b></p><p>Rosa</p>", "Ciao tutti\n\nRosa");
        check("<div>one</div><div>two<br>three</div>", "one\ntwo\nthree");
        check(
            "<table><tr><td>Order</td><td>1234</td></tr><tr><th>Sum</th><td>20&nbsp;€</td></tr></table>",
            "Order | 1234\nSum | 20\u{a0}€",
        );
        check(
            "See <a class=x HREF='https://x.it/?a=1&amp;b=2'>the menu</a>, please",
            "See the menu (https://x.it/?a=1&b=2), please",
        );
        check("<a href=\"https://x.it/\">https://x.it/</a>", "https://x.it/");
        check("<a href=\"mailto:a@x\">Rosa</a> <a>b</a>", "Rosa b");
        check("<ul><li>a</li><li>b</li></ul>c", "- a\n- b\n\nc");
        check(
            "<div>Yes</div><div>On 1 Jan 2026, Bella wrote:<blockquote><p>Pizza?</p><p>Ciao</p></blockquote></div><div>No</div>",
            "Yes\nOn 1 Jan 2026, Bella wrote:\n\n> Pizza?\n\n> Ciao\n\nNo",
        );
        check("<head><title>x</title></head><style>p > a {}</style><!-- <b> -->hi", "hi");
        check("1 < 2 &amp; 3 &gt; 2<script>if (a<b) {}</script>!", "1 < 2 & 3 > 2!");
        check("a<br><br>b", "a\n\nb");
        check("no tags", "no tags");
        check("<a href=\"", "");
        check("", "");
    }

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

    /// S05: the work grows with the mail and not with its square.
    #[test]
    fn s05_converting_html_takes_linear_time() {
        let worst = [
            "<",
            "<a ",
            "<a href=\"",
            "<!--",
            "<td>",
            "<blockquote>",
            "&amp;",
            "<li>",
            "a < ",
            "<script>",
            "<style></styl",
        ];
        for part in worst {
            let time = |bytes: usize| {
                let html = part.repeat(bytes / part.len());
                let run = || {
                    let started = cpu_time();
                    std::hint::black_box(html_to_text(&html));
                    cpu_time().saturating_sub(started)
                };
                (0..2).map(|_| run()).min().unwrap()
            };
            let is_linear = || {
                let (small, large) = (time(64 * 1024), time(256 * 1024));
                large < small * 6 + Duration::from_millis(10)
            };
            assert!((0..6).any(|_| is_linear()), "{part:?}");
        }
    }

    proptest! {
        #[test]
        fn any_html_is_converted(html in "(<|>|</|a|td|tr|li|blockquote|!--|-->| href=|\"|'|&|amp;|é| |\n){0,60}") {
            html_to_text(&html);
        }
    }
}
