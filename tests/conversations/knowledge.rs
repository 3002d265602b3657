//! Documents of the org and attachments of customers.

use std::sync::Arc;

use ostler_domain::id::{BlobId, DocumentId};
use ostler_domain::knowledge::Document;
use ostler_domain::message::MessagePart;
use ostler_engine::history::{Content, Item};
use ostler_models::modalities::{Modalities, ModalityFilter};
use ostler_runtime::deps::Settings;
use ostler_runtime::records::run::RunOutcome;
use ostler_store::NewBlob;
use ostler_testkit::TestDatabase;

use crate::support::{
    GIA, ModelCalls, RecordingModel, Scenario, catalogue_of, item_text, scenario, scenario_in,
    scripted,
};

const PLAIN: &str = "default: I see.";

async fn document(
    scenario: &Scenario,
    id: u128,
    title: &str,
    body: &str,
    tags: &[&str],
) -> DocumentId {
    let id = DocumentId::from_u128(id);
    let document = Document::new(title, body, tags.iter().copied()).unwrap();
    scenario.org().create_document(id, document).await.unwrap();
    id
}

async fn read(scenario: &Scenario, who: &str) -> Vec<DocumentId> {
    scenario.harness(who).await.session_context.knowledge_base_docs
}

/// A13: an agent with tags gets the documents that share one, in any case; an agent
/// without tags gets all, newest first; a change applies from the next message on.
#[tokio::test]
async fn a13_documents_are_chosen_by_tag() {
    let (scenario, seen) = scenario(PLAIN).await;
    let menu = document(&scenario, 1, "Menu", "Margherita 10.00", &["menu"]).await;
    let hours = document(&scenario, 2, "Hours", "Open at six.", &["opening", "menu"]).await;
    let staff = document(&scenario, 3, "Staff", "Luca cooks.", &["internal"]).await;
    scenario.say("rosa", "hello").await;
    let mut all = read(&scenario, "rosa").await;
    all.sort();
    assert_eq!(all, [menu, hours, staff]);
    scenario.change_agent(GIA, |gia| gia.knowledge_tags = [" MENU ".to_owned()].into()).await;
    scenario.say("rosa", "hello").await;
    let mut tagged = read(&scenario, "rosa").await;
    tagged.sort();
    assert_eq!(tagged, [menu, hours]);
    let system = seen.last().system;
    assert!(system.contains("Margherita 10.00") && system.contains("Open at six."), "{system}");
    assert!(!system.contains("Luca cooks."), "{system}");
    let stored = scenario.org().document(menu).await.unwrap();
    let dearer = Document::new("Menu", "Margherita 12.00", ["menu"]).unwrap();
    scenario.org().update_document(menu, stored.version, dearer).await.unwrap();
    scenario.say("rosa", "hello").await;
    assert!(seen.last().system.contains("Margherita 12.00"), "{}", seen.last().system);
    assert_eq!(read(&scenario, "rosa").await, [menu, hours], "the last changed first");
    scenario.org().delete_document(hours).await.unwrap();
    scenario.say("rosa", "hello").await;
    assert_eq!(read(&scenario, "rosa").await, [menu]);
    let step = scenario.runs("rosa").await.pop().unwrap().steps;
    let note = step.iter().find(|one| one.step == "4").unwrap().note.clone();
    assert_eq!(note.as_deref(), Some("1 documents"));
}

/// A13: at most twenty documents are used; above the budget those that match the message
/// best.
#[tokio::test]
async fn a13_above_the_budget_the_best_matches_are_used() {
    let (scenario, seen) = scenario(PLAIN).await;
    let needle = document(&scenario, 1, "Parking", "The garage closes at ten.", &[]).await;
    for n in 0..22 {
        document(&scenario, 100 + n, &format!("Note {n}"), "Short.", &[]).await;
    }
    scenario.say("rosa", "hello").await;
    assert_eq!(read(&scenario, "rosa").await.len(), 20);
    let filler = "All about dough and its rest. ".repeat(300);
    for n in 0..10 {
        document(&scenario, 200 + n, &format!("Dough {n}"), &filler, &[]).await;
    }
    scenario.say("rosa", "When does the garage close?").await;
    let found = read(&scenario, "rosa").await;
    assert!(found.contains(&needle) && found.len() <= 20, "{found:?}");
    assert!(seen.last().system.contains("The garage closes at ten."));
    let tokens = seen.last().system.len() / 4;
    assert!(tokens < 14_000, "{tokens}");
}

/// A14: without documents, or when they cannot be read, the customer is answered and the
/// trace says so.
#[tokio::test]
async fn a14_missing_or_unreadable_documents_do_not_prevent_an_answer() {
    let database = TestDatabase::sqlite_file();
    let (scenario, _) =
        scenario_in(database.migrated().await, PLAIN, Vec::new(), Settings::default()).await;
    let note = async || {
        let run = scenario.runs("rosa").await.pop().unwrap();
        let step = run.steps.into_iter().find(|one| one.step == "4").unwrap();
        (run.outcome, step.note.unwrap())
    };
    assert_eq!(scenario.say("rosa", "hello").await, ["I see."]);
    assert_eq!(note().await, (RunOutcome::Answered, "0 documents".to_owned()));
    document(&scenario, 1, "Menu", "Margherita 10.00", &["menu"]).await;
    database.execute("ALTER TABLE documents RENAME TO lost").await;
    assert_eq!(scenario.say("rosa", "hello").await, ["I see."]);
    let (outcome, note) = note().await;
    assert_eq!(outcome, RunOutcome::Answered);
    assert!(note.starts_with("0 documents: they cannot be read"), "{note}");
    assert!(read(&scenario, "rosa").await.is_empty());
}

/// A picture, a recording and a PDF are given to a model that accepts them, and described
/// to another; a text file is given as text.
#[tokio::test]
async fn attachments_are_sent_to_models_that_accept_them() {
    let seen = ModelCalls::default();
    let watch = |name: &str| RecordingModel::new(name, scripted(PLAIN), seen.clone());
    let models = catalogue_of(vec![
        ("scripted", Arc::new(watch("sees"))),
        ("blind", Arc::new(ModalityFilter::new(Arc::new(watch("blind")), Modalities::TEXT_ONLY))),
    ]);
    let store = ostler_store::Store::connect("sqlite::memory:").unwrap();
    store.migrate().await.unwrap();
    let scenario = Scenario::with_models(store, models, Settings::default()).seed_lenient().await;
    let attach = async |id: u128, media: &str, name: Option<&str>| {
        let blob = NewBlob {
            id: BlobId::from_u128(id),
            media_type: media.parse().unwrap(),
            name: name.map(Into::into),
            bytes: b"a,b".to_vec(),
        };
        MessagePart::from_attachment(scenario.org().put_blob(blob).await.unwrap())
    };
    let parts = vec![
        MessagePart::text("What is this?"),
        attach(1, "image/png", None).await,
        attach(2, "audio/ogg", None).await,
        attach(3, "application/pdf", Some("menu.pdf")).await,
        attach(4, "text/csv", Some("orders.csv")).await,
    ];
    scenario.send(scenario.key("rosa"), parts.clone(), None).await;
    scenario.work().await;
    let Some(Item::User { content }) = seen.last().history.last().cloned() else {
        panic!("the message comes last");
    };
    let [_, Content::Image(picture), Content::Audio(sound), Content::File(file), words_of_file] =
        &content[..]
    else {
        panic!("{content:?}");
    };
    for media in [picture, sound, file] {
        assert_eq!(media.data.as_deref(), Some("YSxi"), "{media:?}");
    }
    let says = "[the file orders.csv]\na,b\n[the end of the file]";
    assert_eq!(words_of_file, &Content::text(says));
    scenario.change_agent(GIA, |gia| gia.models = vec!["blind".into()]).await;
    scenario.send(scenario.key("otto"), parts, None).await;
    scenario.work().await;
    let told = item_text(seen.last().history.last().unwrap());
    let notes = [
        "[a picture, image/png, which you cannot see]",
        "[a recording, audio/ogg, which you cannot hear]",
        "[a file, menu.pdf, which you cannot read]",
        says,
    ];
    assert_eq!(told, format!("What is this?\n{}", notes.join("\n")));
}
