//! The file of a backup: a line of JSON that says what it is, then frames. A frame is a
//! byte for its kind, the length of its payload, and the payload. The last frame has the
//! SHA-256 of everything before it.

use std::io::{self, BufRead, Read, Write};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::error::BackupError;
use crate::maintenance::schema::SCHEMA_VERSION;

/// What the first line names.
const KIND: &str = "ostler backup";
/// The version of the file's format. Readers refuse a newer one.
const FORMAT_VERSION: u32 = 1;
/// The longest first line.
const MAX_HEADER: u64 = 64 * 1024;
/// How many rows a frame collects before it is written, in bytes.
pub(super) const FRAME_BYTES: usize = 256 * 1024;

/// The beginning of a table, as JSON.
pub(super) const TABLE: u8 = b'T';
/// Rows of the table.
pub(super) const ROWS: u8 = b'R';
/// The end of a table, as JSON.
pub(super) const TABLE_END: u8 = b'E';
/// The end of the file: the checksum.
pub(super) const END: u8 = b'Z';

/// What a backup says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupHeader {
    kind: String,
    format: u32,
    /// The version of the program that made it.
    pub program: String,
    /// The schema version of its tables.
    pub schema: i64,
    /// When it was made, in UTC.
    pub created_at: String,
    /// The database that it was made of, `sqlite` or `postgres`.
    pub database: String,
}

impl BackupHeader {
    pub(super) fn new(program: String, created_at: String, schema: i64, is_sqlite: bool) -> Self {
        let database = if is_sqlite { "sqlite" } else { "postgres" };
        let (kind, format) = (KIND.to_owned(), FORMAT_VERSION);
        Self { kind, format, program, schema, created_at, database: database.into() }
    }

    /// Reads the first line of a file.
    pub(super) fn read(file: &mut impl BufRead) -> Result<Self, BackupError> {
        let mut line = Vec::new();
        let read = file.take(MAX_HEADER).read_until(b'\n', &mut line);
        read.map_err(BackupError::Read)?;
        let header: Self = serde_json::from_slice(&line).map_err(|_| BackupError::NotABackup)?;
        if header.kind != KIND {
            return Err(BackupError::NotABackup);
        }
        if header.format > FORMAT_VERSION || header.schema > SCHEMA_VERSION {
            let (program, schema) = (header.program, header.schema);
            return Err(BackupError::Newer { program, schema, known: SCHEMA_VERSION });
        }
        if header.schema < 1 {
            return Err(BackupError::damaged("its schema version is not one"));
        }
        Ok(header)
    }
}

/// The beginning of a table.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TableStart {
    pub(super) name: String,
    pub(super) columns: Vec<String>,
}

/// The end of a table.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TableEnd {
    pub(super) rows: u64,
    pub(super) digest: String,
    /// The last number that the table gave to a row, if it numbers its rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sequence: Option<i64>,
}

/// Writes a backup and computes its checksum.
pub(super) struct BackupWriter<W> {
    file: W,
    hash: Sha256,
    bytes: u64,
}

impl<W: Write> BackupWriter<W> {
    /// Writes the first line.
    pub(super) fn start(file: W, header: &BackupHeader) -> Result<Self, BackupError> {
        let mut writer = Self { file, hash: Sha256::new(), bytes: 0 };
        let mut line = serde_json::to_vec(header).map_err(json_error)?;
        line.push(b'\n');
        writer.write(&line)?;
        Ok(writer)
    }

    pub(super) fn frame(&mut self, kind: u8, payload: &[u8]) -> Result<(), BackupError> {
        let length = u32::try_from(payload.len());
        let length = length.map_err(|_| BackupError::Write(io::ErrorKind::FileTooLarge.into()))?;
        self.write(&[kind])?;
        self.write(&length.to_le_bytes())?;
        self.write(payload)
    }

    pub(super) fn json_frame(
        &mut self,
        kind: u8,
        value: &impl Serialize,
    ) -> Result<(), BackupError> {
        self.frame(kind, &serde_json::to_vec(value).map_err(json_error)?)
    }

    /// Writes the last frame and returns the size of the file.
    pub(super) fn end(mut self) -> Result<u64, BackupError> {
        let hash = self.hash.clone().finalize();
        self.frame(END, &hash)?;
        self.file.flush().map_err(BackupError::Write)?;
        Ok(self.bytes)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), BackupError> {
        self.file.write_all(bytes).map_err(BackupError::Write)?;
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

fn json_error(error: serde_json::Error) -> BackupError {
    BackupError::Write(error.into())
}

/// Reads frames. Lengths are only trusted in a file that [`check`] has read.
pub(super) fn read_frame(file: &mut impl Read) -> Result<(u8, Vec<u8>), BackupError> {
    let (kind, length) = frame_start(file)?.ok_or_else(|| BackupError::damaged("it has no end"))?;
    let mut payload = Vec::new();
    let read = file.take(length.into()).read_to_end(&mut payload).map_err(BackupError::Read)?;
    if read as u64 != u64::from(length) {
        return Err(BackupError::damaged("a frame is cut short"));
    }
    Ok((kind, payload))
}

/// Reads the kind and the length of a frame; None at the end of the file.
fn frame_start(file: &mut impl Read) -> Result<Option<(u8, u32)>, BackupError> {
    let mut start = [0; 5];
    match file.read_exact(&mut start) {
        Ok(()) => {
            let [kind, length @ ..] = start;
            Ok(Some((kind, u32::from_le_bytes(length))))
        }
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(BackupError::Read(error)),
    }
}

/// Checks that a file is a whole backup that this program can restore, without keeping it in
/// memory, and returns its header.
pub(super) fn check(file: &mut impl BufRead) -> Result<BackupHeader, BackupError> {
    let mut file = HashingReader { file, hash: Sha256::new(), bytes: 0 };
    let header = BackupHeader::read(&mut io::BufReader::with_capacity(1, &mut file))?;
    loop {
        let hash: [u8; 32] = file.hash.clone().finalize().into();
        let Some((kind, length)) = frame_start(&mut file)? else {
            return Err(BackupError::Truncated { bytes: file.bytes });
        };
        match kind {
            TABLE | ROWS | TABLE_END => {
                let payload = &mut (&mut file).take(length.into());
                let read = io::copy(payload, &mut io::sink()).map_err(BackupError::Read)?;
                if read < u64::from(length) {
                    return Err(BackupError::Truncated { bytes: file.bytes });
                }
            }
            END => {
                let mut expected = Vec::new();
                let rest = (&mut file).take(hash.len() as u64 + 1).read_to_end(&mut expected);
                rest.map_err(BackupError::Read)?;
                if expected.len() < hash.len() {
                    return Err(BackupError::Truncated { bytes: file.bytes });
                }
                let whole = expected == hash;
                return if whole { Ok(header) } else { Err(wrong_checksum()) };
            }
            _ => return Err(wrong_checksum()),
        }
    }
}

fn wrong_checksum() -> BackupError {
    BackupError::damaged("its content does not have the checksum at its end")
}

/// Computes the checksum of what is read.
struct HashingReader<'f, R> {
    file: &'f mut R,
    hash: Sha256,
    bytes: u64,
}

impl<R: Read> Read for HashingReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.hash.update(&buffer[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}
