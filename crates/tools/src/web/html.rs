//! A page as text: headings, paragraphs, lists and links, without what only
//! browsers need. Tags are read one after the other, so a page of any depth takes
//! no more than its length.

use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts, states,
};
use url::Url;

/// What a page says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Page {
    pub(super) title: String,
    pub(super) text: String,
}

/// Reads a page. Links are written out from where it is.
pub(super) fn read(html: &str, base: Option<&Url>) -> Page {
    let sink = Sink { base, writing: RefCell::new(Writing::default()) };
    let tokenizer = Tokenizer::new(sink, TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(html));
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    let writing = tokenizer.sink.writing.into_inner();
    let title = writing.title.split_whitespace().collect::<Vec<_>>().join(" ");
    Page { title, text: writing.text.trim().to_owned() }
}

struct Sink<'b> {
    base: Option<&'b Url>,
    writing: RefCell<Writing>,
}

#[derive(Default)]
struct Writing {
    title: String,
    text: String,
    /// The element whose content is left out, and how often it was opened.
    hidden: Option<(String, u32)>,
    in_title: bool,
    /// How deep one is in text whose spaces count.
    preformatted: u32,
    /// The target of the link one is in, and where its words begin.
    link: Option<(String, usize)>,
}

impl TokenSink for Sink<'_> {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut writing = self.writing.borrow_mut();
        match token {
            Token::CharacterTokens(text) => writing.words(&text),
            Token::TagToken(tag) => {
                let name = &*tag.name;
                let opens = tag.kind == TagKind::StartTag;
                if writing.hides(name, opens, tag.self_closing) {
                    return raw(name, opens);
                }
                if opens {
                    writing.open(&tag, self.base);
                } else {
                    writing.close(name);
                }
                return raw(name, opens);
            }
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

/// How what follows a tag is read: scripts, for one, have no tags in them.
fn raw(name: &str, opens: bool) -> TokenSinkResult<()> {
    use states::RawKind::{Rawtext, Rcdata, ScriptData};
    match name {
        _ if !opens => TokenSinkResult::Continue,
        "script" => TokenSinkResult::RawData(ScriptData),
        "style" | "xmp" | "iframe" | "noembed" | "noframes" => TokenSinkResult::RawData(Rawtext),
        "title" | "textarea" => TokenSinkResult::RawData(Rcdata),
        _ => TokenSinkResult::Continue,
    }
}

impl Writing {
    /// Whether a tag belongs to what is left out.
    fn hides(&mut self, name: &str, opens: bool, self_closing: bool) -> bool {
        const HIDDEN: [&str; 13] = [
            "script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas",
            "noembed", "noframes", "select", "textarea",
        ];
        match &mut self.hidden {
            Some((hidden, depth)) => {
                if hidden == name && !self_closing {
                    *depth = if opens { *depth + 1 } else { *depth - 1 };
                    if *depth == 0 {
                        self.hidden = None;
                    }
                }
                true
            }
            None if HIDDEN.contains(&name) => {
                if opens && !self_closing {
                    self.hidden = Some((name.to_owned(), 1));
                }
                true
            }
            None => false,
        }
    }

    fn words(&mut self, text: &str) {
        if self.hidden.is_some() {
            return;
        }
        if self.in_title {
            self.title.push_str(text);
        } else if self.preformatted > 0 {
            self.text.push_str(text);
        } else {
            self.squeeze(text);
        }
    }

    /// Adds words with one space for any white space.
    fn squeeze(&mut self, text: &str) {
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
                self.paragraph();
                self.preformatted += 1;
            }
            "li" => {
                self.line();
                self.text.push_str("- ");
            }
            "td" | "th" => self.squeeze(" "),
            "a" => {
                self.close("a");
                if let Some(target) = target(tag, base) {
                    self.link = Some((target, self.text.len()));
                }
            }
            "img" => self.squeeze(&attribute(tag, "alt").unwrap_or_default()),
            name => match heading(name) {
                Some(level) => {
                    self.paragraph();
                    self.text.push_str(&"#".repeat(level));
                    self.text.push(' ');
                }
                None if is_block(name) => self.paragraph(),
                None if is_line(name) => self.line(),
                None => {}
            },
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "title" => self.in_title = false,
            "pre" => {
                self.preformatted = self.preformatted.saturating_sub(1);
                self.paragraph();
            }
            "a" => {
                if let Some((target, from)) = self.link.take()
                    && self.text.get(from..).is_some_and(|words| !words.trim().is_empty())
                {
                    self.text.truncate(self.text.trim_end().len().max(from));
                    self.text.push_str(&format!(" ({target})"));
                }
            }
            name if heading(name).is_some() || is_block(name) => self.paragraph(),
            name if is_line(name) => self.line(),
            _ => {}
        }
    }

    fn line(&mut self) {
        self.trim_spaces();
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    fn paragraph(&mut self) {
        self.line();
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn trim_spaces(&mut self) {
        self.text.truncate(self.text.trim_end_matches(' ').len());
    }
}

fn heading(name: &str) -> Option<usize> {
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

/// Where a link leads, if that is another page.
fn target(tag: &Tag, base: Option<&Url>) -> Option<String> {
    let written = attribute(tag, "href")?;
    if written.starts_with('#') {
        return None;
    }
    let url = match base {
        Some(base) => base.join(&written).ok()?,
        None => Url::parse(&written).ok()?,
    };
    matches!(url.scheme(), "http" | "https" | "mailto" | "tel").then(|| url.to_string())
}

fn attribute(tag: &Tag, name: &str) -> Option<String> {
    tag.attrs.iter().find(|one| &*one.name.local == name).map(|one| one.value.to_string())
}

#[cfg(test)]
mod tests {
    use super::read;
    use proptest::prelude::{any, prop, proptest};
    use url::Url;

    #[test]
    fn a_page_becomes_text() {
        let base = Url::parse("https://example.com/shop/").unwrap();
        let check = |html: &str, expected: &str| {
            assert_eq!(read(html, Some(&base)).text, expected, "{html}");
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
        let page = read("<title> Our\n shop </title><body>x", None);
        assert_eq!((page.title.as_str(), page.text.as_str()), ("Our shop", "x"));
    }

    #[test]
    fn depth_costs_nothing() {
        let html =
            format!("{}x{}", "<div><a href=/>".repeat(100_000), "</a></div>".repeat(100_000));
        assert!(read(&html, None).text.contains('x'));
    }

    proptest! {
        #[test]
        fn any_page_can_be_read(html in any::<String>()) {
            read(&html, None);
        }

        #[test]
        fn any_tags_can_be_read(parts in prop::collection::vec(
            prop::sample::select(vec![
                "<a href=x>", "</a>", "<svg>", "</svg>", "<svg/>", "<pre>", "</pre>", "<title>",
                "</title>", "<h2>", "</h2>", "<li>", "<script>", "</script>", "<", "&", "ö", " ",
                "\n", "<br/>", "<template>", "</template>", "word",
            ]), 0..60)) {
            let base = Url::parse("https://example.com/").unwrap();
            read(&parts.concat(), Some(&base));
        }
    }
}
