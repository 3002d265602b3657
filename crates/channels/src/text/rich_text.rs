//! Rich text: a list of spans, each in one style. A piece of it is a list of spans
//! again, so formatting that spans a cut continues in the next piece.

/// Text with formatting.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RichText {
    pub(super) spans: Vec<Span>,
}

/// Text in one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) text: String,
    pub(super) style: Style,
}

/// The formatting of a span.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Style {
    pub(super) quote: bool,
    pub(super) bold: bool,
    pub(super) italic: bool,
    pub(super) strike: bool,
    pub(super) code: Option<Code>,
    /// The URL of a link.
    pub(super) link: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Code {
    Inline,
    /// A block and its language, which may be empty.
    Block(String),
}

impl RichText {
    /// Creates text without formatting, exactly as it is.
    pub fn from_verbatim(text: &str) -> Self {
        let mut rich = Self::default();
        rich.push(text, &Style::default());
        rich
    }

    /// Returns the text without formatting.
    pub fn to_plain(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// Replaces each link by its text followed by its URL, for channels without
    /// links.
    pub fn with_link_urls(&self) -> Self {
        let mut result = Self::default();
        let mut spans = self.spans.iter().peekable();
        let mut link_text = String::new();
        while let Some(span) = spans.next() {
            let style = Style { link: None, ..span.style.clone() };
            result.push(&span.text, &style);
            let Some(link) = &span.style.link else { continue };
            link_text.push_str(&span.text);
            let continues = spans.peek().is_some_and(|next| next.style.link.as_ref() == Some(link));
            if !continues {
                if !is_url_text(&link_text, link) {
                    let url = link.strip_prefix("mailto:").unwrap_or(link);
                    result.push(&format!(" ({url})"), &style);
                }
                link_text.clear();
            }
        }
        result
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

/// Returns whether the text of a link already is its URL.
fn is_url_text(text: &str, link: &str) -> bool {
    let bare = |text: &str| {
        let text = text.trim().trim_end_matches('/');
        let start = ["https://", "http://", "mailto:"].into_iter();
        let bare = start.fold(text, |text, start| text.strip_prefix(start).unwrap_or(text));
        bare.to_lowercase()
    };
    bare(text) == bare(link)
}
