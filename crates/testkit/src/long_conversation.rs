//! A generated conversation: facts, updates, dates and preferences among chatter, and a
//! question about each of them. The same on every machine.

const PEOPLE: [&str; 10] =
    ["Rosa", "Enzo", "Gia", "Marco", "Lena", "Otto", "Paula", "Viktor", "Nadia", "Jonas"];
const THINGS: [&str; 10] =
    ["bicycle", "boat", "house", "garden", "laptop", "camera", "piano", "bakery", "car", "library"];
const VALUES: [&str; 10] =
    ["green", "blue", "silver", "wooden", "round", "heavy", "fast", "old", "new", "broken"];
const CHATTER: [&str; 12] = [
    "what", "about", "we", "should", "talk", "again", "the", "weather", "is", "fine", "today",
    "maybe",
];
/// Messages of chatter before each fact.
const CHATTER_MESSAGES: usize = 12;

/// A conversation with what can be asked about it.
#[derive(Debug)]
pub struct LongConversation {
    pub messages: Vec<String>,
    pub questions: Vec<GeneratedQuestion>,
}

/// A question that one message answers.
#[derive(Debug)]
pub struct GeneratedQuestion {
    pub text: String,
    /// The number of the message with the answer; the first message has 1.
    pub seq: i64,
    /// What an answer contains: the person, the thing and the value.
    pub expected: [String; 3],
}

/// A deterministic random number generator.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    /// Returns a message that says nothing. Every third names a person or a thing, but not both.
    fn chatter(&mut self) -> String {
        let words: Vec<&str> = (0..20).map(|_| self.one(&CHATTER)).collect();
        let (person, thing) = (self.one(&PEOPLE), self.one(&THINGS));
        let name = [person, thing, ""][self.below(3)];
        format!("{} {name} {}", words.join(" "), self.one(&CHATTER))
    }
}

/// Returns a conversation with this many facts, at most 100.
pub fn long_conversation(facts: usize) -> LongConversation {
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    let (mut messages, mut questions) = (Vec::new(), Vec::new());
    for number in 0..facts {
        messages.extend((0..CHATTER_MESSAGES).map(|_| numbers.chatter()));
        let person = PEOPLE[number % 10];
        // Each pair of a person and a thing has two messages, of different kinds.
        let thing = THINGS[number / 10 % 5];
        let value = numbers.one(&VALUES);
        let day = format!("2026-{:02}-{:02}", 1 + numbers.below(12), 1 + numbers.below(28));
        let price = format!("{} EUR", 100 + number);
        let (message, text, value) = match (number + number / 50) % 4 {
            0 => (
                format!("The {thing} of {person} is {value}."),
                format!("How is the {thing} of {person}?"),
                value.to_owned(),
            ),
            1 => (
                format!("Now the {thing} of {person} costs {price} instead."),
                format!("What does the {thing} of {person} cost now?"),
                price,
            ),
            2 => (
                format!("{person} needs the {thing} on {day}."),
                format!("When does {person} need the {thing}?"),
                day,
            ),
            _ => (
                format!("{person} prefers a {value} {thing}."),
                format!("Which {thing} does {person} prefer?"),
                value.to_owned(),
            ),
        };
        messages.push(message);
        let expected = [person.to_owned(), thing.to_owned(), value];
        questions.push(GeneratedQuestion { text, seq: messages.len() as i64, expected });
    }
    LongConversation { messages, questions }
}
