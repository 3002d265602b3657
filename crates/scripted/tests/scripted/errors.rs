use ostler_scripted::Script;
use proptest::prelude::{any, proptest};

fn parse_error(script: &str) -> String {
    Script::parse("F", script).expect_err(script).to_string()
}

#[test]
fn an_invalid_script_names_the_position_and_the_remedy() {
    let rule = |rest: &str| format!("rules:\n  - {rest}\n");
    let answer = |rest: &str| rule(&format!("answer: {rest}"));
    let when = |rest: &str| rule(&format!("{{ when: {rest}, answer: x }}"));
    let table = [
        (String::new(), "F:1:1: the script has no answers; it needs `rules` or a `default`"),
        ("rules: []".into(), "F:1:1: the script has no answers; it needs `rules` or a `default`"),
        ("rules: [".into(), "F:1:8: this is not YAML: unclosed bracket '['"),
        ("strict: true\nstrict: true".into(), "F:2:1: duplicate key `strict`"),
        ("ruls: []".into(), "F:1:1: unknown key `ruls`; did you mean `rules`?"),
        ("rules: {}".into(), "F:1:8: a list is expected here"),
        ("default: 5".into(), "F:1:10: a text is expected here; put it in quotes"),
        ("strict: 1\ndefault: x".into(), "F:1:9: `true` or `false` is expected here"),
        ("price: { input: -1 }\ndefault: x".into(), "F:1:17: a price is from 0 to 1000000 dollars"),
        (
            rule("when: { user: x }"),
            "F:2:5: this rule has no answer; write `answer:` and a text, or a `call`",
        ),
        (rule("anwser: x"), "F:2:5: unknown key `anwser`; did you mean `answer`?"),
        (when("{ usr: x }"), "F:2:15: unknown key `usr`; did you mean `user`?"),
        (when("{ user: { regex: '(' } }"), "F:2:30: invalid regular expression: unclosed group"),
        (
            when("{ user: { regex: a, is: b } }"),
            "F:2:21: write one of `contains`, `regex` and `is`",
        ),
        (when("{ user: '' }"), "F:2:21: every text contains an empty one; leave this out"),
        (when("{ user: [] }"), "F:2:21: this list is empty; leave it out"),
        (when("{ turn: 0 }"), "F:2:21: a whole number from 1 on is expected here"),
        (when("{ turn: many }"), "F:2:21: write a number, or `3+` for all from 3 on"),
        (when("{ result: { status: okay } }"), "F:2:33: unknown word `okay`; did you mean `ok`?"),
        (answer("[]"), "F:2:13: this list of answers is empty; write at least one"),
        (answer("{}"), "F:2:13: an answer has a `text`, a `call`, `calls` or a `fail`"),
        (answer("{ txt: x }"), "F:2:15: unknown key `txt`; did you mean `text`?"),
        (answer("'{{ name }}'"), "F:2:13: unknown variable `name`; there are: user, result, step"),
        (answer("{ text: 'a {{ b' }"), "F:2:21: invalid template: unexpected end of input"),
        (
            answer("{ call: x, calls: [] }"),
            "F:2:13: write one `call`, or several in `calls`, but not both",
        ),
        (
            answer("{ text: a, with: {} }"),
            "F:2:30: `with` holds the arguments of `call`; in `calls`, each call has its own",
        ),
        (answer("{ call: x, with: y }"), "F:2:30: a mapping is expected here"),
        (answer("{ calls: [{ with: {} }] }"), "F:2:23: this call has no `tool`"),
        (answer("{ text: x, stop: ended }"), "F:2:30: unknown word `ended`; did you mean `end`?"),
        (
            answer("{ text: x, delay: 5 }"),
            "F:2:31: a time with its unit, like `200ms` or `2s`, is expected here",
        ),
        (answer("{ text: x, delay: 601s }"), "F:2:31: the longest wait is 600 s"),
        (answer("{ text: x, chunk: 0 }"), "F:2:31: a whole number from 1 on is expected here"),
        (
            answer("{ text: x, usage: { input: 1, cached: 2 } }"),
            "F:2:31: `cached` is part of `input` and cannot exceed it",
        ),
        (answer("{ fail: 200 }"), "F:2:21: a failure has a status from 400 to 599"),
        (answer("{ fail: slow }"), "F:2:21: unknown fault `slow`; write a status like `429`"),
        (answer("{ fail: { after: 1 } }"), "F:2:21: `how` is missing; write a status like `429`"),
        (
            answer("{ call: x, with: { a: 1, b: ['{{ usr }}'] } }"),
            "F:2:41: unknown variable `usr`; did you mean `user`?",
        ),
        (answer("[x, { fail: 500 }]"), "F:2:17: a step cannot `fail`: "),
        ("default: [{ fail: 500 }]".into(), "F:1:11: a step cannot `fail`: "),
        (
            rule("{ when: { step: 2 }, answer: [x] }"),
            "F:2:34: a list answers step after step, so its rule has no `step` and no `result`",
        ),
    ];
    let mut unexpected = Vec::new();
    for (script, expected) in table {
        let said = parse_error(&script);
        if !said.starts_with(expected) {
            unexpected.push(format!("{script}\nsaid     {said}\nexpected {expected}"));
        }
    }
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
}

#[test]
fn a_missing_file_names_an_example() {
    let said = Script::load(std::path::Path::new("nowhere.yaml")).expect_err("no file").to_string();
    assert!(said.starts_with("cannot read nowhere.yaml: No such file"), "{said}");
    assert!(said.ends_with("examples/scripts/support.yaml is a script to start from"), "{said}");
}

#[test]
fn yes_and_no_are_texts() {
    Script::parse("F", "rules: [{ when: { user: yes }, answer: no }]").expect("a script");
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_rejected_without_a_panic(text in any::<String>(), hole in "[ -~ß{}%0-9]{0,20}") {
        let _ = Script::parse("F", &text);
        let quoted = serde_json::to_string(&hole).expect("JSON");
        let _ = Script::parse("F", &format!("default: {quoted}"));
        let _ = Script::parse("F", &format!("rules: [{{ when: {{ user: {{ regex: {quoted} }} }}, answer: {quoted} }}]"));
    }
}
