//! Markdown, as agents write it, read into text with its formatting.
//!
//! Chats know less than documents: headings become bold lines, lists bullets,
//! tables rows with bars. HTML is no formatting here but text, since a customer
//! may have made the agent write it.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::rich::{Code, Rich, Style};

impl Rich {
    /// Reads Markdown.
    pub fn markdown(text: &str) -> Self {
        let options = Options::ENABLE_STRIKETHROUGH
            | Options::ENABLE_TABLES
            | Options::ENABLE_TASKLISTS
            | Options::ENABLE_GFM;
        let mut reader = Reader::default();
        for event in Parser::new_ext(text, options) {
            reader.read(event);
        }
        reader.rich
    }
}

#[derive(Default)]
struct Reader {
    rich: Rich,
    style: Style,
    /// Line breaks that are written before the next words.
    gap: usize,
    /// Whether a bullet was just written, which needs no line break behind it.
    bullet: bool,
    /// The next number of each list that is open; bullets have none.
    lists: Vec<Option<u64>>,
    quotes: usize,
    /// How deep the words are in each kind of emphasis, since they nest.
    bold: usize,
    italic: usize,
    strike: usize,
    links: Vec<String>,
    cells: usize,
}

impl Reader {
    fn read(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.words(&text),
            Event::Code(text) => {
                self.style.code = Some(Code::Inline);
                self.words(&text);
                self.style.code = None;
            }
            Event::Html(text) => self.words(&text),
            Event::InlineHtml(text) if is_break(&text) => self.words("\n"),
            Event::InlineHtml(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.words(&text);
            }
            Event::FootnoteReference(name) => self.words(&format!("[{name}]")),
            Event::SoftBreak | Event::HardBreak => self.words("\n"),
            Event::Rule => {
                self.block();
                self.words("———");
                self.block();
            }
            Event::TaskListMarker(done) => self.words(if done { "☑ " } else { "☐ " }),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock | Tag::Table(_) | Tag::FootnoteDefinition(_) => {
                self.block();
            }
            Tag::Heading { .. } => {
                self.block();
                self.bold += 1;
            }
            Tag::BlockQuote(_) => {
                self.block();
                self.quotes += 1;
            }
            Tag::CodeBlock(kind) => {
                self.block();
                let language = match kind {
                    CodeBlockKind::Fenced(info) => {
                        info.split_whitespace().next().map(str::to_owned)
                    }
                    CodeBlockKind::Indented => None,
                };
                self.style.code = Some(Code::Block(language.unwrap_or_default()));
            }
            Tag::List(first) => {
                self.around_list();
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::TableHead => self.bold += 1,
            Tag::TableRow => self.line(),
            Tag::TableCell => {
                if self.cells > 0 {
                    self.words(" | ");
                }
                self.cells += 1;
            }
            Tag::Emphasis => self.italic += 1,
            Tag::Strong => self.bold += 1,
            Tag::Strikethrough => self.strike += 1,
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push(dest_url.into_string());
            }
            _ => {}
        }
        self.look();
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock | TagEnd::Table | TagEnd::FootnoteDefinition => {
                self.block();
            }
            TagEnd::Heading(_) => {
                self.bold = self.bold.saturating_sub(1);
                self.block();
            }
            TagEnd::BlockQuote(_) => {
                self.quotes = self.quotes.saturating_sub(1);
                self.block();
            }
            TagEnd::CodeBlock => {
                self.style.code = None;
                self.block();
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.around_list();
            }
            TagEnd::Item => {
                self.bullet = false;
                self.line();
            }
            TagEnd::TableHead => {
                self.bold = self.bold.saturating_sub(1);
                self.cells = 0;
            }
            TagEnd::TableRow => self.cells = 0,
            TagEnd::Emphasis => self.italic = self.italic.saturating_sub(1),
            TagEnd::Strong => self.bold = self.bold.saturating_sub(1),
            TagEnd::Strikethrough => self.strike = self.strike.saturating_sub(1),
            TagEnd::Link | TagEnd::Image => {
                self.links.pop();
            }
            _ => {}
        }
        self.look();
    }

    /// The style that the words from here on have.
    fn look(&mut self) {
        self.style.quote = self.quotes > 0;
        self.style.bold = self.bold > 0;
        self.style.italic = self.italic > 0;
        self.style.strike = self.strike > 0;
        self.style.link = self.links.last().filter(|link| !link.is_empty()).cloned();
    }

    fn item(&mut self) {
        self.line();
        let depth = self.lists.len().saturating_sub(1);
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{number}. ");
                *number = number.saturating_add(1);
                mark
            }
            _ => "• ".to_owned(),
        };
        self.words(&format!("{}{mark}", "  ".repeat(depth)));
        self.bullet = true;
    }

    /// A list within another is on lines of its own, any other is a paragraph.
    fn around_list(&mut self) {
        self.apart(if self.lists.is_empty() { 2 } else { 1 });
    }

    /// The next words are a paragraph of their own.
    fn block(&mut self) {
        self.apart(2);
    }

    /// The next words are on a line of their own.
    fn line(&mut self) {
        self.apart(1);
    }

    fn apart(&mut self, lines: usize) {
        if !self.bullet {
            self.gap = self.gap.max(lines);
        }
    }

    fn words(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.gap > 0 && !self.rich.spans.is_empty() {
            let quoted = self.rich.spans.last().is_some_and(|last| last.style.quote);
            let between = Style { quote: quoted && self.style.quote, ..Style::default() };
            // Code ends with the line break that its fence stands on.
            let gap = self.gap.saturating_sub(self.trailing_breaks());
            self.rich.push(&"\n".repeat(gap), &between);
        }
        (self.gap, self.bullet) = (0, false);
        self.rich.push(text, &self.style);
    }

    fn trailing_breaks(&self) -> usize {
        let last = self.rich.spans.last().map_or("", |last| last.text.as_str());
        last.len() - last.trim_end_matches('\n').len()
    }
}

fn is_break(html: &str) -> bool {
    ["<br>", "<br/>", "<br />"].iter().any(|tag| html.eq_ignore_ascii_case(tag))
}
