//! Credits: who pays, which caps apply, and what happens without credits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::id::OrgId;
use ostler_domain::money::Credits;
use ostler_domain::money::ledger::CostBearer;
use ostler_domain::money::pools::PoolKind;
use ostler_domain::money::sharing::SharingPolicy;
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::{Org, OrgPlace};
use ostler_domain::session::status::SessionStatus;
use ostler_engine::outcome::ToolOutcome;
use ostler_runtime::deps::Settings;
use ostler_runtime::operations::Actor;
use ostler_runtime::records::run::RunOutcome;
use ostler_store::{LedgerLineKind, NewGrant, Store};
use ostler_testkit::TestDatabase;

use crate::enforcement::spend_all_credits;
use crate::support::{
    ENZO, GIA, ORG, Scenario, lenient_settings, on_every_database, org, scenario, scenario_in,
    scenario_with, stub_tool,
};

pub(crate) const AGENCY: OrgId = OrgId::from_u128(0xa6);
const NO_CREDITS: &str =
    "I cannot answer right now. My team has been told and will get back to you.";

/// Returns a script in which every answer costs this many credits.
pub(crate) fn script_costing(credits: u64) -> String {
    let tokens = credits * 10;
    format!("price: {{ input: 0, output: 1000 }}\nusage: {{ output: {tokens} }}\ndefault: I see.\n")
}

/// Returns a scenario of an org without monthly credits, with these purchased ones.
pub(crate) async fn scenario_on_free_plan(
    script: &str,
    purchased: u64,
) -> (Scenario, crate::support::ModelCalls) {
    let (scenario, seen) = scenario(script).await;
    change_org(&scenario, |org| org.plan = LicencePlan::Free).await;
    spend_all_credits(&scenario).await;
    if purchased > 0 {
        scenario.grant(purchased).await;
    }
    (scenario, seen)
}

async fn change_org(scenario: &Scenario, change: impl FnOnce(&mut Org)) {
    let mut org = scenario.org().org().await.unwrap();
    change(&mut org);
    scenario.org().update_org(org).await.unwrap();
}

/// Makes the org a client of an agency that has credits.
pub(crate) async fn with_parent(scenario: &Scenario, credits: u64, sharing: SharingPolicy) {
    scenario
        .store
        .create_org(org(AGENCY, "agency", OrgPlace::TopLevel, LicencePlan::Free))
        .await
        .unwrap();
    let (pool, amount) = (PoolKind::Purchased, Credits::new(credits));
    let new = NewGrant { reference: "agency".into(), pool, amount };
    scenario.store.org(AGENCY).grant_credits(new).await.unwrap();
    scenario.store.org(AGENCY).set_sharing(sharing).await.unwrap();
    change_org(scenario, |org| org.place = OrgPlace::SubOrg { parent: AGENCY }).await;
}

/// C20: the number of updates of the credit account does not depend on the number of
/// calls in a turn.
#[tokio::test]
async fn c20_the_ledger_is_updated_as_often_for_five_calls_as_for_one() {
    let script = "
rules:
  - when: { user: once }
    answer:
      - { call: list_forms }
      - Done.
  - when: { user: often }
    answer:
      - calls:
          - { tool: list_forms, with: { page: 1 } }
          - { tool: list_forms, with: { page: 2 } }
          - { tool: list_forms, with: { page: 3 } }
          - { tool: list_forms, with: { page: 4 } }
          - { tool: list_forms, with: { page: 5 } }
      - Done.
default: I see.
";
    let database = TestDatabase::sqlite_file();
    let tool = stub_tool("list_forms", |_| ToolOutcome::ok("none"));
    let store = database.migrated().await;
    let (scenario, _) = scenario_in(store, script, vec![tool], Settings::default()).await;
    database.execute(
        "CREATE TABLE looks (one);
         CREATE TRIGGER look AFTER UPDATE ON credit_accounts BEGIN INSERT INTO looks VALUES (1); END",
    ).await;
    let looks = async |text: &str| {
        let before = database.number("SELECT count(*) FROM looks").await;
        scenario.say("rosa", text).await;
        database.number("SELECT count(*) FROM looks").await - before
    };
    let once = looks("once").await;
    assert_eq!(looks("often").await, once);
    assert_eq!(scenario.runs("rosa").await[1].turns[0].decisions.len(), 5);
}

/// C20, E08: the cap of a session is enforced during a run.
#[tokio::test]
async fn c20_the_session_cap_is_enforced_during_a_run() {
    let script = "
rules:
  - when: { user: book }
    answer:
      - calls:
          - { tool: create_booking, with: { n: 1 } }
          - { tool: create_booking, with: { n: 2 } }
          - { tool: create_booking, with: { n: 3 } }
          - { tool: create_booking, with: { n: 4 } }
      - Done.
default: I see.
";
    let calls = Arc::new(AtomicU32::new(0));
    let count = calls.clone();
    let tool = stub_tool("create_booking", move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        ToolOutcome::ok("done")
    });
    let (scenario, _) = scenario_with(script, vec![tool], Settings::default()).await;
    scenario.change_agent(GIA, |gia| gia.autonomy = AutonomyLevel::Autonomous).await;
    let mut settings = lenient_settings();
    settings.session_budget.cap = Credits::new(5);
    settings.session_budget.warning = Credits::new(3);
    scenario.save_settings(&settings).await;
    scenario.say("rosa", "book").await;
    assert_eq!(calls.load(Ordering::SeqCst), 2, "one for the model, two of 1; the rest is kept");
    assert!(scenario.session("rosa").await.budget.spent <= Credits::new(5));
}

/// C21, E03, E11: the harness shows the budgets of the session, the org and the parent
/// org, and who spends; a top-level org has no parent budget.
#[tokio::test]
async fn c21_e03_e11_the_harness_shows_the_budgets() {
    let (scenario, _) = scenario(&script_costing(4)).await;
    scenario.say("rosa", "hello").await;
    let before = scenario.org().affordable().await.unwrap().unwrap();
    scenario.say("rosa", "again").await;
    let budget = scenario.harness("rosa").await.credit_budget;
    assert_eq!(budget.left.session_budget, Credits::new(46));
    assert_eq!(budget.left.parent_budget, None);
    assert_eq!(budget.budget_owner, GIA);
    let shown = budget.left.org_budget.unwrap() + budget.turn.reserved;
    assert_eq!(shown, before, "what is left, with what this turn holds");

    with_parent(&scenario, 1000, SharingPolicy::default()).await;
    scenario.say("rosa", "once more").await;
    let budget = scenario.harness("rosa").await.credit_budget;
    assert_eq!(budget.left.parent_budget, Some(Credits::new(100)), "the child's share");
    let owners: Vec<_> = scenario
        .org()
        .ledger_lines(None, 50)
        .await
        .unwrap()
        .into_iter()
        .filter_map(|line| match line.kind {
            LedgerLineKind::Expense(entry) => Some(entry.budget_owner),
            LedgerLineKind::Grant(_) => None,
        })
        .collect();
    assert!(!owners.is_empty() && owners.iter().all(|owner| *owner == GIA));
}

/// E02: twelve credits out of five daily, five monthly and five purchased ones leave
/// three purchased ones.
#[tokio::test]
async fn e02_pools_are_drawn_in_order() {
    let (scenario, _) = scenario(&script_costing(12)).await;
    change_org(&scenario, |org| org.plan = LicencePlan::Free).await;
    spend_all_credits(&scenario).await;
    for (pool, n) in [(PoolKind::Daily, 0), (PoolKind::Monthly, 1), (PoolKind::Purchased, 2)] {
        let new = NewGrant { reference: format!("e02-{n}"), pool, amount: Credits::new(5) };
        scenario.org().grant_credits(new).await.unwrap();
    }
    assert_eq!(scenario.say("rosa", "hello").await, ["I see."]);
    let account = scenario.org().credit_account().await.unwrap();
    let left = PoolKind::DRAW_ORDER.map(|pool| account.pool(pool).available.get());
    assert_eq!(left, [0, 0, 3]);
}

/// E04, E05: the parent org pays for a child without credits, up to the child's cap. The
/// expense is attributed to the child, whose own ledger has it for the audit only.
#[tokio::test]
async fn e04_e05_the_parent_pays_for_a_child_up_to_its_cap() {
    let (scenario, seen) = scenario_on_free_plan(&script_costing(6), 0).await;
    let sharing = SharingPolicy { max_per_child: Credits::new(10), ..SharingPolicy::default() };
    with_parent(&scenario, 1000, sharing).await;
    assert_eq!(scenario.say("rosa", "hello").await, ["I see."]);
    assert_eq!(scenario.spent(ORG).await, 6, "for the audit");
    assert_eq!(scenario.spent(AGENCY).await, 6);
    let bearers = async |of: OrgId| -> Vec<CostBearer> {
        scenario.store.org(of).apply_settlements().await.unwrap();
        let lines = scenario.store.org(of).ledger_lines(None, 50).await.unwrap();
        let expenses = lines.into_iter().filter_map(|line| match line.kind {
            LedgerLineKind::Expense(entry) => Some(entry.bearer),
            LedgerLineKind::Grant(_) => None,
        });
        expenses.collect()
    };
    assert_eq!(bearers(AGENCY).await, [CostBearer::ForChild(ORG)]);
    assert_eq!(bearers(ORG).await, [CostBearer::PaidByParent(AGENCY)]);
    // Four credits of the cap are left: the answer is shortened to fit.
    scenario.say("rosa", "again").await;
    assert!(seen.last().max_tokens <= 40, "{}", seen.last().max_tokens);
    assert_eq!(scenario.say("rosa", "and again").await, [NO_CREDITS]);
    assert_eq!(scenario.runs("rosa").await.pop().unwrap().outcome, RunOutcome::CreditsExhausted);
    assert!(scenario.notice_kinds(NoticeRecipient::Owner).await.contains(&NoticeKind::ChildCap));
    let moved: u64 = {
        let account = scenario.store.org(AGENCY).credit_account().await.unwrap();
        account.pool(PoolKind::Purchased).spent.get()
    };
    assert!(moved <= 10, "{moved}");
    assert!(scenario.store.check_ledger().await.unwrap().mismatches.is_empty());
}

/// E06: all children together draw no more than the shared cap.
#[tokio::test]
async fn e06_all_children_share_one_cap() {
    let (scenario, seen) = scenario_on_free_plan(&script_costing(1), 0).await;
    let sharing = SharingPolicy { max_total: Credits::new(2), ..SharingPolicy::default() };
    with_parent(&scenario, 1000, sharing).await;
    let other = OrgId::from_u128(0xbb);
    let place = OrgPlace::SubOrg { parent: AGENCY };
    scenario.store.create_org(org(other, "sister", place, LicencePlan::Free)).await.unwrap();
    let own = scenario.store.org(other).credit_account().await.unwrap().available().unwrap();
    let id = ostler_domain::id::ReservationId::from_u128(0x77);
    let ttl = std::time::Duration::from_secs(3600);
    let amount = own + Credits::new(1);
    let new = ostler_store::NewReservation { id, budget_owner: ENZO, amount, ttl };
    scenario.store.org(other).reserve_credits(new).await.unwrap();
    assert_eq!(scenario.say("rosa", "hello").await, ["I see."], "one of two is left");
    assert_eq!(scenario.say("rosa", "again").await, [NO_CREDITS]);
    assert_eq!(seen.count(), 1);
}

const TEAM: &str = "
price: { input: 0, output: 1000 }
rules:
  - when: { user: invoice, agent: 'You are Gia' }
    answer:
      text: Let me connect you.
      call: tag_in_agent
      with: { targetAgentId: enzo, reason: invoice, contextSummary: 'Rosa paid twice' }
      usage: { output: 30 }
  - when: { agent: 'You are Enzo' }
    answer: { text: 'About {{ user }}: done.', usage: { output: 50 } }
default: I see.
";

/// E09, E10: the spending of each agent is recorded and lowers the shared budget.
#[tokio::test]
async fn e09_e10_agents_of_a_team_draw_on_one_budget() {
    let (scenario, seen) = scenario(TEAM).await;
    scenario.say("rosa", "my invoice").await;
    let team = scenario.session("rosa").await.team.unwrap();
    let spent: Vec<(_, u64)> =
        team.budget.per_agent.iter().map(|(agent, spent)| (*agent, spent.get())).collect();
    assert_eq!(spent, [(GIA, 3), (ENZO, 5)]);
    assert_eq!(team.budget.remaining(), Credits::new(92));
    let harness = scenario.runs("rosa").await.remove(0).turns.remove(1).harness;
    assert_eq!(harness.escalation_state.team_budget_remaining, Some(Credits::new(97)));
    let mut settings = lenient_settings();
    settings.session_budget.cap = Credits::new(1000);
    settings.session_budget.warning = Credits::new(1000);
    settings.team.as_mut().unwrap().budget = Credits::new(8);
    scenario.save_settings(&settings).await;
    scenario.say("otto", "my invoice").await;
    assert_eq!(scenario.session("otto").await.team.unwrap().budget.remaining(), Credits::ZERO);
    let before = seen.count();
    assert_eq!(scenario.say("otto", "and now").await, [NO_CREDITS]);
    assert_eq!(seen.count(), before, "the budget is used up for both");
}

/// E07: without credits in a team session the customer, the owner and both agents are
/// told, each once.
#[tokio::test]
async fn e07_customer_owner_and_agents_are_told_once_without_credits() {
    let (scenario, _) = scenario(TEAM).await;
    scenario.say("rosa", "my invoice").await;
    spend_all_credits(&scenario).await;
    assert_eq!(scenario.say("rosa", "hello?").await, [NO_CREDITS]);
    scenario.say("rosa", "anybody?").await;
    for recipient in
        [NoticeRecipient::Owner, NoticeRecipient::Agent(GIA), NoticeRecipient::Agent(ENZO)]
    {
        let told = scenario.notice_kinds(recipient).await;
        let count = told.iter().filter(|kind| **kind == NoticeKind::CreditsExhausted).count();
        assert_eq!(count, 1, "{recipient:?}: {told:?}");
    }
}

/// E08, C11: from 40 credits on a session is degraded and has only tools that read; at 50
/// no model is asked, the customer is told and the owner is notified.
#[tokio::test]
async fn e08_a_session_only_reads_from_40_credits_and_stops_at_50() {
    let (scenario, seen) = scenario(&script_costing(10)).await;
    for n in 0..4 {
        scenario.say("rosa", &format!("message {n}")).await;
        assert!(scenario.tools("rosa").await.contains(&"create_booking".into()), "{n}");
    }
    scenario.say("rosa", "message 5").await;
    let tools = scenario.tools("rosa").await;
    assert!(!tools.contains(&"create_booking".into()) && tools.contains(&"list_events".into()));
    assert!(scenario.harness("rosa").await.error_state.is_degraded_mode);
    let system = seen.last().system;
    assert!(system.contains("do not work at the moment: create_booking"), "{system}");
    let before = seen.count();
    assert_eq!(scenario.say("rosa", "message 6").await, [NO_CREDITS]);
    assert_eq!(seen.count(), before);
    let notices = scenario.notice_kinds(NoticeRecipient::Owner).await;
    assert_eq!(notices, [NoticeKind::SessionCap, NoticeKind::Escalation]);
    assert_eq!(scenario.session("rosa").await.status, SessionStatus::HandedOff, "O29");
    assert_eq!(scenario.say("otto", "hello").await, ["I see."], "another session is open");
}

/// C22: the maximum length of an answer is limited by the affordable credits.
#[tokio::test]
async fn c22_max_tokens_are_limited_by_the_affordable_credits() {
    let (scenario, seen) = scenario_on_free_plan(&script_costing(3), 7).await;
    scenario.say("rosa", "hello").await;
    assert_eq!(seen.last().max_tokens, 70, "seven credits at ten tokens each");
    scenario.say("rosa", "again").await;
    assert_eq!(seen.last().max_tokens, 40);
}

/// E14, Z05: of a hundred concurrent customers with fifty credits fifty are answered,
/// fifty are told, and the ledger is consistent.
async fn e14_z05_fifty_credits_answer_fifty_of_a_hundred_customers(store: Store) {
    // The model is free, so that an answer costs and reserves the minimum.
    let free = "default: I see.";
    let (scenario, _) = scenario_in(store, free, Vec::new(), Settings::default()).await;
    change_org(&scenario, |org| org.plan = LicencePlan::Free).await;
    spend_all_credits(&scenario).await;
    scenario.grant(50).await;
    scenario.change_agent(GIA, |gia| gia.limits.max_messages_per_day = 10_000).await;
    for who in 0..100 {
        scenario.write(&format!("p{who}"), "hello").await;
    }
    let workers = (0..8).map(|_| {
        let worker = scenario.worker.clone();
        tokio::spawn(async move { while worker.answer_next().await.unwrap() {} })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.unwrap();
    }
    let heard: Vec<String> = scenario.deliver().await.iter().map(crate::support::text_of).collect();
    let count = |text: &str| heard.iter().filter(|one| *one == text).count();
    assert_eq!(heard.len(), 100);
    assert_eq!((count("I see."), count(NO_CREDITS)), (50, 50));
    assert_eq!(scenario.spent(ORG).await, 50);
    assert!(scenario.store.check_ledger().await.unwrap().mismatches.is_empty());
}
on_every_database!(
    /// E14, Z05.
    e14_z05_fifty_credits_answer_fifty_of_a_hundred_customers
);

/// Z05: a thousand concurrent calls spend no more than the budgets of their session and
/// team; the ledger has what was spent, and no reservation is left.
#[tokio::test]
async fn z05_a_thousand_calls_overdraw_no_session_and_no_team() {
    let calls: Vec<String> =
        (0..1000).map(|n| format!("{{ tool: create_booking, with: {{ n: {n} }} }}")).collect();
    let script = format!(
        "rules:\n  - when: {{ user: everything }}\n    answer:\n      - calls: [{}]\n      - Done.\ndefault: I see.\n",
        calls.join(", ")
    );
    for (cap, team) in [(30, None), (50, Some(20))] {
        let ran = Arc::new(AtomicU32::new(0));
        let count = ran.clone();
        let booking = stub_tool("create_booking", move |_| {
            count.fetch_add(1, Ordering::SeqCst);
            ToolOutcome::ok("done")
        });
        let (scenario, _) = scenario_with(&script, vec![booking], Settings::default()).await;
        scenario.change_agent(GIA, |gia| gia.autonomy = AutonomyLevel::Autonomous).await;
        let mut settings = lenient_settings();
        settings.session_budget.cap = Credits::new(cap);
        settings.session_budget.warning = Credits::new(cap);
        settings.team.as_mut().unwrap().budget = Credits::new(team.unwrap_or(100));
        scenario.save_settings(&settings).await;
        scenario.say("rosa", "hello").await;
        if team.is_some() {
            let (id, operations) = (scenario.session("rosa").await.id, scenario.operations());
            operations.as_actor(Actor::Terminal, ORG).assign(id, &["gia", "enzo"]).await.unwrap();
            scenario.work().await;
        }
        let before = scenario.session("rosa").await.budget.spent;
        scenario.say("rosa", "everything at once").await;
        let session = scenario.session("rosa").await;
        let spent = session.budget.spent;
        assert!(spent <= Credits::new(cap), "{spent}");
        assert_eq!(scenario.spent(ORG).await, spent.get());
        // Everything but the reserve for an answer.
        let free = team.map_or(Credits::new(cap).saturating_sub(before), Credits::new);
        let here = spent.saturating_sub(before);
        assert!(here <= free && free.get() - here.get() <= 1, "{here} of {free}");
        assert!(u64::from(ran.load(Ordering::SeqCst)) < here.get(), "the model is paid too");
        if let Some(team) = session.team {
            assert_eq!(team.budget.per_agent, [(GIA, here)].into());
        }
        assert!(scenario.store.check_ledger().await.unwrap().mismatches.is_empty());
        let account = scenario.org().credit_account().await.unwrap();
        let left = scenario.org().affordable().await.unwrap();
        assert_eq!(account.available(), left, "nothing is held");
    }
}
