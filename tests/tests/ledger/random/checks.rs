//! Compares the ledger with the model.

use super::{
    CLIENTS, World,
    model::{Holder, minor},
    operations::{Action, Operation},
    start,
};
use futures::{StreamExt, future::join, stream};
use jiff::{SignedDuration, Timestamp};
use keys::{KeyRange, ledger::LegType, totals::TotalSort};
use ledger::{Total, Transaction};
use money::Currency;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use system_tests::{
    Answer, Client,
    clock::At,
    drained, dynamo,
    ledger::audit::RECONCILIATIONS,
    ledger::model::Stored,
    ledger::totals::{COUNT, TOTALS},
    ledger::{ACCOUNTS, HOLDS, TRANSACTIONS},
    parsed, text, until,
};
use table::Query;

const OF_USER: &str = "/ledger/users/bank/accounts?limit=100";

impl World {
    /// Releases all holds that have expired since the last round.
    pub(super) async fn release(&mut self) {
        let now = Timestamp::from_second(self.now.as_second() + 2).expect("a time");
        let event = json!({"detail-type": "Scheduled Event", "time": now.to_string()});
        let operator = Client::operator(&self.stack);
        for _ in 0..100 {
            let run = operator.invoke("release-expired-holds", &event).await.body;
            assert!(run["released"].is_u64() && run["skipped"].is_null(), "{run}");
            if run["left"] == false {
                *self.outcomes.entry("hold expired".to_owned()).or_default() += self.model.expire(now);
                return;
            }
        }
        unreachable!("expired holds remain at {now}")
    }

    /// Checks that all accounts equal those of the model, and that the sum of the balances is zero
    /// in each currency. Returns the lowest available amount of each account since the last call.
    pub(super) async fn compare(&mut self, before: Vec<i128>) -> Vec<i128> {
        let operator = Client::operator(&self.stack);
        for holder in self.model.holders.iter().filter(|holder| holder.is_grouped) {
            let is_settled = |answer: &Answer| holder.minor(&answer.body, "pending") == 0;
            until(&operator, &format!("{ACCOUNTS}/{}", holder.id), is_settled).await;
        }
        let (items, _) = operator.all(OF_USER).await;
        let items: BTreeMap<&str, &Value> = items.iter().map(|item| (text(item, "accountId"), item)).collect();
        assert_eq!(items.len(), self.model.holders.len());
        let mut sums = BTreeMap::<Currency, i128>::new();
        for (holder, held) in self.model.holders.iter().zip(self.model.held()) {
            let item = items[holder.id.as_str()];
            let found = ["balance", "held", "available"].map(|member| holder.minor(item, member));
            assert_eq!(found, [holder.balance, held, holder.balance - held], "{item}");
            *sums.entry(holder.currency).or_default() += found[0];
        }
        assert!(sums.values().all(|sum| *sum == 0), "money was created or lost: {sums:?}");
        let version = |item: &Value| item["version"].as_i64().expect("a version");
        let versions = items.iter().map(|(id, item)| ((*id).to_owned(), version(item))).collect();
        let least = self.history.read_through(&versions).await;
        let least =
            |(holder, before): (&Holder, i128)| least.get(&holder.id).map_or(before, |least| before.min(*least));
        self.model.holders.iter().zip(before).map(least).collect()
    }

    pub(super) fn closed_holds(&self) -> BTreeSet<String> {
        self.model.holds.iter().filter(|(_, hold)| !hold.is_open()).map(|(id, _)| id.clone()).collect()
    }

    /// Checks that all holds equal those of the model, except those that were closed before.
    pub(super) async fn compare_holds(&self, closed: &BTreeSet<String>) {
        let holds: Vec<_> = self.model.holds.iter().filter(|(id, _)| !closed.contains(*id)).collect();
        let bodies = self.read(holds.iter().map(|(id, _)| format!("{HOLDS}/{id}"))).await;
        for ((_, hold), body) in holds.into_iter().zip(bodies) {
            let debit = &self.model.holders[hold.debit];
            let amounts = ["amount", "captured"].map(|member| debit.minor(&body, member));
            assert_eq!((&body["status"], amounts), (&json!(hold.status), [hold.amount, hold.captured]), "{body}");
        }
    }

    /// Reads the items at these paths concurrently.
    async fn read(&self, paths: impl Iterator<Item = String>) -> Vec<Value> {
        let operator = Client::operator(&self.stack);
        let read = |path: String| {
            let operator = operator.clone();
            async move { operator.get(&path).await.body }
        };
        stream::iter(paths.collect::<Vec<_>>()).map(read).buffered(CLIENTS).collect().await
    }

    /// Checks the reversed amounts of the transactions that the last round has reversed.
    pub(super) async fn compare_refunds(&self) {
        let posted = self.model.posted.iter();
        let refunded: Vec<_> = posted.filter(|(_, posted)| posted.refunded > posted.refunded_before).collect();
        let bodies = self.read(refunded.iter().map(|(id, _)| format!("{TRANSACTIONS}/{id}"))).await;
        for ((_, posted), body) in refunded.into_iter().zip(bodies) {
            assert!(body["reversedBy"].is_string(), "{body}");
            if posted.has_two_legs() {
                let reversed = self.model.holders[posted.parts[0].account].minor(&body, "reversedAmount");
                assert_eq!(reversed, posted.refunded, "{body}");
            }
        }
    }

    /// Checks that the daily totals of all transactions are the sums of the stored postings.
    async fn check_totals(&self, stored: &Stored) {
        drained(&Client::operator(&self.stack), COUNT).await;
        let day = |transaction: &Transaction| transaction.created_at.to_string()[..10].to_owned();
        let days: BTreeSet<String> = stored.transactions.values().map(day).collect();
        let mut counted = BTreeMap::new();
        for day in &days {
            let range = TotalSort::between(parsed(day), parsed(day));
            counted.extend(self.totals(&range).await.into_iter().map(|(key, sums)| ((day.clone(), key), sums)));
        }
        let mut wanted = BTreeMap::<_, [i128; 3]>::new();
        for transaction in stored.transactions.values() {
            let key = |currency| (day(transaction), (transaction.transaction_type.to_string(), currency));
            let currencies: BTreeSet<_> =
                transaction.postings.iter().map(|posting| posting.amount.currency()).collect();
            for currency in currencies {
                wanted.entry(key(currency)).or_default()[2] += 1;
            }
            for posting in &transaction.postings {
                let side = usize::from(posting.leg_type == LegType::Credit);
                wanted.entry(key(posting.amount.currency())).or_default()[side] += posting.amount.minor();
            }
        }
        assert_eq!(counted, wanted, "each transaction is counted once");
        let transactions = |sums: &mut dyn Iterator<Item = &[i128; 3]>| sums.map(|sums| sums[2]).sum::<i128>();
        let always = self.totals(&TotalSort::through(parsed("9999-12-30"))).await;
        assert_eq!(transactions(&mut always.values()), transactions(&mut wanted.values()), "no other day has totals");
    }

    /// Returns the debits, the credits and the number of transactions in a range of days, by
    /// transaction type and currency.
    async fn totals(&self, range: &KeyRange) -> BTreeMap<(String, Currency), [i128; 3]> {
        let table = dynamo(&self.stack).table(self.stack.table(TOTALS).expect("a table"));
        let mut counted = BTreeMap::<_, [i128; 3]>::new();
        for shard in 0..4 {
            let query = Query::new(&format!("ALL#{shard}"), range);
            for total in table.query_all::<Total>(&query).await.expect("totals").items {
                let minor = |amount| minor(amount, total.currency);
                let sums = counted.entry((total.transaction_type.to_string(), total.currency)).or_default();
                let more = [minor(total.debits), minor(total.credits), total.transactions.into()];
                sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
            }
        }
        counted
    }

    /// Checks that each statement lists the entries of its account, newest first.
    async fn check_statements(&self, stored: &Stored) {
        let operator = Client::operator(&self.stack);
        for holder in &self.model.holders {
            let (items, _) = operator.all(&format!("{ACCOUNTS}/{}/statement?limit=100", holder.id)).await;
            let shown = items.iter().map(|item| (text(item, "legId").to_owned(), holder.minor(item, "balanceAfter")));
            let entries = stored.legs_of(&holder.id).into_iter().rev().map(|leg| {
                let after = leg.entry().expect("an entry").balance_after;
                (leg.id.to_string(), minor(after, holder.currency))
            });
            assert_eq!(shown.collect::<Vec<_>>(), entries.collect::<Vec<_>>(), "{holder:?}");
        }
    }

    /// Checks that the ledger's own reconciliation finds no discrepancies.
    pub(super) async fn reconcile(&self) {
        let operator = Client::operator(&self.stack);
        let later = self.now + SignedDuration::from_hours(1);
        let window = json!({"from": start().to_string(), "to": self.now.to_string()});
        let started = At::new(&self.stack, &operator, later).post(RECONCILIATIONS, &window).await;
        assert_eq!(started.status, 202, "{}", started.body);
        let path = format!("{RECONCILIATIONS}/{}", text(&started.body, "reconciliationId"));
        let ended = until(&operator, &path, |answer| answer.body["status"] != "running").await.body;
        let (transactions, accounts) = (self.model.posted.len(), self.model.holders.len());
        assert_eq!((&ended["status"], &ended["discrepancies"]), (&json!("done"), &json!([])), "{ended}");
        let checked = (&ended["transactions"], &ended["accounts"]);
        assert_eq!(checked, (&json!(transactions), &json!(accounts)), "{ended}");
    }

    /// Checks that the table equals the model. Each key of a posted transaction must have one
    /// transaction, and rejected keys must have none.
    pub(super) async fn check_table(&self) {
        let stored = Stored::read(&self.stack).await;
        stored.check();
        join(self.check_totals(&stored), self.check_statements(&stored)).await;
        let posts = |operation: &Operation| !matches!(operation.action, Action::Hold { .. } | Action::Void { .. });
        let posted = self.done.values().filter(|(operation, _)| posts(operation)).map(|(operation, _)| &operation.key);
        let keys = stored.transactions.values().filter_map(|transaction| transaction.idempotency_key.as_ref());
        let mut keys: Vec<String> = keys.map(ToString::to_string).collect();
        keys.sort();
        let mut wanted: Vec<&String> = posted.collect();
        wanted.sort();
        assert_eq!(keys.iter().collect::<Vec<_>>(), wanted, "one transaction for each key");
        assert_eq!(self.done.len() + self.rejected.len(), self.keys, "one outcome for each key");
        assert!(self.rejected.iter().all(|key| !self.done.contains_key(key)));
        let holds = stored.holds.iter().map(|hold| {
            let [amount, captured] = [hold.amount, hold.captured].map(|amount| minor(amount, hold.currency));
            (hold.id.to_string(), (hold.status, amount, captured))
        });
        let wanted = self.model.holds.iter().map(|(id, hold)| (id.clone(), (hold.status, hold.amount, hold.captured)));
        assert_eq!(holds.collect::<BTreeMap<_, _>>(), wanted.collect::<BTreeMap<_, _>>());
    }
}
