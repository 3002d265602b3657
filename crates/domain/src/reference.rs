//! Reference codes such as `OST-2026-1115-007`, which people quote.
//!
//! The sequence restarts every UTC day and grows past three digits when needed. Each
//! node reserves blocks of numbers from the store, so that codes are unique across
//! nodes without a round trip for each.
//!
//! ```
//! use ostler_domain::reference::CodeBlock;
//! use ostler_domain::time::Timestamp;
//!
//! let today = Timestamp::from_millis(1_794_750_000_000).utc_day();
//! let mut block = CodeBlock::new(today, 7, 100);
//! let code = block.take(today).expect("the block is fresh");
//! assert_eq!(code.to_string(), "OST-2026-1115-007");
//! ```

use std::fmt;
use std::str::FromStr;

use crate::time::UtcDay;

/// A code that a request and all its replies carry. Codes sort by day and number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReferenceCode {
    year: u16,
    month: u8,
    day: u8,
    sequence: u64,
}

/// The text is not a reference code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a reference code; it should look like OST-2026-1115-007")]
pub struct InvalidReferenceCode(String);

impl ReferenceCode {
    /// Creates the code with this number of this day.
    pub fn new(day: UtcDay, sequence: u64) -> Self {
        let (year, month, day) = day.civil();
        // The year has four digits in a code; clamp clocks beyond that.
        let year = u16::try_from(year.clamp(0, 9999)).unwrap_or_default();
        Self { year, month: month as u8, day: day as u8, sequence }
    }
}

impl schemars::JsonSchema for ReferenceCode {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ReferenceCode".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "examples": ["OST-2026-1115-007"]})
    }
}

impl fmt::Display for ReferenceCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { year, month, day, sequence } = self;
        write!(f, "OST-{year:04}-{month:02}{day:02}-{sequence:03}")
    }
}

impl FromStr for ReferenceCode {
    type Err = InvalidReferenceCode;

    fn from_str(text: &str) -> Result<Self, InvalidReferenceCode> {
        let refused = || InvalidReferenceCode(text.to_owned());
        let code = parse(text).ok_or_else(refused)?;
        // Accept only the canonical text, so that each code has exactly one.
        if code.to_string() == text { Ok(code) } else { Err(refused()) }
    }
}

fn parse(text: &str) -> Option<ReferenceCode> {
    let mut parts = text.strip_prefix("OST-")?.splitn(3, '-');
    let year = parts.next()?.parse().ok()?;
    let date = parts.next()?;
    let month = date.get(..2)?.parse().ok()?;
    let day = date.get(2..)?.parse().ok()?;
    let sequence = parts.next()?.parse().ok()?;
    let real = (1..=12).contains(&month) && (1..=31).contains(&day);
    real.then_some(ReferenceCode { year, month, day, sequence })
}

impl serde::Serialize for ReferenceCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for ReferenceCode {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A block of numbers of one day, reserved for one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeBlock {
    day: UtcDay,
    next: u64,
    end: u64,
}

impl CodeBlock {
    /// Creates the block `first .. first + count` of `day`, as the store granted it.
    pub const fn new(day: UtcDay, first: u64, count: u64) -> Self {
        Self { day, next: first, end: first.saturating_add(count) }
    }

    /// Returns the next code, or `None` when the block is used up or its day is over.
    pub fn take(&mut self, today: UtcDay) -> Option<ReferenceCode> {
        if today != self.day || self.next >= self.end {
            return None;
        }
        self.next += 1;
        Some(ReferenceCode::new(self.day, self.next - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::{CodeBlock, InvalidReferenceCode, ReferenceCode};
    use crate::time::Timestamp;

    /// X61: the format has at least three digits and more when needed.
    #[test]
    fn x61_codes_have_the_documented_form() {
        let day = Timestamp::from_millis(1_794_750_000_000).utc_day();
        let check = |sequence, expected: &str| {
            let code = ReferenceCode::new(day, sequence);
            assert_eq!(code.to_string(), expected);
            assert_eq!(expected.parse(), Ok(code));
        };
        check(7, "OST-2026-1115-007");
        check(999, "OST-2026-1115-999");
        check(1000, "OST-2026-1115-1000");
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "OST-2026-1115-07",
            "OST-26-1115-007",
            "ost-2026-1115-007",
            "OST-2026-1115-00x",
            "OST-2026-1315-007",
            "OST-2026-1115-0007",
            "OST-2026-1115-+07",
        ] {
            assert_eq!(text.parse::<ReferenceCode>(), Err(InvalidReferenceCode(text.into())));
        }
    }

    /// X61: nodes with different blocks never hand out the same code, and a block is void
    /// after its day.
    #[test]
    fn x61_blocks_of_two_nodes_never_overlap() {
        let today = Timestamp::from_millis(1_794_750_000_000).utc_day();
        let (mut one, mut two) = (CodeBlock::new(today, 1, 2), CodeBlock::new(today, 3, 2));
        let drawn: Vec<String> =
            [one.take(today), two.take(today), one.take(today), two.take(today)]
                .into_iter()
                .map(|code| code.unwrap().to_string())
                .collect();
        assert_eq!(
            drawn,
            ["OST-2026-1115-001", "OST-2026-1115-003", "OST-2026-1115-002", "OST-2026-1115-004"]
        );
        assert_eq!(one.take(today), None);
        assert_eq!(CodeBlock::new(today, 1, 5).take(today.next()), None);
    }
}
