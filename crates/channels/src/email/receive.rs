//! Inbound mail, posted by a mail gateway.

use http::HeaderMap;
use ostler_domain::channel::Channel;
use ostler_domain::contact::{SenderProof, normalize_identifier};
use ostler_domain::session::key::Peer;
use ostler_domain::time::Timestamp;
use serde::Deserialize;

use super::authentication::DmarcResult;
use super::mail::{InboundMail, MailFields};
use super::{Email, quote};
use crate::email_thread::EmailThread;
use crate::encoding::base64_decode;
use crate::error::ReceiveError;
use crate::inbound::{
    IgnoreReason, InboundContent, InboundMessage, InboundPart, ReceiveOutcome, Sender, text_part,
};
use crate::signature::SigningKeys;

/// The body of a request: a whole mail in base 64, or its fields.
#[derive(Debug, Deserialize)]
struct Payload {
    raw: Option<String>,
    #[serde(flatten)]
    fields: serde_json::Map<String, serde_json::Value>,
    /// The gateway's result: `pass`, `fail` or `none`. It comes before a header of the mail.
    dmarc: Option<String>,
}

impl Email {
    /// Checks that a request is signed, and now.
    pub(crate) fn check_headers(
        &self,
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Result<(), ReceiveError> {
        self.inbound_keys()?.check_headers(headers, now)
    }

    fn inbound_keys(&self) -> Result<&SigningKeys, ReceiveError> {
        let disabled = ReceiveError::InboundDisabled("set `inbound_secret` to receive mail");
        self.inbound_keys.as_ref().ok_or(disabled)
    }

    /// Verifies and parses an inbound mail.
    pub(crate) fn receive(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now: Timestamp,
    ) -> Result<ReceiveOutcome, ReceiveError> {
        let verified = self.inbound_keys()?.verify(headers, body, now)?;
        let payload: Payload = serde_json::from_slice(body)
            .map_err(|error| ReceiveError::BadBody(error.to_string()))?;
        self.convert(verified.id, self.parse_mail(payload)?)
    }

    fn convert(
        &self,
        delivery_id: String,
        mail: InboundMail,
    ) -> Result<ReceiveOutcome, ReceiveError> {
        let ignored = |reason| Ok(ReceiveOutcome::Ignored(reason));
        if mail.dmarc == DmarcResult::Fail {
            return ignored(IgnoreReason::Forged);
        }
        let from = normalize_identifier(&Channel::Email, &mail.from);
        let from = from.filter(|from| from.contains('@'));
        let from = from.ok_or_else(|| ReceiveError::BadBody("the sender has no address".into()))?;
        if Some(&from) == normalize_identifier(&Channel::Email, self.from.address.as_ref()).as_ref()
        {
            return ignored(IgnoreReason::OwnMessage);
        }
        if mail.automatic || from.starts_with("mailer-daemon@") {
            return ignored(IgnoreReason::AutoReply);
        }
        let text = text_with_subject(&mail);
        let parts: Vec<_> = text.into_iter().chain(mail.files).collect();
        if parts.is_empty() {
            return ignored(IgnoreReason::Empty);
        }
        // Replies go where the sender wants them. What was proven about the sender says nothing
        // about that address.
        let answer_to = mail.reply_to.and_then(|to| {
            let address = normalize_identifier(&Channel::Email, &to.address)?;
            (address.contains('@') && address != from).then_some((address, to.name))
        });
        let (customer, name, proof) = match answer_to {
            Some((address, name)) => (address, name.or(mail.name), SenderProof::Unproven),
            None => (from.clone(), mail.name, mail.dmarc.proof()),
        };
        let thread =
            EmailThread::with_message(&mail.subject, mail.references, mail.message_id.as_deref());
        let message_id = mail.message_id.map(|id| id.trim_matches(['<', '>', ' ']).to_owned());
        Ok(ReceiveOutcome::Message(Box::new(InboundMessage {
            // The mail's own id, because a gateway may post it twice; with the sender,
            // so that nobody can block the mail of another by using its id.
            id: match message_id.as_deref() {
                Some(id) if !id.is_empty() => format!("{from} {id}"),
                _ => delivery_id,
            },
            peer: Peer::Person(customer.clone()),
            from: Sender { identifier: customer, name, locale: None, proof },
            message_id,
            reply_to: mail.in_reply_to.map(|id| id.trim_matches(['<', '>', ' ']).to_owned()),
            email_thread: Some(thread),
            content: InboundContent::Message(parts),
        })))
    }

    fn parse_mail(&self, payload: Payload) -> Result<InboundMail, ReceiveError> {
        let bad_body = |reason: &str| ReceiveError::BadBody(reason.to_owned());
        let mail = match payload.raw {
            Some(raw) => {
                let raw = base64_decode(&raw).ok_or_else(|| bad_body("`raw` is not base 64"))?;
                InboundMail::parse(&raw, self.authserv_id.as_deref())
                    .ok_or_else(|| bad_body("`raw` is not a mail with a sender"))?
            }
            None => {
                let fields = serde_json::Value::Object(payload.fields);
                let fields: MailFields = serde_json::from_value(fields)
                    .map_err(|error| ReceiveError::BadBody(error.to_string()))?;
                fields.into()
            }
        };
        let dmarc = payload.dmarc.map_or(mail.dmarc, |result| DmarcResult::parse(&result));
        Ok(InboundMail { dmarc, ..mail })
    }
}

/// Returns the text of a mail without quotations. The first mail of a thread begins with the
/// subject, which customers use as a part of the message; a reply repeats that of the thread.
fn text_with_subject(mail: &InboundMail) -> Option<InboundPart> {
    let text = quote::strip_quoted_text(&mail.text);
    let subject = mail.subject.trim();
    let is_first = mail.in_reply_to.is_none() && mail.references.is_empty();
    match (subject, text.as_str()) {
        // A mail may consist of its subject only.
        (subject, "") => text_part(subject).filter(|_| mail.files.is_empty() || is_first),
        ("", text) => text_part(text),
        (subject, text) if is_first => text_part(&format!("Subject: {subject}\n\n{text}")),
        (_, text) => text_part(text),
    }
}

#[cfg(test)]
mod tests {
    use super::{Email, Payload};
    use crate::error::ReceiveError;
    use crate::http::HttpLimits;
    use crate::inbound::{
        FileSource, IgnoreReason, InboundContent, InboundMessage, InboundPart, ReceiveOutcome,
    };
    use crate::network::NetworkAccess;
    use ostler_domain::contact::SenderProof;
    use ostler_domain::session::key::Peer;
    use proptest::prelude::{Just, prop, prop_oneof, proptest};
    use serde_json::{Value, json};

    fn receive(payload: Value) -> Result<ReceiveOutcome, ReceiveError> {
        let settings = r#"{"from": "Bella <ciao@bella.example>", "smtp": {"host": "x"}}"#;
        let email = Email::open(
            HttpLimits::default(),
            NetworkAccess::Public,
            settings,
            None,
            |_| unreachable!(),
        )
        .unwrap();
        let payload: Payload = serde_json::from_value(payload).unwrap();
        email.convert("delivery".into(), email.parse_mail(payload)?)
    }

    fn inbound(payload: Value) -> InboundMessage {
        match receive(payload) {
            Ok(ReceiveOutcome::Message(inbound)) => *inbound,
            other => panic!("{other:?}"),
        }
    }

    fn raw(text: &str) -> Value {
        json!({"raw": crate::encoding::base64_encode(text.replace('\n', "\r\n").as_bytes())})
    }

    #[test]
    fn a12_a_raw_mail_is_parsed_and_its_sender_normalized() {
        let message = inbound(raw(
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
        assert_eq!(message.id, "rosa@example.com 3@example.com");
        assert_eq!(message.message_id.as_deref(), Some("3@example.com"));
        assert_eq!(message.peer, Peer::Person("rosa@example.com".into()));
        assert_eq!(message.from.name.as_deref(), Some("Rosa Bé"));
        assert_eq!(message.reply_to.as_deref(), Some("2@bella.example"));
        let thread = message.email_thread.unwrap();
        assert_eq!(thread.next_subject(), "Re: Pizza");
        assert_eq!(thread.references, ["1@example.com", "2@bella.example", "3@example.com"]);
        let InboundContent::Message(parts) = message.content else { panic!() };
        assert_eq!(parts[0], InboundPart::Text("Perché no?".into()));
        let InboundPart::File(file) = &parts[1] else { panic!("{parts:?}") };
        assert_eq!(file.source, FileSource::Inline("hi".into()));
        assert_eq!((file.media_type.as_str(), file.name.as_deref()), ("image/png", Some("a.png")));
        assert_eq!(parts.len(), 2);
    }

    #[test]
    fn a_mail_as_json_fields_is_parsed() {
        let message = inbound(json!({
            "from": {"email": "Rosa@example.com", "name": "Rosa"},
            "subject": "Pizza", "html": "<p>Ciao <b>tutti</b></p>", "message_id": "<1@x>",
            "attachments": [{"media_type": "text/plain", "name": "a.txt", "content": "aGk="}],
        }));
        let InboundContent::Message(parts) = message.content else { panic!() };
        assert_eq!(parts[0], InboundPart::Text("Subject: Pizza\n\nCiao tutti".into()));
        assert!(matches!(&parts[1], InboundPart::File(file) if file.size == Some(2)));
        let bare = inbound(json!({"from": {"email": "a@x"}, "subject": "Call me"}));
        assert_eq!(
            bare.content,
            InboundContent::Message(vec![InboundPart::Text("Call me".into())])
        );
        assert_eq!(bare.id, "delivery");
    }

    /// The agent reads the subject once: it is a part of the first mail of a thread.
    #[test]
    fn the_subject_comes_with_the_first_mail_of_a_thread() {
        let check = |payload: Value, expected: &str| {
            let InboundContent::Message(parts) = inbound(payload).content else { panic!() };
            assert_eq!(parts[0], InboundPart::Text(expected.into()));
        };
        let from = json!({"email": "a@x"});
        check(
            json!({"from": from, "subject": "Order 7", "text": "late"}),
            "Subject: Order 7\n\nlate",
        );
        check(
            json!({"from": from, "subject": "Re: Order 7", "text": "late", "in_reply_to": "<1@x>"}),
            "late",
        );
        check(json!({"from": from, "subject": "", "text": "late"}), "late");
        check(json!({"from": from, "subject": "Call me"}), "Call me");
        check(
            json!({"from": from, "html": "<table><tr><td>Order</td><td>1234</td></tr></table>"}),
            "Order | 1234",
        );
    }

    /// S08: replies go to `Reply-To`, and the proof of the sender does not cover that address.
    #[test]
    fn s08_replies_go_to_reply_to_which_is_not_proven() {
        let mail = |reply_to: &str| {
            let raw =
                raw(&format!("From: Shop <form@x>\nReply-To: {reply_to}\nSubject: s\n\nhi\n"));
            json!({"raw": raw["raw"], "dmarc": "pass"})
        };
        let other = inbound(mail("Rosa <Rosa@example.com>"));
        assert_eq!(other.peer, Peer::Person("rosa@example.com".into()));
        assert_eq!(other.from.identifier, "rosa@example.com");
        assert_eq!(other.from.name.as_deref(), Some("Rosa"));
        assert_eq!(other.from.proof, SenderProof::Unproven);
        let same = inbound(mail("FORM@x"));
        assert_eq!(
            (same.peer, same.from.proof),
            (Peer::Person("form@x".into()), SenderProof::Proven)
        );
        let fields = inbound(
            json!({"from": {"email": "form@x"}, "reply_to": {"email": "b@x"}, "text": "hi"}),
        );
        assert_eq!(fields.peer, Peer::Person("b@x".into()));
    }

    #[test]
    fn automatic_and_own_mail_is_ignored() {
        let check = |payload: Value, reason| {
            assert_eq!(receive(payload), Ok(ReceiveOutcome::Ignored(reason)));
        };
        let mail = |header: &str| raw(&format!("From: a@x\n{header}\nSubject: s\n\nhi\n"));
        check(mail("Auto-Submitted: auto-replied"), IgnoreReason::AutoReply);
        check(mail("Precedence: bulk"), IgnoreReason::AutoReply);
        check(mail("List-Id: <news.x>"), IgnoreReason::AutoReply);
        check(mail("Return-Path: <>"), IgnoreReason::AutoReply);
        check(raw("From: MAILER-DAEMON@x\n\nno\n"), IgnoreReason::AutoReply);
        check(raw("From: Ciao@Bella.example\n\nme\n"), IgnoreReason::OwnMessage);
        check(json!({"from": {"email": "a@x"}}), IgnoreReason::Empty);
        assert!(matches!(receive(mail("Auto-Submitted: no")), Ok(ReceiveOutcome::Message(_))));
    }

    #[test]
    fn invalid_bodies_are_rejected_with_a_reason() {
        let check = |payload: Value, expected: &str| match receive(payload.clone()) {
            Err(ReceiveError::BadBody(reason)) => assert!(reason.contains(expected), "{reason}"),
            other => panic!("{payload}: {other:?}"),
        };
        check(json!({"raw": "~~"}), "`raw` is not base 64");
        check(raw("hello"), "`raw` is not a mail");
        check(json!({"text": "x"}), "from");
        check(json!({"from": {"email": "nobody"}}), "the sender has no address");
    }

    #[test]
    fn a_truncated_attached_mail_is_parsed() {
        let part = "--b\nContent-Type: message/rfc822\n\nContent-Type: message/rfc822\n\n\n--b--\n";
        let head = "From: a@x\nSubject: s\nContent-Type: multipart/mixed; boundary=b\n\n";
        let message = inbound(raw(&format!("{head}{part}")));
        assert_eq!(message.from.identifier, "a@x");
    }

    /// S04: deep nesting is refused or ignored, and exhausts no stack.
    #[test]
    fn s04_deep_nesting_does_no_harm() {
        let deep = |open: &str, close: &str| {
            let nested = format!("{}{}", open.repeat(100_000), close.repeat(100_000));
            format!(r#"{{"from": {{"email": "a@x"}}, "text": "hi", "more": {nested}}}"#)
        };
        for json in [deep("[", "]"), deep(r#"{"a":"#, "}").replace(":}", ":1}")] {
            assert!(serde_json::from_str::<Payload>(&json).is_err());
        }
        let inner = "Content-Type: message/rfc822\n\n".repeat(5_000);
        let parts = "Content-Type: multipart/mixed; boundary=b\n\n--b\n".repeat(5_000);
        for body in [inner, parts] {
            let _any = receive(raw(&format!("From: a@x\nSubject: s\n{body}\nhi\n")));
        }
    }

    proptest! {
        #[test]
        fn any_mail_is_parsed_ignored_or_rejected(
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
            if let Ok(ReceiveOutcome::Message(message)) = receive(raw(&lines.join("\n"))) {
                assert!(message.from.identifier.contains('@'));
                assert!(!matches!(message.content, InboundContent::Message(parts) if parts.is_empty()));
            }
        }
    }
}
