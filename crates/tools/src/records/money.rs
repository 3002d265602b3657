//! Amounts of money that are calculated with: whole numbers of the smallest coin
//! of a currency, and never anything else.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Price;

/// Currencies without coins.
const WHOLE: [&str; 16] = [
    "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "VND", "VUV",
    "XAF", "XOF", "XPF",
];
/// Currencies with a thousand coins.
const THOUSAND: [&str; 7] = ["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"];
/// The most digits before the point.
const MOST_DIGITS: usize = 12;

/// A currency: three letters, as ISO 4217 has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Currency([u8; 3]);

impl Currency {
    /// Reads a currency.
    pub fn read(text: &str) -> Result<Self, BadMoney> {
        match *text.trim().as_bytes() {
            [a, b, c] if [a, b, c].iter().all(u8::is_ascii_alphabetic) => {
                Ok(Self([a, b, c].map(|letter| letter.to_ascii_uppercase())))
            }
            _ => Err(BadMoney::Currency),
        }
    }

    /// Its three letters.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// How many digits an amount has behind the point.
    fn decimals(self) -> usize {
        match self.as_str() {
            whole if WHOLE.contains(&whole) => 0,
            thousand if THOUSAND.contains(&thousand) => 3,
            _ => 2,
        }
    }
}

/// An amount of a currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Price", into = "Price")]
pub struct Money {
    coins: u64,
    currency: Currency,
}

/// Why something is no amount of money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadMoney {
    /// It is no plain number.
    #[error("an amount is written as digits with a point, such as 12.50")]
    Amount,
    /// There is no such coin.
    #[error("an amount of {} has at most {} digits behind the point", .0.as_str(), .0.decimals())]
    TooFine(Currency),
    /// It is no currency.
    #[error("a currency is three letters, such as EUR")]
    Currency,
}

impl Money {
    /// Nothing of a currency.
    pub const fn zero(currency: Currency) -> Self {
        Self { coins: 0, currency }
    }

    /// Reads an amount as people write it: `12`, `12.5`, `12.50`.
    pub fn read(amount: &str, currency: Currency) -> Result<Self, BadMoney> {
        let (whole, part) = amount.trim().split_once('.').unwrap_or((amount.trim(), "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(part) || whole.len() > MOST_DIGITS {
            return Err(BadMoney::Amount);
        }
        let decimals = currency.decimals();
        let part = part.trim_end_matches('0');
        if part.len() > decimals {
            return Err(BadMoney::TooFine(currency));
        }
        let coins = format!("{whole}{part:0<decimals$}");
        coins.parse().map(|coins| Self { coins, currency }).map_err(|_| BadMoney::Amount)
    }

    /// The currency.
    pub const fn currency(self) -> Currency {
        self.currency
    }

    /// Whether it is nothing.
    pub const fn is_zero(self) -> bool {
        self.coins == 0
    }

    /// Both together, if they are of the same currency.
    pub fn plus(self, other: Self) -> Option<Self> {
        let coins = self.coins.checked_add(other.coins)?;
        (self.currency == other.currency).then_some(Self { coins, ..self })
    }

    /// What is left of it, if they are of the same currency and it is enough.
    pub fn minus(self, other: Self) -> Option<Self> {
        let coins = self.coins.checked_sub(other.coins)?;
        (self.currency == other.currency).then_some(Self { coins, ..self })
    }

    /// The number alone, with all digits of the currency.
    fn amount(self) -> String {
        let decimals = self.currency.decimals();
        let mut text = format!("{:0>1$}", self.coins, decimals + 1);
        if decimals > 0 {
            text.insert(text.len() - decimals, '.');
        }
        text
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.amount(), self.currency.as_str())
    }
}

impl From<Money> for Price {
    fn from(money: Money) -> Self {
        Self { amount: money.amount(), currency: money.currency.as_str().to_owned() }
    }
}

impl TryFrom<Price> for Money {
    type Error = BadMoney;

    fn try_from(price: Price) -> Result<Self, BadMoney> {
        Self::read(&price.amount, Currency::read(&price.currency)?)
    }
}

#[cfg(test)]
mod tests {
    use super::{BadMoney, Currency, Money};
    use crate::records::Price;
    use proptest::prelude::{prop_assert_eq, proptest};

    fn read(amount: &str, currency: &str) -> Result<Money, BadMoney> {
        Money::try_from(Price { amount: amount.into(), currency: currency.into() })
    }

    #[test]
    fn amounts_are_read_to_the_coin() {
        let check = |amount: &str, currency: &str, shown: &str| {
            assert_eq!(read(amount, currency).unwrap().to_string(), shown, "{amount} {currency}");
        };
        check("12", "EUR", "12.00 EUR");
        check(" 12.5", " eur ", "12.50 EUR");
        check("0.07", "USD", "0.07 USD");
        check("12.5000", "EUR", "12.50 EUR");
        check("1200", "JPY", "1200 JPY");
        check("1.234", "KWD", "1.234 KWD");
        check("999999999999.99", "EUR", "999999999999.99 EUR");
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        let bad = BadMoney::Amount;
        for amount in ["", ".", "1.", ".5", "-1", "+1", "1,50", "1e3", "NaN", "1 0", "½", "٣"] {
            assert_eq!(read(amount, "EUR"), Err(bad), "{amount}");
        }
        assert_eq!(read("1000000000000", "EUR"), Err(bad));
        let yen = Currency::read("JPY").unwrap();
        assert_eq!(read("1.5", "JPY"), Err(BadMoney::TooFine(yen)));
        assert_eq!(
            read("1.005", "EUR").unwrap_err().to_string(),
            "an amount of EUR has at most 2 digits behind the point"
        );
        for currency in ["", "EU", "EURO", "€", "E1R"] {
            assert_eq!(read("1", currency), Err(BadMoney::Currency), "{currency}");
        }
    }

    #[test]
    fn currencies_do_not_mix_and_nothing_is_below_zero() {
        let (euro, dollar) = (read("1", "EUR").unwrap(), read("1", "USD").unwrap());
        assert_eq!((euro.plus(dollar), euro.minus(dollar)), (None, None));
        assert_eq!(euro.minus(euro.plus(euro).unwrap()), None);
    }

    proptest! {
        /// What is written is read again, and sums are exact.
        #[test]
        fn sums_are_exact(a in 0_u64..100_000_000_000, b in 0_u64..100_000_000_000, at in 0..3) {
            let currency = Currency::read(["EUR", "JPY", "KWD"][at as usize]).unwrap();
            let (a, b) = (Money { coins: a, currency }, Money { coins: b, currency });
            prop_assert_eq!(Money::try_from(Price::from(a)), Ok(a));
            let sum = a.plus(b).unwrap();
            prop_assert_eq!(sum.coins, a.coins + b.coins);
            prop_assert_eq!(sum.minus(b), Some(a));
        }

        /// Any text is read or refused.
        #[test]
        fn no_text_makes_it_panic(amount in ".{0,40}", currency in ".{0,5}") {
            let _ = read(&amount, &currency);
        }
    }
}
