//! Parsing the Markdown of agents into rich text.
//!
//! Chats support less than documents: headings become bold lines, lists become
//! bullets, tables become rows with bars. HTML is kept as text and not interpreted,
//! because a customer may have made the agent write it.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::rich_text::{Code, RichText, Style};

impl RichText {
    /// Parses Markdown.
    pub fn from_markdown(text: &str) -> Self {
        let options = Options::ENABLE_STRIKETHROUGH
            | Options::ENABLE_TABLES
            | Options::ENABLE_TASKLISTS
            | Options::ENABLE_GFM;
        let mut builder = Builder::default();
        for event in Parser::new_ext(text, options) {
            builder.push_event(event);
        }
        builder.rich
    }
}

#[derive(Default)]
struct Builder {
    rich: RichText,
    style: Style,
    /// Line breaks to write before the next text.
    pending_breaks: usize,
    /// Whether a bullet was just written, which no line break follows.
    after_bullet: bool,
    /// The next number of each open list; `None` for bullets.
    lists: Vec<Option<u64>>,
    quotes: usize,
    /// The nesting depth of each kind of emphasis.
    bold: usize,
    italic: usize,
    strike: usize,
    links: Vec<String>,
    cells: usize,
}

impl Builder {
    fn push_event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start_tag(tag),
            Event::End(tag) => self.end_tag(tag),
            Event::Text(text) => self.push_text(&text),
            Event::Code(text) => {
                self.style.code = Some(Code::Inline);
                self.push_text(&text);
                self.style.code = None;
            }
            Event::Html(text) => self.push_text(&text),
            Event::InlineHtml(text) if is_break(&text) => self.push_text("\n"),
            Event::InlineHtml(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.push_text(&text);
            }
            Event::FootnoteReference(name) => self.push_text(&format!("[{name}]")),
            Event::SoftBreak | Event::HardBreak => self.push_text("\n"),
            Event::Rule => {
                self.separate_block();
                self.push_text("———");
                self.separate_block();
            }
            Event::TaskListMarker(done) => self.push_text(if done { "☑ " } else { "☐ " }),
        }
    }

    fn start_tag(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock | Tag::Table(_) | Tag::FootnoteDefinition(_) => {
                self.separate_block();
            }
            Tag::Heading { .. } => {
                self.separate_block();
                self.bold += 1;
            }
            Tag::BlockQuote(_) => {
                self.separate_block();
                self.quotes += 1;
            }
            Tag::CodeBlock(kind) => {
                self.separate_block();
                let language = match kind {
                    CodeBlockKind::Fenced(info) => {
                        info.split_whitespace().next().map(str::to_owned)
                    }
                    CodeBlockKind::Indented => None,
                };
                self.style.code = Some(Code::Block(language.unwrap_or_default()));
            }
            Tag::List(first) => {
                self.separate_list();
                self.lists.push(first);
            }
            Tag::Item => self.start_item(),
            Tag::TableHead => self.bold += 1,
            Tag::TableRow => self.separate_line(),
            Tag::TableCell => {
                if self.cells > 0 {
                    self.push_text(" | ");
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
        self.update_style();
    }

    fn end_tag(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock | TagEnd::Table | TagEnd::FootnoteDefinition => {
                self.separate_block();
            }
            TagEnd::Heading(_) => {
                self.bold = self.bold.saturating_sub(1);
                self.separate_block();
            }
            TagEnd::BlockQuote(_) => {
                self.quotes = self.quotes.saturating_sub(1);
                self.separate_block();
            }
            TagEnd::CodeBlock => {
                self.style.code = None;
                self.separate_block();
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.separate_list();
            }
            TagEnd::Item => {
                self.after_bullet = false;
                self.separate_line();
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
        self.update_style();
    }

    /// Updates the style of the text that follows.
    fn update_style(&mut self) {
        self.style.quote = self.quotes > 0;
        self.style.bold = self.bold > 0;
        self.style.italic = self.italic > 0;
        self.style.strike = self.strike > 0;
        self.style.link = self.links.last().filter(|link| !link.is_empty()).cloned();
    }

    fn start_item(&mut self) {
        self.separate_line();
        let depth = self.lists.len().saturating_sub(1);
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{number}. ");
                *number = number.saturating_add(1);
                mark
            }
            _ => "• ".to_owned(),
        };
        self.push_text(&format!("{}{mark}", "  ".repeat(depth)));
        self.after_bullet = true;
    }

    /// A nested list starts on a new line, any other list is a paragraph.
    fn separate_list(&mut self) {
        self.require_breaks(if self.lists.is_empty() { 2 } else { 1 });
    }

    /// Starts a new paragraph with the next text.
    fn separate_block(&mut self) {
        self.require_breaks(2);
    }

    /// Starts a new line with the next text.
    fn separate_line(&mut self) {
        self.require_breaks(1);
    }

    fn require_breaks(&mut self, count: usize) {
        if !self.after_bullet {
            self.pending_breaks = self.pending_breaks.max(count);
        }
    }

    fn push_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.pending_breaks > 0 && !self.rich.spans.is_empty() {
            let quoted = self.rich.spans.last().is_some_and(|last| last.style.quote);
            let between = Style { quote: quoted && self.style.quote, ..Style::default() };
            // A code block already ends with a line break.
            let breaks = self.pending_breaks.saturating_sub(self.trailing_breaks());
            self.rich.push(&"\n".repeat(breaks), &between);
        }
        (self.pending_breaks, self.after_bullet) = (0, false);
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
