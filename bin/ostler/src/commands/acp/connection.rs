//! The methods of the protocol, version 1.

use std::sync::Arc;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, AuthenticateRequest, AuthenticateResponse, CancelNotification,
    CloseSessionRequest, CloseSessionResponse, DeleteSessionRequest, DeleteSessionResponse,
    Implementation, InitializeRequest, InitializeResponse, ListSessionsRequest, LoadSessionRequest,
    McpCapabilities, NewSessionRequest, PromptCapabilities, PromptRequest, ResumeSessionRequest,
    SessionCapabilities, SessionCloseCapabilities, SessionDeleteCapabilities,
    SessionListCapabilities, SessionResumeCapabilities, SetSessionConfigOptionRequest,
    SetSessionModeRequest, SetSessionModeResponse,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{Agent, Client, Error, JsonRpcResponse, Result, Stdio};

use super::sessions::Sessions;

/// Answers a client until it closes the connection.
pub(super) async fn serve(sessions: Arc<Sessions>) -> Result<()> {
    let [new, load, resume, list, close, delete, mode, option, prompt, cancel] =
        std::array::from_fn(|_| sessions.clone());
    Agent
        .v1()
        .name("ostler")
        .on_receive_request(
            async |_: InitializeRequest, responder, _| responder.respond(initialized()),
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async |_: AuthenticateRequest, responder, _| {
                responder.respond(AuthenticateResponse::new())
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: NewSessionRequest, responder, client| {
                let (sessions, to) = (new.clone(), client.clone());
                answer(&client, responder, async move { sessions.create(request, to).await })
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: LoadSessionRequest, responder, client| {
                let (sessions, to) = (load.clone(), client.clone());
                answer(&client, responder, async move { sessions.load(request, to).await })
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: ResumeSessionRequest, responder, client| {
                let (sessions, to) = (resume.clone(), client.clone());
                answer(&client, responder, async move { sessions.resume(request, to).await })
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: ListSessionsRequest, responder, client| {
                let sessions = list.clone();
                answer(&client, responder, async move { sessions.list(request).await })
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: CloseSessionRequest, responder, client| {
                let sessions = close.clone();
                answer(&client, responder, async move {
                    sessions.close(&request.session_id).await?;
                    Ok(CloseSessionResponse::new())
                })
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: DeleteSessionRequest, responder, client| {
                let sessions = delete.clone();
                answer(&client, responder, async move {
                    sessions.delete(&request.session_id).await?;
                    Ok(DeleteSessionResponse::new())
                })
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: SetSessionModeRequest, responder, client| {
                let session = mode.find(&request.session_id);
                answer(&client, responder, async move {
                    session?.set_mode(&request.mode_id.0).await?;
                    Ok(SetSessionModeResponse::new())
                })
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: SetSessionConfigOptionRequest, responder, client| {
                let session = option.find(&request.session_id);
                answer(&client, responder, async move { session?.set_option(request).await })
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: PromptRequest, responder, client| {
                // A cancellation that follows must find the prompt.
                let begun = prompt.find(&request.session_id).and_then(|session| {
                    let prompt = session.begin_prompt()?;
                    Ok((session, prompt))
                });
                answer(&client, responder, async move {
                    let (session, prompt) = begun?;
                    session.answer_prompt(prompt, request.prompt).await
                })
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_notification(
            async move |request: CancelNotification, client: ConnectionTo<Client>| {
                match cancel.find(&request.session_id) {
                    Ok(session) => client.spawn(async move {
                        session.cancel().await;
                        Ok(())
                    }),
                    // A notification has no answer.
                    Err(_) => Ok(()),
                }
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .connect_to(Stdio::new())
        .await
}

/// Answers a request from a task of its own, so that others are received meanwhile.
fn answer<T: JsonRpcResponse + Send>(
    client: &ConnectionTo<Client>,
    responder: Responder<T>,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<()> {
    client.spawn(async move { responder.respond_with_result(work.await) })
}

fn initialized() -> InitializeResponse {
    let sessions = SessionCapabilities::new()
        .list(SessionListCapabilities::new())
        .delete(SessionDeleteCapabilities::new())
        .resume(SessionResumeCapabilities::new())
        .close(SessionCloseCapabilities::new());
    let capabilities = AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
        .mcp_capabilities(McpCapabilities::new().http(true))
        .session_capabilities(sessions);
    let program = Implementation::new("ostler", env!("CARGO_PKG_VERSION")).title("Ostler");
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(capabilities)
        .agent_info(program)
}

/// Returns the error for a request that cannot be carried out as it is.
pub(super) fn refused(why: impl std::fmt::Display) -> Error {
    Error::new(Error::invalid_params().code, why.to_string())
}

/// Returns the error for a request that failed.
pub(super) fn failed(why: impl std::fmt::Display) -> Error {
    Error::new(Error::internal_error().code, why.to_string())
}
