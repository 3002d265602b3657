use std::sync::Arc;

use ostler_domain::id::EnvelopeId;
use ostler_domain::queue_agent::authority::{AuthorityClaim, AuthorityTier, ClaimedActions};
use ostler_domain::queue_agent::priority::Priority;
use ostler_domain::reference::ReferenceCode;
use ostler_domain::time::{Timestamp, UtcDay};
use proptest::prelude::*;
use serde_json::json;

use super::{Envelope, EnvelopeContext};

fn bare() -> Envelope {
    Envelope::new("work", json!({"n": 1}), ReferenceCode::new(UtcDay::default(), 7))
}

fn full() -> Envelope {
    let mut envelope = bare();
    envelope.message.correlation_id = Some("c-1".into());
    envelope.claims = Arc::new([AuthorityClaim {
        granted_by: "boss".parse().unwrap(),
        granted_to: "worker".parse().unwrap(),
        tier: AuthorityTier::AskMeFirst,
        actions: ClaimedActions::Only(["work".into()].into()),
        granted_at: Timestamp::from_millis(1),
        expires_at: Some(Timestamp::from_millis(9)),
    }]);
    envelope.context = EnvelopeContext {
        parent_message: Some(EnvelopeId::from_u128(5)),
        original_goal: Some("ship it".into()),
        team: Some("crew".parse().unwrap()),
        channel: Some("webchat".into()),
        reply_to: Some("agent.boss".parse().unwrap()),
        from_agent: Some("boss".parse().unwrap()),
        to_agent: Some("worker".parse().unwrap()),
        forwarded_by: Some("tired".parse().unwrap()),
        root_reference: Some(ReferenceCode::new(UtcDay::default(), 1)),
        traceparent: Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".into()),
    };
    envelope.priority = Priority::Critical;
    envelope.sla_deadline = Some(Timestamp::from_millis(99));
    envelope
}

/// X11, X13: with and without claims.
#[test]
fn x11_x13_an_envelope_round_trips() {
    for envelope in [bare(), full()] {
        assert_eq!(Envelope::decode(&envelope.encode().unwrap()).unwrap(), envelope);
    }
}

/// X07, X61: the sender and `reply_to` of the request are not copied.
#[test]
fn x07_x61_a_reply_keeps_the_code_and_names_its_parent() {
    let request = full();
    let reply = request.reply("done", json!(true));
    assert_eq!(reply.reference, request.reference);
    assert_eq!(reply.context.parent_message, Some(request.message.id));
    assert_eq!(reply.message.correlation_id, request.message.correlation_id);
    assert_eq!((&reply.context.reply_to, &reply.context.from_agent), (&None, &None));
    assert_ne!(reply.message.id, request.message.id);
    assert!(reply.claims.is_empty(), "what was granted to the receiver is not the sender's");
}

#[test]
fn unknown_fields_are_skipped_and_unknown_versions_refused() {
    let mut wire = serde_json::to_value(full()).unwrap();
    wire["later"] = json!({"a": [1]});
    wire["context"]["mood"] = json!("good");
    wire["message"]["colour"] = json!(7);
    let read = |wire: &serde_json::Value| Envelope::decode(wire.to_string().as_bytes());
    let same = read(&wire).unwrap();
    assert_eq!(same.context, full().context);
    for version in [json!(0), json!(2), json!("1"), json!(null)] {
        wire["v"] = version.clone();
        assert!(read(&wire).is_err(), "{version}");
    }
}

proptest! {
    /// Reading arbitrary bytes returns an error.
    #[test]
    fn bad_bodies_are_errors(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Envelope::decode(&bytes).is_err());
    }

    /// A body that is truncated or changed in one byte is an error or a
    /// different envelope.
    #[test]
    fn damaged_bodies_are_errors_or_other_envelopes(at in 0usize..400, byte: u8) {
        let mut body = full().encode().unwrap();
        let at = at % body.len();
        let _cut = Envelope::decode(&body[..at]);
        body[at] = byte;
        if let Ok(envelope) = Envelope::decode(&body) {
            prop_assert_eq!(Envelope::decode(&envelope.encode().unwrap()).unwrap(), envelope);
        }
    }
}
