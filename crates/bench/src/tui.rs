//! The tui suite: the first frame of the terminal UI, a long transcript in another size and in
//! memory, and an answer of 1,000 events in a second.

use std::time::{Duration, Instant};

use ostler_tui::measure::MeasuredChat;

use crate::report::{Measurement, resident_bytes};
use crate::{BenchError, Options};

/// Lines of the long transcript.
const LINES: usize = 100_000;
/// Events of an answer.
const EVENTS: usize = 1000;
/// How often each is measured, if there is time enough.
const REPEATS: usize = 20;

pub(crate) fn run(
    options: &Options,
    mut progress: impl FnMut(&str),
) -> Result<Vec<Measurement>, BenchError> {
    progress("tui.first_frame_ms");
    let time = options.time / 4;
    let first = repeat(time, || {
        MeasuredChat::open(0).map_err(BenchError::Chat)?.frame();
        Ok(())
    })?;

    progress("tui.events_1000_cpu_percent");
    let events = repeat(time, || {
        let mut chat = MeasuredChat::open(0).map_err(BenchError::Chat)?;
        chat.stream(EVENTS).map(drop).map_err(BenchError::Chat)
    })?;

    progress("tui.resize_100000_ms");
    let before = resident_bytes();
    let mut chat = MeasuredChat::open(LINES).map_err(BenchError::Chat)?;
    chat.frame();
    let mut columns = 80;
    let resize = repeat(time, || {
        columns = if columns == 80 { 120 } else { 80 };
        chat.resize(columns, 24);
        chat.frame();
        Ok(())
    })?;
    let grown = resident_bytes().saturating_sub(before) as f64 / f64::from(1 << 20);
    let memory = Measurement::new("tui.resident_100000_mib".to_owned(), Vec::new(), time, None);
    let mut events = measurement("tui.events_1000_cpu_percent", events);
    // They are those of a second: milliseconds of a core.
    events.value = events.value.map(|millis| millis / 10.0);
    Ok(vec![
        measurement("tui.first_frame_ms", first),
        events,
        measurement("tui.resize_100000_ms", resize),
        memory.with_value(grown),
    ])
}

fn repeat(
    time: Duration,
    mut step: impl FnMut() -> Result<(), BenchError>,
) -> Result<Vec<Duration>, BenchError> {
    let (begin, mut each) = (Instant::now(), Vec::new());
    while each.len() < REPEATS && (each.is_empty() || begin.elapsed() < time) {
        let start = Instant::now();
        step()?;
        each.push(start.elapsed());
    }
    Ok(each)
}

/// The value is the median, in milliseconds.
fn measurement(name: &str, mut each: Vec<Duration>) -> Measurement {
    let all = each.iter().sum();
    each.sort_unstable();
    let median = each.get(each.len() / 2).copied().unwrap_or_default();
    let measured = Measurement::new(name.to_owned(), each, all, None);
    measured.with_value(median.as_secs_f64() * 1000.0)
}
