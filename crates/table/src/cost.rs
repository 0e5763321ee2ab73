//! Calculates read and write request units (RRU and WRU) from item sizes (DynamoDB Developer Guide,
//! "Capacity unit consumption"), and prints the formula.
//!
//! A cost is declared once, with named sizes. Its value and its formula come from the same
//! expression (docs/decisions/declared-costs.md).
//!
//! ```
//! use table::cost::{Cost, Size, read, read_eventually, write};
//!
//! let (item, items) = (Size::named("item", 9_000), Size::named("items", 3));
//! let cost = Cost::default()
//!     .read("Orders/GSI1", read_eventually(item * items))
//!     .read("Orders", read(item))
//!     .write("Orders", (write(item) + 1).times(items));
//! assert_eq!(cost.to_string(), "Orders 3 R, Orders 30 W, Orders/GSI1 3.5 R");
//! let formula = "Orders ⌈item⌉ R, items × (⌈item⌉ + 1) W; Orders/GSI1 ½ ⌈item × items⌉ R";
//! assert_eq!(cost.formula(), formula);
//! ```

use crate::Units;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    ops::{Add, Mul},
    sync::{Mutex, PoisonError},
};

/// Returns a text that lives as long as the program. Formulas consist of names and constants, so
/// there are few of them.
fn interned(text: String) -> &'static str {
    static TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = texts.get(text.as_str()) {
        return known;
    }
    let known: &'static str = Box::leak(text.into_boxed_str());
    texts.insert(known);
    known
}

/// The formula of a size or of units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Formula {
    /// A constant is printed as its value.
    Constant,
    Product(&'static str),
    Sum(&'static str),
}

impl Formula {
    fn product(text: String) -> Self {
        Self::Product(interned(text))
    }

    fn sum(text: String) -> Self {
        Self::Sum(interned(text))
    }

    fn text(self, constant: &dyn fmt::Display) -> String {
        match self {
            Self::Constant => constant.to_string(),
            Self::Product(text) | Self::Sum(text) => text.to_owned(),
        }
    }

    /// The text as a factor.
    fn factor(self, constant: &dyn fmt::Display) -> String {
        match self {
            Self::Sum(text) => format!("({text})"),
            other => other.text(constant),
        }
    }
}

/// A size in bytes or a number of items, with its formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    value: usize,
    formula: Formula,
}

impl Size {
    /// A size with a name.
    pub const fn named(name: &'static str, value: usize) -> Self {
        Self { value, formula: Formula::Product(name) }
    }

    /// The value.
    pub const fn value(self) -> usize {
        self.value
    }

    /// The quotient, rounded up.
    pub fn div_ceil(self, other: usize) -> Self {
        let formula = Formula::product(format!("⌈{} ÷ {other}⌉", self.factor()));
        Self { value: self.value.div_ceil(other), formula }
    }

    /// The difference, at least 0.
    pub fn saturating_sub(self, other: impl Into<Self>) -> Self {
        let other = other.into();
        let formula = Formula::sum(format!("{self} − {}", other.factor()));
        Self { value: self.value.saturating_sub(other.value), formula }
    }

    fn factor(self) -> String {
        self.formula.factor(&self.value)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.formula.text(&self.value))
    }
}

impl From<usize> for Size {
    fn from(value: usize) -> Self {
        Self { value, formula: Formula::Constant }
    }
}

impl<T: Into<Size>> Add<T> for Size {
    type Output = Self;

    fn add(self, other: T) -> Self {
        let other = other.into();
        let formula = match (self.formula, other.formula) {
            (Formula::Constant, Formula::Constant) => Formula::Constant,
            _ => Formula::sum(format!("{self} + {other}")),
        };
        Self { value: self.value + other.value, formula }
    }
}

impl<T: Into<Size>> Mul<T> for Size {
    type Output = Self;

    fn mul(self, other: T) -> Self {
        let other = other.into();
        let formula = match (self.formula, other.formula) {
            (Formula::Constant, Formula::Constant) => Formula::Constant,
            _ => Formula::product(format!("{} × {}", self.factor(), other.factor())),
        };
        Self { value: self.value * other.value, formula }
    }
}

impl Add<Size> for usize {
    type Output = Size;

    fn add(self, other: Size) -> Size {
        Size::from(self) + other
    }
}

impl Mul<Size> for usize {
    type Output = Size;

    fn mul(self, other: Size) -> Size {
        Size::from(self) * other
    }
}

/// Request units with their formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term {
    units: Units,
    formula: Formula,
}

impl Term {
    /// No units.
    pub const ZERO: Self = Self { units: Units::ZERO, formula: Formula::Constant };

    /// Units of a number of halves.
    pub fn halves(halves: usize) -> Self {
        Units::halves(count(halves)).into()
    }

    /// A number of units.
    pub fn whole(number: impl Into<Size>) -> Self {
        let number = number.into();
        Self { units: Units::whole(count(number.value)), formula: number.formula }
    }

    /// The units, `number` times.
    pub fn times(self, number: impl Into<Size>) -> Self {
        let number = number.into();
        let units = self.units.times(count(number.value));
        let formula = match (number.formula, self.formula) {
            (Formula::Constant, Formula::Constant) => Formula::Constant,
            (Formula::Constant, formula) if number.value == 1 => formula,
            _ => Formula::product(format!("{} × {}", number.factor(), self.formula.factor(&self.units))),
        };
        Self { units, formula }
    }

    /// The units with a shorter formula.
    pub fn shown_as(self, formula: String) -> Self {
        Self { formula: Formula::product(formula), ..self }
    }

    /// The value.
    pub const fn units(self) -> Units {
        self.units
    }
}

impl fmt::Display for Term {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.formula.text(&self.units))
    }
}

impl From<Units> for Term {
    fn from(units: Units) -> Self {
        Self { units, formula: Formula::Constant }
    }
}

impl From<Size> for Term {
    fn from(number: Size) -> Self {
        Self::whole(number)
    }
}

impl From<usize> for Term {
    fn from(number: usize) -> Self {
        Self::whole(number)
    }
}

impl<T: Into<Term>> Add<T> for Term {
    type Output = Self;

    fn add(self, other: T) -> Self {
        let other = other.into();
        let formula = match (self.formula, other.formula) {
            (Formula::Constant, Formula::Constant) => Formula::Constant,
            (Formula::Constant, formula) if self.units == Units::ZERO => formula,
            (formula, Formula::Constant) if other.units == Units::ZERO => formula,
            _ => Formula::sum(format!("{self} + {other}")),
        };
        Self { units: self.units + other.units, formula }
    }
}

impl Add<Term> for usize {
    type Output = Term;

    fn add(self, other: Term) -> Term {
        Term::whole(self) + other
    }
}

/// Returns the write request units consumed by a write of `bytes`: one per KB, rounded up.
pub fn write(bytes: impl Into<Size>) -> Term {
    rounded(bytes.into(), 1_024, "", Units::whole)
}

/// Returns the read request units consumed by a strongly consistent read of `bytes`: one per 4 KB,
/// rounded up.
pub fn read(bytes: impl Into<Size>) -> Term {
    rounded(bytes.into(), 4_096, "", Units::whole)
}

/// Returns the read request units consumed by an eventually consistent read of `bytes`: half a unit
/// per 4 KB, rounded up. For a query, pass the sum of the item sizes, because DynamoDB rounds only
/// the sum.
pub fn read_eventually(bytes: impl Into<Size>) -> Term {
    rounded(bytes.into(), 4_096, "½ ", Units::halves)
}

fn rounded(bytes: Size, unit: usize, prefix: &str, units: fn(u64) -> Units) -> Term {
    let units = units(count(bytes.value.div_ceil(unit).max(1)));
    let formula = match bytes.formula {
        Formula::Constant => Formula::Constant,
        Formula::Product(text) | Formula::Sum(text) => Formula::product(format!("{prefix}⌈{text}⌉")),
    };
    Term { units, formula }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// The input of cost functions, such as item sizes and numbers of items.
pub trait Sizes {
    /// The same input with names.
    type Named: fmt::Debug + Copy;

    /// Returns the input with the names that formulas show.
    fn named(&self) -> Self::Named;
}

impl Sizes for () {
    type Named = ();

    fn named(&self) {}
}

/// Read and write request units, by table or index name.
#[derive(Debug, Clone, Default)]
pub struct Cost {
    by_place: BTreeMap<&'static str, [Option<Term>; 2]>,
}

impl Cost {
    /// Adds read request units for the table or index `place`.
    pub fn read(self, place: &'static str, units: impl Into<Term>) -> Self {
        self.with(place, 0, units.into())
    }

    /// Adds write request units for the table or index `place`.
    pub fn write(self, place: &'static str, units: impl Into<Term>) -> Self {
        self.with(place, 1, units.into())
    }

    fn with(mut self, place: &'static str, kind: usize, term: Term) -> Self {
        if let Some(sum) = self.by_place.entry(place).or_default().get_mut(kind) {
            *sum = Some(sum.map_or(term, |sum| sum + term));
        }
        self
    }

    /// Returns each table and index with its read and write request units.
    pub fn places(&self) -> impl Iterator<Item = (&'static str, Units, Units)> + '_ {
        let units = |term: Option<Term>| term.map_or(Units::ZERO, Term::units);
        self.by_place.iter().map(move |(place, [read, write])| (*place, units(*read), units(*write)))
    }

    /// Returns the formula: R stands for read request units, and W for write request units. ⌈x⌉ is
    /// the size x in whole units, 4 KB per R and 1 KB per W.
    pub fn formula(&self) -> String {
        let text = |term: Option<Term>, unit: &str| {
            term.filter(|term| *term != Term::ZERO).map(|term| format!("{term} {unit}"))
        };
        let of_place = |(place, [read, write]): (&&str, &[Option<Term>; 2])| {
            let both: Vec<String> = [text(*read, "R"), text(*write, "W")].into_iter().flatten().collect();
            (!both.is_empty()).then(|| format!("{place} {}", both.join(", ")))
        };
        self.by_place.iter().filter_map(of_place).collect::<Vec<_>>().join("; ")
    }
}

impl PartialEq for Cost {
    fn eq(&self, other: &Self) -> bool {
        self.places().eq(other.places())
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        for (place, read, write) in self.places() {
            parts.extend((read != Units::ZERO).then(|| format!("{place} {read} R")));
            parts.extend((write != Units::ZERO).then(|| format!("{place} {write} W")));
        }
        out.write_str(&parts.join(", "))
    }
}
