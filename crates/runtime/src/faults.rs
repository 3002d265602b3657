//! Crash points: named places at which a test kills the process.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// A crash point and the visit at which the process ends.
struct Fault {
    name: String,
    visit: u32,
    visits: AtomicU32,
}

/// The environment variable that enables one, such as `after_commit:3`.
const VARIABLE: &str = "OSTLER_FAULT";

fn fault() -> Option<&'static Fault> {
    static FAULT: OnceLock<Option<Fault>> = OnceLock::new();
    let read = || {
        let text = std::env::var(VARIABLE).ok()?;
        let (name, visit) = text.split_once(':').unwrap_or((&text, "1"));
        let visit = visit.parse().ok()?;
        Some(Fault { name: name.to_owned(), visit, visits: AtomicU32::new(0) })
    };
    FAULT.get_or_init(read).as_ref()
}

/// Aborts the process here, if a test asked for this crash point.
pub(crate) fn point(name: &str) {
    let Some(fault) = fault() else { return };
    if fault.name == name && fault.visits.fetch_add(1, Ordering::Relaxed) + 1 == fault.visit {
        std::process::abort();
    }
}
