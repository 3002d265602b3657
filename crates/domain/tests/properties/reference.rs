//! Reference codes: readable, unique, in order, and on the right date.

use std::collections::BTreeSet;

use ostler_domain::reference::{CodeBlock, ReferenceCode};
use ostler_domain::time::{Timestamp, UtcDay};
use proptest::prelude::*;

use crate::check;

/// The last day of the year 9999: the code has four digits for the year.
const LAST_DAY: i64 = 2_932_896;

fn day(number: i64) -> UtcDay {
    Timestamp::from_millis(number * 86_400_000).utc_day()
}

fn sequences() -> impl Strategy<Value = u64> {
    prop_oneof![0..1200u64, 990..1010u64, 0..10_000_000u64]
}

/// X61: a code is parsed back from its text.
#[test]
fn x61_a_code_is_parsed_back() {
    check(500, &(0..=LAST_DAY, any::<u64>()), |(number, sequence)| {
        let code = ReferenceCode::new(day(number), sequence);
        prop_assert_eq!(code.to_string().parse(), Ok(code));
        let stored = serde_json::to_value(code).ok();
        prop_assert_eq!(stored.and_then(|text| serde_json::from_value(text).ok()), Some(code));
        Ok(())
    });
}

/// X61: codes sort by day and number, also past three digits.
#[test]
fn x61_codes_sort_by_day_and_number() {
    let numbers = (0..=LAST_DAY, 0..2i64, sequences(), sequences());
    check(1000, &numbers, |(number, next, one, other)| {
        let (first, second) = (number.min(LAST_DAY - 1), number.min(LAST_DAY - 1) + next);
        let codes = (ReferenceCode::new(day(first), one), ReferenceCode::new(day(second), other));
        let expected = (first, one).cmp(&(second, other));
        prop_assert_eq!(codes.0.cmp(&codes.1), expected, "{} and {}", codes.0, codes.1);
        Ok(())
    });
}

/// X61: parsing never panics, and a parsed code has a possible date and its canonical
/// text.
#[test]
fn x61_any_text_is_a_code_or_refused() {
    let texts = prop_oneof!["\\PC{0,30}", "OST-[0-9]{4}-[01][0-9][0-3][0-9]-0?[0-9]{3,5}"];
    check(1000, &texts, |text| {
        if let Ok(code) = text.parse::<ReferenceCode>() {
            prop_assert_eq!(code.to_string(), text.as_str());
            let sequence = text.rsplit('-').next().and_then(|part| part.parse::<u64>().ok());
            let rewritten = format!("{:03}", sequence.unwrap_or_default());
            prop_assert!(text.ends_with(&format!("-{rewritten}")), "{} and {}", text, rewritten);
            let (month, day) = (text[9..11].parse::<u32>(), text[11..13].parse::<u32>());
            prop_assert!(matches!(month, Ok(1..=12)) && matches!(day, Ok(1..=31)), "{}", text);
        }
        Ok(())
    });
}

/// X61: nodes with blocks of their own never hand out the same code, and none on another
/// day.
#[test]
fn x61_blocks_never_hand_out_a_code_twice() {
    let takes = prop::collection::vec((0..4usize, prop::bool::weighted(0.2)), 0..60);
    check(300, &(0..LAST_DAY, 0..2000u64, 0..20u64, takes), |(number, first, count, takes)| {
        let today = day(number);
        let mut blocks =
            [0, 1, 2, 3].map(|node| CodeBlock::new(today, first + node * count, count));
        let mut given = BTreeSet::new();
        for (node, tomorrow) in takes {
            let code = blocks[node].take(if tomorrow { today.next() } else { today });
            prop_assert!(!tomorrow || code.is_none());
            if let Some(code) = code {
                prop_assert!(given.insert(code.to_string()), "{} twice", code);
            }
        }
        prop_assert!(given.len() as u64 <= 4 * count);
        Ok(())
    });
}

/// The date after this one.
fn day_after((year, month, date): (i64, u32, u32)) -> (i64, u32, u32) {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    match (month, date) {
        (12, 31) => (year + 1, 1, 1),
        _ if date == length => (year, month + 1, 1),
        _ => (year, month, date + 1),
    }
}

/// X61: the dates of all days from 1970 to 2408 follow the calendar, over whole leap
/// cycles including the year 2000.
#[test]
fn x61_dates_follow_the_calendar() {
    let mut date = (1970, 1, 1);
    for number in 0..160_000 {
        assert_eq!(day(number).civil(), date, "day {number}");
        date = day_after(date);
    }
}

/// X61: the same long before and after that.
#[test]
fn x61_dates_follow_the_calendar_at_any_time() {
    check(1000, &(-800_000..LAST_DAY), |number| {
        let date = day(number).civil();
        prop_assert_eq!(day(number).next().civil(), day_after(date));
        Ok(())
    });
}
