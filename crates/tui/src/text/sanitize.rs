//! Removes what a terminal would act on. Everything that models, tools and files say goes
//! through here before it becomes part of a cell.

use std::borrow::Cow;

const TAB: &str = "    ";

/// Returns a text without escape sequences, control characters and characters that reorder
/// text. Line breaks stay, tabs become spaces, and of a line that a carriage return has
/// overwritten the last version stays.
pub(crate) fn sanitize(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte == b'\n' || (0x20..0x7f).contains(&byte)) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut line_start = 0;
    while let Some(c) = rest.next() {
        match c {
            '\n' => {
                clean.push('\n');
                line_start = clean.len();
            }
            '\r' if rest.peek() == Some(&'\n') => {}
            '\r' if rest.peek().is_some() => clean.truncate(line_start),
            '\t' => clean.push_str(TAB),
            '\u{1b}' => skip_escape(&mut rest),
            '\u{9b}' => skip_csi(&mut rest),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_string(&mut rest),
            c if c.is_control() || is_invisible_format(c) => {}
            c => clean.push(c),
        }
    }
    Cow::Owned(clean)
}

/// Returns a text without line breaks, for places that have one line.
pub(crate) fn one_line(text: &str) -> String {
    sanitize(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Characters that change the direction of text, or that cannot be seen.
fn is_invisible_format(c: char) -> bool {
    matches!(c,
        '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn skip_escape(rest: &mut Chars<'_>) {
    match rest.peek() {
        Some('[') => {
            rest.next();
            skip_csi(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            rest.next();
            skip_string(rest);
        }
        Some(c) if (' '..='/').contains(c) => {
            while rest.next_if(|c| (' '..='/').contains(c)).is_some() {}
            rest.next_if(|c| ('0'..='~').contains(c));
        }
        Some(c) if ('0'..='~').contains(c) => {
            rest.next();
        }
        _ => {}
    }
}

fn skip_csi(rest: &mut Chars<'_>) {
    while rest.next_if(|c| (' '..='?').contains(c)).is_some() {}
    rest.next_if(|c| ('@'..='~').contains(c));
}

/// Skips to the end of a string of the terminal. One that does not end hides its line only.
fn skip_string(rest: &mut Chars<'_>) {
    loop {
        match rest.peek() {
            None | Some('\n') => return,
            Some('\u{7}' | '\u{9c}') => {
                rest.next();
                return;
            }
            Some('\u{1b}') => {
                rest.next();
                rest.next_if_eq(&'\\');
                return;
            }
            Some(_) => {
                rest.next();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::sanitize;
    use proptest::prelude::*;

    #[test]
    fn m43_escape_sequences_of_models_and_tools_are_removed() {
        let check = |text: &str, expected: &str| assert_eq!(sanitize(text), expected, "{text:?}");
        check("plain\ntext", "plain\ntext");
        check("a\x1b[31mred\x1b[0m", "ared");
        check("\x1b]0;title\x07x", "x");
        check("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link");
        check("\x1b]52;c;aGVsbG8=\x07", "");
        check("\x1bPq#0\x1b\\x", "x");
        check("\u{9b}2Jx", "x");
        check("\x1bcx\x1b(Bz", "xz");
        check("10 %\r20 %\r\n", "20 %\n");
        check("a\tb", "a    b");
        check("abc\u{202e}def\u{200b}", "abcdef");
        check("bell\x07 back\x08space", "bell backspace");
        check("grüße 👋", "grüße 👋");
        check("\x1b]0;never ends\nnext", "\nnext");
    }

    proptest! {
        #[test]
        fn m43_no_control_character_is_left(text in "(\\PC|\\x1b|\\x9b|[\\[\\]0-9;m\\r\\n\\t]|\\x07){0,80}") {
            let clean = sanitize(&text);
            prop_assert!(clean.chars().all(|c| c == '\n' || !c.is_control()), "{clean:?}");
        }
    }
}
