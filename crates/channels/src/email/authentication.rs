//! DMARC: whether a mail comes from the domain that it names as its sender.
//!
//! Only a mail gateway can tell, and only the configured one is believed: by a field of its
//! signed request, or by the `Authentication-Results` header (RFC 8601) with its name.

use ostler_domain::contact::SenderProof;

/// The result of DMARC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum DmarcResult {
    Pass,
    Fail,
    /// Not reported, or without a result.
    #[default]
    None,
}

impl DmarcResult {
    /// Parses the word of a gateway.
    pub(super) fn parse(word: &str) -> Self {
        match word.trim().to_ascii_lowercase().as_str() {
            "pass" => Self::Pass,
            "fail" => Self::Fail,
            _ => Self::None,
        }
    }

    /// Returns what the result says about the sender.
    pub(super) const fn proof(self) -> SenderProof {
        match self {
            Self::Pass => SenderProof::Proven,
            Self::Fail | Self::None => SenderProof::Unproven,
        }
    }

    /// Returns the result that the first header of the gateway `authserv_id` reports for the
    /// domain of the address `from`.
    pub(super) fn of_headers<'h>(
        headers: impl Iterator<Item = &'h str>,
        authserv_id: &str,
        from: &str,
    ) -> Self {
        let domain = from.rsplit_once('@').map_or("", |(_, domain)| domain);
        let mut headers = headers.map(without_comments);
        let header = headers.find(|header| {
            let name = header.split(';').next().unwrap_or_default();
            let name = name.split_whitespace().next().unwrap_or_default();
            name.eq_ignore_ascii_case(authserv_id)
        });
        let Some(header) = header else { return Self::None };
        let result = header.split(';').skip(1).find_map(|part| dmarc_of(part, domain));
        result.unwrap_or_default()
    }
}

/// Returns the result of a part such as `dmarc=pass header.from=example.com`, or `None` if it
/// is about something else. A pass of another domain proves nothing.
fn dmarc_of(part: &str, domain: &str) -> Option<DmarcResult> {
    let mut words = part.split_whitespace();
    let (method, result) = words.next()?.split_once('=')?;
    let method = method.split('/').next().unwrap_or_default();
    if !method.eq_ignore_ascii_case("dmarc") {
        return None;
    }
    let of = words.filter_map(|word| word.split_once('='));
    let mut of = of.filter(|(name, _)| name.eq_ignore_ascii_case("header.from"));
    let same = of.all(|(_, of)| of.trim_matches('"').eq_ignore_ascii_case(domain));
    Some(if same { DmarcResult::parse(result) } else { DmarcResult::None })
}

/// Removes comments in parentheses, which may be nested.
fn without_comments(header: &str) -> String {
    let mut depth = 0_usize;
    let mut text = String::with_capacity(header.len());
    for char in header.chars() {
        match char {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            other if depth == 0 => text.push(other),
            _ => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::DmarcResult::{self, Fail, None, Pass};

    /// S08: only the first header of the configured gateway counts, and only for the domain
    /// of the sender.
    #[test]
    fn s08_only_the_configured_gateway_is_believed() {
        let table: [(&[&str], DmarcResult); 12] = [
            (&[], None),
            (&["mx.bella.example; dmarc=pass"], Pass),
            (&["MX.bella.example 1; spf=fail; DMARC=Pass header.from=Example.com"], Pass),
            (&["mx.bella.example; dmarc=pass (p=none; dmarc=x) header.from=example.com"], Pass),
            (&["mx.bella.example; dmarc=fail header.from=example.com"], Fail),
            (&["mx.bella.example; dmarc=none"], None),
            (&["mx.bella.example; dmarc=pass header.from=evil.example"], None),
            (&["mx.evil.example; dmarc=pass header.from=example.com"], None),
            (&["(mx.bella.example;) mx.evil.example; dmarc=pass"], None),
            (&["mx.bella.example; spf=pass; dkim=pass", "mx.bella.example; dmarc=pass"], None),
            (&["mx.evil.example; dmarc=fail", "mx.bella.example; dmarc=pass"], Pass),
            (&["mx.bella.example (; dmarc=pass"], None),
        ];
        for (headers, expected) in table {
            let headers = headers.iter().copied();
            let result = DmarcResult::of_headers(headers, "mx.bella.example", "rosa@example.com");
            assert_eq!(result, expected);
        }
    }
}
