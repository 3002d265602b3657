//! Names and ids in a form that every provider accepts. A model may invent a tool
//! name that is not allowed, and call ids differ between providers; a fallback must
//! fail on neither.

use std::borrow::Cow;
use std::fmt::Write as _;

const LONGEST_NAME: usize = 64;

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// Returns a valid tool name.
pub(crate) fn tool_name(name: &str) -> Cow<'_, str> {
    if !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(is_plain) {
        return Cow::Borrowed(name);
    }
    let plain = name.chars().map(|c| if is_plain(c) { c } else { '_' });
    let plain: String = plain.take(LONGEST_NAME).collect();
    if plain.is_empty() { Cow::Borrowed("unnamed") } else { Cow::Owned(plain) }
}

/// Returns a valid call id; different ids stay different.
pub(crate) fn call_id(id: &str) -> Cow<'_, str> {
    if !id.is_empty() && id.chars().all(is_plain) {
        return Cow::Borrowed(id);
    }
    let mut plain = String::from("call-");
    for c in id.chars() {
        if is_plain(c) {
            plain.push(c);
        } else {
            let _ = write!(plain, "_{:x}_", u32::from(c));
        }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::{call_id, tool_name};

    #[test]
    fn names_and_ids_are_sanitized() {
        assert_eq!(tool_name("search_web"), "search_web");
        assert_eq!(tool_name("functions.search web"), "functions_search_web");
        assert_eq!(tool_name(""), "unnamed");
        assert_eq!(tool_name(&"é".repeat(100)).len(), 64);
        assert_eq!(call_id("toolu_01-x"), "toolu_01-x");
        assert_eq!(call_id("search:0"), "call-search_3a_0");
        assert_eq!(call_id(""), "call-");
        assert_ne!(call_id("a.b"), call_id("a:b"));
    }
}
