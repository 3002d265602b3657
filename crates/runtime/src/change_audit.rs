//! Audit entries of the record changes that agents' tools make, and notices about them.

use ostler_domain::audit::AuditActor;
use ostler_domain::id::{AuditId, NoticeId};
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::refund::{REFUNDS, RefundStatus};
use ostler_store::{NewAuditEntry, NewNotice, OrgStore, RecordChange, StoreError};
use serde_json::{Map, Value, json};

use crate::ids::fresh;
use crate::records::decode;
use crate::records::refund::OrderRefunds;

/// Returns an audit entry for each change, with the fields before and after it. `origin`
/// names the run or the workflow that made the change.
pub(crate) async fn audit_changes(
    store: OrgStore<'_>,
    actor: AuditActor,
    origin: (&str, String),
    changes: &[RecordChange],
) -> Result<Vec<NewAuditEntry>, StoreError> {
    let mut entries = Vec::with_capacity(changes.len());
    for change in changes {
        let Described { verb, kind, subject, before, after } = describe(store, change).await?;
        let (before, after) = differing(before, after);
        let mut data = json!({"before": before, "after": after});
        data[origin.0] = json!(origin.1);
        entries.push(NewAuditEntry {
            id: fresh(AuditId::from_u128),
            actor,
            action: format!("{verb}_{kind}"),
            subject,
            data: data.to_string(),
        });
    }
    Ok(entries)
}

/// Returns the notices to the owner about requested refunds among changes of records. The
/// store drops those that the owner has already.
pub(crate) fn refund_notices(changes: &[RecordChange]) -> Vec<NewNotice> {
    let records = changes.iter().filter_map(|change| match change {
        RecordChange::CreateRecord { kind, id, data }
        | RecordChange::UpdateRecord { kind, id, data, .. }
            if kind == REFUNDS =>
        {
            Some((*id, decode::<OrderRefunds>(REFUNDS, data).ok()?))
        }
        _ => None,
    });
    let notices = records.flat_map(|(order, OrderRefunds { order_number, refunds })| {
        let open = refunds.into_iter().filter(|one| one.status == RefundStatus::Requested);
        open.map(move |refund| NewNotice {
            id: fresh(NoticeId::from_u128),
            kind: NoticeKind::RefundRequested,
            recipient: NoticeRecipient::Owner,
            subject: refund.id.to_string(),
            data: json!({"order": order, "number": order_number, "refund": refund.id,
                "amount": refund.amount.to_string(), "reason": refund.reason,
                "agent": refund.agent, "session": refund.session})
            .to_string(),
        })
    });
    notices.collect()
}

/// What a change does.
struct Described {
    verb: &'static str,
    kind: String,
    subject: String,
    before: Value,
    after: Value,
}

async fn describe(store: OrgStore<'_>, change: &RecordChange) -> Result<Described, StoreError> {
    let parse = |data: &str| serde_json::from_str(data).unwrap_or_default();
    let contact = || "contact".to_owned();
    Ok(match change {
        RecordChange::CreateRecord { kind, id, data } => Described {
            verb: "create",
            kind: kind.clone(),
            subject: id.to_string(),
            before: Value::Null,
            after: parse(data),
        },
        RecordChange::UpdateRecord { kind, id, data, .. } => {
            // A record that the same list creates is not stored yet.
            let before = found(store.record(kind, *id).await)?;
            Described {
                verb: "change",
                kind: kind.clone(),
                subject: id.to_string(),
                before: before.map_or(Value::Null, |record| parse(&record.data)),
                after: parse(data),
            }
        }
        RecordChange::CreateContact(new) => Described {
            verb: "create",
            kind: contact(),
            subject: new.id.to_string(),
            before: Value::Null,
            after: json!(new),
        },
        RecordChange::UpdateContact { contact: new, .. } => {
            let before = found(store.contact(new.id).await)?;
            Described {
                verb: "change",
                kind: contact(),
                subject: new.id.to_string(),
                before: before.map_or(Value::Null, |stored| json!(stored.contact)),
                after: json!(new),
            }
        }
        RecordChange::LinkIdentifier { contact: id, channel, .. } => Described {
            verb: "link",
            kind: contact(),
            subject: id.to_string(),
            before: Value::Null,
            after: json!({"channel": channel}),
        },
        // A deleted person is not kept in the log.
        RecordChange::DeleteContact { id, .. } => Described {
            verb: "delete",
            kind: contact(),
            subject: id.to_string(),
            before: Value::Null,
            after: Value::Null,
        },
    })
}

fn found<T>(read: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match read {
        Err(StoreError::NotFound(_)) => Ok(None),
        other => other.map(Some),
    }
}

/// Leaves only the fields that differ, unless one side does not exist.
fn differing(before: Value, after: Value) -> (Value, Value) {
    let (Value::Object(before), Value::Object(after)) = (&before, &after) else {
        return (before, after);
    };
    let only = |of: &Map<String, Value>, other: &Map<String, Value>| -> Value {
        let differ = of.iter().filter(|(name, value)| other.get(*name) != Some(value));
        Value::Object(differ.map(|(name, value)| (name.clone(), value.clone())).collect())
    };
    (only(before, after), only(after, before))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::differing;

    #[test]
    fn o15_an_entry_has_the_fields_that_differ() {
        let table = [
            (Value::Null, json!({"a": 1}), (Value::Null, json!({"a": 1}))),
            (json!({"a": 1, "b": 2}), json!({"a": 1, "b": 3}), (json!({"b": 2}), json!({"b": 3}))),
            (json!({"a": 1}), json!({"b": 1}), (json!({"a": 1}), json!({"b": 1}))),
        ];
        for (before, after, expected) in table {
            assert_eq!(differing(before, after), expected);
        }
    }
}
