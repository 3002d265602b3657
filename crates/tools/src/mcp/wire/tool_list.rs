//! Requests the tools of a server, page by page.

use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams};
use rmcp::service::{PeerRequestOptions, ServiceError};
use serde::Deserialize;
use serde_json::Value;

use super::client::{McpClient, printable, transport_error_text};
use crate::mcp::config::McpLimits;
use crate::mcp::error::McpServerError;

/// The most pages that are requested.
const MAX_PAGES: usize = 64;

/// Tools as the server describes them.
#[derive(Debug, Default)]
pub(in crate::mcp) struct RawToolList {
    pub(in crate::mcp) tools: Vec<Value>,
    /// Whether the server has further tools that were not requested.
    pub(in crate::mcp) has_more: bool,
}

/// A page of the list. Tools stay raw JSON, so that an invalid one does not affect the
/// others; the library would refuse the whole page.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolPage {
    tools: Vec<Value>,
    next_cursor: Option<String>,
}

impl McpClient {
    /// Requests the list, until it has more tools than the limit.
    pub(in crate::mcp) async fn list_tools(
        &self,
        limits: &McpLimits,
    ) -> Result<RawToolList, McpServerError> {
        let mut list = RawToolList::default();
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let page = self.request_page(cursor, limits).await?;
            list.tools.extend(page.tools);
            cursor = page.next_cursor;
            if cursor.is_none() || list.tools.len() > limits.max_tools {
                break;
            }
        }
        list.has_more = cursor.is_some();
        self.task_tools.restore(&mut list.tools);
        Ok(list)
    }

    async fn request_page(
        &self,
        cursor: Option<String>,
        limits: &McpLimits,
    ) -> Result<ToolPage, McpServerError> {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        let request = ListToolsRequest { params: Some(params), ..ListToolsRequest::default() };
        let options = PeerRequestOptions::with_timeout(limits.start_timeout);
        let request = ClientRequest::ListToolsRequest(request);
        let handle = self.peer.send_cancellable_request(request, options).await;
        let result = match handle {
            Ok(handle) => handle.await_response().await,
            Err(error) => Err(error),
        };
        let result = result.map_err(|error| McpServerError::ListTools(error_text(&error)))?;
        let page = serde_json::to_value(result).and_then(serde_json::from_value);
        page.map_err(|error| McpServerError::ListTools(printable(&error.to_string())))
    }
}

fn error_text(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => printable(&error.message),
        ServiceError::TransportSend(error) => transport_error_text(error),
        ServiceError::Timeout { timeout } => format!("there was no answer within {timeout:?}"),
        _ => "the connection was lost".to_owned(),
    }
}
