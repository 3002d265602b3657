//! Removing the quoted text of a reply, and nothing that the customer wrote. Pure functions
//! only.

/// Words in the line before a quotation, in several languages. The line ends with a
/// colon.
const WROTE_WORDS: [&str; 27] = [
    "wrote",
    "ha scritto",
    "scrive",
    "schrieb",
    "a écrit",
    "escribió",
    "escreveu",
    "va escriure",
    "schreef",
    "napisał",
    "napsal",
    "napísal",
    "skrev",
    "kirjoitti",
    "yazdı",
    "írta",
    "a scris",
    "έγραψε",
    "написал",
    "написав",
    "пишет",
    "пише",
    "写道",
    "寫道",
    "のメール",
    "書きました",
    "작성",
];

/// Beginnings of lines before a quotation that extends to the end.
const SEPARATORS: [&str; 12] = [
    "-----original message-----",
    "-----messaggio originale-----",
    "-----ursprüngliche nachricht-----",
    "-----message d'origine-----",
    "-----mensaje original-----",
    "-----mensagem original-----",
    "-----oorspronkelijk bericht-----",
    "-----ursprungligt meddelande-----",
    "-----oprindelig meddelelse-----",
    "-----opprinnelig melding-----",
    "-----wiadomość oryginalna-----",
    "-----исходное сообщение-----",
];

/// The line above the headers that Outlook quotes.
const RULE: &str = "________________________________";

/// The names of the headers that Outlook quotes: that of the sender and that of the date, in
/// several languages.
const QUOTED_HEADERS: [(&str, &[&str]); 15] = [
    ("from", &["sent", "date"]),
    ("von", &["gesendet", "datum"]),
    ("de", &["envoyé", "date", "enviado", "enviado el", "enviada em", "fecha", "data"]),
    ("da", &["inviato", "data"]),
    ("van", &["verzonden", "datum"]),
    ("från", &["skickat", "datum"]),
    ("fra", &["sendt", "dato"]),
    ("lähettäjä", &["lähetetty", "päivämäärä"]),
    ("od", &["wysłano", "data", "odesláno", "datum"]),
    ("feladó", &["elküldve", "dátum"]),
    ("kimden", &["gönderildi", "tarih"]),
    ("от", &["отправлено", "дата"]),
    ("від", &["надіслано", "дата"]),
    ("发件人", &["发送时间", "日期"]),
    ("差出人", &["送信日時", "日付"]),
];

/// Removes quotations: a quoted block below a line such as "… wrote:", and what follows the
/// marks of mail programs that quote whole mails at the end. Text below a quoted block is the
/// customer's and stays; so do quotations between which the customer answers, because the
/// answers make no sense without them. A text that is only a quotation is returned unchanged.
pub(super) fn strip_quoted_text(text: &str) -> String {
    let lines = Lines::new(text);
    let mut kept = String::new();
    let mut at = 0;
    while at < lines.all.len() {
        match lines.quotation_at(at) {
            Quotation::None => {
                kept.push_str(lines.raw(text, at));
                at += 1;
            }
            Quotation::ToEnd => break,
            Quotation::Block { until } => at = until,
            Quotation::Head { lines } => at += lines,
        }
    }
    let new_text = kept.trim();
    if new_text.is_empty() { text.trim().to_owned() } else { new_text.to_owned() }
}

/// What begins at a line.
enum Quotation {
    None,
    /// Everything from there on is quoted.
    ToEnd,
    /// The lines up to this one are quoted.
    Block {
        until: usize,
    },
    /// Lines such as "… wrote:" above quotations that stay.
    Head {
        lines: usize,
    },
}

/// A line of a mail.
struct Line {
    /// In bytes, from the start of the text.
    offset: usize,
    /// Trimmed, in lower case.
    text: String,
}

impl Line {
    fn is_quoted(&self) -> bool {
        self.text.starts_with('>')
    }

    fn is_own(&self) -> bool {
        !self.text.is_empty() && !self.is_quoted()
    }
}

/// The lines of a mail, with what is known about those that follow each of them. The
/// facts are computed once, so that the work grows with the text and not faster.
struct Lines {
    all: Vec<Line>,
    /// The first line from which on all lines are quoted or empty.
    quoted_from: usize,
    /// For each line, the first one from there on that is not empty.
    next_text: Vec<usize>,
    /// For each line, the first one from there on that is not quoted and not empty.
    next_own: Vec<usize>,
    /// The last line that is quoted.
    last_quoted: Option<usize>,
}

impl Lines {
    fn new(text: &str) -> Self {
        let mut offset = 0;
        let line = |line: &str| {
            let start = offset;
            offset += line.len();
            Line { offset: start, text: line.trim().to_lowercase() }
        };
        let all: Vec<Line> = text.split_inclusive('\n').map(line).collect();
        let end = all.len();
        let quoted_from = all.iter().rposition(Line::is_own).map_or(0, |last| last + 1);
        let last_quoted = all.iter().rposition(Line::is_quoted);
        let (mut next_text, mut next_own) = (vec![end; end + 3], vec![end; end + 3]);
        for (at, line) in all.iter().enumerate().rev() {
            next_text[at] = if line.text.is_empty() { next_text[at + 1] } else { at };
            next_own[at] = if line.is_own() { at } else { next_own[at + 1] };
        }
        Self { all, quoted_from, next_text, next_own, last_quoted }
    }

    /// Returns a line with its line break.
    fn raw<'t>(&self, text: &'t str, at: usize) -> &'t str {
        let end = self.all.get(at + 1).map_or(text.len(), |next| next.offset);
        &text[self.all[at].offset..end]
    }

    fn text(&self, at: usize) -> &str {
        self.all.get(at).map_or("", |line| line.text.as_str())
    }

    fn quotation_at(&self, at: usize) -> Quotation {
        let (first, second) = (self.text(at), self.text(at + 1));
        if SEPARATORS.iter().any(|separator| first.starts_with(separator))
            || quotes_headers(first, second)
        {
            return Quotation::ToEnd;
        }
        if first.starts_with(RULE) {
            let below = self.next_text[at + 1];
            let quotes = quotes_headers(self.text(below), self.text(below + 1));
            return if quotes { Quotation::ToEnd } else { Quotation::None };
        }
        let head = attribution_lines(first, second);
        if head == 0 {
            let ends_quoted = self.all[at].is_quoted() && at >= self.quoted_from;
            return if ends_quoted { Quotation::ToEnd } else { Quotation::None };
        }
        let below = self.next_text[at + head];
        match self.all.get(below) {
            None => Quotation::ToEnd,
            Some(line) if line.is_quoted() => self.block_below(at, below),
            // Some programs quote without marks. Only a line with a date is taken for such a
            // head, because everything below it is left out.
            Some(_) if has_date(first) || has_date(second) => Quotation::ToEnd,
            Some(_) => Quotation::None,
        }
    }

    /// Returns what to remove of a quoted block and of its head, which begins at `at`.
    fn block_below(&self, at: usize, block: usize) -> Quotation {
        let own = self.next_own[block];
        if own >= self.all.len() {
            return Quotation::ToEnd;
        }
        let is_answered_inside = self.last_quoted.is_some_and(|last| last > own)
            && attribution_lines(self.text(own), self.text(own + 1)) == 0;
        if is_answered_inside {
            return Quotation::Head { lines: block - at };
        }
        Quotation::Block { until: own }
    }
}

/// Returns whether two lines are the headers of a mail that Outlook quotes.
fn quotes_headers(first: &str, second: &str) -> bool {
    let (Some(sender), Some(date)) = (header_name(first), header_name(second)) else {
        return false;
    };
    QUOTED_HEADERS.iter().any(|(name, dates)| *name == sender && dates.contains(&date))
}

/// Returns the name of a header line, without the marks of bold text.
fn header_name(line: &str) -> Option<&str> {
    let (name, value) = line.trim_start_matches('*').split_once([':', '：'])?;
    let has_value = !value.trim_matches(['*', ' ']).is_empty();
    has_value.then(|| name.trim_end_matches(['*', ' ', '\u{a0}']))
}

/// Returns whether a line has a time of day or a year.
fn has_date(line: &str) -> bool {
    let digits: Vec<&str> = line.split(|c: char| !c.is_ascii_digit()).collect();
    let is_year =
        |text: &&str| text.len() == 4 && (text.starts_with("19") || text.starts_with("20"));
    digits.iter().any(is_year)
}

/// Returns how many lines a line such as "… wrote:" takes: it may be broken into two.
fn attribution_lines(first: &str, second: &str) -> usize {
    let is_attribution = |text: &str| {
        text.ends_with([':', '：']) && WROTE_WORDS.iter().any(|wrote| text.contains(wrote))
    };
    if first.starts_with('>') {
        0
    } else if is_attribution(first) {
        1
    } else if first.contains(['@', ',', '<']) && is_attribution(&format!("{first} {second}")) {
        2
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::strip_quoted_text;
    use proptest::prelude::proptest;

    #[test]
    fn quoted_text_is_removed() {
        let check =
            |text: &str, expected: &str| assert_eq!(strip_quoted_text(text), expected, "{text:?}");
        check("Yes please", "Yes please");
        check("Yes\n\nOn Mon, 1 Jan 2026 at 10:00, Bella wrote:\n> Pizza?\n> Ciao", "Yes");
        check("Sì\n\nIl giorno lun 1 gen 2026 Bella ha scritto:\n\n> Pizza?", "Sì");
        check("Ja\nAm 01.01.2026 um 10:00 schrieb Bella <b@x>:\n> Pizza?", "Ja");
        check("Oui\n\nLe lun. 1 janv. 2026 à 10:00, Bella a écrit :\n> Pizza ?", "Oui");
        check(
            "Yes\r\n\r\nOn Mon, 1 Jan 2026 at 10:00 Bella <ciao@bella.example>\r\nwrote:\r\n\r\n> Pizza?",
            "Yes",
        );
        check("Yes\n\n-----Original Message-----\nFrom: Bella", "Yes");
        check("Yes\n\nFrom: Bella <b@x>\nSent: Monday\nTo: Rosa\n\nPizza?", "Yes");
        check("Yes\n> Pizza?\n>> Or pasta?\n", "Yes");
        check("> Pizza?\nYes\n> Pasta?\nNo", "> Pizza?\nYes\n> Pasta?\nNo");
        check("My aunt wrote:\nno more pizza", "My aunt wrote:\nno more pizza");
        check("> only quoted", "> only quoted");
        check("Ja\n\nVon: Bella <b@x>\nGesendet: Montag, 1. Januar 2026\nAn: Rosa\n\nPizza?", "Ja");
        check("Oui\n\nDe : Bella\nEnvoyé : lundi\n\nPizza ?", "Oui");
        check("Sí\n*De:* Bella\n*Enviado:* lunes\n\n¿Pizza?", "Sí");
        check("Tak\n____________________________________\nOd: Bella\nWysłano: 1\n\nPizza?", "Tak");
        check("Ja\n\nDen 1 jan. 2026 kl. 10:00 skrev Bella <b@x>:\n> Pizza?", "Ja");
        check("Да\n\n1 янв. 2026, Bella написал(а):\n> Пицца?", "Да");
        check("はい\n\n2026年1月1日 10:00 Bella <b@x>のメール:\n> ピザ?", "はい");
        check("", "");
    }

    /// What customers write below a quotation, or between quotations, is theirs.
    #[test]
    fn text_below_and_between_quotations_is_kept() {
        let check = |text: &str, expected: &str| {
            let kept = strip_quoted_text(text);
            assert_eq!(kept.split_whitespace().collect::<Vec<_>>().join(" "), expected, "{text:?}");
        };
        check("On Mon, 1 Jan 2026, Bella wrote:\n> Pizza?\n\nYes please", "Yes please");
        check("Hi!\n\nOn Mon, 1 Jan 2026, Bella wrote:\n> Pizza?\n\nYes please", "Hi! Yes please");
        check(
            "Hi!\nOn Mon, 1 Jan 2026, Bella wrote:\n> Pizza?\nYes\n> Pasta?\nNo",
            "Hi! > Pizza? Yes > Pasta? No",
        );
        check(
            "Hi!\nOn Monday my aunt wrote:\nno more pizza",
            "Hi! On Monday my aunt wrote: no more pizza",
        );
        check(
            "See below\n\n---------- Forwarded message ---------\nFrom: Otto\n\n20 chairs",
            "See below ---------- Forwarded message --------- From: Otto 20 chairs",
        );
        check(
            "Meet here\n____________________________________\nTeams, room 4",
            "Meet here ____________________________________ Teams, room 4",
        );
        check("From: Rome\nto Pisa, please", "From: Rome to Pisa, please");
    }

    /// Returns the processor time of this thread, so that a busy machine changes nothing; where
    /// the system does not tell it, the time.
    fn cpu_time() -> std::time::Duration {
        static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
        let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
        let nanos = stat.and_then(|text| text.split(' ').next()?.parse().ok());
        nanos.map_or_else(
            || START.get_or_init(std::time::Instant::now).elapsed(),
            std::time::Duration::from_nanos,
        )
    }

    /// S05: the work grows with the text and not with its square.
    #[test]
    fn s05_stripping_quotes_takes_linear_time() {
        let worst = [
            "> a\n",
            "a,\n",
            "On x wrote:\n\n",
            "\n",
            "x wrote:\n",
            "x wrote:\n> a\nb\n",
            "____\n",
            "From: a\n",
        ];
        for line in worst {
            let time = |bytes: usize| {
                let text = format!("{}b", line.repeat(bytes / line.len()));
                let run = || {
                    let started = cpu_time();
                    std::hint::black_box(strip_quoted_text(&text));
                    cpu_time().saturating_sub(started)
                };
                (0..2).map(|_| run()).min().unwrap()
            };
            let is_linear = || {
                let (small, large) = (time(64 * 1024), time(256 * 1024));
                large < small * 6 + Duration::from_millis(10)
            };
            assert!((0..8).any(|_| is_linear()), "{line:?}");
        }
    }

    proptest! {
        #[test]
        fn the_result_consists_of_lines_of_the_text_and_is_never_empty(text in "(> |On |wrote:|From: x|Sent: y|[a-z@ ]{0,5}|\r?\n){0,20}") {
            let new_text = strip_quoted_text(&text);
            let lines = |text: &str| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>();
            let (all, mut kept) = (lines(&text), lines(&new_text).into_iter().peekable());
            for line in all {
                kept.next_if(|next| *next == line);
            }
            assert!(kept.peek().is_none(), "{new_text:?} of {text:?}");
            assert_eq!(new_text.is_empty(), text.trim().is_empty());
        }
    }
}
