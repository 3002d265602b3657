//! A local HTTP server with fixed responses.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A server that answers each path with a fixed response and records the requests. It
/// never answers a path with an empty response.
pub(crate) struct TestServer {
    pub(crate) port: u16,
    pub(crate) requests: Arc<Mutex<Vec<String>>>,
}

impl TestServer {
    pub(crate) async fn start(pages: &[(&str, Vec<u8>)]) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let with_port = |page: &[u8]| match std::str::from_utf8(page) {
            Ok(text) => text.replace("PORT", &port.to_string()).into_bytes(),
            Err(_) => page.to_vec(),
        };
        let pages: BTreeMap<String, Vec<u8>> =
            pages.iter().map(|(path, page)| ((*path).to_owned(), with_port(page))).collect();
        let (pages, log) = (Arc::new(pages), requests.clone());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (pages, log) = (pages.clone(), log.clone());
                tokio::spawn(async move {
                    let mut request = Vec::new();
                    while !request.ends_with(b"\r\n\r\n") {
                        match stream.read_u8().await {
                            Ok(byte) => request.push(byte),
                            Err(_) => return,
                        }
                    }
                    let request = String::from_utf8_lossy(&request).into_owned();
                    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
                    log.lock().unwrap().push(request);
                    let missing = page("404 Not Found", "text/plain", b"no");
                    let plain = path.split('?').next().unwrap_or_default();
                    let answer = pages.get(plain).cloned().unwrap_or(missing);
                    if answer.is_empty() {
                        std::future::pending::<()>().await;
                    }
                    let _ = stream.write_all(&answer).await;
                    let _ = stream.shutdown().await;
                });
            }
        });
        Self { port, requests }
    }

    pub(crate) fn request_count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    pub(crate) fn url(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}{path}", self.port)
    }
}

pub(crate) fn page(status: &str, content_type: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}
