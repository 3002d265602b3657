//! A part of a listing: no listing is without an end.

/// The most that one page has.
pub const LONGEST_PAGE: usize = 1000;

/// Which part of a listing is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<K> {
    /// What comes after this one; from the beginning, if none.
    pub after: Option<K>,
    limit: usize,
}

impl<K> Page<K> {
    /// The first so many, at most [`LONGEST_PAGE`].
    pub fn first(limit: usize) -> Self {
        Self { after: None, limit: limit.min(LONGEST_PAGE) }
    }

    /// So many after this one, at most [`LONGEST_PAGE`].
    pub fn after(last: K, limit: usize) -> Self {
        Self { after: Some(last), limit: limit.min(LONGEST_PAGE) }
    }

    /// How many at most.
    pub const fn limit(&self) -> usize {
        self.limit
    }
}

impl<K> Default for Page<K> {
    fn default() -> Self {
        Self { after: None, limit: LONGEST_PAGE }
    }
}
