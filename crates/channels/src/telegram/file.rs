//! Fetching a file: first its path, then its bytes.

use ostler_domain::message::MAX_BLOB_BYTES;

use super::Telegram;
use super::api::ApiOutcome;
use crate::error::CallError;
use crate::http::HttpError;

impl Telegram {
    /// Fetches a file by its id.
    pub(crate) async fn fetch_file(&self, id: &str) -> Result<bytes::Bytes, CallError> {
        let file = self.call_method("getFile", &serde_json::json!({"file_id": id})).await;
        let file = file.map_err(|error| match error {
            CallError::Rejected(reason) if reason.contains("too big") => CallError::TooLarge,
            other => other,
        })?;
        if file["file_size"].as_u64().is_some_and(|size| size > MAX_BLOB_BYTES as u64) {
            return Err(CallError::TooLarge);
        }
        let path = file["file_path"].as_str().unwrap_or_default();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
        if path.is_empty() || path.contains("..") || !path.chars().all(is_plain) {
            return Err(CallError::Rejected("Telegram returned no valid path of the file".into()));
        }
        let url = format!("{}/file/bot{}/{path}", self.base, self.token.expose());
        let request = self.http.client.get(url);
        match self
            .http
            .send_with_limits(request, self.http.limits.file_timeout, MAX_BLOB_BYTES)
            .await
        {
            Ok(response) if response.status == 200 => Ok(response.body),
            Err(HttpError::TooLarge) => Err(CallError::TooLarge),
            response => match self.interpret(response) {
                ApiOutcome::Success(_) => {
                    Err(CallError::Rejected("Telegram did not return the file".into()))
                }
                outcome => outcome.into_result().map(|_| bytes::Bytes::new()),
            },
        }
    }
}
