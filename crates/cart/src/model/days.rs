use keys::TimestampMillis;

/// Number of days. The setting allows 1 to 3,650.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Days(i64);

impl std::str::FromStr for Days {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let days = text.parse().ok().filter(|days| (1..=3_650).contains(days));
        days.map(Self).ok_or("must be a number of days from 1 to 3650")
    }
}

impl Days {
    /// Returns the time this number of days after `now`, in Unix seconds.
    pub(crate) fn after(self, now: TimestampMillis) -> i64 {
        now.second().plus_days(self.0).instant().as_second()
    }

    /// Adds one day. Because of the extra day, changes renew the expiry at most once a day.
    pub(crate) fn and_one(self) -> Self {
        Self(self.0 + 1)
    }

    /// Lifetime of a `REMOVED` or `JOINED` item.
    pub(crate) const WEEK: Self = Self(7);
}
