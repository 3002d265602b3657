//! A server for one test, run by a script that can stop and restart it.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use tokio::task::block_in_place;

/// A server. It is removed with its data when this is dropped or the test dies.
pub(crate) struct Server {
    /// Stays the same after a restart.
    pub(crate) url: String,
    script: Child,
    commands: Option<ChildStdin>,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Server {
    /// Starts a server by the name of its script: `broker` is RabbitMQ,
    /// `database` is PostgreSQL.
    pub(crate) fn start(name: &str) -> Self {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
        let mut scripts = scripts.map(|above| above.join("scripts").join(name));
        let path = scripts.find(|path| path.exists()).expect("the script is there");
        block_in_place(|| {
            let mut script = Command::new(path)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .expect("the script starts");
            let commands = script.stdin.take();
            let answers = BufReader::new(script.stdout.take().unwrap()).lines();
            let mut server = Self { url: String::new(), script, commands, answers };
            server.url = server.answer().strip_prefix("ready ").expect("an address").to_owned();
            server
        })
    }

    /// Stops the server; its data stay.
    pub(crate) fn stop(&mut self) {
        assert_eq!(self.ask("stop"), "gone");
    }

    /// Kills the server; its data stay.
    pub(crate) fn kill(&mut self) {
        assert_eq!(self.ask("kill"), "gone");
    }

    /// Makes a quorum queue, by its name on the broker, unresponsive.
    pub(crate) fn suspend(&mut self, queue: &str) {
        assert_eq!(self.ask(&format!("suspend {queue}")), "done");
    }

    /// Makes a quorum queue responsive again.
    pub(crate) fn resume(&mut self, queue: &str) {
        assert_eq!(self.ask(&format!("resume {queue}")), "done");
    }

    /// Starts the server again with its data.
    pub(crate) fn restart(&mut self) {
        let answer = self.ask("start");
        assert_eq!(answer, format!("ready {}", self.url));
    }

    fn ask(&mut self, command: &str) -> String {
        block_in_place(|| {
            writeln!(self.commands.as_ref().unwrap(), "{command}").expect("the script listens");
            self.answer()
        })
    }

    fn answer(&mut self) -> String {
        self.answers.next().expect("the script says why it ended").expect("a line")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.commands.take());
        let _ended = block_in_place(|| self.script.wait());
    }
}
