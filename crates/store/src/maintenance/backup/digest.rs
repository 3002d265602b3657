//! A checksum of a table that does not depend on the order of its rows.

use sha2::{Digest as _, Sha256};

/// The number of rows of a table, and the sum of their SHA-256.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TableDigest {
    pub(super) rows: u64,
    sum: [u64; 4],
}

impl TableDigest {
    /// Adds a row.
    pub(super) fn add(&mut self, row: &[u8]) {
        self.rows += 1;
        let hash = Sha256::digest(row);
        for (sum, part) in self.sum.iter_mut().zip(hash.chunks_exact(8)) {
            let part = part.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
            *sum = sum.wrapping_add(part);
        }
    }

    /// Returns the sum as hexadecimal digits.
    pub(super) fn hex(&self) -> String {
        self.sum.iter().map(|part| format!("{part:016x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::TableDigest;

    #[test]
    fn digests_depend_on_the_rows_and_not_on_their_order() {
        let digest = |rows: &[&[u8]]| {
            let mut digest = TableDigest::default();
            rows.iter().for_each(|row| digest.add(row));
            digest.hex()
        };
        assert_eq!(digest(&[b"a", b"b"]), digest(&[b"b", b"a"]));
        assert_ne!(digest(&[b"a", b"b"]), digest(&[b"a", b"c"]));
        assert_ne!(digest(&[b"a", b"a"]), digest(&[b"a"]));
        assert_ne!(digest(&[b"ab"]), digest(&[b"a", b"b"]));
    }
}
