//! Named places at which a test ends the process, to see that nothing is lost.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// A place and the visit at which the process ends there.
struct Fault {
    place: String,
    visit: u32,
    visits: AtomicU32,
}

/// The variable that names one, such as `after_commit:3`.
const VARIABLE: &str = "OSTLER_FAULT";

fn fault() -> Option<&'static Fault> {
    static FAULT: OnceLock<Option<Fault>> = OnceLock::new();
    let read = || {
        let text = std::env::var(VARIABLE).ok()?;
        let (place, visit) = text.split_once(':').unwrap_or((&text, "1"));
        let visit = visit.parse().ok()?;
        Some(Fault { place: place.to_owned(), visit, visits: AtomicU32::new(0) })
    };
    FAULT.get_or_init(read).as_ref()
}

/// Ends the process here, as if it were killed, if a test asked for that.
pub(crate) fn point(place: &str) {
    let Some(fault) = fault() else { return };
    if fault.place == place && fault.visits.fetch_add(1, Ordering::Relaxed) + 1 == fault.visit {
        std::process::abort();
    }
}
