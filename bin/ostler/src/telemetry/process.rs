//! The process itself: memory, processor time, open files. Read from `/proc`, so on Linux only.

use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

/// Reads the state of this process when it is asked for.
#[derive(Debug)]
pub(super) struct ProcessCollector;

impl Collector for ProcessCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        if let Some(seconds) = cpu_seconds() {
            let cpu = ConstCounter::new(seconds);
            let help = "Processor time of the process";
            let metric = encoder.encode_descriptor(
                "process_cpu",
                help,
                Some(&Unit::Seconds),
                cpu.metric_type(),
            )?;
            cpu.encode(metric)?;
        }
        if let Some(bytes) = resident_bytes() {
            let memory = ConstGauge::new(bytes);
            let help = "Memory of the process that is in use";
            let kind = memory.metric_type();
            let metric = encoder.encode_descriptor(
                "process_resident_memory",
                help,
                Some(&Unit::Bytes),
                kind,
            )?;
            memory.encode(metric)?;
        }
        if let Some(open) = open_files() {
            let files = ConstGauge::new(open);
            let help = "Open files and connections of the process";
            let metric =
                encoder.encode_descriptor("process_open_fds", help, None, files.metric_type())?;
            files.encode(metric)?;
        }
        Ok(())
    }
}

fn cpu_seconds() -> Option<f64> {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(Duration::try_from(used).ok()?.as_secs_f64())
}

fn resident_bytes() -> Option<i64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: i64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * i64::try_from(rustix::param::page_size()).ok()?)
}

fn open_files() -> Option<i64> {
    i64::try_from(std::fs::read_dir("/proc/self/fd").ok()?.count()).ok()
}
