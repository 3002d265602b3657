//! Suggestions for misspelt names.

/// Formats an error about an unknown name, with the most similar name or all names.
pub fn unknown_name<'a>(
    kind: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let hint = match (closest(name, &known), &known[..]) {
        (Some(close), _) => format!("did you mean `{close}`?"),
        (None, []) => "there is none".to_owned(),
        (None, all) if all.len() > MAX_LISTED => {
            format!("there are: {}, …", all[..MAX_LISTED].join(", "))
        }
        (None, all) => format!("there are: {}", all.join(", ")),
    };
    format!("no {kind} `{name}`; {hint}")
}

/// The most names that an error lists.
const MAX_LISTED: usize = 20;

/// Returns the known name that is most similar to a name, if it is similar enough.
fn closest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let similarity = |known: &str| strsim::jaro_winkler(name, known);
    let best = known.iter().copied().max_by(|a, b| similarity(a).total_cmp(&similarity(b)))?;
    (similarity(best) > 0.85).then_some(best)
}
