use std::path::Path;

use ostler_domain::channel::Channel;
use ostler_domain::contact::{Contact, ContactDetails};
use ostler_domain::id::{AgentId, BindingId, BlobId, ContactId, ConversationId, InboxId, OrgId};
use ostler_domain::message::MessagePart;
use ostler_store::{ClaimPolicy, NewBlob, NewInboxEntry, Store};
use ostler_testkit as testkit;
use serde_json::Value;

use crate::demo::DemoInstallation;
use crate::{stderr, stdout};

const ORG: OrgId = OrgId::from_u128(1);
const ROSA: ContactId = ContactId::from_u128(2);
const PICTURE: BlobId = BlobId::from_u128(3);
const BINDING: BindingId = BindingId::from_u128(4);
const GIA: AgentId = AgentId::from_u128(5);

/// Runs a closure with the store of an installation.
fn with_store<T>(url: &str, act: impl AsyncFnOnce(&Store) -> T) -> T {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async { act(&Store::open(url).await.expect("a store")).await })
}

/// An org with an agent that answers text messages.
async fn bella(store: &Store) {
    store.create_org(testkit::org(ORG, "bella")).await.expect("an org");
    testkit::save_agent(&store.org(ORG), testkit::agent(ORG, GIA, "gia")).await;
    testkit::bind_channel(&store.org(ORG), BINDING, Channel::Sms, GIA).await;
}

/// Rosa, who has sent a picture.
async fn rosa(store: &Store) {
    let org = store.org(ORG);
    let contact = Contact {
        id: ROSA,
        name: "Rosa".into(),
        details: ContactDetails { phone: Some("+39 06 1234".into()), email: None },
        locale: None,
        tags: [].into(),
        notes: vec![],
        crm: None,
    };
    org.create_contact(contact).await.expect("a contact");
    let media_type = "image/png".parse().expect("a media type");
    let bytes = b"bytes".to_vec();
    let picture = NewBlob { id: PICTURE, media_type, name: Some("cat.png".into()), bytes };
    let picture = MessagePart::from_attachment(org.put_blob(picture).await.expect("a blob"));
    let message = NewInboxEntry {
        id: InboxId::from_u128(6),
        key: testkit::customer_key(ORG, BINDING, "+39061234"),
        new_conversation: ConversationId::from_u128(7),
        provider_id: "m1".into(),
        payload: serde_json::to_string(&[MessagePart::text("a cat"), picture]).expect("JSON"),
    };
    org.accept_inbound(message, 10).await.expect("accepted");
}

fn database(folder: &Path) -> String {
    let url = format!("sqlite:{}", folder.join("ostler.db").display());
    stdout(&["migrate", "--database", &url]);
    with_store(&url, async |store| {
        bella(store).await;
        rosa(store).await;
    });
    url
}

/// Returns the arguments of a contact command.
fn contact_args<'a>(verb: &'a str, contact: &'a str, org: &'a str, url: &'a str) -> [&'a str; 7] {
    ["contact", verb, contact, "--org", org, "--database", url]
}

#[test]
fn export_writes_everything_about_a_contact_as_one_document() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = database(folder.path());
    let (rosa, bella) = (ROSA.to_string(), ORG.to_string());
    let shown = stdout(&contact_args("export", &rosa, "bella", &url));
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(shown["contact"], rosa);
    let entries = shown["entries"].as_array().expect("a list");
    let kinds: Vec<_> = entries.iter().filter_map(|entry| entry["kind"].as_str()).collect();
    assert_eq!(kinds, ["contact", "conversation", "inbound", "file"]);
    assert_eq!(entries[2]["value"]["payload"][0]["text"], "a cat");
    assert_eq!(entries[3]["value"]["name"], "cat.png");

    let (out, files) = (folder.path().join("rosa.json"), folder.path().join("rosa"));
    let places = ["--out", out.to_str().expect("text"), "--files", files.to_str().expect("text")];
    let said = stdout(&[&contact_args("export", &rosa, &bella, &url)[..], &places].concat());
    assert_eq!(said, "");
    let written = std::fs::read_to_string(&out).expect("a file");
    assert_eq!(serde_json::from_str::<Value>(&written).expect("JSON"), shown);
    assert_eq!(std::fs::read(files.join(PICTURE.to_string())).expect("a file"), b"bytes");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&out).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "nobody else can read it");
    }
}

#[test]
fn a_contact_is_deleted_only_with_yes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = database(folder.path());
    let rosa = ROSA.to_string();
    let command = contact_args("delete", &rosa, "bella", &url);
    let table = "data               count\n\
                 contact            1\n\
                 conversations      1\n\
                 received messages  1\n\
                 files              1\n";
    let warned = format!("{table}\nnothing was deleted; add --yes to delete it for good\n");
    assert_eq!(stdout(&command), warned);
    assert_eq!(stdout(&command), warned, "nothing was");
    let yes = [&command[..], &["--yes"]].concat();
    assert_eq!(stdout(&yes), format!("{table}\ndeleted\n"));
    assert_eq!(stdout(&yes), "nothing is left; it was deleted before\n");
    let json = stdout(&[&yes[..], &["--json"]].concat());
    assert_eq!(json, "{}\n");
    let gone = stderr(&contact_args("export", &rosa, "bella", &url));
    assert_eq!(gone, "error: no such contact here\n");
    let log = with_store(&url, async |store| {
        store.org(ORG).audit_entries(Some(&ROSA.to_string()), None, 10).await.expect("the log")
    });
    // The export of a contact that is gone was refused.
    let actions: Vec<&str> = log.iter().map(|one| one.entry.action.as_str()).collect();
    assert_eq!(actions, ["refused", "contact_deleted"]);
}

#[test]
fn a_contact_is_not_deleted_while_a_conversation_is_being_answered() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = database(folder.path());
    with_store(&url, async |store| {
        let lease = std::time::Duration::from_secs(60);
        let policy =
            ClaimPolicy { lease, max_per_org: 1, max_attempts: 1, max_checkpoint_version: 1 };
        store.claim_conversation(policy).await.expect("claiming works").expect("something waits");
    });
    let rosa = ROSA.to_string();
    let said = stderr(&[&contact_args("delete", &rosa, "bella", &url)[..], &["--yes"]].concat());
    assert!(said.contains("right now; try again in a minute"), "{said}");
}

#[test]
fn unknown_contacts_and_orgs_are_errors() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = database(folder.path());
    let out = folder.path().join("nobody.json");
    let nobody = ContactId::from_u128(9).to_string();
    let export = contact_args("export", &nobody, "bella", &url);
    let path = out.to_str().expect("text");
    assert_eq!(stderr(&[&export[..], &["--out", path]].concat()), "error: no such contact here\n");
    assert!(!out.exists(), "and no file is made");
    let rosa = ROSA.to_string();
    let nowhere = stderr(&contact_args("delete", &rosa, "bela", &url));
    assert_eq!(nowhere, "error: no org `bela`; there are: bella\n");
    let unknown = stderr(&contact_args("delete", "otto", "bella", &url));
    assert!(unknown.contains("no contact or visitor `otto` in this organization"), "{unknown}");
}

/// O25: people are found by name, address, number and identifier, also visitors who are no
/// contacts.
#[test]
fn o25_people_are_found_by_name_or_identifier() {
    let demo = DemoInstallation::new();
    demo.run(&["send", "hello", "--org", "bella", "--contact", "zoe"]);
    let listed = demo.json(&["contact", "ls", "--org", "bella"]);
    let kinds: Vec<_> = listed.as_array().expect("a list").iter().map(|one| &one["kind"]).collect();
    // Rosa and Bruno of the story, and Zoe.
    assert_eq!(kinds, ["contact", "visitor", "visitor"]);
    assert!(listed.as_array().expect("a list").iter().any(|one| one["identifier"] == "zoe"));
    let found = demo.json(&["contact", "ls", "--org", "bella", "--search", "ZO"]);
    assert_eq!(found.as_array().expect("a list").len(), 1);
    for name in ["zoe", "webchat:zoe", "Zo"] {
        let shown = demo.json(&["contact", "show", name, "--org", "bella"]);
        assert_eq!(shown["stored"]["conversation"], 1, "{name}");
    }
    let beginning = demo.error(&["contact", "delete", "zo", "--org", "bella"]);
    assert!(beginning.contains("no contact or visitor `zo`"), "only whole names: {beginning}");
    let exported = demo.run(&["contact", "export", "zoe", "--org", "bella"]);
    assert!(exported.contains("\"hello\""), "{exported}");
    assert!(!exported.contains("Margherita"), "nothing of others");
    let counted = demo.run(&["contact", "delete", "zoe", "--org", "bella"]);
    assert!(counted.contains("nothing was deleted"), "{counted}");
    demo.run(&["contact", "delete", "zoe", "--org", "bella", "--yes"]);
    let gone = demo.error(&["contact", "show", "zoe", "--org", "bella"]);
    assert!(gone.contains("no contact or visitor `zoe`"), "{gone}");
    let left = demo.json(&["contact", "ls", "--org", "bella"]);
    assert_eq!(left.as_array().expect("a list").len(), 2, "{left}");
}

/// O25: a merged contact has the identifiers, conversations and orders of both.
#[test]
fn o25_two_contacts_of_one_person_are_merged() {
    let demo = DemoInstallation::new();
    let folder = tempfile::tempdir().expect("a folder");
    let people = folder.path().join("people.csv");
    std::fs::write(&people, "name,email\nRosa Bianchi,rosa@x.it\n").expect("a file");
    let orders = folder.path().join("orders.csv");
    std::fs::write(&orders, "number,contact,status,placed_at\n7,rosa@x.it,paid,2026-11-01\n")
        .expect("a file");
    for (file, kind) in [(&people, "contacts"), (&orders, "orders")] {
        let file = file.to_str().expect("text");
        demo.run(&["data", "import", file, "--kind", kind, "--org", "bella"]);
    }
    let merge = ["contact", "merge", "rosa@x.it", "Rosa", "--org", "bella"];
    let other = demo.error(&["contact", "merge", "rosa@x.it", "Rosa", "--org", "harbour"]);
    assert!(other.contains("no contact or visitor `"), "not across orgs: {other}");
    let merged = demo.json(&merge);
    let moved = ["identifiers", "conversations", "records"].map(|name| merged[name].as_u64());
    assert_eq!(moved, [Some(1); 3], "with the order that the demo has");
    let shown = demo.json(&["contact", "show", "rosa", "--org", "bella"]);
    assert_eq!((&shown["email"], &shown["name"]), (&"rosa@x.it".into(), &"Rosa Bianchi".into()));
    assert_eq!(shown["stored"]["conversation"], 1);
    let beginning = demo.run(&["contact", "show", "rosa bi", "--org", "bella"]);
    assert!(beginning.starts_with("Rosa Bianchi"), "{beginning}");
    let session = demo.json(&["session", "show", "rosa", "--org", "bella"]);
    assert_eq!(shown["credits"], session["session"]["spent"]);
    let cost = format!("{} credits for the answers", shown["credits"]);
    assert!(beginning.contains(&cost), "{cost} in {beginning}");
    let same = demo.error(&["contact", "merge", "rosa", "rosa@x.it", "--org", "bella"]);
    assert!(same.contains("these are the same contact already"), "{same}");
    // The other way round, an order moves with the contact that is merged.
    std::fs::write(&people, "name,phone\nOtto,+49 30 1234\n").expect("a file");
    let file = people.to_str().expect("text");
    demo.run(&["data", "import", file, "--kind", "contacts", "--org", "bella"]);
    let merged = demo.json(&["contact", "merge", "Otto", "rosa", "--org", "bella"]);
    assert_eq!(merged["records"], 2);
    let order = demo.json(&["data", "show", "order", "7", "--org", "bella"]);
    assert_eq!(order["data"]["contact"], merged["id"]);
}
