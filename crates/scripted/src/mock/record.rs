//! Recorded requests, for tests. `Debug` output contains no keys.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use hyper::header::HeaderMap;
use serde_json::Value;

/// The size limit of all recorded requests.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// Headers that contain keys.
const SECRET: [&str; 2] = ["authorization", "x-api-key"];

/// A recorded request.
#[derive(Clone)]
pub struct RecordedRequest {
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl RecordedRequest {
    /// Returns the path.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the body; null if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

impl fmt::Debug for RecordedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let visible = self.headers.iter().filter(|(name, _)| !SECRET.contains(&name.as_str()));
        let headers: Vec<_> = visible.collect();
        f.debug_struct("RecordedRequest")
            .field("path", &self.path)
            .field("headers", &headers)
            .field("body", &String::from_utf8_lossy(&self.body))
            .finish()
    }
}

/// The most recent requests.
#[derive(Debug)]
pub(super) struct RequestLog {
    max_requests: usize,
    entries: Mutex<LogEntries>,
}

#[derive(Debug, Default)]
struct LogEntries {
    requests: VecDeque<RecordedRequest>,
    bytes: usize,
}

impl RequestLog {
    pub(super) fn new(max_requests: usize) -> Self {
        Self { max_requests, entries: Mutex::default() }
    }

    pub(super) fn add(&self, request: RecordedRequest) {
        if self.max_requests == 0 {
            return;
        }
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.bytes += request.body.len();
        entries.requests.push_back(request);
        while entries.requests.len() > self.max_requests || entries.bytes > MAX_BYTES {
            let Some(oldest) = entries.requests.pop_front() else { return };
            entries.bytes -= oldest.body.len();
        }
    }

    pub(super) fn all(&self) -> Vec<RecordedRequest> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.requests.iter().cloned().collect()
    }
}
