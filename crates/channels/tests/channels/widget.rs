//! The script of the web chat, on a page that is just large enough for it.

use std::process::Command;

use ostler_channels::webchat::{Event, Post, Speaker, WIDGET};
use ostler_domain::time::Timestamp;
use serde_json::{Value, json};

use crate::real::installed;

fn visit() -> Value {
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/channels/widget.mjs");
    let widget = concat!(env!("CARGO_MANIFEST_DIR"), "/src/webchat/widget.js");
    let node = installed("install-npm").join("node");
    let output = Command::new(node).args([here, widget]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What a visitor writes arrives once, whatever happens on its way, and what is
/// shown is never read as HTML.
#[test]
fn a_visitor_writes_and_reads() {
    let seen = visit();
    let asked = seen["asked"].as_array().unwrap();
    let urls: Vec<&str> = asked.iter().map(|asked| asked["url"].as_str().unwrap()).collect();
    let (visitors, messages) = (
        "https://ostler.example/chat/bnd_1/visitors",
        "https://ostler.example/chat/bnd_1/messages",
    );
    assert_eq!(urls, [visitors, messages, messages, visitors, messages]);
    let posts: Vec<Post> = [1, 2, 4]
        .into_iter()
        .map(|at: usize| serde_json::from_value(asked[at]["body"].clone()).unwrap())
        .collect();
    assert_eq!(posts[0].text.as_deref(), Some("Ciao"));
    assert_eq!(posts[0].locale.as_deref(), Some("it"));
    assert!(posts.iter().all(|post| *post == posts[0]), "{posts:?}");
    assert_eq!(asked[1]["authorization"], "Bearer t1");
    assert_eq!(asked[4]["authorization"], "Bearer t2");
    assert_eq!(seen["left"], "");
    let events = "https://ostler.example/chat/bnd_1/events?token=";
    assert_eq!(seen["events"], json!([format!("{events}t1"), format!("{events}t2")]));
    assert_eq!(seen["drafts"], json!(["Sal", "", "S", "Sì"]));
    let shown =
        "<span Gia><strong Sì> <img src=x> <a menu> [no](javascript:x)<div <button Prenota>>";
    assert_eq!(seen["shown"], json!([shown]));
}

/// A page that is left and comes again is in the same conversation: the token is
/// forgotten only if it is refused.
#[test]
fn a_visitor_keeps_the_conversation_when_the_page_is_left() {
    let ended = visit()["ended"].clone();
    let again = json!({"left": ["t2"], "settled": ["t2"], "streams": 3});
    let refused = json!({"left": ["t2"], "settled": [], "streams": 3});
    assert_eq!(ended, json!([again, refused]));
}

#[test]
fn the_script_is_small_and_makes_no_html() {
    assert!(WIDGET.len() < 16 * 1024);
    for dangerous in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
        assert!(!WIDGET.contains(dangerous), "{dangerous}");
    }
}

/// The wire keeps its form.
#[test]
fn an_event_is_written_as_the_script_reads_it() {
    let message = Event::Message {
        id: "m1".into(),
        from: Speaker::Agent,
        name: Some("Gia".into()),
        text: "hi".into(),
        markdown: true,
        files: vec![],
        buttons: vec![],
        at: Timestamp::from_millis(7),
    };
    let written = json!({"type": "message", "id": "m1", "from": "agent", "name": "Gia",
        "text": "hi", "markdown": true, "files": [], "buttons": [], "at": 7});
    assert_eq!(serde_json::to_value(&message).unwrap(), written);
    assert_eq!(
        serde_json::to_value(Event::Typing { on: true }).unwrap(),
        json!({"type": "typing", "on": true})
    );
    assert_eq!(
        serde_json::to_value(Event::Delta { offset: 0, text: "h".into() }).unwrap(),
        json!({"type": "delta", "offset": 0, "text": "h"})
    );
    assert_eq!(
        serde_json::to_value(Event::DraftDiscarded).unwrap(),
        json!({"type": "draft_discarded"})
    );
    assert_eq!(serde_json::to_value(Event::Ended).unwrap(), json!({"type": "ended"}));
}
