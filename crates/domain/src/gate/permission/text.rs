//! Patterns over text: exact characters, `*` and `**`.

use std::fmt;

/// A pattern over text. `*` stands for any characters but `/`, `**` for any characters, and
/// `\` takes the next character as it is. Everything else is exact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextPattern {
    source: String,
    tokens: Vec<Token>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Char(char),
    /// `*`
    Star,
    /// `**`
    DoubleStar,
}

/// A text that is no pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TextPatternError {
    #[error("a pattern cannot end with `\\`; write `\\\\` for a backslash")]
    OpenEscape,
    #[error("`***` is not a pattern; write `*` for one name or word, `**` for anything")]
    ThreeStars,
}

impl TextPattern {
    /// Parses a pattern.
    pub fn parse(source: &str) -> Result<Self, TextPatternError> {
        let mut tokens = Vec::new();
        let mut characters = source.chars();
        while let Some(character) = characters.next() {
            let token = match character {
                '\\' => Token::Char(characters.next().ok_or(TextPatternError::OpenEscape)?),
                '*' => match tokens.last() {
                    Some(Token::DoubleStar) => return Err(TextPatternError::ThreeStars),
                    Some(Token::Star) => {
                        tokens.pop();
                        Token::DoubleStar
                    }
                    _ => Token::Star,
                },
                other => Token::Char(other),
            };
            tokens.push(token);
        }
        Ok(Self { source: source.to_owned(), tokens })
    }

    /// Returns the pattern that only this text matches.
    pub fn exact(text: &str) -> Self {
        let escaped = text.replace('\\', "\\\\").replace('*', "\\*");
        Self { source: escaped, tokens: text.chars().map(Token::Char).collect() }
    }

    /// Returns the pattern as it is written.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// Returns whether it is `**`, which everything matches.
    pub fn is_anything(&self) -> bool {
        self.tokens == [Token::DoubleStar]
    }

    /// Returns whether it contains `*` or `**`.
    pub fn has_wildcard(&self) -> bool {
        self.tokens.iter().any(|token| !matches!(token, Token::Char(_)))
    }

    /// Returns whether a text matches. Takes time proportional to the length of the text and
    /// that of the pattern.
    pub fn matches(&self, text: &str) -> bool {
        // `reached[n]`: the first n tokens match the characters so far.
        let mut reached = vec![false; self.tokens.len() + 1];
        reached[0] = true;
        self.skip_stars(&mut reached);
        for character in text.chars() {
            let mut next = vec![false; reached.len()];
            for (at, token) in self.tokens.iter().enumerate().filter(|(at, _)| reached[*at]) {
                match token {
                    Token::Char(expected) => next[at + 1] |= *expected == character,
                    Token::Star => next[at] |= character != '/',
                    Token::DoubleStar => next[at] = true,
                }
            }
            self.skip_stars(&mut next);
            reached = next;
        }
        reached.last().copied().unwrap_or(false)
    }

    /// Stars match no characters too.
    fn skip_stars(&self, reached: &mut [bool]) {
        for (at, token) in self.tokens.iter().enumerate() {
            if reached[at] && !matches!(token, Token::Char(_)) {
                reached[at + 1] = true;
            }
        }
    }

    /// Splits a pattern of a command line into the patterns of its words.
    pub(super) fn words(&self) -> Vec<Self> {
        self.tokens
            .split(|token| matches!(token, Token::Char(' ' | '\t')))
            .filter(|word| !word.is_empty())
            .map(|word| Self { source: String::new(), tokens: word.to_vec() })
            .collect()
    }
}

impl fmt::Display for TextPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

/// Returns whether a path says less than it seems: it has a part `.`, `..` or an empty one,
/// so that the same file can be written in several ways.
pub(super) fn is_indirect_path(text: &str) -> bool {
    let path = text.split_once("://").map_or(text, |(_, rest)| rest);
    let path = path.strip_prefix('/').unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    path.contains('/') && path.split('/').any(|part| matches!(part, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::{TextPattern, TextPatternError, is_indirect_path};

    #[test]
    fn a_star_ends_at_a_slash_and_two_do_not() {
        let table = [
            ("src/main.rs", "src/main.rs", true),
            ("src/main.rs", "src/main.rsx", false),
            ("src/*.rs", "src/main.rs", true),
            ("src/*.rs", "src/a/main.rs", false),
            ("src/**", "src/a/main.rs", true),
            ("src/**", "src", false),
            ("**/*.rs", "a/b/c.rs", true),
            ("*", "", true),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "aXbY", false),
            (r"2 \* 3", "2 * 3", true),
            (r"2 \* 3", "2 x 3", false),
            ("übermut", "übermut", true),
            ("", "", true),
            ("", "x", false),
        ];
        for (pattern, text, expected) in table {
            let matches = TextPattern::parse(pattern).unwrap().matches(text);
            assert_eq!(matches, expected, "{pattern} {text}");
        }
    }

    #[test]
    fn an_exact_pattern_matches_its_text_only() {
        for text in ["a*b", r"a\b", "**", "plain", ""] {
            let pattern = TextPattern::exact(text);
            assert_eq!(TextPattern::parse(pattern.as_str()).as_ref(), Ok(&pattern));
            assert!(pattern.matches(text) && !pattern.has_wildcard());
            assert!(!pattern.matches(&format!("{text}x")));
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        assert_eq!(TextPattern::parse("a\\"), Err(TextPatternError::OpenEscape));
        assert_eq!(TextPattern::parse("a***"), Err(TextPatternError::ThreeStars));
    }

    #[test]
    fn paths_with_detours_are_indirect() {
        let table = [
            ("src/main.rs", false),
            ("/etc/passwd", false),
            ("https://example.com/a", false),
            ("src/", false),
            ("..", false),
            ("src/../.env", true),
            ("./.env", true),
            ("src//a", true),
            ("https://example.com/a/../b", true),
        ];
        for (text, expected) in table {
            assert_eq!(is_indirect_path(text), expected, "{text}");
        }
    }
}
