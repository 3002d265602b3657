//! Many event streams of operators at the same time: each gets the events of every turn.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::BenchError;
use crate::path::installation::Installation;
use crate::report::{Measurement, cpu_time};

/// Streams that are open at the same time.
const STREAMS: usize = 1_000;
/// How long an event may take to all streams.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Opens the streams, writes as a customer, and measures how long it takes until each stream
/// has an event of the turn. The value is the number of streams that were live to the end.
pub(super) async fn run(
    installation: &Installation,
    key: &str,
    time: Duration,
) -> Result<Measurement, BenchError> {
    let org = &installation.orgs[0];
    let (heard, mut hears) = mpsc::unbounded_channel();
    let (mut streams, mut opened) = (JoinSet::new(), 0);
    for number in 0..STREAMS {
        let mut socket = match open(&installation.address, &org.id.to_string(), key).await {
            Ok(socket) => socket,
            // The system allows no more open files, of which each stream takes two.
            Err(BenchError::Folder(_)) if number > 0 => break,
            Err(other) => return Err(other),
        };
        opened += 1;
        let heard = heard.clone();
        streams.spawn(async move {
            let mut buffer = vec![0; 16 * 1024];
            while let Ok(count @ 1..) = socket.read(&mut buffer).await {
                // A comment keeps the connection alive and is no event.
                let is_event = buffer[..count].windows(5).any(|part| part == b"data:");
                if is_event && heard.send(number).is_err() {
                    return;
                }
            }
        });
    }
    let (start, cpu) = (Instant::now(), cpu_time());
    let (mut each, mut live) = (Vec::new(), 0);
    while start.elapsed() < time {
        while hears.try_recv().is_ok() {}
        let began = Instant::now();
        org.exchange("listened-to").await?;
        let mut waiting = vec![true; opened];
        live = 0;
        while live < opened {
            let Ok(Some(number)) = tokio::time::timeout(MAX_WAIT, hears.recv()).await else {
                break;
            };
            if std::mem::take(&mut waiting[number]) {
                live += 1;
                each.push(began.elapsed());
            }
        }
        if live < opened {
            break;
        }
        // The rest of the turn's events.
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let (all, cpu) = (start.elapsed(), cpu_time().saturating_sub(cpu));
    let measured = Measurement::new("http.streams.1000".to_owned(), each, all, None);
    Ok(measured.with_cpu(all, cpu).with_value(live as f64))
}

/// Opens an event stream, and returns its connection after the head of the answer.
async fn open(address: &str, org: &str, key: &str) -> Result<TcpStream, BenchError> {
    let mut socket = TcpStream::connect(address).await?;
    let request = format!(
        "GET /v1/events?org={org} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {key}\r\n\r\n"
    );
    socket.write_all(request.as_bytes()).await?;
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if socket.read_buf(&mut head).await? == 0 {
            break;
        }
    }
    if !head.starts_with(b"HTTP/1.1 200") {
        return Err(BenchError::Http(String::from_utf8_lossy(&head).into_owned()));
    }
    Ok(socket)
}
