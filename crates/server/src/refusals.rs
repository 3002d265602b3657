//! Middleware: requests that are refused to a key or user are in the audit log of their org,
//! those of a web chat's pages and visitors in the log of the chat's org.

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use ostler_domain::id::{BindingId, OrgId};
use serde_json::json;

use crate::caller::Caller;
use crate::server::Server;

/// The most characters of a path that are stored.
const MAX_PATH: usize = 200;

/// Records a request that ends as forbidden or not found: by whom, what, and about what.
pub(crate) async fn audit(
    State(server): State<Server>,
    Extension(caller): Extension<Caller>,
    request: Request,
    next: Next,
) -> Response {
    // The command line records what it refuses with the words of the command.
    if matches!(caller, Caller::Terminal) {
        return next.run(request).await;
    }
    let method = request.method().to_string();
    let path: String = request.uri().path().chars().take(MAX_PATH).collect();
    let response = next.run(request).await;
    let status = response.status();
    if matches!(status, StatusCode::FORBIDDEN | StatusCode::NOT_FOUND) {
        let about = org_of_path(&server, &path).await;
        // Somebody without any membership has no org.
        let Some(org) = caller.storage_org(about) else { return response };
        let operations = server.deps.operations.as_actor(caller.actor(), org);
        let refused = json!({"method": method, "path": path, "status": status.as_u16()});
        let stored = operations.audit_refusal(subject(&path), &refused).await;
        if let Err(error) = stored {
            tracing::warn!(%error, "refused request not recorded");
        }
    }
    response
}

/// Records a request to a web chat that was refused: a page that may not embed it, a token or
/// ticket that is not valid, a file of somebody else.
pub(crate) async fn audit_chat(
    server: &Server,
    org: OrgId,
    binding: BindingId,
    (method, path): (&Method, &str),
    status: StatusCode,
) {
    let refused = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN, StatusCode::NOT_FOUND];
    if !refused.contains(&status) {
        return;
    }
    let path: String = path.chars().take(MAX_PATH).collect();
    let data = json!({"method": method.as_str(), "path": path, "status": status.as_u16()});
    let binding = binding.to_string();
    let operations = &server.deps.operations;
    let stored = operations.audit_anonymous_refusal(org, &binding, &binding, &data).await;
    if let Err(error) = stored {
        tracing::warn!(%error, "refused request not recorded");
    }
}

/// Returns the org that a path names, if there is one.
pub(crate) async fn org_of_path(server: &Server, path: &str) -> Option<OrgId> {
    let name = path.split('/').skip_while(|part| *part != "orgs").nth(1)?;
    crate::orgs::find_org(server, name).await.ok()
}

/// Returns what a path is about: the record, else the org.
fn subject(path: &str) -> &str {
    let mut parts = path.split('/').skip_while(|part| *part != "orgs").skip(1);
    let (org, _kind, record) = (parts.next(), parts.next(), parts.next());
    record.or(org).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::subject;

    #[test]
    fn the_subject_is_the_record_or_the_org() {
        for (path, expected) in [
            ("/v1/orgs/bella/sessions/ses_1/resume", "ses_1"),
            ("/orgs/bella/sessions/ses_1", "ses_1"),
            ("/orgs/bella/credits", "bella"),
            ("/orgs/bella", "bella"),
            ("/me", "/me"),
        ] {
            assert_eq!(subject(path), expected, "{path}");
        }
    }
}
