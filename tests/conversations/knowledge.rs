//! What the org knows, and what customers attach.

use std::sync::Arc;

use ostler_domain::id::{BlobId, DocumentId};
use ostler_domain::knowledge::Document;
use ostler_domain::message::Part;
use ostler_engine::history::{Content, Item};
use ostler_models::senses::{Senses, Within};
use ostler_runtime::parts::Settings;
use ostler_runtime::talk::run::RunOutcome;
use ostler_store::NewBlob;

use crate::database::Database;
use crate::kit::{Seen, Watched, calmed, catalogue_of, scripted, words, world, world_on};
use crate::world::{GIA, World};

const PLAIN: &str = "default: I see.";

async fn document(world: &World, id: u128, title: &str, body: &str, tags: &[&str]) -> DocumentId {
    let id = DocumentId::from_u128(id);
    let document = Document::new(title, body, tags.iter().copied()).unwrap();
    world.org().create_document(id, document).await.unwrap();
    id
}

async fn read(world: &World, who: &str) -> Vec<DocumentId> {
    world.harness(who).await.session_context.knowledge_base_docs
}

/// A13: an agent with tags reads the documents that share one, whatever their
/// case; one without reads all, newest first; a change counts from the next
/// message on.
#[tokio::test]
async fn a13_documents_are_chosen_by_tag() {
    let (world, seen) = world(PLAIN).await;
    let menu = document(&world, 1, "Menu", "Margherita 10.00", &["menu"]).await;
    let hours = document(&world, 2, "Hours", "Open at six.", &["opening", "menu"]).await;
    let staff = document(&world, 3, "Staff", "Luca cooks.", &["internal"]).await;
    world.say("rosa", "hello").await;
    let mut all = read(&world, "rosa").await;
    all.sort();
    assert_eq!(all, [menu, hours, staff]);
    world.change(GIA, |gia| gia.knowledge_tags = [" MENU ".to_owned()].into()).await;
    world.say("rosa", "hello").await;
    let mut tagged = read(&world, "rosa").await;
    tagged.sort();
    assert_eq!(tagged, [menu, hours]);
    let system = seen.last().system;
    assert!(system.contains("Margherita 10.00") && system.contains("Open at six."), "{system}");
    assert!(!system.contains("Luca cooks."), "{system}");
    let stored = world.org().document(menu).await.unwrap();
    let dearer = Document::new("Menu", "Margherita 12.00", ["menu"]).unwrap();
    world.org().update_document(menu, stored.version, dearer).await.unwrap();
    world.say("rosa", "hello").await;
    assert!(seen.last().system.contains("Margherita 12.00"), "{}", seen.last().system);
    assert_eq!(read(&world, "rosa").await, [menu, hours], "the last changed first");
    world.org().delete_document(hours).await.unwrap();
    world.say("rosa", "hello").await;
    assert_eq!(read(&world, "rosa").await, [menu]);
    let step = world.runs("rosa").await.pop().unwrap().steps;
    let note = step.iter().find(|one| one.step == "4").unwrap().note.clone();
    assert_eq!(note.as_deref(), Some("1 documents"));
}

/// A13: at most twenty documents; past the budget those that fit the message.
#[tokio::test]
async fn a13_past_the_budget_the_best_matches_are_read() {
    let (world, seen) = world(PLAIN).await;
    let needle = document(&world, 1, "Parking", "The garage closes at ten.", &[]).await;
    for n in 0..22 {
        document(&world, 100 + n, &format!("Note {n}"), "Short.", &[]).await;
    }
    world.say("rosa", "hello").await;
    assert_eq!(read(&world, "rosa").await.len(), 20);
    let filler = "All about dough and its rest. ".repeat(300);
    for n in 0..10 {
        document(&world, 200 + n, &format!("Dough {n}"), &filler, &[]).await;
    }
    world.say("rosa", "When does the garage close?").await;
    let found = read(&world, "rosa").await;
    assert!(found.contains(&needle) && found.len() <= 20, "{found:?}");
    assert!(seen.last().system.contains("The garage closes at ten."));
    let tokens = seen.last().system.len() / 4;
    assert!(tokens < 14_000, "{tokens}");
}

/// A14: no documents, and documents that cannot be read, are no reason not to
/// answer; the trace says so.
#[tokio::test]
async fn a14_what_cannot_be_read_costs_no_answer() {
    let database = Database::sqlite();
    let (world, _) =
        world_on(database.migrated().await, PLAIN, Vec::new(), Settings::default()).await;
    let note = async || {
        let run = world.runs("rosa").await.pop().unwrap();
        let step = run.steps.into_iter().find(|one| one.step == "4").unwrap();
        (run.outcome, step.note.unwrap())
    };
    assert_eq!(world.say("rosa", "hello").await, ["I see."]);
    assert_eq!(note().await, (RunOutcome::Answered, "0 documents".to_owned()));
    document(&world, 1, "Menu", "Margherita 10.00", &["menu"]).await;
    database.execute("ALTER TABLE documents RENAME TO lost").await;
    assert_eq!(world.say("rosa", "hello").await, ["I see."]);
    let (outcome, note) = note().await;
    assert_eq!(outcome, RunOutcome::Answered);
    assert!(note.starts_with("0 documents: they cannot be read"), "{note}");
    assert!(read(&world, "rosa").await.is_empty());
}

/// A picture, a recording and a PDF reach a model that takes them; another is told
/// in words. A file of text is words for both.
#[tokio::test]
async fn pictures_reach_models_that_take_them_and_words_the_others() {
    let seen = Seen::default();
    let watch = |name: &str| Watched::new(name, scripted(PLAIN), seen.clone());
    let models = catalogue_of(vec![
        ("scripted", Arc::new(watch("sees"))),
        ("blind", Arc::new(Within::new(Arc::new(watch("blind")), Senses::WORDS))),
    ]);
    let store = ostler_store::Store::connect("sqlite::memory:").unwrap();
    store.migrate().await.unwrap();
    let world = calmed(World::with(store, models, Settings::default())).await;
    let attach = async |id: u128, media: &str, name: Option<&str>| {
        let blob = NewBlob {
            id: BlobId::from_u128(id),
            media_type: media.parse().unwrap(),
            name: name.map(Into::into),
            bytes: b"a,b".to_vec(),
        };
        Part::attached(world.org().put_blob(blob).await.unwrap())
    };
    let parts = vec![
        Part::text("What is this?"),
        attach(1, "image/png", None).await,
        attach(2, "audio/ogg", None).await,
        attach(3, "application/pdf", Some("menu.pdf")).await,
        attach(4, "text/csv", Some("orders.csv")).await,
    ];
    world.send(world.key("rosa"), parts.clone(), None).await;
    world.work().await;
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
    world.change(GIA, |gia| gia.models = vec!["blind".into()]).await;
    world.send(world.key("otto"), parts, None).await;
    world.work().await;
    let told = words(seen.last().history.last().unwrap());
    let notes = [
        "[a picture, image/png, which you cannot see]",
        "[a recording, audio/ogg, which you cannot hear]",
        "[a file, menu.pdf, which you cannot read]",
        says,
    ];
    assert_eq!(told, format!("What is this?\n{}", notes.join("\n")));
}
