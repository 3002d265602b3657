//! Text with its formatting: a row of spans, each in one style. A piece of it is
//! such a row again, so formatting that spans a cut goes on behind it.

/// Text with its formatting.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rich {
    pub(super) spans: Vec<Span>,
}

/// Text in one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) text: String,
    pub(super) style: Style,
}

/// How text looks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Style {
    pub(super) quote: bool,
    pub(super) bold: bool,
    pub(super) italic: bool,
    pub(super) strike: bool,
    /// Code, inline or as a block in its language.
    pub(super) code: Option<Code>,
    /// Where it leads.
    pub(super) link: Option<String>,
}

/// How code looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Code {
    /// Within a line.
    Inline,
    /// A block, whose language may be named.
    Block(String),
}

impl Rich {
    /// Text exactly as a person wrote it.
    pub fn verbatim(text: &str) -> Self {
        let mut rich = Self::default();
        rich.push(text, &Style::default());
        rich
    }

    /// The words alone.
    pub fn plain(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// The same with every address written behind the words that lead to it, for
    /// readers who cannot follow a link.
    pub fn with_addresses(&self) -> Self {
        let mut written = Self::default();
        let mut spans = self.spans.iter().peekable();
        let mut words = String::new();
        while let Some(span) = spans.next() {
            let style = Style { link: None, ..span.style.clone() };
            written.push(&span.text, &style);
            let Some(link) = &span.style.link else { continue };
            words.push_str(&span.text);
            let goes_on = spans.peek().is_some_and(|next| next.style.link.as_ref() == Some(link));
            if !goes_on {
                if !says(&words, link) {
                    let shown = link.strip_prefix("mailto:").unwrap_or(link);
                    written.push(&format!(" ({shown})"), &style);
                }
                words.clear();
            }
        }
        written
    }

    pub(super) fn push(&mut self, text: &str, style: &Style) {
        if text.is_empty() {
            return;
        }
        match self.spans.last_mut() {
            Some(last) if last.style == *style => last.text.push_str(text),
            _ => self.spans.push(Span { text: text.to_owned(), style: style.clone() }),
        }
    }
}

/// Whether the words of a link are its address already.
fn says(words: &str, link: &str) -> bool {
    let bare = |text: &str| {
        let text = text.trim().trim_end_matches('/');
        let start = ["https://", "http://", "mailto:"].into_iter();
        let bare = start.fold(text, |text, start| text.strip_prefix(start).unwrap_or(text));
        bare.to_lowercase()
    };
    bare(words) == bare(link)
}
