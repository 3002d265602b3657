//! The report of a suite, as `--json` prints it.

use std::time::Duration;

use serde::Serialize;

/// The results of a suite.
#[derive(Debug, Serialize)]
pub struct Report {
    pub suite: &'static str,
    pub machine: Machine,
    pub results: Vec<Measurement>,
}

/// The machine that a suite ran on.
#[derive(Debug, Serialize)]
pub struct Machine {
    pub cores: usize,
    /// Load average of the last minute.
    pub load: Option<f64>,
}

impl Machine {
    /// Reads the machine's cores and load.
    pub fn read() -> Self {
        let load = std::fs::read_to_string("/proc/loadavg").ok();
        Self {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            load: load.and_then(|text| text.split(' ').next()?.parse().ok()),
        }
    }
}

/// A rate with its limit and percentiles.
#[derive(Debug, Serialize)]
pub struct Measurement {
    /// Stable name.
    pub name: String,
    pub per_sec: f64,
    /// Rate per second of CPU time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_cpu_sec: Option<f64>,
    /// Rate of the bare part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_per_sec: Option<f64>,
    /// `per_sec / limit_per_sec`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// A result that is not a rate, such as bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    pub p50_us: u64,
    pub p99_us: u64,
}

impl Measurement {
    /// Makes a measurement from the time of each operation and of all together.
    pub fn new(name: String, each: Vec<Duration>, all: Duration, limit: Option<f64>) -> Self {
        Self::sampled(name, each.len(), each, all, limit)
    }

    /// Makes a measurement from the total time and a sample of single times.
    pub(crate) fn sampled(
        name: String,
        count: usize,
        mut each: Vec<Duration>,
        all: Duration,
        limit: Option<f64>,
    ) -> Self {
        each.sort_unstable();
        let percentile = |percent: usize| {
            let at = (each.len() * percent / 100).min(each.len().saturating_sub(1));
            each.get(at).map_or(0, |time| u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
        };
        let per_sec = count as f64 / all.as_secs_f64();
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

    /// Adds a value that is not a rate.
    pub(crate) fn with_value(self, value: f64) -> Self {
        Self { value: Some(value), ..self }
    }

    /// Adds the rate per second of CPU time.
    pub(crate) fn with_cpu(self, all: Duration, cpu: Duration) -> Self {
        let count = self.per_sec * all.as_secs_f64();
        let per_cpu_sec = (!cpu.is_zero()).then(|| count / cpu.as_secs_f64());
        Self { per_cpu_sec, ..self }
    }
}

/// Returns the resident memory of this process, or 0 if the system does not report it.
pub(crate) fn resident_bytes() -> u64 {
    const PAGE: u64 = 4096;
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * PAGE
}

/// Returns the CPU time of this process, to the nanosecond.
pub(crate) fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::Measurement;
    use std::time::Duration;

    #[test]
    fn measurement_has_rate_ratio_and_percentiles() {
        let each = (1..=100).map(Duration::from_micros).collect();
        let result = Measurement::new("x".into(), each, Duration::from_secs(2), Some(100.0));
        assert_eq!((result.p50_us, result.p99_us), (51, 100));
        assert!((result.per_sec - 50.0).abs() < 1e-9);
        assert_eq!(result.ratio, Some(0.5));
    }
}
