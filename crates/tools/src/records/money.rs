//! Amounts of money: exact, as whole numbers of a currency's minor unit.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Currencies without a minor unit.
const ZERO_DECIMAL: [&str; 16] = [
    "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "VND", "VUV",
    "XAF", "XOF", "XPF",
];
/// Currencies with a thousand minor units.
const THREE_DECIMAL: [&str; 7] = ["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"];
/// The most digits before the decimal point.
const MAX_WHOLE_DIGITS: usize = 12;

/// A price as people write it. Use [`Money`] to calculate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// For example `12.50`.
    pub amount: String,
    /// For example `EUR`.
    pub currency: String,
}

/// A currency code of three letters, as in ISO 4217.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Currency([u8; 3]);

impl Currency {
    /// Parses a currency code in upper or lower case.
    pub fn parse(text: &str) -> Result<Self, InvalidMoney> {
        match *text.trim().as_bytes() {
            [a, b, c] if [a, b, c].iter().all(u8::is_ascii_alphabetic) => {
                Ok(Self([a, b, c].map(|letter| letter.to_ascii_uppercase())))
            }
            _ => Err(InvalidMoney::Currency),
        }
    }

    /// Returns the three letters in upper case.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// Returns the number of digits after the decimal point.
    fn decimals(self) -> usize {
        match self.as_str() {
            code if ZERO_DECIMAL.contains(&code) => 0,
            code if THREE_DECIMAL.contains(&code) => 3,
            _ => 2,
        }
    }
}

/// An amount of a currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Price", into = "Price")]
pub struct Money {
    minor_units: u64,
    currency: Currency,
}

/// Why a text is not an amount of money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidMoney {
    #[error("an amount is written as digits with a decimal point, such as 12.50")]
    Amount,
    #[error("an amount in {} has at most {} decimal places", .0.as_str(), .0.decimals())]
    TooManyDecimals(Currency),
    #[error("a currency is three letters, such as EUR")]
    Currency,
}

impl Money {
    /// Returns the zero amount of a currency.
    pub const fn zero(currency: Currency) -> Self {
        Self { minor_units: 0, currency }
    }

    /// Parses an amount: `12`, `12.5`, `12.50`.
    pub fn parse(amount: &str, currency: Currency) -> Result<Self, InvalidMoney> {
        let (whole, fraction) = amount.trim().split_once('.').unwrap_or((amount.trim(), "0"));
        let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !is_digits(whole) || !is_digits(fraction) || whole.len() > MAX_WHOLE_DIGITS {
            return Err(InvalidMoney::Amount);
        }
        let decimals = currency.decimals();
        let fraction = fraction.trim_end_matches('0');
        if fraction.len() > decimals {
            return Err(InvalidMoney::TooManyDecimals(currency));
        }
        let minor_units = format!("{whole}{fraction:0<decimals$}");
        let minor_units = minor_units.parse().map_err(|_| InvalidMoney::Amount)?;
        Ok(Self { minor_units, currency })
    }

    /// Returns the currency of the amount.
    pub const fn currency(self) -> Currency {
        self.currency
    }

    /// Returns whether the amount is zero.
    pub const fn is_zero(self) -> bool {
        self.minor_units == 0
    }

    /// Returns the sum, or `None` if the currencies differ or it is too large.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let minor_units = self.minor_units.checked_add(other.minor_units)?;
        (self.currency == other.currency).then_some(Self { minor_units, ..self })
    }

    /// Returns the difference, or `None` if the currencies differ or it is negative.
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        let minor_units = self.minor_units.checked_sub(other.minor_units)?;
        (self.currency == other.currency).then_some(Self { minor_units, ..self })
    }

    /// Returns the number without the currency, with all its decimal places.
    fn amount(self) -> String {
        let decimals = self.currency.decimals();
        let mut text = format!("{:0>1$}", self.minor_units, decimals + 1);
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
    type Error = InvalidMoney;

    fn try_from(price: Price) -> Result<Self, InvalidMoney> {
        Self::parse(&price.amount, Currency::parse(&price.currency)?)
    }
}

#[cfg(test)]
mod tests {
    use super::{Currency, InvalidMoney, Money, Price};
    use proptest::prelude::{prop_assert_eq, proptest};

    fn parse(amount: &str, currency: &str) -> Result<Money, InvalidMoney> {
        Money::try_from(Price { amount: amount.into(), currency: currency.into() })
    }

    #[test]
    fn amounts_are_parsed_exactly() {
        let check = |amount: &str, currency: &str, shown: &str| {
            assert_eq!(parse(amount, currency).unwrap().to_string(), shown, "{amount} {currency}");
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
    fn invalid_amounts_are_refused() {
        let bad = InvalidMoney::Amount;
        for amount in ["", ".", "1.", ".5", "-1", "+1", "1,50", "1e3", "NaN", "1 0", "½", "٣"] {
            assert_eq!(parse(amount, "EUR"), Err(bad), "{amount}");
        }
        assert_eq!(parse("1000000000000", "EUR"), Err(bad));
        let yen = Currency::parse("JPY").unwrap();
        assert_eq!(parse("1.5", "JPY"), Err(InvalidMoney::TooManyDecimals(yen)));
        assert_eq!(
            parse("1.005", "EUR").unwrap_err().to_string(),
            "an amount in EUR has at most 2 decimal places"
        );
        for currency in ["", "EU", "EURO", "€", "E1R"] {
            assert_eq!(parse("1", currency), Err(InvalidMoney::Currency), "{currency}");
        }
    }

    #[test]
    fn different_currencies_and_negative_results_give_none() {
        let (euro, dollar) = (parse("1", "EUR").unwrap(), parse("1", "USD").unwrap());
        assert_eq!((euro.checked_add(dollar), euro.checked_sub(dollar)), (None, None));
        assert_eq!(euro.checked_sub(euro.checked_add(euro).unwrap()), None);
    }

    proptest! {
        /// A formatted amount parses to the same value, and sums are exact.
        #[test]
        fn sums_are_exact(a in 0_u64..100_000_000_000, b in 0_u64..100_000_000_000, at in 0..3) {
            let currency = Currency::parse(["EUR", "JPY", "KWD"][at as usize]).unwrap();
            let (a, b) = (Money { minor_units: a, currency }, Money { minor_units: b, currency });
            prop_assert_eq!(Money::try_from(Price::from(a)), Ok(a));
            let sum = a.checked_add(b).unwrap();
            prop_assert_eq!(sum.minor_units, a.minor_units + b.minor_units);
            prop_assert_eq!(sum.checked_sub(b), Some(a));
        }

        #[test]
        fn no_text_makes_parsing_panic(amount in ".{0,40}", currency in ".{0,5}") {
            let _ = parse(&amount, &currency);
        }
    }
}
