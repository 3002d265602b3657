//! Refunds: approved first, exact, and never more than the total of an order.

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::id::{AgentId, RecordId};
use ostler_domain::refund::RefundStatus;
use ostler_engine::outcome::OutcomeStatus;
use ostler_engine::turn::QuestionKind;
use ostler_tools::effects::{self, EffectError, RefundError, StoreEffect};
use ostler_tools::records::{Currency, Entity, Money, Order, Price, Refund, Refunds};
use proptest::prelude::{ProptestConfig, any, prop, proptest};
use serde_json::{Value, json};

use crate::fixture::{Fixture, ORG, OTHER_ORG};

fn order(number: &str, total: Option<(&str, &str)>) -> Order {
    let price = |(amount, currency): (&str, &str)| Price {
        amount: amount.into(),
        currency: currency.into(),
    };
    Order {
        number: number.into(),
        contact: None,
        status: "delivered".into(),
        lines: vec![],
        total: total.map(price),
        placed_at: "2026-11-10T10:00:00Z".parse().unwrap(),
    }
}

fn refund(order: &str, amount: &str) -> Value {
    json!({ "order": order, "amount": amount, "reason": "charged twice" })
}

impl Fixture {
    async fn refunds(&self, order: RecordId) -> Vec<String> {
        let Ok(record) = self.store.org(ORG).record(Refunds::KIND, order).await else {
            return Vec::new();
        };
        let refunds: Refunds = serde_json::from_str(&record.data).unwrap();
        refunds.refunds.iter().map(|refund| refund.amount.to_string()).collect()
    }
}

#[tokio::test]
async fn a_supervised_agent_needs_approval_to_refund() {
    let mut fixture = Fixture::new().await;
    let id = fixture.put(ORG, 1, &order("1234", Some(("24.50", "EUR")))).await;
    let wanted = refund("1234", "10.00");
    let (asked, outcome) =
        fixture.call_as(AutonomyLevel::Supervised, "refund_payment", wanted.clone()).await;
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].call.arguments, wanted);
    assert!(matches!(asked[0].kind, QuestionKind::Approval { .. }));
    assert_eq!(outcome.status, OutcomeStatus::Ok, "{}", outcome.content);
    let answer: Value = serde_json::from_str(&outcome.content).unwrap();
    assert_eq!(
        answer["refund_requested"]["amount"],
        json!({ "amount": "10.00", "currency": "EUR" })
    );
    assert_eq!(answer["refund_requested"]["still_refundable"]["amount"], "14.50");
    // It is stored with the turn, and visible before.
    assert_eq!(fixture.refunds(id).await, [""; 0]);
    for _ in 0..2 {
        let answer = fixture.call_json("get_order", json!({ "order": "1234" })).await;
        let shown = &answer["orders"][0];
        assert_eq!(shown["refund_requested"], json!({ "amount": "10.00", "currency": "EUR" }));
        assert_eq!(shown["refunds"][0]["reason"], "charged twice");
        assert_eq!(shown["refunds"][0]["id"], answer["orders"][0]["refunds"][0]["id"]);
        fixture.commit().await.unwrap();
        assert_eq!(fixture.refunds(id).await, ["10.00 EUR"]);
    }
}

/// O28: a refund that is not made is a refused call.
#[tokio::test]
async fn o28_refunds_never_exceed_the_order() {
    let mut fixture = Fixture::new().await;
    let id = fixture.put(ORG, 1, &order("1234", Some(("24.50", "EUR")))).await;
    let too_much = "Not refunded: the total of order 1234 is 24.50 EUR, and ";
    let check = async |fixture: &mut Fixture, amount: &str, expected: &str| {
        let (status, said) = fixture.call_text("refund_payment", refund("#1234", amount)).await;
        let made = expected.contains("still_refundable");
        let right = if made { OutcomeStatus::Ok } else { OutcomeStatus::Refused };
        assert_eq!(status, right, "{said}");
        assert!(said.contains(expected), "{amount}: {said}");
    };
    check(&mut fixture, "24.51", &format!("{too_much}24.50 EUR of it can still")).await;
    check(&mut fixture, "24.49", "\"still_refundable\":{\"amount\":\"0.01\"").await;
    check(&mut fixture, "0.02", &format!("{too_much}0.01 EUR of it can still")).await;
    check(&mut fixture, "0.00", "Not refunded: the amount of a refund must be more than zero")
        .await;
    fixture.commit().await.unwrap();
    check(&mut fixture, "0.02", &format!("{too_much}0.01 EUR of it can still")).await;
    check(&mut fixture, "0.01", "\"still_refundable\":{\"amount\":\"0.00\"").await;
    fixture.commit().await.unwrap();
    assert_eq!(fixture.refunds(id).await, ["24.49 EUR", "0.01 EUR"]);
}

#[tokio::test]
async fn impossible_refunds_are_explained() {
    let mut fixture = Fixture::new().await;
    fixture.put(ORG, 1, &order("1", Some(("1200", "JPY")))).await;
    fixture.put(ORG, 2, &order("2", None)).await;
    fixture.put(ORG, 3, &order("3", Some(("about 20", "EUR")))).await;
    fixture.put(ORG, 4, &order("4", Some(("20", "EUR")))).await;
    fixture.put(ORG, 5, &order("4", Some(("30", "EUR")))).await;
    let theirs = fixture.put(OTHER_ORG, 6, &order("6", Some(("20", "EUR")))).await;
    let check =
        async |fixture: &mut Fixture, arguments: Value, status: OutcomeStatus, expected: &str| {
            let said = fixture.call_text("refund_payment", arguments).await;
            assert_eq!(said.0, status, "{}", said.1);
            assert!(said.1.contains(expected), "{}", said.1);
        };
    let with_currency = |currency: &str| json!({ "order": "1", "amount": "5", "currency": currency, "reason": "late" });
    let (missing, invalid) = (OutcomeStatus::NotFound, OutcomeStatus::Invalid);
    let refused = OutcomeStatus::Refused;
    check(&mut fixture, refund("9", "1"), missing, "There is no such order here.").await;
    check(&mut fixture, refund("6", "1"), missing, "There is no such order here.").await;
    check(&mut fixture, refund(&theirs.to_string(), "1"), missing, "There is no such order").await;
    check(&mut fixture, refund("1", "1.5"), invalid, "an amount in JPY has at most 0").await;
    check(&mut fixture, with_currency("EUR"), refused, "1200 JPY, which is another currency").await;
    check(&mut fixture, with_currency("€"), invalid, "three letters").await;
    check(&mut fixture, refund("2", "1"), refused, "a person has to refund it").await;
    check(&mut fixture, refund("3", "1"), refused, "a person has to refund it").await;
    check(&mut fixture, refund("4", "1"), invalid, "Several orders may have this number").await;
    for amount in [json!("-1"), json!("1e2"), json!("1,5"), json!(10.0), json!("")] {
        let arguments = json!({ "order": "1", "amount": amount, "reason": "late" });
        check(&mut fixture, arguments, invalid, "amount").await;
    }
    assert_eq!(fixture.pending, []);
    let fifth = RecordId::from_u128(5).to_string();
    check(&mut fixture, refund(&fifth, "30"), OutcomeStatus::Ok, "\"refund_requested\"").await;
}

fn effect(id: u128, coins: u64) -> StoreEffect {
    let euro = Currency::parse("EUR").unwrap();
    let amount = format!("{}.{:02}", coins / 100, coins % 100);
    let refund = Refund {
        id: RecordId::from_u128(id),
        amount: Money::parse(&amount, euro).unwrap(),
        reason: "late".into(),
        at: "2026-11-10T10:00:00Z".parse().unwrap(),
        agent: AgentId::from_u128(1),
        session: None,
        status: RefundStatus::Requested,
        note: None,
    };
    StoreEffect::RefundPayment { order: RecordId::from_u128(1), refund }
}

/// Of two turns whose refunds exceed the total together, one is refused when it is
/// committed. The same refund counts once.
#[tokio::test]
async fn concurrent_refunds_do_not_exceed_the_order() {
    let fixture = Fixture::new().await;
    let id = fixture.put(ORG, 1, &order("1234", Some(("24.50", "EUR")))).await;
    let org = fixture.store.org(ORG);
    let (first, second) = ([effect(7, 2000)], [effect(8, 2000)]);
    let results = tokio::join!(effects::apply(&org, &first), effects::apply(&org, &second));
    let refused = match results {
        (Ok(()), Err(error)) | (Err(error), Ok(())) => error,
        both => panic!("one of them is refused: {both:?}"),
    };
    assert!(refused.is_conflict());
    assert!(matches!(refused, EffectError::Refund(RefundError::ExceedsOrder { .. })));
    let _ = tokio::join!(effects::apply(&org, &first), effects::apply(&org, &second));
    assert_eq!(fixture.refunds(id).await, ["20.00 EUR"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// For any sequence of refunds and repeats, the sum is what was granted and at most
    /// the total.
    #[test]
    fn no_sequence_refunds_too_much(
        total in 0_u64..5000,
        wanted in prop::collection::vec((0_u128..12, 0_u64..3000, any::<bool>()), 1..24),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let fixture = Fixture::new().await;
            let amount = format!("{}.{:02}", total / 100, total % 100);
            let id = fixture.put(ORG, 1, &order("1234", Some((&amount, "EUR")))).await;
            let org = fixture.store.org(ORG);
            let (mut granted, mut sum) = (std::collections::BTreeSet::new(), 0);
            for (id, coins, twice) in wanted {
                let mut effects = vec![effect(100 + id, coins)];
                effects.extend(twice.then(|| effect(100 + id, coins)));
                let known = granted.contains(&id);
                let fits = known || coins > 0 && sum + coins <= total;
                assert_eq!(effects::apply(&org, &effects).await.is_ok(), fits);
                if fits && !known {
                    granted.insert(id);
                    sum += coins;
                }
            }
            let euro = Currency::parse("EUR").unwrap();
            let stored = fixture.refunds(id).await.iter().fold(Money::zero(euro), |sum, text| {
                let amount = text.strip_suffix(" EUR").unwrap();
                sum.checked_add(Money::parse(amount, euro).unwrap()).unwrap()
            });
            assert_eq!(stored.to_string(), format!("{}.{:02} EUR", sum / 100, sum % 100));
            assert!(sum <= total);
        });
    }
}
