//! What was said with one provider, in names that every other accepts. A model
//! may have named a tool as no tool can be named, and ids of calls differ from
//! provider to provider; a fallback must not fail on either.

use std::borrow::Cow;
use std::fmt::Write as _;

const LONGEST_NAME: usize = 64;

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// The name of a tool.
pub(crate) fn tool_name(name: &str) -> Cow<'_, str> {
    if !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(is_plain) {
        return Cow::Borrowed(name);
    }
    let plain = name.chars().map(|c| if is_plain(c) { c } else { '_' });
    let plain: String = plain.take(LONGEST_NAME).collect();
    if plain.is_empty() { Cow::Borrowed("unnamed") } else { Cow::Owned(plain) }
}

/// The id of a call; two different ones stay different.
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
    fn names_are_made_plain() {
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
