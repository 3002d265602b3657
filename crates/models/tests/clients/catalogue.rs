//! The catalogue: listing, checking and selecting models.

use std::sync::Arc;

use ostler_domain::secret::SecretRef;
use ostler_engine::model::{Chunk, ModelErrorKind};
use ostler_engine::turn::Models as _;
use ostler_models::catalogue::{
    Catalogue, CatalogueError, KeyStatus, Options, Provider, UsageCounts, WireFormat,
};
use ostler_models::cooldown::{CooldownClock, Cooldowns};
use ostler_models::jitter::Jitter;
use ostler_models::metrics::ModelMetrics;
use ostler_models::openai::LimitField;
use ostler_models::price::{PriceList, PriceSource};

use crate::ask::{END, PRICE, ask, http, request, text};
use crate::fake::Fake;
use crate::server::{Reply, Server};

const MISSING: &str = "OSTLER_TEST_THERE_IS_NO_SUCH_KEY";

fn catalogue(providers: Vec<Provider>, default: &str, fallbacks: &[&str]) -> Catalogue {
    Catalogue::new(Options {
        default: Some(default.into()),
        fallbacks: fallbacks.iter().map(|name| (*name).to_owned()).collect(),
        ..options(providers)
    })
}

fn options(providers: Vec<Provider>) -> Options {
    Options {
        http: http(),
        providers,
        prices: PriceList::built_in().unwrap(),
        default: None,
        fallbacks: Vec::new(),
        jitter: Jitter::fixed(500),
        cooldowns: Cooldowns::new(CooldownClock::system()),
        usage: UsageCounts::from_iter([("local/old".to_owned(), 41)]),
        metrics: ModelMetrics::default(),
    }
}

fn local(url: &str) -> Provider {
    let wire = WireFormat::OpenAi(LimitField::MaxTokens);
    Provider { models: vec!["new".into()], ..Provider::new("local", wire, url) }
}

fn locked() -> Provider {
    Provider::new("anthropic", WireFormat::Anthropic, "http://localhost:1")
        .with_key(SecretRef::Env(MISSING.into()))
}

/// M41: models are listed with key status, usage and price; a missing key says how
/// to set it.
#[tokio::test]
async fn m41_models_are_listed_with_their_status() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    std::fs::write(&path, "sk-1").unwrap();
    let open =
        Provider::new("openai", WireFormat::OpenAi(LimitField::MaxTokens), "http://localhost:1")
            .with_key(SecretRef::File(path.to_str().unwrap().into()));
    let catalogue = catalogue(vec![locked(), open, local("http://localhost:1")], "local/new", &[])
        .with("scripted/demo", Arc::new(Fake::new([])));
    let entries = catalogue.entries();
    let of = |name: &str| entries.iter().find(|entry| entry.name == name).cloned();
    let missing = KeyStatus::Missing { how: format!("set {MISSING} to use it") };
    let claude = of("anthropic/claude-sonnet-4").unwrap();
    assert_eq!((&claude.provider[..], &claude.key_status), ("anthropic", &missing));
    assert_eq!(claude.price_source, PriceSource::Listed);
    assert_eq!(of("openai/gpt-4o").unwrap().key_status, KeyStatus::KeyPresent);
    let new = of("local/new").unwrap();
    assert_eq!(
        (new.key_status, new.uses, new.price_source),
        (KeyStatus::NotNeeded, 0, PriceSource::Assumed)
    );
    assert_eq!(of("local/old").unwrap().uses, 41);
    assert_eq!(of("scripted/demo").unwrap().price, PRICE);
    // Not configured, so not listed, although its price is known.
    assert_eq!(of("google/gemini-2.5-pro"), None);

    let claude = "anthropic/claude-sonnet-4".to_owned();
    let how = format!("set {MISSING} to use it");
    let refused = catalogue.check(&claude).unwrap_err();
    assert_eq!(refused, CatalogueError::NoKey { name: claude.clone(), how });
    assert_eq!(refused.to_string(), format!("`{claude}` has no key: set {MISSING} to use it"));
    let unknown = catalogue.check("nobody/model").unwrap_err().to_string();
    assert!(
        unknown.ends_with("with one of these providers: anthropic, local, openai"),
        "{unknown}"
    );
    for name in ["local/anything", "scripted/demo", "openai/gpt-9"] {
        assert_eq!(catalogue.check(name), Ok(()), "{name}");
    }
    assert!(catalogue.price_warning("local/new").is_some());
    assert_eq!(catalogue.price_warning("openai/gpt-4o"), None);
}

/// M41: a name selects its model, and each use is counted.
#[tokio::test]
async fn m41_a_name_selects_its_model_and_counts_the_use() {
    let said =
        "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\n";
    let server = Server::start([Reply::events(said)]).await;
    let catalogue = catalogue(vec![local(&server.url), locked()], "local/new", &[]);
    for (name, wire) in [(None, "new"), (Some("local/old"), "old"), (Some("local/a/b"), "a/b")] {
        let model = catalogue.model(name).unwrap();
        assert_eq!(ask(&*model, request()).await, (vec![text("ok"), END], None));
        assert_eq!(server.seen().last().unwrap().body["model"], wire);
    }
    let uses = catalogue.usage();
    assert_eq!((uses["local/new"], uses["local/old"], uses["local/a/b"]), (1, 42, 1));
    for name in ["nobody/model", "local", "local/", ""] {
        assert!(catalogue.model(Some(name)).is_none(), "{name}");
    }
    let model = catalogue.model(Some("anthropic/claude-sonnet-4")).unwrap();
    let error = ask(&*model, request()).await.1.unwrap();
    assert_eq!(error.kind, ModelErrorKind::NoKey);
    assert_eq!(error.message, format!("set {MISSING} to use it"));
}

/// C04: the configured fallback chain is used.
#[tokio::test]
async fn c04_the_configured_fallbacks_are_asked() {
    let fallbacks = ["anthropic/claude-sonnet-4", "nobody/model", "scripted/demo"];
    let catalogue = catalogue(vec![locked()], "anthropic/claude-sonnet-4", &fallbacks)
        .with("scripted/demo", Arc::new(Fake::new([vec![Ok(END)]])));
    let model = catalogue.model(None).unwrap();
    let (chunks, error) = ask(&*model, request()).await;
    assert_eq!(error, None);
    let [Chunk::Restart(restart), end] = &chunks[..] else { panic!("{chunks:?}") };
    assert_eq!((&restart.failed[..], end), ("anthropic/claude-sonnet-4", &END));
    assert_eq!(restart.model, "scripted/demo");
}

/// O19: an agent can answer if the first of its models is known and any has its key.
#[tokio::test]
async fn o19_an_agent_can_answer_if_its_first_model_is_known_and_any_has_a_key() {
    let providers = || vec![local("http://localhost:1"), locked()];
    let plain = catalogue(providers(), "local/new", &[]);
    let fallback = catalogue(providers(), "local/new", &["local/other"]);
    let none = Catalogue::new(Options { default: None, ..options(providers()) });
    let (open, closed, unknown) = ("local/a", "anthropic/claude-sonnet-4", "nobody/x");
    for (catalogue, names, expected) in [
        (&plain, &[][..], Ok(())),
        (&plain, &[open], Ok(())),
        (&plain, &[closed], Err("has no key")),
        (&plain, &[closed, open], Ok(())),
        (&fallback, &[closed], Ok(())),
        (&plain, &[unknown, open], Err("unknown model")),
        (&plain, &[open, unknown], Ok(())),
        (&none, &[], Err("no model is named")),
    ] {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let found = catalogue.check_chain(&names).map_err(|error| error.to_string());
        match expected {
            Ok(()) => assert_eq!(found, Ok(()), "{names:?}"),
            Err(part) => assert!(found.unwrap_err().contains(part), "{names:?}"),
        }
    }
}
