//! Refunds: asked first, exact, and never more than an order cost.

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::id::{AgentId, RecordId};
use ostler_engine::outcome::Status;
use ostler_engine::turn::QuestionKind;
use ostler_tools::effects::{self, EffectError, NotRefundable, StoreEffect};
use ostler_tools::records::{Currency, Entity, Money, Order, Price, Refund, Refunds};
use proptest::prelude::{ProptestConfig, any, prop, proptest};
use serde_json::{Value, json};

use crate::world::{ORG, OTHER, World};

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

impl World {
    async fn refunds(&self, order: RecordId) -> Vec<String> {
        let Ok(record) = self.store.org(ORG).record(Refunds::KIND, order).await else {
            return Vec::new();
        };
        let refunds: Refunds = serde_json::from_str(&record.data).unwrap();
        refunds.refunds.iter().map(|refund| refund.amount.to_string()).collect()
    }
}

#[tokio::test]
async fn a_supervised_agent_asks_before_it_refunds() {
    let mut world = World::new().await;
    let id = world.put(ORG, 1, &order("1234", Some(("24.50", "EUR")))).await;
    let wanted = refund("1234", "10.00");
    let (asked, outcome) =
        world.call_as(AutonomyLevel::Supervised, "refund_payment", wanted.clone()).await;
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].call.arguments, wanted);
    assert!(matches!(asked[0].kind, QuestionKind::Approval { .. }));
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.content);
    let told: Value = serde_json::from_str(&outcome.content).unwrap();
    assert_eq!(told["refunded"]["amount"], json!({ "amount": "10.00", "currency": "EUR" }));
    assert_eq!(told["refunded"]["still_refundable"]["amount"], "14.50");
    // It is stored with the turn, and seen before.
    assert_eq!(world.refunds(id).await, [""; 0]);
    for _ in 0..2 {
        let told = world.ok("get_order", json!({ "order": "1234" })).await;
        let shown = &told["orders"][0];
        assert_eq!(shown["refunded"], json!({ "amount": "10.00", "currency": "EUR" }));
        assert_eq!(shown["refunds"][0]["reason"], "charged twice");
        assert_eq!(shown["refunds"][0]["id"], told["orders"][0]["refunds"][0]["id"]);
        world.commit().await.unwrap();
        assert_eq!(world.refunds(id).await, ["10.00 EUR"]);
    }
}

#[tokio::test]
async fn what_was_refunded_never_exceeds_the_order() {
    let mut world = World::new().await;
    let id = world.put(ORG, 1, &order("1234", Some(("24.50", "EUR")))).await;
    let too_much = "Not refunded: order 1234 is 24.50 EUR, and ";
    let check = async |world: &mut World, amount: &str, expected: &str| {
        let (status, said) = world.said("refund_payment", refund("#1234", amount)).await;
        assert_eq!(status, Status::Ok, "{said}");
        assert!(said.contains(expected), "{amount}: {said}");
    };
    check(&mut world, "24.51", &format!("{too_much}24.50 EUR of it can still")).await;
    check(&mut world, "24.49", "\"still_refundable\":{\"amount\":\"0.01\"").await;
    check(&mut world, "0.02", &format!("{too_much}0.01 EUR of it can still")).await;
    check(&mut world, "0.00", "Not refunded: a refund is more than nothing").await;
    world.commit().await.unwrap();
    check(&mut world, "0.02", &format!("{too_much}0.01 EUR of it can still")).await;
    check(&mut world, "0.01", "\"still_refundable\":{\"amount\":\"0.00\"").await;
    world.commit().await.unwrap();
    assert_eq!(world.refunds(id).await, ["24.49 EUR", "0.01 EUR"]);
}

#[tokio::test]
async fn what_cannot_be_refunded_is_explained() {
    let mut world = World::new().await;
    world.put(ORG, 1, &order("1", Some(("1200", "JPY")))).await;
    world.put(ORG, 2, &order("2", None)).await;
    world.put(ORG, 3, &order("3", Some(("about 20", "EUR")))).await;
    world.put(ORG, 4, &order("4", Some(("20", "EUR")))).await;
    world.put(ORG, 5, &order("4", Some(("30", "EUR")))).await;
    let theirs = world.put(OTHER, 6, &order("6", Some(("20", "EUR")))).await;
    let check = async |world: &mut World, arguments: Value, status: Status, expected: &str| {
        let said = world.said("refund_payment", arguments).await;
        assert_eq!(said.0, status, "{}", said.1);
        assert!(said.1.contains(expected), "{}", said.1);
    };
    let with_currency = |currency: &str| json!({ "order": "1", "amount": "5", "currency": currency, "reason": "late" });
    let (ok, invalid) = (Status::Ok, Status::Invalid);
    check(&mut world, refund("9", "1"), ok, "There is no such order here.").await;
    check(&mut world, refund("6", "1"), ok, "There is no such order here.").await;
    check(&mut world, refund(&theirs.to_string(), "1"), ok, "There is no such order").await;
    check(&mut world, refund("1", "1.5"), invalid, "an amount of JPY has at most 0").await;
    check(&mut world, with_currency("EUR"), ok, "1200 JPY, which is another currency").await;
    check(&mut world, with_currency("€"), invalid, "three letters").await;
    check(&mut world, refund("2", "1"), ok, "a person has to do it").await;
    check(&mut world, refund("3", "1"), ok, "a person has to do it").await;
    check(&mut world, refund("4", "1"), invalid, "may stand for several orders").await;
    for amount in [json!("-1"), json!("1e2"), json!("1,5"), json!(10.0), json!("")] {
        let arguments = json!({ "order": "1", "amount": amount, "reason": "late" });
        check(&mut world, arguments, invalid, "amount").await;
    }
    assert_eq!(world.pending, []);
    let fifth = RecordId::from_u128(5).to_string();
    check(&mut world, refund(&fifth, "30"), ok, "\"refunded\"").await;
}

fn effect(id: u128, coins: u64) -> StoreEffect {
    let euro = Currency::read("EUR").unwrap();
    let amount = format!("{}.{:02}", coins / 100, coins % 100);
    let refund = Refund {
        id: RecordId::from_u128(id),
        amount: Money::read(&amount, euro).unwrap(),
        reason: "late".into(),
        at: "2026-11-10T10:00:00Z".parse().unwrap(),
        agent: AgentId::from_u128(1),
    };
    StoreEffect::RefundPayment { order: RecordId::from_u128(1), refund }
}

/// Two turns that would each be right alone: the second is refused when it is
/// committed, and the same refund counts once.
#[tokio::test]
async fn turns_at_the_same_time_see_each_other() {
    let world = World::new().await;
    let id = world.put(ORG, 1, &order("1234", Some(("24.50", "EUR")))).await;
    let org = world.store.org(ORG);
    let (one, other) = ([effect(7, 2000)], [effect(8, 2000)]);
    let (first, second) = tokio::join!(effects::apply(&org, &one), effects::apply(&org, &other));
    let refused = match (first, second) {
        (Ok(()), Err(error)) | (Err(error), Ok(())) => error,
        both => panic!("one of them is refused: {both:?}"),
    };
    assert!(refused.is_conflict());
    assert!(matches!(refused, EffectError::NotRefundable(NotRefundable::TooMuch { .. })));
    let _ = tokio::join!(effects::apply(&org, &one), effects::apply(&org, &other));
    assert_eq!(world.refunds(id).await, ["20.00 EUR"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever is refunded, in whatever pieces, repeats and turns: the sum is
    /// what was granted, and at most the total.
    #[test]
    fn no_sequence_refunds_too_much(
        total in 0_u64..5000,
        wanted in prop::collection::vec((0_u128..12, 0_u64..3000, any::<bool>()), 1..24),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let world = World::new().await;
            let amount = format!("{}.{:02}", total / 100, total % 100);
            let id = world.put(ORG, 1, &order("1234", Some((&amount, "EUR")))).await;
            let org = world.store.org(ORG);
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
            let euro = Currency::read("EUR").unwrap();
            let stored = world.refunds(id).await.iter().fold(Money::zero(euro), |sum, text| {
                let amount = text.strip_suffix(" EUR").unwrap();
                sum.plus(Money::read(amount, euro).unwrap()).unwrap()
            });
            assert_eq!(stored.to_string(), format!("{}.{:02} EUR", sum / 100, sum % 100));
            assert!(sum <= total);
        });
    }
}
