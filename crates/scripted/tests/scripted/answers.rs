use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use ostler_domain::money::Usd;
use ostler_domain::money::price::ModelPrice;
use ostler_engine::history::{CallId, CallResult, Item, ToolCall};
use ostler_engine::model::{Chunk, Model as _, ModelErrorKind, StopReason, Usage};
use ostler_engine::outcome::ToolOutcome;

use crate::support::{ask, model, request, said};

fn chunks(answer: Vec<Result<Chunk, ostler_engine::model::ModelError>>) -> Vec<Chunk> {
    answer.into_iter().map(|chunk| chunk.expect("a piece")).collect()
}

fn called(id: &str, tool: &str, content: &str) -> [Item; 2] {
    let id = CallId::new(id);
    let call = ToolCall::new(id.clone(), tool, "");
    [
        Item::Assistant { text: String::new(), calls: vec![call], partial: false },
        Item::Results { results: vec![CallResult { call: id, outcome: ToolOutcome::ok(content) }] },
    ]
}

#[tokio::test]
async fn an_answer_is_a_text_its_usage_and_an_end() {
    let model = model("default: Hello!");
    let usage = Usage { input: 3 + 1 + 4, output: 2, cached: 0, written: 0 };
    assert_eq!(
        chunks(ask(&model, &[Item::user("hi")]).await),
        [Chunk::Text("Hello!".into()), Chunk::Usage(usage), Chunk::Done(StopReason::End)]
    );
}

#[tokio::test]
async fn an_answer_is_split_into_chunks() {
    let model = model(
        "default: { text: aßc, call: t, with: { b: 1 }, chunk: 2, stop: max_tokens, usage: { input: 5, output: 6, cached: 4 } }",
    );
    let mut answer = chunks(ask(&model, &[Item::user("hi")]).await);
    let Chunk::Call { id, .. } = &mut answer[2] else { panic!("{answer:?}") };
    assert!(std::mem::take(id).starts_with("call_"));
    let argue = |json: &str| Chunk::Arguments { index: 0, json: json.into() };
    assert_eq!(
        answer,
        [
            Chunk::Text("aß".into()),
            Chunk::Text("c".into()),
            Chunk::Call { index: 0, id: String::new(), name: "t".into() },
            argue("{\""),
            argue("b\""),
            argue(":1"),
            argue("}"),
            Chunk::Usage(Usage { input: 5, output: 6, cached: 4, written: 0 }),
            Chunk::Done(StopReason::MaxTokens),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn waits_are_as_long_as_the_script_says() {
    let model = model("default: { text: abc, delay: 2s, pause: 300ms, chunk: 1 }");
    let began = tokio::time::Instant::now();
    let mut answer = model.answer(request(&model, "", &[Item::user("hi")], &[]));
    let mut times = Vec::new();
    while answer.next().await.is_some() {
        times.push(began.elapsed());
    }
    assert_eq!(times, [2000, 2300, 2600, 2600, 2600].map(Duration::from_millis));
}

#[tokio::test]
async fn rules_match_prompt_model_and_tools() {
    let script = Arc::new(
        ostler_scripted::Script::parse(
            "test.yaml",
            "
rules:
  - { when: { agent: Enzo }, answer: enzo }
  - { when: { model: { is: large } }, answer: large }
  - { when: { offered: [get_order, list_events] }, answer: both }
  - { when: { offered: get_order }, answer: one }
  - { when: { not_offered: send_sms }, answer: neither }
default: nothing
",
        )
        .expect("a script"),
    );
    let new =
        |name: &str| Arc::new(ostler_scripted::ScriptedModel::new(script.clone()).named(name));
    let small = new("small");
    let large = new("large");
    let table: [(_, _, &[&str], _); 6] = [
        (&small, "You are Enzo.", &["get_order"], "enzo"),
        (&large, "You are Gia.", &["get_order"], "large"),
        (&small, "You are Gia.", &["get_order", "list_events"], "both"),
        (&small, "You are Gia.", &["get_order", "send_sms"], "one"),
        (&small, "You are Gia.", &["list_events"], "neither"),
        (&small, "You are Gia.", &["send_sms"], "nothing"),
    ];
    for (model, system, tools, expected) in table {
        let answer = model.answer(request(model, system, &[Item::user("hi")], tools));
        let answer: Vec<_> = answer.collect().await;
        assert_eq!(answer[0], Ok(Chunk::Text(expected.into())), "{system} {tools:?}");
    }
}

#[tokio::test]
async fn a_missing_rule_is_reported() {
    let script = "rules: [{ when: { user: bye }, answer: Bye! }]";
    let history = [Item::user("one"), Item::assistant("1"), Item::user("two")];
    let expected = "No rule of the script matches: turn 2, step 1, and the last message is \"two\". \
                    Add a rule for it, or a `default`.";
    assert_eq!(said(&model(script), &history).await, expected);
    let strict = ask(&model(&format!("strict: true\n{script}")), &history).await;
    let [Err(error)] = &strict[..] else { panic!("{strict:?}") };
    assert_eq!((error.kind, error.message.as_str()), (ModelErrorKind::Status(400), expected));
    assert!(!error.kind.is_retryable());
}

#[tokio::test]
async fn a_template_that_cannot_be_filled_is_reported() {
    let model = model("default: { call: book, with: { people: '{{ user | int }}' } }");
    let answer = ask(&model, &[Item::user("many")]).await;
    let [Err(error)] = &answer[..] else { panic!("{answer:?}") };
    assert_eq!(error.kind, ModelErrorKind::Status(400));
    assert!(error.message.starts_with("A template of the script fails: "), "{}", error.message);
}

/// A new model gives the same answer to the same request, and the calls of a
/// conversation have unique ids.
#[tokio::test]
async fn an_answer_depends_only_on_the_conversation() {
    let script = "
rules:
  - when: { user: go }
    times: 2
    answer: [{ call: one }, { call: two }, done]
default: over
";
    let mut history = Vec::new();
    let mut ids = std::collections::BTreeSet::new();
    let mut texts = Vec::new();
    for _ in 0..3 {
        history.push(Item::user("go"));
        loop {
            let answer = chunks(ask(&model(script), &history).await);
            assert_eq!(answer, chunks(ask(&model(script), &history).await));
            match &answer[0] {
                Chunk::Call { id, name, .. } => {
                    assert!(ids.insert(id.clone()), "{id} twice");
                    history.extend(called(id, name, "ok"));
                }
                Chunk::Text(text) => {
                    texts.push(text.clone());
                    history.push(Item::assistant(text.as_str()));
                    break;
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!((ids.len(), texts), (4, vec!["done".into(), "done".into(), "over".into()]));
}

#[tokio::test]
async fn calls_of_a_truncated_conversation_have_unique_ids() {
    let model = model("rules: [{ when: { user: go }, answer: { call: one } }]");
    let mut history = Vec::new();
    for _ in 0..20 {
        history.push(Item::user("go"));
        let answer = ask(&model, &history).await;
        let Ok(Chunk::Call { id, .. }) = &answer[0] else { panic!("{answer:?}") };
        let is_new = !history.iter().any(|item| {
            matches!(item, Item::Assistant { calls, .. } if calls.iter().any(|call| *call.id.0 == **id))
        });
        assert!(is_new, "{id}");
        history.extend(called(id, "one", "ok"));
        history.drain(..history.len().saturating_sub(6));
    }
}

#[tokio::test]
async fn several_messages_in_a_row_are_one() {
    let model =
        model("rules: [{ when: { user: { is: \"a\\nb\" }, turn: 2, step: 1 }, answer: ok }]");
    let history = [Item::user("x"), Item::assistant("y"), Item::user("a"), Item::user("b")];
    assert_eq!(said(&model, &history).await, "ok");
}

#[tokio::test]
async fn a_price_is_in_dollars_for_a_million_tokens() {
    let price = model("price: { input: 0.15, output: 15 }\ndefault: x").price();
    let expected = ModelPrice::new(Usd::from_micros(150_000), Usd::from_dollars(15));
    assert_eq!(price, expected);
}
