//! A server of a test's own, run by a script that takes it away and brings it
//! back.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use tokio::task::block_in_place;

/// A server. It goes, with its data, when this is dropped or the test dies.
pub(crate) struct Server {
    /// Its address, which stays the same.
    pub(crate) url: String,
    script: Child,
    commands: Option<ChildStdin>,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Server {
    /// The one that a script runs: `broker` is a RabbitMQ, `database` a PostgreSQL.
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

    /// Ends it; its data stay.
    pub(crate) fn stop(&mut self) {
        assert_eq!(self.ask("stop"), "gone");
    }

    /// Ends it as a crash does; its data stay.
    pub(crate) fn kill(&mut self) {
        assert_eq!(self.ask("kill"), "gone");
    }

    /// Has a quorum queue, by the broker's name of it, answer nothing any more.
    pub(crate) fn suspend(&mut self, queue: &str) {
        assert_eq!(self.ask(&format!("suspend {queue}")), "done");
    }

    /// Ends that.
    pub(crate) fn resume(&mut self, queue: &str) {
        assert_eq!(self.ask(&format!("resume {queue}")), "done");
    }

    /// Starts it again, on the data that it left.
    pub(crate) fn come_back(&mut self) {
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
