//! A mail server that answers as it is told: for each command one line, in order.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// What the server does at one step.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    Say(&'static str),
    Cut,
    Hang,
}

pub(crate) struct Mailbox {
    pub(crate) port: u16,
    /// The lines that it was told.
    pub(crate) told: Arc<Mutex<Vec<String>>>,
}

impl Mailbox {
    /// Does one step for the greeting and one for each command; what follows
    /// `DATA` counts as one command.
    pub(crate) async fn start(steps: &[Step]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let told = Arc::new(Mutex::new(Vec::new()));
        let (steps, keep) = (steps.to_vec(), told.clone());
        tokio::spawn(async move {
            let (socket, _) = listener.accept().await.unwrap();
            let _ = talk(socket, &steps, &keep).await;
        });
        Self { port, told }
    }
}

async fn talk(socket: TcpStream, steps: &[Step], told: &Mutex<Vec<String>>) -> Option<()> {
    let mut socket = BufReader::new(socket);
    for step in steps {
        let data = match step {
            Step::Cut => return None,
            Step::Hang => {
                let _ = socket.read_line(&mut String::new()).await;
                return None;
            }
            Step::Say(line) => {
                socket.write_all(format!("{line}\r\n").as_bytes()).await.ok()?;
                line.starts_with("354")
            }
        };
        let mut line = String::new();
        loop {
            line.clear();
            if socket.read_line(&mut line).await.ok()? == 0 {
                return None;
            }
            if !data || line == ".\r\n" {
                break;
            }
        }
        told.lock().unwrap().push(line.trim_end().to_owned());
    }
    None
}
