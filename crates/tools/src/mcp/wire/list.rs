//! The list of a server's tools, page by page.

use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams};
use rmcp::service::{PeerRequestOptions, ServiceError};
use serde::Deserialize;
use serde_json::Value;

use super::caller::{Caller, shown, transport_text};
use crate::mcp::config::McpLimits;
use crate::mcp::problem::Trouble;

/// The most pages that are asked for.
const PAGES: usize = 64;

/// Tools as the server describes them.
#[derive(Debug, Default)]
pub(in crate::mcp) struct List {
    pub(in crate::mcp) tools: Vec<Value>,
    /// Whether there are more than are of interest.
    pub(in crate::mcp) more: bool,
}

/// A page. Each tool is read by itself, so that a bad one spoils no other; the
/// library would refuse the whole page.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    tools: Vec<Value>,
    next_cursor: Option<String>,
}

impl Caller {
    /// Asks for the list.
    pub(in crate::mcp) async fn list(&self, limits: &McpLimits) -> Result<List, Trouble> {
        let mut list = List::default();
        let mut cursor = None;
        for _ in 0..PAGES {
            let page = self.page(cursor, limits).await?;
            list.tools.extend(page.tools);
            cursor = page.next_cursor;
            if cursor.is_none() || list.tools.len() > limits.tools {
                break;
            }
        }
        list.more = cursor.is_some();
        Ok(list)
    }

    async fn page(&self, cursor: Option<String>, limits: &McpLimits) -> Result<Page, Trouble> {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        let request = ListToolsRequest { params: Some(params), ..ListToolsRequest::default() };
        let options = PeerRequestOptions::with_timeout(limits.start);
        let request = ClientRequest::ListToolsRequest(request);
        let handle = self.peer.send_cancellable_request(request, options).await;
        let answer = match handle {
            Ok(handle) => handle.await_response().await,
            Err(error) => Err(error),
        };
        let answer = answer.map_err(|error| Trouble::List(text(&error)))?;
        let page = serde_json::to_value(answer).and_then(serde_json::from_value);
        page.map_err(|error| Trouble::List(shown(&error.to_string())))
    }
}

fn text(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => shown(&error.message),
        ServiceError::TransportSend(error) => transport_text(error),
        ServiceError::Timeout { timeout } => format!("there was no answer within {timeout:?}"),
        _ => "the connection broke".to_owned(),
    }
}
