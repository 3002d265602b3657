//! Metrics and traces of a running server.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use serde_json::json;

use crate::channel::post_message;
use crate::demo::DemoInstallation;
use crate::running_server::RunningServer;

/// How long the spans of a message may take to arrive.
const PATIENCE: Duration = Duration::from_secs(60);

/// Takes requests and answers each with 200; their bodies can be received.
fn recorder() -> (String, Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let (sender, bodies) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.expect("a connection");
            let Some(body) = read_body(&stream) else { continue };
            let answer = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
            let _gone = (&stream).write_all(answer);
            if sender.send(body).is_err() {
                return;
            }
        }
    });
    (address, bodies)
}

fn read_body(stream: &TcpStream) -> Option<Vec<u8>> {
    let (mut lines, mut length) = (BufReader::new(stream), None);
    loop {
        let mut line = String::new();
        lines.read_line(&mut line).ok()?;
        let line = line.trim().to_lowercase();
        if let Some(bytes) = line.strip_prefix("content-length:") {
            length = bytes.trim().parse().ok();
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length?];
    lines.read_exact(&mut body).ok()?;
    Some(body)
}

fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").to_string()
}

fn get_metrics(address: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("metrics are served");
    let request = format!("GET /metrics HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it is sent");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("text");
    let (head, body) = response.split_once("\r\n\r\n").expect("a body");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(head.to_lowercase().contains("application/openmetrics-text"), "{head}");
    body.to_owned()
}

/// The parser of the Prometheus project refuses what does not keep to the format.
fn check_format(metrics: &str) {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let installed = Command::new(root.join("scripts/install-pypi")).output().expect("it runs");
    let folder = String::from_utf8(installed.stdout).expect("a path");
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), metrics).expect("it is written");
    let parse = "import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
for family in parse(open(sys.argv[1]).read()):
    assert family.documentation, family.name
    assert family.samples or family.name.startswith('ostler_'), family.name
";
    let parsed = Command::new(Path::new(folder.trim()).join("bin/python"))
        .args(["-c", parse])
        .arg(file.path())
        .output()
        .expect("Python runs");
    assert!(parsed.status.success(), "{}\n{metrics}", String::from_utf8_lossy(&parsed.stderr));
}

/// Receives spans until the run with all its parts is among them.
fn receive_spans(bodies: &Receiver<Vec<u8>>) -> Vec<Span> {
    let deadline = Instant::now() + PATIENCE;
    let mut spans: Vec<Span> = Vec::new();
    while !spans.iter().any(|span| span.name == "run") {
        let left = deadline.saturating_duration_since(Instant::now());
        let body = bodies.recv_timeout(left).expect("the spans of the run arrive");
        let request = ExportTraceServiceRequest::decode(body.as_slice()).expect("a request");
        let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
        spans.extend(scopes.flat_map(|scope| scope.spans));
    }
    spans
}

fn attribute(span: &Span, key: &str) -> Option<String> {
    let found = span.attributes.iter().find(|one| one.key == key)?;
    Some(match found.value.as_ref()?.value.as_ref()? {
        any_value::Value::StringValue(text) => text.clone(),
        any_value::Value::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    })
}

/// K08: a message is one trace with a span for each step, each call of a model and each call of
/// a tool, named as OpenTelemetry's conventions for generative AI say; what was said is not in
/// it. `/metrics` is what Prometheus reads.
#[test]
fn k08_an_answered_message_is_counted_and_traced() {
    let demo = DemoInstallation::new();
    let gateway = TcpListener::bind("127.0.0.1:0").expect("a gateway");
    let url = format!("http://{}/out", gateway.local_addr().expect("an address"));
    let file = Path::new(&demo.home()).join("ostler.toml");
    let config = std::fs::read_to_string(&file).expect("a file");
    let (collector, bodies) = recorder();
    let metrics = free_address();
    let keys = format!(
        "local_network = true\nmetrics_listen = \"{metrics}\"\n\
         otlp_endpoint = \"http://{collector}\"\n"
    );
    std::fs::write(&file, keys + &config).expect("written");
    let settings = json!({"url": url}).to_string();
    let added = demo.json(&["channel", "add", "sms", "--org", "bella", "--settings", &settings]);
    let name = added["secret"].as_str().expect("a place").strip_prefix("file:").expect("a file");
    let key = demo.read_secret("bella", name);

    let server = RunningServer::start(&demo.home());
    let path = format!("/v1/webhooks/{}", added["binding"].as_str().expect("an id"));
    let text = "Do you have a Margherita?";
    let message = json!({"type": "message", "from": {"id": "+39 06 1234"}, "text": text});
    let taken = post_message(&server.address, &path, &key, &message);
    assert!(taken.contains(" 20"), "{taken}");
    let (mut answer, _) = gateway.accept().expect("the answer");
    read_body(&answer).expect("a body");
    answer.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").expect("taken");

    let spans = receive_spans(&bodies);
    let run = spans.iter().find(|span| span.name == "run").expect("a run");
    assert_eq!(attribute(run, "ostler.outcome").as_deref(), Some("answered"));
    let in_trace: Vec<&Span> = spans.iter().filter(|span| span.trace_id == run.trace_id).collect();
    let parents: BTreeMap<&str, &str> = in_trace
        .iter()
        .map(|span| {
            let parent = in_trace.iter().find(|one| one.span_id == span.parent_span_id);
            (span.name.as_str(), parent.map_or("", |parent| parent.name.as_str()))
        })
        .collect();
    for step in ["session", "agent", "rate limit", "tools", "prompt", "credits", "record"] {
        assert_eq!(parents.get(step), Some(&"run"), "{step} in {parents:?}");
    }
    assert_eq!(parents["model and tools"], "run");
    assert_eq!(parents["invoke_agent gia"], "model and tools");
    let chat = in_trace.iter().find(|span| span.name.starts_with("chat")).expect("a model call");
    assert_eq!(attribute(chat, "gen_ai.operation.name").as_deref(), Some("chat"));
    assert!(attribute(chat, "gen_ai.usage.input_tokens").is_some(), "{chat:?}");
    assert!(!format!("{spans:?}").contains("Margherita"), "what was said is not exported");

    let read = get_metrics(&metrics);
    check_format(&read);
    for line in [
        "ostler_run_duration_seconds_count{outcome=\"answered\"} 1",
        "ostler_delivery_duration_seconds_count{result=\"sent\"} 1",
        "ostler_build_info{version=",
        "route=\"/v1/webhooks/{binding}\"",
        "ostler_dead_letters 0",
        "process_resident_memory_bytes ",
    ] {
        assert!(read.contains(line), "{line} in\n{read}");
    }
}
