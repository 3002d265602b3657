//! `ostler send` on a server.

use super::serve_copy;
use crate::demo::DemoInstallation;

/// K03: a message is written in the place of a contact on a server, with a file of this machine.
/// The agents of the server answer, and the message says that staff wrote it.
#[test]
fn k03_a_message_is_sent_on_a_server_and_says_who_wrote_it() {
    let demo = DemoInstallation::new();
    let folder = tempfile::tempdir().expect("a folder");
    let server = serve_copy(&demo, &folder.path().join("copy"));
    let send = ["send", "Are you open on Monday?", "--org", "bella", "--contact", "otto"];
    let here = demo.run(&send);
    let there = server.says(&[&send[..], &["--attach", "README.md"]].concat());
    assert!(there.contains("Otto (by staff)") && !here.contains("staff"), "{there}");
    let lines = server.json(&send);
    assert!(lines.as_array().is_some_and(|lines| lines.len() > 1), "{lines}");
    let listed = server.says(&["session", "ls", "--org", "bella"]);
    assert!(listed.contains("by staff"), "{listed}");
    let wrong = [&send[..], &["--channel", "pigeon"]].concat();
    assert!(server.error(&wrong).contains("no channel `pigeon` here"), "{}", server.error(&wrong));
    assert_eq!(demo.error(&wrong), server.error(&wrong));
    let missing = [&send[..], &["--attach", "nothing.pdf"]].concat();
    assert!(server.error(&missing).contains("cannot read nothing.pdf"));
}
