//! Documents: versioned updates, listing, full-text search.

use std::collections::BTreeSet;

use ostler_domain::id::{DocumentId, OrgId};
use ostler_domain::knowledge::{Document, MAX_BODY_BYTES};
use ostler_store::{DocumentHit, Store, StoreError};

use crate::on_every_backend;
use crate::support::{TestDatabase, next, with_org};

fn document(title: &str, body: &str, tags: &[&str]) -> Document {
    Document::new(title, body, tags.iter().copied()).unwrap()
}

fn tags(tags: &[&str]) -> BTreeSet<String> {
    tags.iter().map(ToString::to_string).collect()
}

async fn add(store: &Store, org: OrgId, title: &str, body: &str, tags: &[&str]) -> DocumentId {
    let id = DocumentId::from_u128(next());
    store.org(org).create_document(id, document(title, body, tags)).await.unwrap();
    id
}

async fn titles(store: &Store, org: OrgId, question: &str) -> Vec<String> {
    let hits = store.org(org).search_documents(question, &tags(&[]), 50).await.unwrap();
    hits.into_iter().map(|hit| hit.title).collect()
}

on_every_backend!(updating_a_document_with_a_stale_version_conflicts);
async fn updating_a_document_with_a_stale_version_conflicts(store: &Store) {
    let org = with_org(store, 1).await;
    let id = add(store, org, "Menu", "Pizza\nà la carte 🙂 'quoted' %_\\", &["food"]).await;
    let read = store.org(org).document(id).await.unwrap();
    assert_eq!(read.document, document("Menu", "Pizza\nà la carte 🙂 'quoted' %_\\", &["food"]));
    assert_eq!((read.id, read.version), (id, 1));
    assert!(read.created_at <= read.updated_at);
    let twice = store.org(org).create_document(id, document("x", "", &[])).await;
    assert!(matches!(twice, Err(StoreError::Conflict(_))));

    let changed = document("Wines", "Barolo", &["drinks"]);
    store.org(org).update_document(id, 1, changed.clone()).await.unwrap();
    let late = store.org(org).update_document(id, 1, document("Late", "", &[])).await;
    assert!(matches!(late, Err(StoreError::Conflict(_))));
    let now = store.org(org).document(id).await.unwrap();
    assert_eq!((now.version, now.document, now.created_at), (2, changed, read.created_at));
    assert!(titles(store, org, "pizza menu food").await.is_empty());
    assert_eq!(titles(store, org, "barolo").await, ["Wines"]);
    let of = async |tag: &str| store.org(org).documents(&tags(&[tag]), None, 9).await.unwrap();
    assert!(of("food").await.is_empty());
    assert_eq!(of("drinks").await.len(), 1);

    store.org(org).delete_document(id).await.unwrap();
    assert!(titles(store, org, "barolo").await.is_empty());
    assert!(of("drinks").await.is_empty());
    let gone = store.org(org).delete_document(id).await;
    assert!(matches!(gone, Err(StoreError::NotFound("document"))));
    add(store, org, "Largest", &"x y ".repeat(MAX_BODY_BYTES / 4), &[]).await;
    assert_eq!(titles(store, org, "y").await, ["Largest"]);
}

on_every_backend!(concurrent_document_updates_have_one_winner);
async fn concurrent_document_updates_have_one_winner(store: &Store) {
    let org = with_org(store, 1).await;
    let id = add(store, org, "Menu", "word", &["old"]).await;
    let changes = (0..30).map(|n| {
        let store = store.clone();
        tokio::spawn(async move {
            let tag = format!("t{n}");
            let changed = document("Menu", &format!("only{n}"), &[&tag]);
            store.org(org).update_document(id, 1, changed).await
        })
    });
    let mut won = Vec::new();
    for (n, change) in changes.collect::<Vec<_>>().into_iter().enumerate() {
        match change.await.unwrap() {
            Ok(()) => won.push(n),
            Err(error) => assert!(matches!(error, StoreError::Conflict(_)), "{error}"),
        }
    }
    assert_eq!(won.len(), 1);
    for n in 0..30 {
        let expected = usize::from(won == [n]);
        assert_eq!(titles(store, org, &format!("only{n}")).await.len(), expected);
        let tagged = store.org(org).documents(&tags(&[&format!("t{n}")]), None, 9).await.unwrap();
        assert_eq!(tagged.len(), expected);
    }
}

on_every_backend!(
    /// A13: documents that share a tag, or all, last changed first, in pages.
    a13_documents_are_listed_by_tag_newest_first
);
async fn a13_documents_are_listed_by_tag_newest_first(store: &Store) {
    let org = with_org(store, 1).await;
    let mut all = Vec::new();
    for n in 0..23 {
        let tags = [["even", "odd"][n % 2], "all"];
        all.push(add(store, org, &n.to_string(), "body", &tags).await);
    }
    // The oldest document is changed last, so it comes first.
    tokio::time::sleep(std::time::Duration::from_millis(3)).await;
    let renewed = document("0", "renewed", &["even", "all"]);
    store.org(org).update_document(all[0], 1, renewed).await.unwrap();
    let table: [(&[&str], Vec<usize>); 5] = [
        (&[], (1..23).rev().collect()),
        (&["all"], (1..23).rev().collect()),
        (&[" EVEN ", "odd"], (1..23).rev().collect()),
        (&["even"], (2..23).rev().filter(|n| n % 2 == 0).collect()),
        (&["even", "none"], (2..23).rev().filter(|n| n % 2 == 0).collect()),
    ];
    for (wanted, expected) in table {
        let (mut before, mut seen) = (None, Vec::new());
        loop {
            let page = store.org(org).documents(&tags(wanted), before, 5).await.unwrap();
            let Some(last) = page.last() else { break };
            assert!(page.len() <= 5);
            before = Some((last.updated_at, last.id));
            seen.extend(page.into_iter().map(|document| document.title));
        }
        let expected: Vec<String> =
            std::iter::once(0).chain(expected).map(|n| n.to_string()).collect();
        assert_eq!(seen, expected, "{wanted:?}");
    }
    assert!(store.org(org).documents(&tags(&["none"]), None, 5).await.unwrap().is_empty());
    let first = &store.org(org).documents(&tags(&[]), None, 1).await.unwrap()[0];
    assert_eq!((first.size, first.version, &first.tags), (7, 2, &tags(&["all", "even"])));
}

on_every_backend!(
    /// A13: the best full-text matches come first, whatever the search text.
    a13_documents_are_found_by_their_words
);
async fn a13_documents_are_found_by_their_words(store: &Store) {
    let org = with_org(store, 1).await;
    add(store, org, "Opening hours", "We are open from 9 to 18, on Sundays never.", &["info"])
        .await;
    add(store, org, "Menu", "Pizza, pasta and café. Our pizza is the best pizza.", &["food"]).await;
    add(store, org, "Wines", "Goes well with pizza: Barolo, Straßburger, 日本酒.", &["food"]).await;
    add(store, org, "Contact", "Write to o'neill-smith@example.com or call +39 06/1234.", &[])
        .await;
    let table: [(&str, &[&str]); 16] = [
        ("pizza", &["Menu", "Wines"]),
        ("PIZZA!!!", &["Menu", "Wines"]),
        ("When are you open on sundays?", &["Opening hours"]),
        ("hours", &["Opening hours"]),
        ("food", &["Wines", "Menu"]),
        ("cafe", &["Menu"]),
        ("CAFE\u{301}", &["Menu"]),
        ("strassburger", &["Wines"]),
        ("酒", &["Wines"]),
        ("o'neill", &["Contact"]),
        ("1234", &["Contact"]),
        ("pizz", &[]),
        ("barolo OR NOT pizza", &["Wines", "Contact", "Menu"]),
        ("\"pizza barolo\"", &["Wines", "Menu"]),
        ("title:menu* -pasta ^(x) NEAR/3", &["Menu"]),
        ("zebra", &[]),
    ];
    for (question, expected) in table {
        assert_eq!(titles(store, org, question).await, expected, "{question}");
    }
    let shown = store.org(org).search_documents("barolo", &tags(&[]), 9).await.unwrap();
    assert_eq!(shown[0].excerpt, "Goes well with pizza: Barolo, Straßburger, 日本酒.");
    let first = store.org(org).search_documents("pizza", &tags(&[]), 1).await.unwrap();
    assert_eq!(first.len(), 1);
    let tagged = store.org(org).search_documents("pizza open", &tags(&["INFO"]), 9).await.unwrap();
    assert_eq!(tagged.iter().map(|hit| &*hit.title).collect::<Vec<_>>(), ["Opening hours"]);
}

on_every_backend!(no_search_text_is_an_error);
async fn no_search_text_is_an_error(store: &Store) {
    let org = with_org(store, 1).await;
    add(store, org, "Menu", "Pizza", &[]).await;
    let long = [
        "x".repeat(10_000),
        "\"".repeat(10_000),
        (0..10_000).map(|n| format!("w{n} ")).collect(),
        "pizza ".repeat(2000),
    ];
    let short =
        ["", " ", "\0", "'; DROP TABLE documents; --", "🙂", "\u{fffd}", "%", "NEAR(", "AND"];
    for question in short.map(String::from).iter().chain(&long) {
        let found = titles(store, org, question).await.len();
        assert_eq!(found, usize::from(question.contains("pizza")), "{question:.20}");
    }
}

on_every_backend!(
    /// A05: documents of another org are neither found nor changed, and do not
    /// affect the ranking.
    a05_documents_of_another_org_are_not_found
);
async fn a05_documents_of_another_org_are_not_found(store: &Store) {
    let (here, there) = (with_org(store, 1).await, with_org(store, 2).await);
    let id = add(store, here, "Menu", "pizza and wine", &["food"]).await;
    add(store, here, "Wines", "wine and wine", &["food"]).await;
    let ask = async || store.org(here).search_documents("pizza wine", &tags(&[]), 9).await.unwrap();
    let alone = ask().await;
    for n in 0..50 {
        add(store, there, &format!("Theirs {n}"), "pizza pizza secret", &["food"]).await;
    }
    assert_eq!(ask().await, alone);
    assert!(titles(store, here, "secret").await.is_empty());
    assert!(!titles(store, there, "pizza").await.contains(&"Menu".to_owned()));
    assert_eq!(store.org(here).documents(&tags(&["food"]), None, 99).await.unwrap().len(), 2);
    let read = store.org(there).document(id).await.map(|_| ());
    let written = store.org(there).update_document(id, 1, document("Spy", "", &[])).await;
    let deleted = store.org(there).delete_document(id).await;
    for refused in [read, written, deleted] {
        assert!(matches!(refused, Err(StoreError::NotFound("document"))), "{refused:?}");
    }
    assert_eq!(store.org(here).document(id).await.unwrap().document.title(), "Menu");
    let nobody = store.org(OrgId::from_u128(9));
    let lost = nobody.create_document(DocumentId::from_u128(next()), document("x", "", &[])).await;
    assert!(matches!(lost, Err(StoreError::NotFound("organization"))), "{lost:?}");
}

/// A deterministic random number generator.
fn numbers() -> impl FnMut(usize) -> usize {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    }
}

/// Both databases return the same documents in the same order for random
/// searches over a few hundred random documents.
#[tokio::test(flavor = "multi_thread")]
async fn both_databases_return_the_same_search_results() {
    const WORDS: [&str; 24] = [
        "pizza",
        "Öffnungszeiten",
        "the",
        "the",
        "the",
        "a",
        "wine",
        "don't",
        "e-mail",
        "3.14",
        "http://example.com/a?b=c",
        "日本語",
        "привет",
        "STRASSE",
        "straße",
        "naïve",
        "x1y2",
        "under_score",
        "semi;colon",
        "\"quoted\"",
        "\\slash",
        "🙂",
        "O'Brien",
        "10%",
    ];
    let mut answers: Vec<Vec<Vec<DocumentHit>>> = Vec::new();
    for backend in [TestDatabase::sqlite_file(), TestDatabase::postgres().await] {
        let store = backend.migrated().await;
        let org = with_org(&store, 1).await;
        let mut number = numbers();
        let mut text = |most: usize| {
            let count = number(most) + 1;
            let words: Vec<&str> = (0..count).map(|_| WORDS[number(WORDS.len())]).collect();
            words.join(" ")
        };
        for n in 0..400 {
            let made = document(&text(4), &text(40), &[]);
            store.org(org).create_document(DocumentId::from_u128(n), made).await.unwrap();
        }
        let mut answered = Vec::new();
        for _ in 0..60 {
            let question = text(6);
            answered
                .push(store.org(org).search_documents(&question, &tags(&[]), 20).await.unwrap());
        }
        answers.push(answered);
    }
    assert_eq!(answers[0], answers[1]);
    let found = answers[0].iter().filter(|hits| !hits.is_empty()).count();
    assert!(found > 50, "{found}");
}
