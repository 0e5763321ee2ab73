//! Posts many transactions of one request
//! ([decision](../../../docs/decisions/ledger-throughput.md)).

use crate::{
    Account, Posted, Posting,
    model::{posting_plan::PostingPlan, transaction::Draft},
    post::Payer,
    store::Books,
};
use function::{Caller, Error};
use futures::{StreamExt, stream};
use keys::{
    AccountId, Random, TimestampMillis,
    ledger::{LegType, MerchantId, PostingMode, Reference, TransactionType},
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use table::{Error as Store, Key, MAX_CHANGES};

/// Maximum number of concurrent DynamoDB transactions.
const SIDE_BY_SIDE: usize = 4;

/// The outcome of each draft, by its position in the batch.
type Outcomes = Vec<(usize, Result<Posted, Error>)>;

/// The accounts whose credits wait in an inbox. Transactions that credit such an account do not
/// update it, so they need no order.
#[derive(Debug, Default)]
struct Grouped(BTreeSet<AccountId>);

impl Grouped {
    fn has(&self, posting: &Posting) -> bool {
        posting.leg_type == LegType::Credit && self.0.contains(&posting.account)
    }

    /// Returns what the draft needs for itself: the accounts that it updates, and its reference.
    fn claims<'a>(&self, draft: &'a Draft) -> BTreeSet<Claim<'a>> {
        let updated = draft.postings.iter().filter(|posting| !self.has(posting));
        let accounts = updated.map(|posting| Claim::Account(&posting.account));
        let reference = draft.reference.iter().map(|reference| Claim::Reference(&draft.transaction_type, reference));
        accounts.chain(reference).collect()
    }
}

/// An item that a draft changes, and that no other draft of the same wave may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Claim<'a> {
    /// An account.
    Account(&'a AccountId),
    /// The guard of a reference. All drafts of a batch have the same caller.
    Reference(&'a TransactionType, &'a Reference),
}

/// Returns the positions of the drafts in the order in which they can be posted. The drafts of a
/// wave update different accounts and have different references. Drafts of the same account or
/// reference are in different waves, in their order.
fn waves(drafts: &[Draft], grouped: &Grouped) -> Vec<Vec<usize>> {
    let (mut waves, mut last) = (Vec::<Vec<usize>>::new(), BTreeMap::<Claim<'_>, usize>::new());
    for (position, draft) in drafts.iter().enumerate() {
        let claims = grouped.claims(draft);
        let wave = claims.iter().filter_map(|claim| last.get(claim)).max().map_or(0, |wave| wave + 1);
        last.extend(claims.into_iter().map(|claim| (claim, wave)));
        match waves.get_mut(wave) {
            Some(wave) => wave.push(position),
            None => waves.push(vec![position]),
        }
    }
    waves
}

/// Splits a wave into groups whose changes fit into one DynamoDB transaction.
fn groups(drafts: &[Draft], wave: Vec<usize>, grouped: &Grouped) -> Vec<Vec<usize>> {
    let (mut groups, mut room) = (Vec::<Vec<usize>>::new(), 0);
    for position in wave {
        let postings = &drafts[position].postings;
        let inbox = postings.iter().filter(|posting| grouped.has(posting)).count();
        let changes = 1 + postings.len() + inbox + grouped.claims(&drafts[position]).len();
        if let Some(group) = groups.last_mut().filter(|_| changes <= room) {
            group.push(position);
            room -= changes;
        } else {
            groups.push(vec![position]);
            room = MAX_CHANGES.saturating_sub(changes);
        }
    }
    groups
}

/// The caller, the time and the random source of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchRequest<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) now: TimestampMillis,
    pub(crate) random: &'a Random,
}

impl Books {
    /// Posts each draft exactly once, or returns the reason why not. Drafts of different accounts
    /// share DynamoDB transactions. Drafts of one account or reference are posted in their order.
    /// If the outcome of a draft is unknown, the later drafts of its accounts and its reference are
    /// not posted.
    pub(crate) async fn post_all(&self, drafts: &[Draft], request: BatchRequest<'_>) -> Vec<Result<Posted, Error>> {
        let (mut outcomes, mut blocked) = (BTreeMap::new(), BTreeSet::<Claim<'_>>::new());
        let grouped = self.grouped(drafts).await;
        for wave in waves(drafts, &grouped) {
            let is_blocked = |position: &usize| !blocked.is_disjoint(&grouped.claims(&drafts[*position]));
            let (held, wave): (Vec<_>, Vec<_>) = wave.into_iter().partition(is_blocked);
            let done = stream::iter(groups(drafts, wave, &grouped))
                .map(|group| Box::pin(self.post_group(drafts, group, request)))
                .buffer_unordered(SIDE_BY_SIDE);
            let done: Outcomes = done.concat().await;
            let held = held.into_iter().map(|position| (position, Err(Error::stale())));
            for (position, outcome) in done.into_iter().chain(held) {
                if outcome.as_ref().is_err_and(Error::is_outage) {
                    blocked.extend(grouped.claims(&drafts[position]));
                }
                outcomes.insert(position, outcome);
            }
        }
        outcomes.into_values().collect()
    }

    /// Reads which of the accounts that several drafts credit have grouped posting. This is only a
    /// plan: if it is wrong or cannot be read, the drafts are posted one after the other.
    async fn grouped(&self, drafts: &[Draft]) -> Grouped {
        let mut credits = BTreeMap::<&AccountId, usize>::new();
        let postings = drafts.iter().flat_map(|draft| &draft.postings);
        for posting in postings.filter(|posting| posting.leg_type == LegType::Credit) {
            *credits.entry(&posting.account).or_default() += 1;
        }
        let keys: Vec<Key> =
            credits.into_iter().filter(|(_, count)| *count > 1).map(|(id, _)| Account::key_of(id)).collect();
        let found = self.table.get_all::<Account>(&keys, false).await.map(|found| found.items).unwrap_or_default();
        let grouped = found.into_values().filter(|account| account.posting == PostingMode::Grouped);
        Grouped(grouped.map(|account| account.id).collect())
    }

    /// Posts drafts that update different accounts in one DynamoDB transaction. A draft that a rule
    /// rejects is posted alone, which also finds the outcome of an earlier request. So are all
    /// drafts if the transaction fails.
    async fn post_group(&self, drafts: &[Draft], group: Vec<usize>, request: BatchRequest<'_>) -> Outcomes {
        let (mut outcomes, mut alone, mut unknown) = (Outcomes::new(), group.clone(), BTreeSet::new());
        if group.len() > 1 {
            let plans = Box::pin(self.plans(drafts, &group, request)).await.unwrap_or_default();
            match self.write_together(&plans).await {
                Ok(()) => {
                    alone.retain(|position| !plans.iter().any(|(planned, _)| planned == position));
                    outcomes.extend(plans.into_iter().map(|(position, plan)| (position, Ok(plan.posted))));
                }
                // The transaction may still be written.
                Err(Error::Table(Store::Unavailable(_) | Store::Underway)) => {
                    unknown.extend(plans.into_iter().map(|(position, _)| position));
                }
                Err(_) => {}
            }
        }
        for position in alone {
            let BatchRequest { caller, now, random } = request;
            let outcome = Box::pin(self.post(&drafts[position], Payer::Caller(caller), now, random)).await;
            let is_unknown = |error: &Error| unknown.contains(&position) && !matches!(error, Error::KeyReused);
            let outcome = outcome.map_err(|error| if is_unknown(&error) { Error::stale() } else { error });
            outcomes.push((position, outcome));
        }
        outcomes
    }

    /// Makes one attempt to write the plans in one DynamoDB transaction.
    async fn write_together(&self, plans: &[(usize, PostingPlan)]) -> Result<(), Error> {
        let changes = plans.iter().map(|(_, plan)| plan.changes(&self.table)).collect::<Result<Vec<_>, _>>()?;
        if !changes.is_empty() {
            self.dynamo.transact_once(changes.concat()).await?;
        }
        Ok(())
    }

    /// Applies the drafts of a group to their accounts. Leaves out the drafts that a rule rejects.
    async fn plans(
        &self,
        drafts: &[Draft],
        group: &[usize],
        request: BatchRequest<'_>,
    ) -> Result<Vec<(usize, PostingPlan)>, Error> {
        let BatchRequest { caller, now, random } = request;
        let of_group = || group.iter().map(|position| &drafts[*position]);
        let ids: BTreeSet<_> = of_group().flat_map(|draft| &draft.postings).map(|posting| &posting.account).collect();
        let accounts = self.accounts(ids.into_iter(), caller).await?;
        let names: BTreeSet<Option<&MerchantId>> = of_group().map(|draft| draft.merchant.as_ref()).collect();
        let mut merchants = HashMap::with_capacity(names.len());
        for name in names {
            merchants.insert(name, self.knows(name).await?);
        }
        let mut plans = Vec::with_capacity(group.len());
        for position in group {
            let draft = &drafts[*position];
            let own = draft.postings.iter().filter_map(|posting| accounts.get(&posting.account));
            let own = own.map(|account| (account.id.clone(), account.clone())).collect();
            let has_merchant = merchants.get(&draft.merchant.as_ref()).copied().unwrap_or_default();
            let (payer, shard) = (Payer::Caller(caller), self.shards.pick(random));
            if let Ok((plan, _)) = Box::pin(self.plan(draft, own, has_merchant, payer, now, shard)).await {
                plans.push((*position, plan));
            }
        }
        Ok(plans)
    }
}
