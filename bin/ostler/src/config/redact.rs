//! Hides passwords in the URLs of databases, brokers and providers.

/// What stands for a password.
const HIDDEN: &str = "…";

/// Returns a URL without its password.
pub(crate) fn redact(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return redact_parameter(url) };
    // A password may contain any character, so the last `@` ends it.
    let Some((user_info, host)) = rest.rsplit_once('@') else {
        return format!("{scheme}://{}", redact_parameter(rest));
    };
    let user = user_info
        .split_once(':')
        .map_or_else(|| user_info.to_owned(), |(user, _)| format!("{user}:{HIDDEN}"));
    format!("{scheme}://{user}@{}", redact_parameter(host))
}

/// Hides the value of every parameter `password`.
fn redact_parameter(text: &str) -> String {
    const NAME: &str = "password=";
    let Some(start) = text.to_ascii_lowercase().find(NAME) else { return text.to_owned() };
    let (before, after) = text.split_at(start + NAME.len());
    let end = after.find(['&', ' ']).unwrap_or(after.len());
    format!("{before}{HIDDEN}{}", redact_parameter(&after[end..]))
}

#[cfg(test)]
mod tests {
    use super::redact;

    #[test]
    fn passwords_are_hidden() {
        for (url, shown) in [
            ("sqlite:ostler.db", "sqlite:ostler.db"),
            ("postgres://ostler@db/ostler", "postgres://ostler@db/ostler"),
            ("postgres://ostler:hunter2@db:5432/ostler", "postgres://ostler:…@db:5432/ostler"),
            ("postgres://o:p@ss/w?rd@db/ostler", "postgres://o:…@db/ostler"),
            ("postgres://db/o?user=o&password=p&x=1", "postgres://db/o?user=o&password=…&x=1"),
            ("postgres://db/o?Password=p", "postgres://db/o?Password=…"),
            ("amqp://guest:guest@127.0.0.1", "amqp://guest:…@127.0.0.1"),
            ("memory:", "memory:"),
            ("", ""),
        ] {
            assert_eq!(redact(url), shown);
        }
    }
}
