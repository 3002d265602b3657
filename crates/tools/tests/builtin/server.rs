//! A server of our own.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A server that answers each path with what it was told, and counts. Told nothing,
/// it keeps silent.
pub(crate) struct Server {
    pub(crate) port: u16,
    pub(crate) asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) async fn start(pages: &[(&str, Vec<u8>)]) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let filled = |page: &[u8]| match std::str::from_utf8(page) {
            Ok(text) => text.replace("PORT", &port.to_string()).into_bytes(),
            Err(_) => page.to_vec(),
        };
        let pages: BTreeMap<String, Vec<u8>> =
            pages.iter().map(|(path, page)| ((*path).to_owned(), filled(page))).collect();
        let (pages, log) = (Arc::new(pages), asked.clone());
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
        Self { port, asked }
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
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
