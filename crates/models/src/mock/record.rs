//! What a server was asked, for tests. Keys are told to whoever asks for them by
//! name and shown to nobody else.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use hyper::header::HeaderMap;
use serde_json::Value;

/// The most bytes of requests that are remembered.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// Headers that carry keys.
const SECRET: [&str; 2] = ["authorization", "x-api-key"];

/// A request as it came.
#[derive(Clone)]
pub struct Recorded {
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Recorded {
    /// Its path.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// A header of it.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Its body; null if that is no JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

impl fmt::Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.headers.iter().filter(|(name, _)| !SECRET.contains(&name.as_str()));
        let headers: Vec<_> = shown.collect();
        f.debug_struct("Recorded")
            .field("path", &self.path)
            .field("headers", &headers)
            .field("body", &String::from_utf8_lossy(&self.body))
            .finish()
    }
}

/// The last requests.
#[derive(Debug)]
pub(super) struct Log {
    most: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    requests: VecDeque<Recorded>,
    bytes: usize,
}

impl Log {
    pub(super) fn new(most: usize) -> Self {
        Self { most, kept: Mutex::default() }
    }

    pub(super) fn add(&self, request: Recorded) {
        if self.most == 0 {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.bytes += request.body.len();
        kept.requests.push_back(request);
        while kept.requests.len() > self.most || kept.bytes > MAX_BYTES {
            let Some(oldest) = kept.requests.pop_front() else { return };
            kept.bytes -= oldest.body.len();
        }
    }

    pub(super) fn all(&self) -> Vec<Recorded> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.requests.iter().cloned().collect()
    }
}
