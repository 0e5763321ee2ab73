//! Prices of DynamoDB, and amounts of money.
use std::{fmt, str::FromStr};

use clap::Args;

/// Millionths of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Dollars {
    millionths: u128,
}

const fn millionths(millionths: u128) -> Dollars {
    Dollars { millionths }
}

// List prices in us-east-1 on 2026-11-22, from https://aws.amazon.com/dynamodb/pricing/on-demand/,
// without the free tier.
/// A million write request units.
const WRITES: Dollars = millionths(625_000);
/// A million read request units.
const READS: Dollars = millionths(125_000);
/// A GB of a table or an index for a month.
const STORAGE: Dollars = millionths(250_000);
/// A GB of point-in-time recovery for a month.
const RECOVERY: Dollars = millionths(200_000);
// Warm throughput above the current value costs the price of a provisioned unit for an hour, once.
/// A write unit per second of warm throughput, once.
const WARM_WRITE: Dollars = millionths(650);
/// A read unit per second of warm throughput, once.
const WARM_READ: Dollars = millionths(130);

/// Prices in US dollars.
#[derive(Debug, Args)]
pub(super) struct Prices {
    /// Price of a million write request units in US dollars
    #[arg(long = "write-price", value_name = "DOLLARS", default_value_t = WRITES)]
    pub(super) write: Dollars,
    /// Price of a million read request units in US dollars
    #[arg(long = "read-price", value_name = "DOLLARS", default_value_t = READS)]
    pub(super) read: Dollars,
    /// Price of a GB of a table for a month in US dollars
    #[arg(long = "storage-price", value_name = "DOLLARS", default_value_t = STORAGE)]
    pub(super) storage: Dollars,
    /// Price of a GB of point-in-time recovery for a month in US dollars
    #[arg(long = "recovery-price", value_name = "DOLLARS", default_value_t = RECOVERY)]
    pub(super) recovery: Dollars,
    /// One-off price of a write unit per second of warm throughput in US dollars
    #[arg(long = "warm-write-price", value_name = "DOLLARS", default_value_t = WARM_WRITE)]
    pub(super) warm_write: Dollars,
    /// One-off price of a read unit per second of warm throughput in US dollars
    #[arg(long = "warm-read-price", value_name = "DOLLARS", default_value_t = WARM_READ)]
    pub(super) warm_read: Dollars,
}

impl Dollars {
    pub(super) const ZERO: Self = millionths(0);

    pub(super) fn plus(self, other: Self) -> Self {
        millionths(self.millionths.saturating_add(other.millionths))
    }

    /// The price of `count` pieces at this price.
    pub(super) fn times(self, count: u64) -> Self {
        millionths(self.millionths.saturating_mul(u128::from(count)))
    }

    /// The price of `count` pieces at this price for a million, rounded up.
    pub(super) fn per_million(self, count: u64) -> Self {
        millionths(self.times(count).millionths.div_ceil(1_000_000))
    }

    /// The amount in whole cents, rounded up.
    pub(super) fn cents(self) -> String {
        let cents = self.millionths.div_ceil(10_000);
        format!("{}.{:02}", cents / 100, cents % 100)
    }
}

impl fmt::Display for Dollars {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.millionths / 1_000_000, format!("{:06}", self.millionths % 1_000_000));
        match part.trim_end_matches('0') {
            "" => write!(out, "{whole}"),
            part => write!(out, "{whole}.{part}"),
        }
    }
}

impl FromStr for Dollars {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str = "expected an amount with at most six decimals, such as 0.625";
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(whole) || !is_number(part) || whole.len() > 9 || part.len() > 6 {
            return Err(EXPECTED);
        }
        format!("{whole}{part:0<6}").parse().map(millionths).map_err(|_| EXPECTED)
    }
}
