//! The script of the web chat, on a minimal page in Node.js.

use std::process::Command;

use ostler_channels::webchat::{VisitorMessage, WIDGET, WebchatAuthor, WebchatEvent};
use ostler_domain::time::Timestamp;
use serde_json::{Value, json};

use crate::real_servers::installed;

fn run_widget() -> Value {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/channels/widget.mjs");
    let widget = concat!(env!("CARGO_MANIFEST_DIR"), "/src/webchat/widget.js");
    let node = installed("install-npm").join("node");
    let output = Command::new(node).args([page, widget]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// U14: A message is on the screen at once and retried with the same id, and text is never
/// interpreted as HTML.
#[test]
fn a_visitor_sends_messages_and_sees_replies() {
    let seen = run_widget();
    let requests = seen["requests"].as_array().unwrap();
    let urls: Vec<&str> = requests.iter().map(|request| request["url"].as_str().unwrap()).collect();
    let (visitors, messages) = (
        "https://ostler.example/chat/bnd_1/visitors",
        "https://ostler.example/chat/bnd_1/messages",
    );
    assert_eq!(urls, [visitors, messages, messages, visitors, messages]);
    let posts: Vec<VisitorMessage> = [1, 2, 4]
        .into_iter()
        .map(|at: usize| serde_json::from_value(requests[at]["body"].clone()).unwrap())
        .collect();
    assert_eq!(posts[0].text.as_deref(), Some("Ciao"));
    assert_eq!(posts[0].locale.as_deref(), Some("it"));
    assert!(posts.iter().all(|post| *post == posts[0]), "{posts:?}");
    assert_eq!(requests[1]["authorization"], "Bearer t1");
    assert_eq!(requests[4]["authorization"], "Bearer t2");
    assert_eq!(seen["left"], "");
    // S10: the token is in no URL.
    let events = "https://ostler.example/chat/bnd_1/events?ticket=for%20Bearer%20";
    assert_eq!(seen["events"], json!([format!("{events}t1"), format!("{events}t2")]));
    // U14: the visitor's words are on the screen before the server has them, and once.
    assert_eq!(seen["sending"], json!(["Benvenuti!", "<span Tu>Ciao"]));
    assert_eq!(seen["sent"], seen["sending"]);
    assert_eq!(seen["typing"], 1);
    assert_eq!(seen["drafts"], json!(["Sal", "", "S", "Sì"]));
    let shown =
        "<span Gia><strong Sì> <img src=x> <a menu> [no](javascript:x)<div <button Prenota>>";
    assert_eq!(seen["shown"], json!([shown]));
}

/// A visitor who returns to a page continues the conversation.
#[test]
fn the_token_is_forgotten_only_if_it_is_rejected() {
    let ended = run_widget()["ended"].clone();
    let url = "https://ostler.example/chat/bnd_1/events?ticket=for%20Bearer%20t2&after=m1";
    let retained = json!({"left": ["t2"], "settled": ["t2"], "streams": 3, "url": url});
    let rejected = json!({"left": ["t2"], "settled": [], "streams": 3, "url": url});
    assert_eq!(ended, json!([retained, rejected]));
}

#[test]
fn the_script_is_small_and_creates_no_html_from_text() {
    assert!(WIDGET.len() < 20 * 1024);
    for dangerous in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
        assert!(!WIDGET.contains(dangerous), "{dangerous}");
    }
}

#[test]
fn events_are_serialized_as_the_script_expects() {
    let message = WebchatEvent::Message {
        id: "m1".into(),
        from: WebchatAuthor::Agent,
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
        serde_json::to_value(WebchatEvent::Typing { on: true }).unwrap(),
        json!({"type": "typing", "on": true})
    );
    assert_eq!(
        serde_json::to_value(WebchatEvent::Delta { offset: 0, text: "h".into() }).unwrap(),
        json!({"type": "delta", "offset": 0, "text": "h"})
    );
    assert_eq!(
        serde_json::to_value(WebchatEvent::DraftDiscarded).unwrap(),
        json!({"type": "draft_discarded"})
    );
    assert_eq!(serde_json::to_value(WebchatEvent::Ended).unwrap(), json!({"type": "ended"}));
}
