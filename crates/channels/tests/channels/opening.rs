//! Opening bindings.

use ostler_channels::connection::Connection;
use ostler_channels::error::OpenError;
use ostler_channels::outcome::Outcome;
use ostler_channels::secret::Secret;
use ostler_channels::{BindingConfig, Channels, Limits, Reach};
use ostler_domain::channel::delivery::WhenUnknown;
use serde_json::{Value, json};

use crate::server::{Reply, Server};
use crate::support::{KEY, channels, config, message, open, send};

/// A channel that is not known is the webhook under its name.
#[test]
fn the_name_of_a_channel_says_what_opens() {
    let url = json!({"url": "https://gateway.example"});
    let smtp = json!({"from": "a@x.it", "smtp": {"host": "x.it"}});
    assert!(matches!(open("telegram", &json!({}), "1:a"), Connection::Telegram(_)));
    assert!(matches!(open("email", &smtp, "p"), Connection::Email(_)));
    assert!(matches!(open("webchat", &json!({}), &"x".repeat(32)), Connection::Webchat(_)));
    for name in ["webhook", "sms", "whatsapp", "pager"] {
        assert!(matches!(open(name, &url, KEY), Connection::Webhook(_)), "{name}");
    }
}

#[test]
fn what_is_wrong_with_a_binding_is_said_without_its_secret() {
    let check = |channel: &str, settings: Value, secret: &str, expected: &str| {
        let error = channels(secret, Limits::default()).open(&config(channel, &settings));
        let said = error.unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
        assert!(!said.contains("hunter2"), "{said}");
    };
    let smtp = |server: Value| json!({"from": "a@x.it", "smtp": server});
    check("telegram", json!({"base_url": "ftp://x"}), "1:a", "a URL starts with https://");
    check("telegram", json!({"tokn": 1}), "1:a", "unknown field `tokn`");
    check("telegram", json!({}), "hunter2 x/y", "is not a bot's token");
    check("sms", json!({}), KEY, "missing field `url`");
    check("sms", json!({"url": "https://u:hunter2@x"}), KEY, "no user name or password");
    check("sms", json!({"url": "https://x", "max_chars": 3}), KEY, "max_chars is at least 20");
    check("sms", json!({"url": "https://x"}), "hunter2", "whsec_…");
    check("webchat", json!({}), "hunter2", "at least 32 characters");
    check("email", json!({"from": "nobody", "smtp": {"host": "x"}}), "p", "`from` is no address");
    let open_door = json!({"host": "mail.example", "security": "none", "username": "u"});
    check("email", smtp(open_door), "hunter2", "not sent without TLS");
    let bare = BindingConfig { secret: None, ..config("telegram", &json!({})) };
    let error = channels("", Limits::default()).open(&bare).unwrap_err();
    assert!(matches!(error, OpenError::NoSecret { .. }), "{error:?}");
}

/// Z09: what to do about an unknown outcome is a setting of the binding.
#[test]
fn z09_a_binding_says_what_to_do_about_the_unknown() {
    let check = |channel: &str, mut settings: Value, secret: &str| {
        let asked = open(channel, &settings, secret).when_unknown();
        assert_eq!(asked, WhenUnknown::AskPerson, "{channel}");
        settings["when_unknown"] = "resend".into();
        let asked = open(channel, &settings, secret).when_unknown();
        assert_eq!(asked, WhenUnknown::Resend, "{channel}");
    };
    check("telegram", json!({}), "1:a");
    check("sms", json!({"url": "https://gateway.example"}), KEY);
    check("email", json!({"from": "a@x.it", "smtp": {"host": "x.it"}}), "p");
}

/// A rotated secret counts from the next use on, and who reads it knows the org.
#[test]
fn a_secret_is_read_anew_by_whoever_may() {
    let asked = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let keep = asked.clone();
    let channels = Channels::new(Limits::default(), Reach::Public, move |org, at| {
        keep.lock().unwrap().push((org, at.to_string()));
        Err::<Secret, _>("it is not this org's".into())
    });
    let config = config("telegram", &json!({}));
    for _ in 0..2 {
        let error = channels.as_ref().unwrap().open(&config).unwrap_err().to_string();
        assert!(error.ends_with("cannot be read from env:SECRET: it is not this org's"), "{error}");
    }
    assert_eq!(*asked.lock().unwrap(), vec![(config.org, "env:SECRET".to_owned()); 2]);
}

/// Whoever writes the settings of a binding does not reach our own network by
/// them, neither by a number nor by a name.
#[tokio::test]
async fn the_public_internet_is_all_that_is_reached() {
    let server = Server::start([Reply::json(200, &json!({}))]).await;
    let port = server.url.rsplit(':').next().unwrap().to_owned();
    let check = async |channel: &str, settings: Value, secret: &'static str| {
        let channels =
            Channels::new(Limits::default(), Reach::Public, move |_, _| Ok(Secret::new(secret)));
        let connection = channels.unwrap().open(&config(channel, &settings)).unwrap();
        let outcome = send(&connection, &message("rosa@example.com", "hi")).await;
        assert!(outcome.reason().contains("not of the public internet"), "{outcome:?}");
    };
    for host in ["127.0.0.1", "localhost", "2130706433", "[::1]"] {
        let url = format!("http://{host}:{port}");
        check("webhook", json!({"url": url}), KEY).await;
        check("telegram", json!({"base_url": url}), "1:a").await;
    }
    for host in ["127.0.0.1", "localhost"] {
        let smtp = json!({"host": host, "port": port.parse::<u16>().unwrap(), "security": "none"});
        check("email", json!({"from": "a@x.it", "smtp": smtp}), "").await;
    }
    assert_eq!(server.seen().len(), 0);
}

/// A message on a page is delivered once it is stored.
#[tokio::test]
async fn a_message_on_a_page_has_arrived() {
    let chat = open("webchat", &json!({}), &"x".repeat(32));
    let outcome = send(&chat, &message("visitor", "hi")).await;
    assert_eq!(outcome, Outcome::Delivered { provider_id: Some("out_1.0".into()) });
}
