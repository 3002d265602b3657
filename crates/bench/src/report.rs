//! What a suite reports, in the form that `--json` prints.

use std::time::Duration;

use serde::Serialize;

/// The results of a suite.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Its name.
    pub suite: &'static str,
    /// Where it ran.
    pub machine: Machine,
    /// What it measured.
    pub results: Vec<Measurement>,
}

/// The machine that a suite ran on.
#[derive(Debug, Serialize)]
pub struct Machine {
    /// Its cores.
    pub cores: usize,
    /// How many processes were running, on average over the last minute.
    pub load: Option<f64>,
}

impl Machine {
    /// Looks at the machine.
    pub fn read() -> Self {
        let load = std::fs::read_to_string("/proc/loadavg").ok();
        Self {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            load: load.and_then(|text| text.split(' ').next()?.parse().ok()),
        }
    }
}

/// One number, with its limit and its spread.
#[derive(Debug, Serialize)]
pub struct Measurement {
    /// A name that stays.
    pub name: String,
    /// How many a second.
    pub per_sec: f64,
    /// How many a second of the processor's time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_cpu_sec: Option<f64>,
    /// How many a second the bare part does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_per_sec: Option<f64>,
    /// The first divided by the second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// What was measured, if it is no speed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Half of them took less.
    pub p50_us: u64,
    /// All but one in a hundred took less.
    pub p99_us: u64,
}

impl Measurement {
    /// From the time of each and of all together.
    pub fn new(name: String, mut each: Vec<Duration>, all: Duration, limit: Option<f64>) -> Self {
        each.sort_unstable();
        let percentile = |percent: usize| {
            let at = (each.len() * percent / 100).min(each.len().saturating_sub(1));
            each.get(at).map_or(0, |time| u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
        };
        let per_sec = each.len() as f64 / all.as_secs_f64();
        Self {
            name,
            per_sec,
            per_cpu_sec: None,
            limit_per_sec: limit,
            ratio: limit.map(|limit| per_sec / limit),
            value: None,
            p50_us: percentile(50),
            p99_us: percentile(99),
        }
    }

    /// The same, with something that is no speed.
    pub(crate) fn with_value(self, value: f64) -> Self {
        Self { value: Some(value), ..self }
    }

    /// The same, with the processor's time that all of them took.
    pub(crate) fn with_cpu(self, all: Duration, cpu: Duration) -> Self {
        let count = self.per_sec * all.as_secs_f64();
        let per_cpu_sec = (!cpu.is_zero()).then(|| count / cpu.as_secs_f64());
        Self { per_cpu_sec, ..self }
    }
}

/// The memory that this process takes; nothing where the system does not say.
pub(crate) fn resident_bytes() -> u64 {
    const PAGE: u64 = 4096;
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * PAGE
}

/// The processor's time that this process has used; nothing where the system
/// does not say.
pub(crate) fn cpu_time() -> Duration {
    /// Linux counts in hundredths of a second.
    const TICK: Duration = Duration::from_millis(10);
    let ticks = || {
        let text = std::fs::read_to_string("/proc/self/stat").ok()?;
        // The name before may have spaces, and ends with a bracket.
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let field = |at: usize| fields.get(at)?.parse::<u32>().ok();
        field(11)?.checked_add(field(12)?)
    };
    TICK * ticks().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::Measurement;
    use std::time::Duration;

    #[test]
    fn a_measurement_knows_its_rate_ratio_and_spread() {
        let each = (1..=100).map(Duration::from_micros).collect();
        let result = Measurement::new("x".into(), each, Duration::from_secs(2), Some(100.0));
        assert_eq!((result.p50_us, result.p99_us), (51, 100));
        assert!((result.per_sec - 50.0).abs() < 1e-9);
        assert_eq!(result.ratio, Some(0.5));
    }
}
