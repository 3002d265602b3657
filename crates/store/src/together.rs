//! Questions of many, answered together: while one answer is under way, whoever
//! else asks waits for the next, and that one is for all of them.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt as _;
use tokio::sync::oneshot;

/// Whoever answers.
pub trait Answers: Send + Sync + 'static {
    /// What is asked.
    type Question: Send + 'static;
    /// What is answered.
    type Answer: Send + 'static;
    /// The most that are answered at once.
    const MOST: usize;

    /// Answers all, in the order in which they ask. Whoever gets nothing is told so.
    fn answer_all(
        &self,
        questions: Vec<Self::Question>,
    ) -> impl Future<Output = Vec<Self::Answer>> + Send;

    /// Nobody waits for an answer any more.
    fn unwanted(&self, _: Self::Answer) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// Where they ask. Cheap to clone.
pub struct Together<W: Answers>(Arc<Inner<W>>);

struct Inner<W: Answers> {
    who: W,
    waiting: Mutex<Waiting<W>>,
}

type Asked<W> = (<W as Answers>::Question, oneshot::Sender<<W as Answers>::Answer>);

struct Waiting<W: Answers> {
    /// Whether there is a task that will answer them.
    answering: bool,
    all: Vec<Asked<W>>,
}

impl<W: Answers> Together<W> {
    /// Has these questions answered.
    pub fn new(who: W) -> Self {
        let waiting = Mutex::new(Waiting { answering: false, all: Vec::new() });
        Self(Arc::new(Inner { who, waiting }))
    }

    /// Asks. There is no answer if whoever answers broke down, or stops.
    pub fn ask(&self, question: W::Question) -> impl Future<Output = Option<W::Answer>> + use<W> {
        let (answer, answered) = oneshot::channel();
        let answering = {
            let mut waiting = self.0.lock();
            waiting.all.push((question, answer));
            std::mem::replace(&mut waiting.answering, true)
        };
        if !answering {
            // In a task of its own: whoever asks may be stopped at any time, and
            // others wait for this, too.
            tokio::spawn(Shift { inner: self.0.clone(), over: false }.work());
        }
        answered.map(Result::ok)
    }
}

impl<W: Answers> Inner<W> {
    fn lock(&self) -> MutexGuard<'_, Waiting<W>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers those who wait; says whether there was anybody.
    async fn answer_some(&self) -> bool {
        let some: Vec<Asked<W>> = {
            let mut waiting = self.lock();
            waiting.all.retain(|(_, asker)| !asker.is_closed());
            let some = waiting.all.len().min(W::MOST);
            waiting.answering = some > 0;
            waiting.all.drain(..some).collect()
        };
        if some.is_empty() {
            return false;
        }
        let (questions, askers): (Vec<_>, Vec<_>) = some.into_iter().unzip();
        let answers = self.who.answer_all(questions).await;
        let mut unwanted = Vec::new();
        for (asker, answer) in askers.into_iter().zip(answers) {
            unwanted.extend(asker.send(answer).err());
        }
        for answer in unwanted {
            self.who.unwanted(answer).await;
        }
        true
    }
}

/// A task that answers. If it does not come to its end, those who wait are told
/// that there is no answer, and the next who asks begins another.
struct Shift<W: Answers> {
    inner: Arc<Inner<W>>,
    over: bool,
}

impl<W: Answers> Shift<W> {
    async fn work(mut self) {
        while self.inner.answer_some().await {}
        self.over = true;
    }
}

impl<W: Answers> Drop for Shift<W> {
    fn drop(&mut self) {
        if !self.over {
            let mut waiting = self.inner.lock();
            waiting.answering = false;
            waiting.all.clear();
        }
    }
}

impl<W: Answers> Clone for Together<W> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<W: Answers> fmt::Debug for Together<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Together")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Answers, Together};

    /// Doubles, and breaks down at 13.
    struct Doubles;

    impl Answers for Doubles {
        type Question = u32;
        type Answer = (u32, usize);
        const MOST: usize = 10;

        async fn answer_all(&self, questions: Vec<u32>) -> Vec<(u32, usize)> {
            tokio::time::sleep(Duration::from_millis(5)).await;
            assert!(!questions.contains(&13), "out of order");
            let together = questions.len();
            questions.into_iter().map(|one| (one * 2, together)).collect()
        }
    }

    #[tokio::test]
    async fn those_who_wait_are_answered_together_and_each_with_its_own() {
        let doubles = Together::new(Doubles);
        let asked = (100..125).map(|number| {
            let doubles = doubles.clone();
            tokio::spawn(async move { (number, doubles.ask(number).await) })
        });
        let mut together = Vec::new();
        for one in asked.collect::<Vec<_>>() {
            let (number, answer) = one.await.unwrap();
            let (doubled, many) = answer.unwrap();
            assert_eq!(doubled, number * 2);
            together.push(many);
        }
        assert_eq!(together.iter().max(), Some(&10), "no more than that");
    }

    #[tokio::test]
    async fn whoever_breaks_down_keeps_nobody_waiting() {
        let doubles = Together::new(Doubles);
        let (bad, beside) = tokio::join!(doubles.ask(13), doubles.ask(14));
        assert_eq!((bad, beside), (None, None));
        assert_eq!(doubles.ask(7).await, Some((14, 1)), "the next one begins anew");
    }

    #[tokio::test]
    async fn whoever_stops_waiting_keeps_nobody_waiting() {
        let doubles = Together::new(Doubles);
        let left = tokio::time::timeout(Duration::from_millis(1), doubles.ask(1)).await;
        assert!(left.is_err());
        assert_eq!(doubles.ask(2).await, Some((4, 1)));
    }
}
