//! Opening bindings.

use ostler_channels::connection::ChannelConnection;
use ostler_channels::error::OpenError;
use ostler_channels::outcome::SendOutcome;
use ostler_channels::secret::ChannelSecret;
use ostler_channels::{BindingConfig, Channels, HttpLimits, NetworkAccess, check_settings};
use ostler_domain::channel::Channel;
use ostler_domain::channel::delivery::UnknownOutcomePolicy;
use serde_json::{Value, json};

use crate::fake_server::{Reply, Server};
use crate::support::{KEY, channels, config, message, open, send};

#[test]
fn an_unknown_channel_name_opens_the_generic_webhook() {
    let url = json!({"url": "https://gateway.example"});
    let smtp = json!({"from": "a@x.it", "smtp": {"host": "x.it"}});
    assert!(matches!(open("telegram", &json!({}), "1:a"), ChannelConnection::Telegram(_)));
    assert!(matches!(open("email", &smtp, "p"), ChannelConnection::Email(_)));
    assert!(matches!(open("webchat", &json!({}), &"x".repeat(32)), ChannelConnection::Webchat(_)));
    for name in ["webhook", "sms", "whatsapp", "pager"] {
        assert!(matches!(open(name, &url, KEY), ChannelConnection::Webhook(_)), "{name}");
    }
}

#[test]
fn errors_explain_the_problem_without_quoting_the_secret() {
    let check = |channel: &str, settings: Value, secret: &str, expected: &str| {
        let error = channels(secret, HttpLimits::default()).open(&config(channel, &settings));
        let text = error.unwrap_err().to_string();
        assert!(text.contains(expected), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    };
    let smtp = |server: Value| json!({"from": "a@x.it", "smtp": server});
    check("telegram", json!({"base_url": "ftp://x"}), "1:a", "a URL starts with https://");
    check("telegram", json!({"tokn": 1}), "1:a", "there is no setting `tokn`");
    check("telegram", json!({}), "hunter2 x/y", "is not a bot's token");
    check("sms", json!({}), KEY, "`url` is missing");
    check("sms", json!({"url": "https://u:hunter2@x"}), KEY, "no user name or password");
    check("sms", json!({"url": "https://x", "max_chars": 3}), KEY, "max_chars is at least 20");
    check("sms", json!({"url": "https://x"}), "hunter2", "whsec_…");
    check("webchat", json!({}), "hunter2", "at least 32 characters");
    check(
        "email",
        json!({"from": "nobody", "smtp": {"host": "x"}}),
        "p",
        "`from` is not an address",
    );
    let without_tls = json!({"host": "mail.example", "security": "none", "username": "u"});
    check("email", smtp(without_tls), "hunter2", "not sent without TLS");
    let bare = BindingConfig { secret: None, ..config("telegram", &json!({})) };
    let error = channels("", HttpLimits::default()).open(&bare).unwrap_err();
    assert!(matches!(error, OpenError::MissingSecret { .. }), "{error:?}");
}

#[test]
fn z09_the_unknown_outcome_policy_is_a_setting_of_the_binding() {
    use UnknownOutcomePolicy::{AskPerson, Resend};
    let check = |channel: &str, mut settings: Value, secret: &str, default| {
        let policy = open(channel, &settings, secret).unknown_outcome_policy();
        assert_eq!(policy, default, "{channel}");
        for (name, expected) in [("resend", Resend), ("ask_person", AskPerson)] {
            settings["when_unknown"] = name.into();
            let policy = open(channel, &settings, secret).unknown_outcome_policy();
            assert_eq!(policy, expected, "{channel}");
        }
    };
    check("telegram", json!({}), "1:a", AskPerson);
    // Their receivers recognize a repeat by its id.
    check("sms", json!({"url": "https://gateway.example"}), KEY, Resend);
    check("email", json!({"from": "a@x.it", "smtp": {"host": "x.it"}}), "p", Resend);
}

/// A rotated secret takes effect at the next use.
#[test]
fn a_secret_is_read_for_each_use_on_behalf_of_its_org() {
    let reads = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let recorded = reads.clone();
    let channels =
        Channels::new(HttpLimits::default(), NetworkAccess::Public, move |org, location| {
            recorded.lock().unwrap().push((org, location.to_string()));
            Err::<ChannelSecret, _>("it is not this org's".into())
        });
    let config = config("telegram", &json!({}));
    for _ in 0..2 {
        let error = channels.as_ref().unwrap().open(&config).unwrap_err().to_string();
        assert!(error.ends_with("cannot be read from env:SECRET: it is not this org's"), "{error}");
    }
    assert_eq!(*reads.lock().unwrap(), vec![(config.org, "env:SECRET".to_owned()); 2]);
}

/// Settings cannot name hosts of the local network, neither by address nor by name.
#[tokio::test]
async fn only_hosts_on_the_public_internet_are_contacted() {
    let server = Server::start([Reply::json(200, &json!({}))]).await;
    let port = server.url.rsplit(':').next().unwrap().to_owned();
    let check = async |channel: &str, settings: Value, secret: &'static str| {
        let channels = Channels::new(HttpLimits::default(), NetworkAccess::Public, move |_, _| {
            Ok(ChannelSecret::new(secret))
        });
        let reason = match channels.unwrap().open(&config(channel, &settings)) {
            // The address of a webhook is refused before anything is sent.
            Err(refused) if channel == "webhook" => refused.to_string(),
            Err(refused) => panic!("{channel}: {refused}"),
            Ok(connection) => {
                let outcome = send(&connection, &message("rosa@example.com", "hi")).await;
                outcome.reason().to_owned()
            }
        };
        assert!(reason.contains("not part of the public internet"), "{channel}: {reason}");
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

#[tokio::test]
async fn a_web_chat_message_is_delivered_without_a_call() {
    let chat = open("webchat", &json!({}), &"x".repeat(32));
    let outcome = send(&chat, &message("visitor", "hi")).await;
    assert_eq!(outcome, SendOutcome::Delivered { provider_id: Some("out_1.0".into()) });
}

#[test]
fn o05_an_invalid_setting_is_named_with_what_is_expected() {
    let mail = |rest: &str| format!(r#"{{"from": "a@b.example", "smtp": {{{rest}}}}}"#);
    let table = [
        (
            "email",
            mail(r#""host": "m", "port": "x""#),
            ("smtp.port", "expected a whole number from 0 to 65535, not a text"),
        ),
        (
            "email",
            mail(r#""host": "m", "port": 70000"#),
            ("smtp.port", "expected a whole number from 0 to 65535, not `70000`"),
        ),
        ("email", mail(""), ("smtp", "`host` is missing")),
        (
            "email",
            mail(r#""host": "m", "security": "ssl""#),
            ("smtp.security", "`ssl` is not possible; use one of `tls`, `starttls`, `none`"),
        ),
        (
            "email",
            r#"{"from": "nobody", "smtp": {"host": "m"}}"#.to_owned(),
            ("from", "`from` is not an address"),
        ),
        (
            "telegram",
            r#"{"base_ur": "https://x.example"}"#.to_owned(),
            (
                "base_ur",
                "there is no setting `base_ur`; there are `base_url`, `username`, \
                 `when_unknown`, `polling`",
            ),
        ),
        ("sms", String::new(), ("", "`url` is missing")),
        (
            "sms",
            r#"{"url": "ftp://x.example"}"#.to_owned(),
            ("url", "a URL starts with https:// or http:// and has no user name or password"),
        ),
        (
            "webchat",
            r#"{"origins": "https://x.example"}"#.to_owned(),
            ("origins", "expected a list, not a text"),
        ),
    ];
    for (channel, settings, (path, reason)) in table {
        let refused = check_settings(&Channel::from(channel), &settings).expect_err(&settings);
        assert_eq!((refused.path.as_str(), refused.reason.as_str()), (path, reason));
    }
}

#[test]
fn valid_settings_pass_without_a_secret() {
    let table = [
        ("email", r#"{"from": "a@b.example", "smtp": {"host": "m", "username": "u"}}"#),
        ("telegram", ""),
        ("webchat", r##"{"color": "#0a7"}"##),
        ("pager", r#"{"url": "https://x.example", "max_chars": 200}"#),
    ];
    for (channel, settings) in table {
        assert_eq!(check_settings(&Channel::from(channel), settings), Ok(()), "{channel}");
    }
}
