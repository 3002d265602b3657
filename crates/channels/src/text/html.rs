//! Rendering rich text as HTML, with the few tags that both Telegram and mail
//! programs support.

use std::fmt::Write as _;

use super::rich_text::{Code, RichText, Style};

/// The variant of HTML to render.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HtmlDialect {
    /// A line break is a newline.
    Telegram,
    /// A line break is a tag.
    Email,
}

impl RichText {
    /// Renders the text as HTML. The text itself is escaped.
    pub(crate) fn to_html(&self, dialect: HtmlDialect) -> String {
        let mut out = String::new();
        let mut open: Vec<Tag> = Vec::new();
        for span in &self.spans {
            let tags = tags(&span.style);
            let same = open.iter().zip(&tags).take_while(|(open, tag)| open == tag).count();
            close_tags(&mut out, &mut open, same);
            for tag in tags.into_iter().skip(same) {
                out.push_str(&tag.open);
                open.push(tag);
            }
            let block = matches!(span.style.code, Some(Code::Block(_)));
            escape(&mut out, &span.text, dialect == HtmlDialect::Email && !block);
        }
        close_tags(&mut out, &mut open, 0);
        out
    }
}

#[derive(PartialEq, Eq)]
struct Tag {
    open: String,
    close: &'static str,
}

/// Closes the open tags from the position `keep` on.
fn close_tags(out: &mut String, open: &mut Vec<Tag>, keep: usize) {
    for tag in open.drain(keep..).rev() {
        out.push_str(tag.close);
    }
}

/// Returns the tags of a style, outermost first. Code has no formatting inside.
fn tags(style: &Style) -> Vec<Tag> {
    let mut tags = Vec::new();
    let mut tag = |on: bool, open: &str, close: &'static str| {
        if on {
            tags.push(Tag { open: open.to_owned(), close });
        }
    };
    tag(style.quote, "<blockquote>", "</blockquote>");
    match &style.code {
        Some(Code::Inline) => tag(true, "<code>", "</code>"),
        Some(Code::Block(language)) => {
            let name = |c: char| c.is_ascii_alphanumeric() || "+-_#.".contains(c);
            tag(true, "<pre>", "</pre>");
            if !language.is_empty() && language.chars().all(name) {
                let open = format!("<code class=\"language-{language}\">");
                tag(true, &open, "</code>");
            }
        }
        None => {
            let link = style.link.as_deref().filter(|link| is_safe_link(link));
            let mut open = String::from("<a href=\"");
            escape(&mut open, link.unwrap_or_default(), false);
            open.push_str("\">");
            tag(link.is_some(), &open, "</a>");
            tag(style.bold, "<b>", "</b>");
            tag(style.italic, "<i>", "</i>");
            tag(style.strike, "<s>", "</s>");
        }
    }
    tags
}

/// Returns whether the scheme of a link is harmless, unlike `javascript` or `file`.
fn is_safe_link(link: &str) -> bool {
    let scheme = link.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    scheme.is_some_and(|scheme| ["https", "http", "mailto", "tel", "tg"].contains(&scheme.as_str()))
}

fn escape(out: &mut String, text: &str, break_tags: bool) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' if break_tags => out.push_str("<br>\n"),
            // Control characters are not allowed in HTML.
            c if c.is_control() && c != '\n' && c != '\t' => {}
            c => {
                let _ = out.write_char(c);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::HtmlDialect;
    use crate::text::RichText;

    #[test]
    fn c16_markdown_is_rendered_as_html_or_plain_text() {
        let check = |markdown: &str, html: &str, plain: &str| {
            let rich = RichText::from_markdown(markdown);
            assert_eq!(rich.to_html(HtmlDialect::Telegram), html, "{markdown}");
            assert_eq!(rich.with_link_urls().to_plain(), plain, "{markdown}");
        };
        check("Hi **Rosa**, _ciao_!", "Hi <b>Rosa</b>, <i>ciao</i>!", "Hi Rosa, ciao!");
        check("***both*** ~~no~~", "<b><i>both</i></b> <s>no</s>", "both no");
        check("# Menu\n\nPizza", "<b>Menu</b>\n\nPizza", "Menu\n\nPizza");
        check("one\ntwo", "one\ntwo", "one\ntwo");
        check("a\n- b\n- c\n\nd", "a\n\n• b\n• c\n\nd", "a\n\n• b\n• c\n\nd");
        check("1. b\n2. c\n   - d", "1. b\n2. c\n  • d", "1. b\n2. c\n  • d");
        check("- [x] b\n- [ ] c", "• ☑ b\n• ☐ c", "• ☑ b\n• ☐ c");
        check("- b\n\n- c", "• b\n\n• c", "• b\n\n• c");
        check("2 < 3 & 4 > 1", "2 &lt; 3 &amp; 4 &gt; 1", "2 < 3 & 4 > 1");
        check("<b>x</b>", "&lt;b&gt;x&lt;/b&gt;", "<b>x</b>");
        check("snake_case_name 2*3*4", "snake_case_name 2<i>3</i>4", "snake_case_name 234");
        check("`a<b`", "<code>a&lt;b</code>", "a<b");
        check(
            "```rust\nfn f() {}\n```\nx",
            "<pre><code class=\"language-rust\">fn f() {}\n</code></pre>\nx",
            "fn f() {}\n\nx",
        );
        check("```\"><i>\nx\n```", "<pre>x\n</pre>", "x\n");
        check(
            "[menu](https://x.it/?a=1&b=\"2)",
            "<a href=\"https://x.it/?a=1&amp;b=&quot;2\">menu</a>",
            "menu (https://x.it/?a=1&b=\"2)",
        );
        check("<https://x.it>", "<a href=\"https://x.it\">https://x.it</a>", "https://x.it");
        check("[x.it](https://x.it/)", "<a href=\"https://x.it/\">x.it</a>", "x.it");
        check("[x](javascript:alert(1))", "x", "x (javascript:alert(1))");
        check("[**a** b](http://c)", "<a href=\"http://c\"><b>a</b> b</a>", "a b (http://c)");
        check("![a pizza](http://c)", "<a href=\"http://c\">a pizza</a>", "a pizza (http://c)");
        check(
            "> so\n> **it** is\n\nyes",
            "<blockquote>so\n<b>it</b> is</blockquote>\n\nyes",
            "so\nit is\n\nyes",
        );
        check("|a|b|\n|-|-|\n|1|2|", "<b>a | b</b>\n1 | 2", "a | b\n1 | 2");
        check("a\n\n---\n\nb", "a\n\n———\n\nb", "a\n\n———\n\nb");
        check("bell\u{7}", "bell", "bell\u{7}");
        check("", "", "");
    }

    #[test]
    fn email_html_has_break_tags_except_in_code() {
        let rich = RichText::from_markdown("a\nb\n\n```\nc\nd\n```");
        assert_eq!(rich.to_html(HtmlDialect::Email), "a<br>\nb<br>\n<br>\n<pre>c\nd\n</pre>");
    }

    #[test]
    fn verbatim_text_is_not_parsed_as_markdown() {
        let rich = RichText::from_verbatim("*no* <b> [x](y)\n# z");
        assert_eq!(rich.to_html(HtmlDialect::Telegram), "*no* &lt;b&gt; [x](y)\n# z");
        assert_eq!(rich.with_link_urls().to_plain(), "*no* <b> [x](y)\n# z");
    }
}
