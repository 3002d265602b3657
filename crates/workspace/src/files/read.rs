//! Reading files.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use crate::error::WorkspaceError;
use crate::files::{Files, MAX_FILE_BYTES};

/// How many bytes decide whether a file is text.
const SNIFFED_BYTES: usize = 8192;

/// The lines to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineRange {
    /// The number of the first line, from 1.
    pub first: u64,
    pub max_lines: u64,
    pub max_bytes: usize,
}

/// A part of a text file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText {
    pub text: String,
    /// The number of the first line in `text`.
    pub first_line: u64,
    pub lines: u64,
    /// Whether the file goes on after `text`.
    pub has_more: bool,
    /// The size of the whole file in bytes.
    pub size: u64,
}

impl Files {
    /// Reads lines of a text file. Fails if the file is binary.
    pub fn read_lines(&self, path: &str, range: LineRange) -> Result<FileText, WorkspaceError> {
        let relative = self.relative(path)?;
        let (file, size) = self.open_file(&relative)?;
        let failed = |error| WorkspaceError::from_io(&relative, error);
        let mut reader = BufReader::with_capacity(64 * 1024, file);
        if is_binary(reader.fill_buf().map_err(failed)?) {
            return Err(WorkspaceError::Binary { path: path.to_owned(), size });
        }
        for _ in 1..range.first {
            if reader.skip_until(b'\n').map_err(failed)? == 0 {
                break;
            }
        }
        let (mut bytes, mut lines) = (Vec::new(), 0);
        while lines < range.max_lines && bytes.len() < range.max_bytes {
            let room = (range.max_bytes - bytes.len()) as u64;
            if reader.by_ref().take(room).read_until(b'\n', &mut bytes).map_err(failed)? == 0 {
                break;
            }
            lines += 1;
        }
        let has_more = !reader.fill_buf().map_err(failed)?.is_empty();
        if bytes.contains(&0) {
            return Err(WorkspaceError::Binary { path: path.to_owned(), size });
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(FileText { text, first_line: range.first, lines, has_more, size })
    }

    /// Reads a whole file of at most `limit` bytes.
    pub fn read_bytes(&self, path: &str, limit: u64) -> Result<Vec<u8>, WorkspaceError> {
        self.bytes_of(&self.relative(path)?, limit)
    }

    /// Reads a whole text file of at most [`MAX_FILE_BYTES`]. Fails if it is not UTF-8.
    pub fn read_text(&self, path: &str) -> Result<String, WorkspaceError> {
        let bytes = self.read_bytes(path, MAX_FILE_BYTES)?;
        let size = bytes.len() as u64;
        let binary = || WorkspaceError::Binary { path: path.to_owned(), size };
        if is_binary(&bytes) {
            return Err(binary());
        }
        String::from_utf8(bytes).map_err(|_| binary())
    }

    pub(crate) fn bytes_of(&self, path: &Path, limit: u64) -> Result<Vec<u8>, WorkspaceError> {
        let (file, size) = self.open_file(path)?;
        let too_large =
            |size| WorkspaceError::TooLarge { path: path.display().to_string(), size, limit };
        if size > limit {
            return Err(too_large(size));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        // The file may grow while it is read.
        let read = file
            .take(limit + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| WorkspaceError::from_io(path, error))?;
        if read as u64 > limit { Err(too_large(read as u64)) } else { Ok(bytes) }
    }
}

/// Returns whether the start of a file has a zero byte.
fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(SNIFFED_BYTES)].contains(&0)
}
