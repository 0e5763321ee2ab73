//! The contract of every route: one driver for each rule, over a table of rows for each service
//! (CONTRIBUTING.md#the-contract, docs/decisions/contract.md).
//!
//! The tests run in process, with a paused clock, on the worlds of `events/`.
#![expect(clippy::expect_used, reason = "a test may panic")]

mod answers;
mod at_once;
mod calls;
mod crashes;
mod damage;
mod input;
mod net;
mod odd;
mod pages;
mod patterns;
mod peer;
mod repeats;
mod rows;
mod shape;
mod stage;
mod units;
mod who_may;

/// The tests of each service: one for each driver.
macro_rules! contract {
    ($($service:ident: $($driver:ident)*;)*) => {
        $(mod $service {
            $(#[tokio::test(start_paused = true)]
            async fn $driver() {
                let mut stage = crate::stage::Stage::open(stringify!($service), stringify!($driver)).await;
                crate::$driver::check(&mut stage).await;
                stage.close();
            })*
        })*
    };
}

contract! {
    bank: who_may input repeats at_once pages damage units crashes;
    cart: who_may input repeats at_once pages damage units crashes;
    lake: units crashes;
    ledger: who_may input repeats at_once pages damage units crashes;
    wellness: who_may input repeats at_once pages damage units crashes;
}
