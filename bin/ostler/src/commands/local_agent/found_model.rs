//! The model of a person who has configured none: a key in the environment, a server on this
//! machine, or a script that says how to add one.

use std::time::Duration;

use ostler_models::catalogue::Catalogue;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::LocalAgentArgs;
use super::model::SelectedModel;
use crate::installation::Installation;
use crate::model_catalogue;

/// The models that are taken if their key is set, the preferred first.
const WITH_KEY: [&str; 3] =
    ["anthropic/claude-sonnet-4-5", "openai/gpt-5", "openrouter/anthropic/claude-sonnet-4.5"];
/// Servers on this machine: their provider and port.
const SERVERS: [(&str, u16); 3] = [("ollama", 11434), ("vllm", 8000), ("llamacpp", 8080)];
/// How long a server may take to say which models it has.
const PROBE_TIMEOUT: Duration = Duration::from_millis(300);
/// The most bytes of such an answer.
const MAX_ANSWER: u64 = 1024 * 1024;
/// What answers if there is no model.
const WELCOME: &str = include_str!("welcome.yaml");

/// The model that answers, and what the person should know about it.
pub(in crate::commands) enum FoundModel {
    /// The arguments or the configuration name it, or they do now.
    Chosen(Vec<String>),
    Script(Box<SelectedModel>, Vec<String>),
}

/// Finds a model unless the arguments or the configuration name one. One that is found
/// becomes that of the arguments.
pub(in crate::commands) async fn find(args: &mut LocalAgentArgs) -> anyhow::Result<FoundModel> {
    let installation = Installation::find_optional(args.home.as_deref())?;
    let is_named =
        args.model.is_some() || args.script.is_some() || installation.config.model.is_some();
    if is_named {
        return Ok(FoundModel::Chosen(Vec::new()));
    }
    let catalogue = Catalogue::new(model_catalogue::options(&installation)?);
    if let Some(name) = WITH_KEY.into_iter().find(|name| catalogue.check(name).is_ok()) {
        args.model = Some(name.to_owned());
        let text = format!("{name} answers, because its key is set. /model chooses another one.");
        return Ok(FoundModel::Chosen(vec![text]));
    }
    for (provider, port) in SERVERS {
        let found = tokio::time::timeout(PROBE_TIMEOUT, first_model(port)).await;
        if let Ok(Some(model)) = found {
            let name = format!("{provider}/{model}");
            let text = format!("{name} answers, from the server at port {port} of this machine.");
            args.model = Some(name);
            return Ok(FoundModel::Chosen(vec![text]));
        }
    }
    let model = Box::new(SelectedModel::scripted(catalogue, WELCOME)?);
    Ok(FoundModel::Script(
        model,
        vec![
            "No model is configured, so a script answers. Set ANTHROPIC_API_KEY or OPENAI_API_KEY,"
                .to_owned()
                + " start ollama, or name a model with --model; `ostler model ls --all` lists models.",
            "Try: list the files, write notes.txt, run ls, make a plan, show tasks.".to_owned(),
        ],
    ))
}

/// Asks a server of this machine for its first model.
async fn first_model(port: u16) -> Option<String> {
    let mut server = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    let request = format!(
        "GET /v1/models HTTP/1.0\r\nHost: localhost:{port}\r\nAccept: application/json\r\n\r\n"
    );
    server.write_all(request.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    server.take(MAX_ANSWER).read_to_end(&mut answer).await.ok()?;
    model_of(&answer)
}

fn model_of(answer: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(answer);
    let (head, body) = text.split_once("\r\n\r\n")?;
    if head.split(' ').nth(1) != Some("200") {
        return None;
    }
    // The body may come in chunks, whose sizes stand around it.
    let (from, to) = (body.find('{')?, body.rfind('}')?);
    let models: Value = serde_json::from_str(body.get(from..=to)?).ok()?;
    models["data"][0]["id"].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{WELCOME, model_of};
    use ostler_scripted::Script;

    #[test]
    fn m43_the_first_model_of_a_server_is_found() {
        let answer = b"HTTP/1.0 200 OK\r\nA: b\r\n\r\n{\"data\": [{\"id\": \"llama3\"}]}";
        assert_eq!(model_of(answer).as_deref(), Some("llama3"));
        let chunked = b"HTTP/1.1 200 OK\r\n\r\n1d\r\n{\"data\":[{\"id\":\"llama3\"}]}\r\n0\r\n\r\n";
        assert_eq!(model_of(chunked).as_deref(), Some("llama3"));
        assert_eq!(model_of(b"HTTP/1.0 404 Not Found\r\n\r\n{}"), None);
        assert_eq!(model_of(b"SSH-2.0"), None);
    }

    #[test]
    fn m43_the_script_of_the_first_start_is_valid() {
        Script::parse("welcome.yaml", WELCOME).expect("a script");
    }
}
