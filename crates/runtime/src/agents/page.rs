//! Pages of listings. Every listing is limited.

/// The maximum size of a page.
pub const MAX_PAGE_SIZE: usize = 1000;

/// A page of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<K> {
    /// The last key of the previous page; `None` for the first page.
    pub after: Option<K>,
    limit: usize,
}

impl<K> Page<K> {
    /// Returns the first page, with up to [`MAX_PAGE_SIZE`] entries.
    pub fn first(limit: usize) -> Self {
        Self { after: None, limit: limit.min(MAX_PAGE_SIZE) }
    }

    /// Returns the page after `last`, with up to [`MAX_PAGE_SIZE`] entries.
    pub fn after(last: K, limit: usize) -> Self {
        Self { after: Some(last), limit: limit.min(MAX_PAGE_SIZE) }
    }

    /// Returns the maximum number of entries.
    pub const fn limit(&self) -> usize {
        self.limit
    }
}

impl<K> Default for Page<K> {
    fn default() -> Self {
        Self { after: None, limit: MAX_PAGE_SIZE }
    }
}
