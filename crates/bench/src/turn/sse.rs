//! Parsing of server-sent events as providers send them, in pieces as the network
//! delivers them. The limit is to find the line ends in the same bytes and to copy
//! them.

use std::hint::black_box;
use std::time::{Duration, Instant};

use ostler_models::sse::SseParser;

use crate::report::{Measurement, cpu_time};

/// Name of the measurement; one operation is a megabyte.
pub(super) const NAME: &str = "turn.sse";

const MEGABYTE: usize = 1_000_000;
/// Size of a piece: a TLS record.
const PIECE: usize = 16 * 1024;
/// Largest event.
const LIMIT: usize = 4 * 1024 * 1024;
/// Megabytes between two reads of the CPU clock, which is coarse.
const BATCH: usize = 16;

pub(super) fn run(time: Duration) -> Measurement {
    let stream = stream();
    let (bare, all, _) = repeat(time / 2, || scan_and_copy(&stream));
    let limit = bare.len() as f64 / all.as_secs_f64();
    let (each, all, cpu) = repeat(time / 2, || read(&stream));
    Measurement::new(NAME.to_owned(), each, all, Some(limit)).with_cpu(all, cpu)
}

/// Returns a megabyte of streamed words.
fn stream() -> Vec<u8> {
    let mut bytes = Vec::with_capacity(MEGABYTE + PIECE);
    for word in 0_u32.. {
        let event = format!(
            "data: {{\"id\":\"chatcmpl-7\",\"object\":\"chat.completion.chunk\",\"created\":1794747600,\
             \"model\":\"large\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\" word{word}\"}},\
             \"finish_reason\":null}}]}}\n\n"
        );
        bytes.extend_from_slice(event.as_bytes());
        if bytes.len() >= MEGABYTE {
            break;
        }
    }
    bytes.truncate(MEGABYTE);
    bytes
}

fn read(stream: &[u8]) -> usize {
    let (mut parser, mut data) = (SseParser::new(LIMIT), 0);
    for piece in stream.chunks(PIECE) {
        parser.feed(piece);
        while let Ok(Some(event)) = parser.next_event() {
            data += event.data.len();
        }
    }
    data
}

fn scan_and_copy(stream: &[u8]) -> usize {
    let (mut copy, mut lines) = (Vec::with_capacity(PIECE), 0);
    for piece in stream.chunks(PIECE) {
        copy.clear();
        copy.extend_from_slice(piece);
        lines += memchr::memchr_iter(b'\n', &copy).count();
    }
    lines
}

/// Repeats an operation until the time is over. Returns the time of each, the total
/// time and the CPU time.
fn repeat(time: Duration, once: impl Fn() -> usize) -> (Vec<Duration>, Duration, Duration) {
    let (start, cpu, mut each) = (Instant::now(), cpu_time(), Vec::new());
    while start.elapsed() < time {
        for _ in 0..BATCH {
            let began = Instant::now();
            black_box(once());
            each.push(began.elapsed());
        }
    }
    (each, start.elapsed(), cpu_time().saturating_sub(cpu))
}
