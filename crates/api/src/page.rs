//! Cursor pagination of lists.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Page size without `limit`.
pub const DEFAULT_LIMIT: u32 = 50;
/// Largest page size.
pub const MAX_LIMIT: u32 = 200;

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "{T}Page")]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Cursor of the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Query parameters of a list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PageQuery {
    /// `next` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

impl PageQuery {
    /// Returns the query of the page after `cursor`.
    pub fn after(cursor: Option<String>) -> Self {
        Self { cursor, limit: None }
    }

    /// Returns the page size within its bounds.
    pub fn page_size(&self) -> u32 {
        self.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT)
    }
}

impl<T> Page<T> {
    /// Makes a page of at most `limit` items. A full page gets a cursor, which
    /// `cursor` makes from its last item.
    pub fn from_items(items: Vec<T>, limit: u32, cursor: impl Fn(&T) -> String) -> Self {
        let full = items.len() >= usize::try_from(limit).unwrap_or(usize::MAX);
        let next = items.last().filter(|_| full).map(cursor);
        Self { items, next }
    }
}

#[cfg(test)]
mod tests {
    use super::{DEFAULT_LIMIT, MAX_LIMIT, Page, PageQuery};

    #[test]
    fn only_a_full_page_has_a_next_cursor() {
        let page = |limit| Page::from_items(vec![1, 2, 3], limit, ToString::to_string).next;
        assert_eq!(page(3).as_deref(), Some("3"));
        assert_eq!(page(4), None);
        assert_eq!(Page::from_items(vec![], 3, u32::to_string).next, None);
    }

    #[test]
    fn page_size_is_clamped() {
        let page_size = |limit| PageQuery { cursor: None, limit }.page_size();
        let found = [None, Some(0), Some(7), Some(1_000_000)].map(page_size);
        assert_eq!(found, [DEFAULT_LIMIT, 1, 7, MAX_LIMIT]);
    }
}
