//! Converts HTML to text with headings, paragraphs, lists and links. Scripts, styles
//! and other invisible content are dropped. Tags are processed one by one, so time and
//! memory depend on the length of a page and not on its depth.

use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts, states,
};
use url::Url;

/// The readable content of a page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct PageText {
    pub(super) title: String,
    pub(super) text: String,
}

/// Extracts the text of a page. Relative links are resolved against `base`.
pub(super) fn extract_text(html: &str, base: Option<&Url>) -> PageText {
    let sink = TextSink { base, writer: RefCell::new(TextWriter::default()) };
    let tokenizer = Tokenizer::new(sink, TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(html));
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    let writer = tokenizer.sink.writer.into_inner();
    let title = writer.title.split_whitespace().collect::<Vec<_>>().join(" ");
    PageText { title, text: writer.text.trim().to_owned() }
}

struct TextSink<'b> {
    base: Option<&'b Url>,
    writer: RefCell<TextWriter>,
}

#[derive(Default)]
struct TextWriter {
    title: String,
    text: String,
    /// The element whose content is dropped, and its nesting depth.
    hidden: Option<(String, u32)>,
    in_title: bool,
    /// The nesting depth of `<pre>`.
    preformatted: u32,
    /// The target of the open link, and where its text begins.
    link: Option<(String, usize)>,
}

impl TokenSink for TextSink<'_> {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut writer = self.writer.borrow_mut();
        match token {
            Token::CharacterTokens(text) => writer.push_text(&text),
            Token::TagToken(tag) => {
                let name = &*tag.name;
                let is_start = tag.kind == TagKind::StartTag;
                if writer.is_hidden(name, is_start, tag.self_closing) {
                    return content_mode(name, is_start);
                }
                if is_start {
                    writer.open(&tag, self.base);
                } else {
                    writer.close(name);
                }
                return content_mode(name, is_start);
            }
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

/// Returns how the content after a tag is tokenized: scripts, for example, contain no
/// tags.
fn content_mode(name: &str, is_start: bool) -> TokenSinkResult<()> {
    use states::RawKind::{Rawtext, Rcdata, ScriptData};
    match name {
        _ if !is_start => TokenSinkResult::Continue,
        "script" => TokenSinkResult::RawData(ScriptData),
        "style" | "xmp" | "iframe" | "noembed" | "noframes" => TokenSinkResult::RawData(Rawtext),
        "title" | "textarea" => TokenSinkResult::RawData(Rcdata),
        _ => TokenSinkResult::Continue,
    }
}

impl TextWriter {
    /// Returns whether a tag belongs to dropped content, and tracks where that ends.
    fn is_hidden(&mut self, name: &str, is_start: bool, self_closing: bool) -> bool {
        const HIDDEN: [&str; 13] = [
            "script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas",
            "noembed", "noframes", "select", "textarea",
        ];
        match &mut self.hidden {
            Some((hidden, depth)) => {
                if hidden == name && !self_closing {
                    *depth = if is_start { *depth + 1 } else { *depth - 1 };
                    if *depth == 0 {
                        self.hidden = None;
                    }
                }
                true
            }
            None if HIDDEN.contains(&name) => {
                if is_start && !self_closing {
                    self.hidden = Some((name.to_owned(), 1));
                }
                true
            }
            None => false,
        }
    }

    fn push_text(&mut self, text: &str) {
        if self.hidden.is_some() {
            return;
        }
        if self.in_title {
            self.title.push_str(text);
        } else if self.preformatted > 0 {
            self.text.push_str(text);
        } else {
            self.push_collapsed(text);
        }
    }

    /// Appends text with each run of white space as one space.
    fn push_collapsed(&mut self, text: &str) {
        for c in text.chars() {
            if !c.is_whitespace() {
                self.text.push(c);
            } else if !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
                self.text.push(' ');
            }
        }
    }

    fn open(&mut self, tag: &Tag, base: Option<&Url>) {
        match &*tag.name {
            "title" => self.in_title = true,
            "br" => self.text.push('\n'),
            "pre" => {
                self.start_paragraph();
                self.preformatted += 1;
            }
            "li" => {
                self.start_line();
                self.text.push_str("- ");
            }
            "td" | "th" => self.push_collapsed(" "),
            "a" => {
                self.close("a");
                if let Some(target) = link_target(tag, base) {
                    self.link = Some((target, self.text.len()));
                }
            }
            "img" => self.push_collapsed(&attribute(tag, "alt").unwrap_or_default()),
            name => match heading_level(name) {
                Some(level) => {
                    self.start_paragraph();
                    self.text.push_str(&"#".repeat(level));
                    self.text.push(' ');
                }
                None if is_block(name) => self.start_paragraph(),
                None if is_line(name) => self.start_line(),
                None => {}
            },
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "title" => self.in_title = false,
            "pre" => {
                self.preformatted = self.preformatted.saturating_sub(1);
                self.start_paragraph();
            }
            "a" => {
                if let Some((target, from)) = self.link.take()
                    && self.text.get(from..).is_some_and(|text| !text.trim().is_empty())
                {
                    self.text.truncate(self.text.trim_end().len().max(from));
                    self.text.push_str(&format!(" ({target})"));
                }
            }
            name if heading_level(name).is_some() || is_block(name) => self.start_paragraph(),
            name if is_line(name) => self.start_line(),
            _ => {}
        }
    }

    fn start_line(&mut self) {
        self.trim_spaces();
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    fn start_paragraph(&mut self) {
        self.start_line();
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn trim_spaces(&mut self) {
        self.text.truncate(self.text.trim_end_matches(' ').len());
    }
}

fn heading_level(name: &str) -> Option<usize> {
    let level = name.strip_prefix('h')?.parse().ok()?;
    (1..=6).contains(&level).then_some(level)
}

fn is_block(name: &str) -> bool {
    const BLOCKS: [&str; 23] = [
        "p",
        "div",
        "section",
        "article",
        "main",
        "header",
        "footer",
        "nav",
        "aside",
        "ul",
        "ol",
        "dl",
        "table",
        "blockquote",
        "form",
        "fieldset",
        "figure",
        "figcaption",
        "hr",
        "address",
        "details",
        "body",
        "head",
    ];
    BLOCKS.contains(&name)
}

fn is_line(name: &str) -> bool {
    ["li", "tr", "dt", "dd", "option", "summary", "caption"].contains(&name)
}

/// Returns the target of a link, unless it is on the same page or not a web, mail or
/// phone address.
fn link_target(tag: &Tag, base: Option<&Url>) -> Option<String> {
    let href = attribute(tag, "href")?;
    if href.starts_with('#') {
        return None;
    }
    let url = match base {
        Some(base) => base.join(&href).ok()?,
        None => Url::parse(&href).ok()?,
    };
    matches!(url.scheme(), "http" | "https" | "mailto" | "tel").then(|| url.to_string())
}

fn attribute(tag: &Tag, name: &str) -> Option<String> {
    tag.attrs.iter().find(|attr| &*attr.name.local == name).map(|attr| attr.value.to_string())
}

#[cfg(test)]
mod tests {
    use super::extract_text;
    use proptest::prelude::{any, prop, proptest};
    use url::Url;

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

    /// S05: reading a page takes linear time.
    #[test]
    fn s05_reading_a_page_takes_linear_time() {
        let work = |text: &str| {
            std::hint::black_box(extract_text(text, None));
        };
        for part in
            ["<", "<a ", "<a href=\"x\">", "<div>", "<pre>", "&amp;", "<svg>", "<!--", "<ul><li>"]
        {
            assert!(is_linear(part, &work), "{part:?}");
        }
    }

    #[test]
    fn html_becomes_text() {
        let base = Url::parse("https://example.com/shop/").unwrap();
        let check = |html: &str, expected: &str| {
            assert_eq!(extract_text(html, Some(&base)).text, expected, "{html}");
        };
        check("", "");
        check("plain  &amp;\n text", "plain & text");
        check("<h1>Menu</h1><p>Pizza<br>Pasta</p>", "# Menu\n\nPizza\nPasta");
        check("<ul><li>One<li>Two</ul>after", "- One\n- Two\n\nafter");
        check("a<script>alert('<p>x</p>')</script>b", "ab");
        check("a<style>p{}</style><noscript>no</noscript>b", "ab");
        check("a<svg><svg>x</svg><title>t</title></svg>b", "ab");
        check("<template><p>x</template>seen", "seen");
        check("a<script>never closed", "a");
        check("a<!-- hidden -->b", "ab");
        check(
            "See <a href='/x?y=1'>our  page </a>.",
            "See our page (https://example.com/shop/x?y=1).".replace("/shop/x", "/x").as_str(),
        );
        check("<a href='#top'>up</a> <a href='javascript:evil()'>go</a>", "up go");
        check("<table><tr><td>1<td>2</tr><tr><td>3</td></tr></table>", "1 2\n3");
        check("<pre>a\n  b</pre>c", "a\n  b\n\nc");
        check("<img alt='A dog' src=x>", "A dog");
        let page = extract_text("<title> Our\n shop </title><body>x", None);
        assert_eq!((page.title.as_str(), page.text.as_str()), ("Our shop", "x"));
    }

    #[test]
    fn deep_nesting_is_handled() {
        let html =
            format!("{}x{}", "<div><a href=/>".repeat(100_000), "</a></div>".repeat(100_000));
        assert!(extract_text(&html, None).text.contains('x'));
    }

    proptest! {
        #[test]
        fn any_html_is_handled(html in any::<String>()) {
            extract_text(&html, None);
        }

        #[test]
        fn any_tags_are_handled(parts in prop::collection::vec(
            prop::sample::select(vec![
                "<a href=x>", "</a>", "<svg>", "</svg>", "<svg/>", "<pre>", "</pre>", "<title>",
                "</title>", "<h2>", "</h2>", "<li>", "<script>", "</script>", "<", "&", "ö", " ",
                "\n", "<br/>", "<template>", "</template>", "word",
            ]), 0..60)) {
            let base = Url::parse("https://example.com/").unwrap();
            extract_text(&parts.concat(), Some(&base));
        }
    }
}
