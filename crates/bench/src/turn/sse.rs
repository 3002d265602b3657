//! How fast a model's stream is read: megabytes of events as providers write them,
//! in pieces as the network brings them. The limit is to look for the ends of the
//! lines in the same bytes and to copy them.

use std::hint::black_box;
use std::time::{Duration, Instant};

use ostler_models::sse::Parser;

use crate::report::{Measurement, cpu_time};

/// What it is called. Each one is a megabyte.
pub(super) const NAME: &str = "turn.sse";

const MEGABYTE: usize = 1_000_000;
/// A piece, as a TLS record is long.
const PIECE: usize = 16 * 1024;
/// The most bytes of an event.
const LIMIT: usize = 4 * 1024 * 1024;
/// Megabytes between two looks at the clock of the processor, which is coarse.
const TOGETHER: usize = 16;

pub(super) fn run(time: Duration) -> Measurement {
    let stream = stream();
    let (bare, all, _) = repeat(time / 2, || scan_and_copy(&stream));
    let limit = bare.len() as f64 / all.as_secs_f64();
    let (each, all, cpu) = repeat(time / 2, || read(&stream));
    Measurement::new(NAME.to_owned(), each, all, Some(limit)).with_cpu(all, cpu)
}

/// A megabyte of an answer, word by word.
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
    let (mut parser, mut data) = (Parser::new(LIMIT), 0);
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

/// Does it until the time is over: how long each took, and all of them, and how
/// much of the processor's time that was.
fn repeat(time: Duration, once: impl Fn() -> usize) -> (Vec<Duration>, Duration, Duration) {
    let (start, cpu, mut each) = (Instant::now(), cpu_time(), Vec::new());
    while start.elapsed() < time {
        for _ in 0..TOGETHER {
            let began = Instant::now();
            black_box(once());
            each.push(began.elapsed());
        }
    }
    (each, start.elapsed(), cpu_time().saturating_sub(cpu))
}
