//! Lists, page by page: whoever wants the next page sends back what the last one
//! said.

use serde::{Deserialize, Serialize};

/// How many are listed unless a number is asked for.
pub const USUAL: u32 = 50;
/// The most of one page.
pub const MOST: u32 = 200;

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page<T> {
    /// What is on it.
    pub items: Vec<T>,
    /// What the next page is asked for with; nothing on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Which page is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Turn {
    /// What the page before said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The most that is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

impl Turn {
    /// The page behind one that was read.
    pub fn after(cursor: Option<String>) -> Self {
        Self { cursor, limit: None }
    }

    /// How many are listed.
    pub fn most(&self) -> u32 {
        self.limit.unwrap_or(USUAL).clamp(1, MOST)
    }
}

impl<T> Page<T> {
    /// A page of at most so many. A full one may have another behind it, which
    /// is asked for with what `cursor` makes of its last item.
    pub fn of(items: Vec<T>, most: u32, cursor: impl Fn(&T) -> String) -> Self {
        let full = items.len() >= usize::try_from(most).unwrap_or(usize::MAX);
        let next = items.last().filter(|_| full).map(cursor);
        Self { items, next }
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, Page, Turn, USUAL};

    #[test]
    fn a_full_page_has_another_behind_it() {
        let page = |most| Page::of(vec![1, 2, 3], most, ToString::to_string).next;
        assert_eq!(page(3).as_deref(), Some("3"));
        assert_eq!(page(4), None);
        assert_eq!(Page::of(vec![], 3, u32::to_string).next, None);
    }

    #[test]
    fn a_page_is_neither_empty_nor_endless() {
        let most = |limit| Turn { cursor: None, limit }.most();
        let found = [None, Some(0), Some(7), Some(1_000_000)].map(most);
        assert_eq!(found, [USUAL, 1, 7, MOST]);
    }
}
