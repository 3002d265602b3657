//! A fake mail server that replies to commands by a script.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// What the server does at one step: reply, close the connection, or nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    Reply(&'static str),
    Close,
    Hang,
}

pub(crate) struct FakeSmtpServer {
    pub(crate) port: u16,
    pub(crate) commands: Arc<Mutex<Vec<String>>>,
}

impl FakeSmtpServer {
    /// Starts a server with one step for the greeting and one for each command. The
    /// data of a mail counts as one command.
    pub(crate) async fn start(steps: &[Step]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let commands = Arc::new(Mutex::new(Vec::new()));
        let (steps, recorded) = (steps.to_vec(), commands.clone());
        tokio::spawn(async move {
            let (socket, _) = listener.accept().await.unwrap();
            let _ = run_script(socket, &steps, &recorded).await;
        });
        Self { port, commands }
    }
}

async fn run_script(
    socket: TcpStream,
    steps: &[Step],
    commands: &Mutex<Vec<String>>,
) -> Option<()> {
    let mut socket = BufReader::new(socket);
    for step in steps {
        let data = match step {
            Step::Close => return None,
            Step::Hang => {
                let _ = socket.read_line(&mut String::new()).await;
                return None;
            }
            Step::Reply(line) => {
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
        commands.lock().unwrap().push(line.trim_end().to_owned());
    }
    None
}
