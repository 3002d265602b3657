//! An MCP server over HTTP with the tools `count` and `delete`.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Starts a server and returns its URL.
pub(crate) async fn start_mcp_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
    url
}

async fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    let (mut length, mut authorized) = (0, false);
    let mut reader = BufReader::new(&mut stream);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).await?;
        let line = line.trim_end().to_lowercase();
        if line.is_empty() {
            break;
        }
        authorized |= line == "authorization: bearer hunter2-secret";
        if let Some(text) = line.strip_prefix("content-length: ") {
            length = text.parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).await?;
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let text = match (authorized, answer(&request)) {
        (false, _) => "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n".to_owned(),
        (true, Some(result)) => {
            let message = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
            let message = message.to_string();
            format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\
                 content-length: {}\r\n\r\n{message}",
                message.len()
            )
        }
        (true, None) if request["method"].is_string() => {
            "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned()
        }
        (true, None) => "HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n".to_owned(),
    };
    stream.write_all(text.as_bytes()).await
}

fn answer(request: &Value) -> Option<Value> {
    let object = json!({"type": "object"});
    match request["method"].as_str()? {
        "initialize" => Some(json!({
            "protocolVersion": request["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "stock", "version": "1"},
        })),
        "tools/list" => Some(json!({"tools": [
            {"name": "count", "description": "Counts.", "inputSchema": object},
            {"name": "delete", "description": "Deletes.", "inputSchema": object},
        ]})),
        "tools/call" => {
            let item = request["params"]["arguments"]["item"].as_str().unwrap_or("nothing");
            Some(json!({"content": [{"type": "text", "text": format!("12 of {item}")}]}))
        }
        _ => None,
    }
}
