//! The tui suite: the first frame of the terminal UI, and a long transcript in another size.

use std::time::{Duration, Instant};

use ostler_tui::measure::MeasuredChat;

use crate::report::Measurement;
use crate::{BenchError, Options};

/// Lines of the long transcript.
const LINES: usize = 100_000;
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

    progress("tui.resize_100000_ms");
    let mut chat = MeasuredChat::open(LINES).map_err(BenchError::Chat)?;
    chat.frame();
    let mut columns = 80;
    let resize = repeat(time, || {
        columns = if columns == 80 { 120 } else { 80 };
        chat.resize(columns, 24);
        chat.frame();
        Ok(())
    })?;
    Ok(vec![measurement("tui.first_frame_ms", first), measurement("tui.resize_100000_ms", resize)])
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
