//! Properties of ids: they read back in the same order and as the same kind.

use ostler_domain::id::{
    AgentId, ApprovalId, BindingId, ContactId, DocumentId, EscalationId, MessageId, OrgId,
    ProposalId, ReservationId, RunId, SessionId, UserId,
};
use proptest::prelude::*;

use crate::check;

fn bits() -> impl Strategy<Value = u128> {
    prop_oneof![any::<u128>(), 0..64u128, Just(u128::MAX), (0..128u32).prop_map(|n| 1 << n)]
}

macro_rules! every_kind {
    ($check:ident: $($kind:ident),*) => {$( $check!($kind); )*};
}

/// Every id round-trips through its text and its stored form, sorts in both as its
/// bits do, and does not parse as another kind.
#[test]
fn an_id_of_any_kind_reads_back_and_sorts() {
    let other = prop_oneof![bits().prop_map(Err), (0..128u32).prop_map(|bit| Ok(1u128 << bit))];
    check(400, &(bits(), other), |(one, other)| {
        // Another id, or the same with a single bit changed.
        let other = other.map_or_else(|other| other, |bit| one ^ bit);
        macro_rules! holds {
            ($kind:ident) => {
                let (a, b) = ($kind::from_u128(one), $kind::from_u128(other));
                prop_assert_eq!(a.to_string().parse(), Ok(a));
                prop_assert_eq!(a.as_u128(), one);
                let stored = serde_json::to_value(a).ok();
                let read = stored.and_then(|stored| serde_json::from_value::<$kind>(stored).ok());
                prop_assert_eq!(read, Some(a));
                prop_assert_eq!(a.cmp(&b), one.cmp(&other));
                prop_assert_eq!(a.to_string().cmp(&b.to_string()), one.cmp(&other));
                let text = a.to_string();
                let org = text.parse::<OrgId>().is_ok();
                prop_assert_eq!(org, $kind::PREFIX == OrgId::PREFIX, "{}", text);
            };
        }
        every_kind!(holds: OrgId, UserId, AgentId, ContactId, BindingId, SessionId, MessageId,
            RunId, ApprovalId, EscalationId, ProposalId, ReservationId, DocumentId);
        Ok(())
    });
}

/// No text makes parsing panic, and a parsed text is formatted as it was.
#[test]
fn any_text_is_an_id_or_refused() {
    let texts = prop_oneof!["\\PC{0,40}", "ses_[0-9a-z]{26}", "ses_[0-7][0-9a-zA-Zé]{20,26}"];
    check(500, &texts, |text| {
        if let Ok(id) = text.parse::<SessionId>() {
            prop_assert_eq!(id.to_string(), text);
        }
        Ok(())
    });
}
