//! Mail that comes in, through the webhook of whoever takes it for the org.

use http::HeaderMap;
use ostler_domain::channel::Channel;
use ostler_domain::contact::normal_identifier;
use ostler_domain::session::key::Peer;
use ostler_domain::time::Timestamp;
use serde::Deserialize;

use super::mail::{Fields, Mail};
use super::{Email, quote};
use crate::encoding::read_standard;
use crate::error::ReceiveError;
use crate::inbound::{Content, Ignored, Inbound, Received, Writer, text_part};
use crate::mail_thread::Thread;

/// What is brought: a whole mail as base 64, or its fields.
#[derive(Debug, Deserialize)]
struct Form {
    raw: Option<String>,
    #[serde(flatten)]
    fields: serde_json::Map<String, serde_json::Value>,
    /// What the gateway found about the sender: `pass`, `fail` or `none`.
    dmarc: Option<String>,
}

impl Email {
    /// Checks and reads a mail that somebody brought.
    pub(crate) fn receive(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now: Timestamp,
    ) -> Result<Received, ReceiveError> {
        let none = ReceiveError::NotReceiving("set `inbound_secret` to take mail in");
        let verified = self.inbound.as_ref().ok_or(none)?.verify(headers, body, now)?;
        let form: Form = serde_json::from_slice(body)
            .map_err(|error| ReceiveError::BadBody(error.to_string()))?;
        if form.dmarc.as_deref().is_some_and(|found| found.eq_ignore_ascii_case("fail")) {
            return Ok(Received::Ignored(Ignored::Forged));
        }
        self.read(verified.id, mail(form)?)
    }

    fn read(&self, delivery: String, mail: Mail) -> Result<Received, ReceiveError> {
        let ignored = |why| Ok(Received::Ignored(why));
        let from = normal_identifier(&Channel::Email, &mail.from);
        let from = from.filter(|from| from.contains('@'));
        let from = from.ok_or_else(|| ReceiveError::BadBody("its sender has no address".into()))?;
        if Some(&from) == normal_identifier(&Channel::Email, self.from.address.as_ref()).as_ref() {
            return ignored(Ignored::Own);
        }
        if mail.automatic || from.starts_with("mailer-daemon@") {
            return ignored(Ignored::AutoReply);
        }
        let words = text_part(quote::without(&mail.text));
        // A mail may have nothing but its subject.
        let words = words.or_else(|| text_part(&mail.subject).filter(|_| mail.files.is_empty()));
        let parts: Vec<_> = words.into_iter().chain(mail.files).collect();
        if parts.is_empty() {
            return ignored(Ignored::Empty);
        }
        let thread = Thread::after(&mail.subject, mail.references, mail.message_id.as_deref());
        let message = mail.message_id.map(|id| id.trim_matches(['<', '>', ' ']).to_owned());
        Ok(Received::Inbound(Box::new(Inbound {
            // The mail's own id, since a gateway may bring it twice; with its
            // sender, since nobody may use up the id of another's mail.
            id: match message.as_deref() {
                Some(id) if !id.is_empty() => format!("{from} {id}"),
                _ => delivery,
            },
            peer: Peer::Person(from.clone()),
            from: Writer { identifier: from, name: mail.name, locale: None },
            message,
            reply_to: mail.in_reply_to.map(|id| id.trim_matches(['<', '>', ' ']).to_owned()),
            thread: Some(thread),
            content: Content::Message(parts),
        })))
    }
}

fn mail(form: Form) -> Result<Mail, ReceiveError> {
    let bad = |why: &str| ReceiveError::BadBody(why.to_owned());
    match form.raw {
        Some(raw) => {
            let raw = read_standard(&raw).ok_or_else(|| bad("`raw` is not base 64"))?;
            Mail::parse(&raw).ok_or_else(|| bad("`raw` is not a mail with a sender"))
        }
        None => {
            let fields = serde_json::Value::Object(form.fields);
            let fields: Fields = serde_json::from_value(fields)
                .map_err(|error| ReceiveError::BadBody(error.to_string()))?;
            Ok(fields.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Email, Form, mail};
    use crate::error::ReceiveError;
    use crate::http::Limits;
    use crate::inbound::{Content, Ignored, Inbound, InboundPart, Received, Source};
    use crate::reach::Reach;
    use ostler_domain::session::key::Peer;
    use proptest::prelude::{Just, prop, prop_oneof, proptest};
    use serde_json::{Value, json};

    fn receive(form: Value) -> Result<Received, ReceiveError> {
        let settings = r#"{"from": "Bella <ciao@bella.example>", "smtp": {"host": "x"}}"#;
        let email =
            Email::open(Limits::default(), Reach::Public, settings, None, |_| unreachable!())
                .unwrap();
        let form: Form = serde_json::from_value(form).unwrap();
        email.read("delivery".into(), mail(form)?)
    }

    fn inbound(form: Value) -> Inbound {
        match receive(form) {
            Ok(Received::Inbound(inbound)) => *inbound,
            other => panic!("{other:?}"),
        }
    }

    fn raw(text: &str) -> Value {
        json!({"raw": crate::encoding::standard(text.replace('\n', "\r\n").as_bytes())})
    }

    /// A12: whoever writes is known by their address, whatever its case.
    #[test]
    fn a12_a_whole_mail_is_read() {
        let read = inbound(raw(
            "From: =?utf-8?q?Rosa_B=C3=A9?= <Rosa@Example.com>\nTo: ciao@bella.example\n\
             Subject: Re: Pizza\nMessage-ID: <3@example.com>\nIn-Reply-To: <2@bella.example>\n\
             References: <1@example.com> <2@bella.example>\nMIME-Version: 1.0\n\
             Content-Type: multipart/mixed; boundary=b\n\n\
             --b\nContent-Type: text/plain; charset=iso-8859-1\n\
             Content-Transfer-Encoding: quoted-printable\n\n\
             Perch=E9 no?\n\nOn Mon, 1 Jan 2026, Bella wrote:\n> Pizza?\n\n\
             --b\nContent-Type: image/png; name=\"a.png\"\n\
             Content-Transfer-Encoding: base64\n\
             Content-Disposition: attachment; filename=\"a.png\"\n\naGk=\n--b--\n",
        ));
        assert_eq!(read.id, "rosa@example.com 3@example.com");
        assert_eq!(read.message.as_deref(), Some("3@example.com"));
        assert_eq!(read.peer, Peer::Person("rosa@example.com".into()));
        assert_eq!(read.from.name.as_deref(), Some("Rosa Bé"));
        assert_eq!(read.reply_to.as_deref(), Some("2@bella.example"));
        let thread = read.thread.unwrap();
        assert_eq!(thread.answer_subject(), "Re: Pizza");
        assert_eq!(thread.references, ["1@example.com", "2@bella.example", "3@example.com"]);
        let Content::Message(parts) = read.content else { panic!() };
        assert_eq!(parts[0], InboundPart::Text("Perché no?".into()));
        let InboundPart::File(file) = &parts[1] else { panic!("{parts:?}") };
        assert_eq!(file.source, Source::Inline("hi".into()));
        assert_eq!((file.media_type.as_str(), file.name.as_deref()), ("image/png", Some("a.png")));
        assert_eq!(parts.len(), 2);
    }

    #[test]
    fn fields_are_read_as_well() {
        let read = inbound(json!({
            "from": {"email": "Rosa@example.com", "name": "Rosa"},
            "subject": "Pizza", "html": "<p>Ciao <b>tutti</b></p>", "message_id": "<1@x>",
            "attachments": [{"media_type": "text/plain", "name": "a.txt", "content": "aGk="}],
        }));
        let Content::Message(parts) = read.content else { panic!() };
        assert_eq!(parts[0], InboundPart::Text("Ciao tutti".into()));
        assert!(matches!(&parts[1], InboundPart::File(file) if file.size == Some(2)));
        let bare = inbound(json!({"from": {"email": "a@x"}, "subject": "Call me"}));
        assert_eq!(bare.content, Content::Message(vec![InboundPart::Text("Call me".into())]));
        assert_eq!(bare.id, "delivery");
    }

    #[test]
    fn what_must_not_be_answered_is_ignored() {
        let check = |form: Value, why| assert_eq!(receive(form), Ok(Received::Ignored(why)));
        let mail = |header: &str| raw(&format!("From: a@x\n{header}\nSubject: s\n\nhi\n"));
        check(mail("Auto-Submitted: auto-replied"), Ignored::AutoReply);
        check(mail("Precedence: bulk"), Ignored::AutoReply);
        check(mail("Return-Path: <>"), Ignored::AutoReply);
        check(raw("From: MAILER-DAEMON@x\n\nno\n"), Ignored::AutoReply);
        check(raw("From: Ciao@Bella.example\n\nme\n"), Ignored::Own);
        check(json!({"from": {"email": "a@x"}}), Ignored::Empty);
        assert!(matches!(receive(mail("Auto-Submitted: no")), Ok(Received::Inbound(_))));
    }

    #[test]
    fn a_bad_body_says_what_is_wrong() {
        let check = |form: Value, why: &str| match receive(form.clone()) {
            Err(ReceiveError::BadBody(said)) => assert!(said.contains(why), "{said}"),
            other => panic!("{form}: {other:?}"),
        };
        check(json!({"raw": "~~"}), "`raw` is not base 64");
        check(raw("hello"), "`raw` is not a mail");
        check(json!({"text": "x"}), "from");
        check(json!({"from": {"email": "nobody"}}), "its sender has no address");
    }

    #[test]
    fn a_mail_within_a_mail_that_ends_too_early_is_read() {
        let part = "--b\nContent-Type: message/rfc822\n\nContent-Type: message/rfc822\n\n\n--b--\n";
        let head = "From: a@x\nSubject: s\nContent-Type: multipart/mixed; boundary=b\n\n";
        let read = inbound(raw(&format!("{head}{part}")));
        assert_eq!(read.from.identifier, "a@x");
    }

    proptest! {
        /// Whatever a mail is made of, it is read, ignored or refused.
        #[test]
        fn no_mail_is_a_surprise(
            lines in prop::collection::vec(prop_oneof![
                "(From|To|Subject|Message-ID|References|Content-Type|Content-Disposition): \\PC{0,30}",
                Just("From: Rosa <rosa@example.com>".to_owned()),
                Just("Content-Type: multipart/mixed; boundary=b".to_owned()),
                Just("Content-Type: message/rfc822".to_owned()),
                Just("Content-Transfer-Encoding: base64".to_owned()),
                Just("--b".to_owned()),
                Just("--b--".to_owned()),
                Just(String::new()),
                "\\PC{0,20}",
            ], 0..30),
        ) {
            if let Ok(Received::Inbound(read)) = receive(raw(&lines.join("\n"))) {
                assert!(read.from.identifier.contains('@'));
                assert!(!matches!(read.content, Content::Message(parts) if parts.is_empty()));
            }
        }
    }
}
