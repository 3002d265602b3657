//! The cost and the budget of turns.

use ostler_domain::money::Credits;
use ostler_domain::money::caps::{BudgetLimit, TurnBudget};
use ostler_domain::money::ledger::{Charge, Expense};
use ostler_domain::tool::ToolName;
use ostler_engine::driver::TurnProgress;
use ostler_engine::model::Usage;
use ostler_engine::turn::{NewTurn, Turn, TurnEnd};

use crate::support::{AMPLE_BUDGET, TurnSetup, calls, new_turn, story, turn, words};

fn poor(reserved: u64, top_up: u64) -> TurnBudget {
    TurnBudget { reserved: Credits::new(reserved), top_up: Credits::new(top_up), ..AMPLE_BUDGET }
}

fn with(budget: TurnBudget) -> Turn {
    Turn::new(NewTurn { budget, ..new_turn("hi") })
}

/// A17, C02, C22: without credits no model is called.
#[tokio::test]
async fn c02_without_credits_no_model_is_called() {
    let setup = TurnSetup::new([]);
    let mut turn = with(poor(0, 0));
    let end = setup.drive(&mut turn).await;
    let TurnProgress::Ended(TurnEnd::CreditsExhausted(short)) = end else { panic!("{end:?}") };
    assert_eq!(short.limit, BudgetLimit::Org);
    assert!(setup.model.asked().is_empty());
    assert_eq!(turn.account().charges(), []);
}

/// E01: the model calls of a turn are rounded up once, and tools have their prices.
#[tokio::test]
async fn e01_a_turn_is_charged_for_models_and_tools() {
    let setup = TurnSetup::new([
        calls(&[("a", "pay", "{}"), ("b", "note", "{}"), ("c", "look", "{}")]),
        calls(&[("d", "note", r#"{"text": "x"}"#)]),
        words("done"),
    ]);
    let mut turn = turn("hi");
    setup.drive(&mut turn).await;
    let tool = |name, amount| Charge {
        expense: Expense::Tool(ToolName::from_static(name)),
        amount: Credits::new(amount),
    };
    let model = Charge { expense: Expense::Model, amount: Credits::new(1) };
    assert_eq!(turn.account().charges(), [model, tool("note", 2), tool("pay", 2)]);
    assert_eq!(turn.account().usage, Usage { input: 30, output: 15, cached: 0, written: 0 });
    assert_eq!(turn.account().budget.session, Credits::new(10_000 - 5));
}

/// E01: a tool that is priced by units holds what its arguments may cost, and is charged for what
/// it used, one unit at least.
#[tokio::test(start_paused = true)]
async fn e01_a_tool_that_is_priced_by_units_is_charged_for_those_it_used() {
    let setup = TurnSetup::new([
        calls(&[("a", "mail", r#"{"to": ["x", "y", "z"]}"#)]),
        calls(&[("b", "mail", r#"{"to": ["x"]}"#), ("c", "slow_mail", r#"{"limit": 50}"#)]),
        words("done"),
    ]);
    let mut turn = with(poor(20, 500));
    setup.drive(&mut turn).await;
    let mail = |name, amount| Charge {
        expense: Expense::Tool(ToolName::from_static(name)),
        amount: Credits::new(amount),
    };
    let charges = turn.account().charges();
    assert_eq!(charges[1..], [mail("mail", 4 + 2), mail("slow_mail", 2)], "it timed out");
    let added: u64 = setup.host.more.lock().unwrap().iter().map(|more| more.get()).sum();
    assert!(added > 80, "{added} more were reserved, 20 were there and 100 were held at once");
}

/// C07, E01: a call that may cost more than is left for all its units is not run.
#[tokio::test]
async fn c07_a_tool_is_not_run_if_its_units_are_beyond_the_budget() {
    let setup = TurnSetup::new([
        calls(&[("a", "mail", r#"{"limit": 50}"#), ("b", "mail", r#"{"limit": 8}"#)]),
        words("no"),
    ]);
    let mut turn = with(poor(20, 0));
    setup.drive(&mut turn).await;
    let story = story(turn.new_items());
    assert_eq!(story[2], "= insufficient_credits there is not enough credit left for this.");
    assert_eq!(story[3], "= ok 0 sent");
    let setup = TurnSetup::new([calls(&[("a", "mail", r#"{"limit": 50}"#)]), words("no")]);
    setup.drive(&mut with(TurnBudget { session: Credits::new(30), ..poor(20, 500) })).await;
    let most = setup.host.more.lock().unwrap().iter().map(|more| more.get()).max();
    assert!(most.unwrap_or_default() < 50, "nothing is reserved for it: {most:?}");
}

/// E01: a call that did not end in time costs one unit, also if it was resumed meanwhile.
#[tokio::test(start_paused = true)]
async fn e01_a_resumed_call_is_not_charged_for_units_it_did_not_use() {
    let call = || calls(&[("a", "slow_mail", r#"{"limit": 50}"#)]);
    let setup = TurnSetup::new([call(), words("done")]);
    let mut running = with(poor(20, 500));
    let driven =
        tokio::time::timeout(std::time::Duration::from_secs(1), setup.drive(&mut running)).await;
    assert!(driven.is_err(), "the call is running: {driven:?}");
    let spent = |turn: &Turn| turn.account().usage_by_agent["self"].credits.get();
    assert_eq!(spent(&running), 1 + 100, "held while it runs");
    let mut resumed = Turn::load(&running.store().unwrap()).unwrap();
    setup.drive(&mut resumed).await;
    assert_eq!(spent(&resumed), 1 + 2);
}

/// C07: a tool that costs more than is left is not run, and the model is told
/// without amounts.
#[tokio::test]
async fn c07_a_tool_beyond_the_budget_is_not_run() {
    let setup = TurnSetup::new([calls(&[("a", "pay", "{}")]), words("no")]);
    let mut turn = with(poor(2, 0));
    setup.drive(&mut turn).await;
    assert_eq!(
        story(turn.new_items())[1],
        "= insufficient_credits there is not enough credit left for this."
    );
    assert!(setup.host.stored.lock().unwrap().is_empty());
}

/// The answer is limited to what is affordable, after a top-up if one is possible.
#[tokio::test]
async fn more_credits_are_reserved_before_an_answer_needs_them() {
    let setup = TurnSetup::new([]);
    setup.drive(&mut with(poor(2, 0))).await;
    let clamped = setup.model.asked()[0].max_tokens;
    assert!(clamped < 4096, "{clamped}");
    assert!(setup.host.more.lock().unwrap().is_empty());
    let setup = TurnSetup::new([]);
    setup.drive(&mut with(poor(2, 50))).await;
    assert_eq!(setup.model.asked()[0].max_tokens, 4096);
    assert_eq!(setup.host.more.lock().unwrap().len(), 1);
}

/// If a top-up fails, the turn continues with what it has.
#[tokio::test]
async fn a_refused_top_up_is_not_requested_again() {
    let setup = TurnSetup::new([calls(&[("a", "pay", "{}")]), words("no")]);
    *setup.host.spare.lock().unwrap() = 0;
    let mut turn = with(poor(2, 50));
    let end = setup.drive(&mut turn).await;
    assert!(matches!(end, TurnProgress::Ended(TurnEnd::Answer { .. })), "{end:?}");
    assert_eq!(setup.host.more.lock().unwrap().len(), 1);
    assert!(setup.model.asked()[0].max_tokens < 4096);
}

/// C20: parallel calls never spend the same credit twice.
#[tokio::test]
async fn c20_parallel_calls_share_one_budget() {
    let five: Vec<(String, String)> =
        (0..5).map(|n| (format!("c{n}"), format!(r#"{{"text": "{n}"}}"#))).collect();
    let five: Vec<(&str, &str, &str)> =
        five.iter().map(|(id, json)| (id.as_str(), "pay", json.as_str())).collect();
    let setup = TurnSetup::new([calls(&five), words("done")]);
    let budget = TurnBudget { session: Credits::new(6), ..AMPLE_BUDGET };
    let mut turn = with(budget);
    setup.drive(&mut turn).await;
    let paid = story(turn.new_items()).iter().filter(|line| line.starts_with("= ok")).count();
    assert_eq!(paid, 2, "one credit went to the model");
}
