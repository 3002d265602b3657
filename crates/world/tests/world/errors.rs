//! O05: errors point at the place and say what is expected.

use ostler_world::Resources;
use ostler_world::rules::check;

use crate::support::{WORLD, known, problems, resources};

#[test]
fn o05_the_sample_is_valid() {
    assert_eq!(problems(WORLD), Vec::<String>::new());
}

/// Replaces a text that occurs in the world and returns what is wrong then.
fn wrong(old: &str, new: &str) -> Vec<String> {
    assert!(WORLD.contains(old), "{old}");
    problems(&WORLD.replacen(old, new, 1))
}

/// O05: unknown keys, wrong types, unknown references, duplicates and broken rules.
#[test]
fn o05_an_error_names_the_place_and_what_is_expected() {
    let table = [
        (
            "plan = \"agency\"",
            "plan = \"agnecy\"",
            "13:8: no value `agnecy`; did you mean `agency`?",
        ),
        ("time_zone =", "time_zome =", "21:1: no key `time_zome`; did you mean `time_zone`?"),
        (
            "retention_days = 90",
            "retention_days = \"90\"",
            "22:18: expected a whole number, not a text",
        ),
        ("retention_days = 90", "retention_days = 0", "22:18: 0 is too small; the least is 1"),
        ("sub_orgs = true", "sub_orgs = 1", "14:12: expected true or false, not a whole number"),
        (
            "\"Europe/Berlin\"",
            "\"Europe/Berln\"",
            "21:13: no time zone `Europe/Berln`; use an IANA name",
        ),
        (
            "parent = \"harbour\"",
            "parent = \"harbor\"",
            "19:10: no org `harbor`; did you mean `harbour`?",
        ),
        (
            "[\"send_bulk_email\"]",
            "[\"send_bulk_mail\"]",
            "23:19: no tool `send_bulk_mail`; did you mean",
        ),
        (
            "angry = \"billing\"",
            "angry = \"biling\"",
            "27:25: no agent `biling`; did you mean `billing`?",
        ),
        (
            "angry = \"billing\"",
            "angri = \"billing\"",
            "27:17: no key `angri`; did you mean `angry`?",
        ),
        (
            "channel = \"bot\"",
            "channel = \"bott\"",
            "30:21: no channel `bott`; did you mean `bot`?",
        ),
        ("custom = true", "custom = false", "44:11: no role `billing`; there are: pm"),
        (
            "\"semi_autonomous\"",
            "\"autonomous\"",
            "37:12: business layer 4 (End-Customer) cannot be autonomous",
        ),
        (
            "slug = \"billing\"",
            "slug = \"support\"",
            "42:8: there are two of `agent nordlicht/support`",
        ),
        ("subtype = \"billing\"\n", "", "40:1: `subtype` is missing: The role: `pm`"),
        ("env:OSTLER_SECRET_X", "123456:AAH-token", "56:10: a secret is referred to by `env:NAME`"),
        (
            "agent = \"support\"",
            "agent = \"suport\"",
            "55:9: no agent `suport`; did you mean `support`?",
        ),
        (
            "service = \"payments\"",
            "service = \"paiments\"",
            "60:11: no service `paiments`; did you mean",
        ),
        ("text = \"Nine to five.\"", "text = \"\"", "65:8: `text` must not be empty"),
        ("owner@nordlicht.example", "owner", "69:9: `owner` is not an e-mail address"),
        ("role = \"owner\"", "role = \"boss\"", "71:8: no value `boss`; there are: "),
        (
            "role = \"owner\"",
            "role = \"platform_admin\"",
            "71:8: this role exists in the platform's",
        ),
        ("platform = true\n", "", "10:8: no org is the platform; exactly one must be"),
        ("sub_orgs = true", "sub_orgs = false", "19:10: the licence of `harbour` does not include"),
        ("max_handoffs = 3", "max_handoffs =", "26:15: "),
        ("orders/{order}", "orders/{ordr}", "78:7: "),
        (
            "name = \"shop_order\"",
            "name = \"get_order\"",
            "75:8: there is a built-in tool `get_order`",
        ),
        ("risk = \"read\"", "risk = \"reed\"", "77:8: no value `reed`; did you mean `read`?"),
        (
            "command = \"stock-mcp\"",
            "comand = \"stock-mcp\"",
            "88:1: no key `comand`; did you mean `command`?",
        ),
        ("slug = \"nordlicht\"", "slug = \"Nord Licht\"", "17:8: `Nord Licht` is not a slug"),
    ];
    let mut different = Vec::new();
    for (old, new, expected) in table {
        let said = wrong(old, new);
        let expected = format!("world.toml:{expected}");
        if !said.iter().any(|one| one.starts_with(&expected)) {
            different.push(format!("{new}: {said:#?}"));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// O05: the offending text is underlined.
#[test]
fn o05_the_offending_text_is_underlined() {
    let said = wrong("plan = \"agency\"", "plan = \"agnecy\"");
    let expected = "world.toml:13:8: no value `agnecy`; did you mean `agency`?\n   |\n13 | plan = \"agnecy\"\n   |        ^^^^^^^^";
    assert_eq!(said, [expected]);
}

/// O05: all errors of a file are reported at once.
#[test]
fn o05_all_errors_are_reported_at_once() {
    let world = WORLD
        .replace("time_zone =", "time_zome =")
        .replace("max_handoffs = 3", "max_handoffs = true")
        .replace("role = \"owner\"", "role = \"boss\"");
    let lines: Vec<String> =
        problems(&world).iter().map(|one| one.split(": ").next().unwrap().to_owned()).collect();
    assert_eq!(lines, ["world.toml:21:1", "world.toml:26:16", "world.toml:71:8"]);
}

/// O06: a literal secret is refused and not repeated.
#[test]
fn o06_a_literal_secret_is_refused_and_not_repeated_in_the_message() {
    let said = wrong("env:OSTLER_SECRET_X", "canary-token-1");
    assert!(said[0].starts_with("world.toml:56:10: a secret is referred to by"), "{said:?}");
    assert!(!said[0].contains("canary"), "{said:?}");
}

/// O06: a token that is written down, wherever one could stand, is refused, and neither it
/// nor its line is repeated.
#[test]
fn o06_written_tokens_are_refused_everywhere_and_never_repeated() {
    let header = "headers = { Authorization = \"Bearer file:shop_token\" }";
    let channel = "secret = \"env:OSTLER_SECRET_X\"";
    let (server, service) = ("command = \"stock-mcp\"", "service = \"payments\"");
    let url = "url = \"https://shop.example/orders/{order}\"";
    let table = [
        (channel, "secret = \"CANARY\""),
        (channel, "secret = \"env:CANARY-1\""),
        (channel, "secret = \"vault:CANARY\""),
        (channel, "secret = [\"CANARY\"]"),
        (channel, "secret = { value = \"CANARY\" }"),
        (channel, "token = \"CANARY\""),
        (channel, "bot_token = \"CANARY\""),
        (channel, "settings = { token = \"CANARY\" }"),
        (channel, "settings = { smtp = { host = \"a\", password = \"CANARY\" } }"),
        (channel, "settings = { inbound_secret = \"whsec_CANARY\" }"),
        (channel, "settings = { base_url = \"sk-CANARY\" }"),
        (channel, "secret = \"CANARY"),
        (service, "service = \"payments\"\nsecret = \"CANARY\""),
        (service, "service = \"payments\"\napi_key = \"CANARY\""),
        (service, "service = \"payments\"\nsettings = { api_key = \"CANARY\" }"),
        (service, "service = \"payments\"\nsettings = { key = \"CANARY\" }"),
        (service, "service = \"payments\"\n[integration.settings.deep]\ncredential = \"CANARY\""),
        (header, "headers = { Authorization = \"Bearer CANARY\" }"),
        (header, "headers = { X-Api-Key = \"CANARY\" }"),
        (header, "headers = { X-Shop = \"sk-CANARY\" }"),
        (header, "headers = { Cookie = \"CANARY\" }"),
        (header, "headers = { Authorization = \"Bearer env:CANARY!\" }"),
        (header, "query = { api_key = \"CANARY\" }"),
        (header, "query = { token = \"CANARY\" }"),
        (header, "body = { password = \"CANARY\" }\nmethod = \"POST\""),
        (url, "url = \"https://user:CANARY@shop.example/{order}\""),
        (url, "url = \"https://shop.example/{order}?token=CANARY\""),
        (server, "command = \"stock-mcp\"\nargs = [\"--token=CANARY\"]"),
        (server, "command = \"stock-mcp\"\nargs = [\"sk-CANARY\"]"),
        (server, "command = \"stock-mcp\"\nenv = { STOCK_TOKEN = \"CANARY\" }"),
        (server, "url = \"https://mcp.example\"\nheaders = { Authorization = \"Basic CANARY\" }"),
        (server, "url = \"https://mcp.example?api_key=CANARY\""),
    ];
    for (number, (old, new)) in table.into_iter().enumerate() {
        let canary = format!("canary{number:02}x{}", 7919 * (number + 1));
        let said = wrong(old, &new.replace("CANARY", &canary));
        assert!(!said.is_empty(), "{new} is accepted");
        assert!(!said.iter().any(|one| one.contains(&canary)), "{new}: {said:?}");
    }
}

/// O05: 200 generated mistakes each give a file, a line, a column and a sentence.
#[test]
fn o05_generated_mistakes_each_have_a_place_and_a_sentence() {
    let mut tried = 0;
    for (number, line) in WORLD.lines().enumerate() {
        let Some((key, value)) = line.split_once(" = ") else { continue };
        // The schema of a tool's arguments is free.
        if key == "required" || key.starts_with("properties.") {
            continue;
        }
        let mistakes = [
            format!("{key}x = {value}"),
            format!("{key} = [[1]]"),
            format!("{key} = 1979-05-27"),
            format!("{key} = {{ nonsense = {{}} }}"),
            format!("{key} ="),
        ];
        for mistake in mistakes {
            let mut lines: Vec<&str> = WORLD.lines().collect();
            lines[number] = &mistake;
            let said = problems(&lines.join("\n"));
            // A date is a text where a text is expected, and a name may be any text.
            if said.is_empty() {
                assert!(mistake.ends_with("1979-05-27"), "accepted: {mistake}");
                continue;
            }
            tried += 1;
            for one in &said {
                let place = one.strip_prefix("world.toml:").unwrap_or_else(|| panic!("{one}"));
                let mut parts = place.splitn(3, ':');
                let numbers: Vec<usize> =
                    parts.by_ref().take(2).map(|part| part.parse().unwrap()).collect();
                assert!(numbers[0] >= 1 && numbers[1] >= 1, "{one}");
                assert!(place.splitn(3, ':').nth(2).unwrap().trim().len() > 8, "{one}");
            }
        }
    }
    assert!(tried > 200, "{tried}");
}

/// O30: a workflow keeps what starts it: it is not removed, and gets no input that nobody gives.
#[test]
fn o30_a_changed_workflow_keeps_what_starts_it() {
    let broken = |change: &dyn Fn(&mut Resources)| -> Vec<String> {
        let before = resources(WORLD);
        let mut after = before.clone();
        change(&mut after);
        let changed: Vec<_> =
            before.keys().filter(|one| before.get(one) != after.get(one)).cloned().collect();
        let found = check(&before, &after, &changed, &known());
        found.into_iter().map(|one| format!("{}: {}", one.address, one.message)).collect()
    };
    let workflow = "workflow nordlicht/remind".parse().unwrap();
    let removed = broken(&|after| drop(after.remove(&workflow)));
    assert_eq!(removed.len(), 1, "{removed:?}");
    assert!(removed[0].starts_with("schedule nordlicht/spring: no workflow `remind`"));
    let input = broken(&|after| {
        let text = WORLD.replace("[\"season\"]", "[\"season\", \"year\"]");
        after.clone_from(&resources(&text));
    });
    assert_eq!(input.len(), 1, "{input:?}");
    assert!(input[0].starts_with("schedule nordlicht/spring:"), "{input:?}");
    let agent = "agent nordlicht/support".parse().unwrap();
    let used = broken(&|after| drop(after.remove(&agent)));
    assert!(used.iter().any(|one| one.starts_with("workflow nordlicht/remind:")), "{used:?}");
}
