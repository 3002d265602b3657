//! Fetching a file: where it is first, then its bytes.

use ostler_domain::message::MAX_BLOB_BYTES;

use super::Telegram;
use super::api::Said;
use crate::error::CallError;
use crate::http::Failure;

impl Telegram {
    /// The bytes of a file.
    pub(crate) async fn file(&self, id: &str) -> Result<bytes::Bytes, CallError> {
        let file = self.invoke("getFile", &serde_json::json!({"file_id": id})).await;
        let file = file.map_err(|error| match error {
            CallError::Refused(words) if words.contains("too big") => CallError::TooLarge,
            other => other,
        })?;
        if file["file_size"].as_u64().is_some_and(|size| size > MAX_BLOB_BYTES as u64) {
            return Err(CallError::TooLarge);
        }
        let path = file["file_path"].as_str().unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
        if path.is_empty() || path.contains("..") || !path.chars().all(plain) {
            return Err(CallError::Refused("Telegram does not say where the file is".into()));
        }
        let url = format!("{}/file/bot{}/{path}", self.base, self.token.expose());
        let request = self.http.client.get(url);
        match self.http.ask_within(request, self.http.limits.file, MAX_BLOB_BYTES).await {
            Ok(answer) if answer.status == 200 => Ok(answer.body),
            Err(Failure::TooLarge) => Err(CallError::TooLarge),
            answer => match self.understand(answer) {
                Said::Done(_) => Err(CallError::Refused("Telegram does not give the file".into())),
                said => self.result(said).map(|_| bytes::Bytes::new()),
            },
        }
    }
}
