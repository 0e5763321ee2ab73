//! L3: posts a transaction
//! ([requirement](../../../../docs/requirements/ledger.md#payment-processing),
//! [decision](../../../../docs/decisions/idempotency.md)).

use crate::{
    Ledger, Posting,
    cost::{self, Calls, Pattern},
    model::access::user,
    model::refusal::with_rejections,
    model::{
        metadata::TransactionMetadata,
        posting::unbalanced,
        purpose::Description,
        transaction::{Draft, JOURNAL, RESERVED, TransactionBody, is_reserved},
    },
    post::Payer,
};
use function::{Contract, Created, Error, Fields, Fingerprint, Input, Problem, Request, Route, Trigger};
use keys::{
    AccountId, IdempotencyKey, Random, TimestampMillis, TransactionId,
    ledger::{LegType, MerchantId, Reference, TransactionType, UserId},
};
use money::{Currency, JsonDecimal, Money};
use schemars::{JsonSchema, json_schema};
use serde::Deserialize;
use serde_json::{Map, json};
use std::collections::{BTreeMap, BTreeSet};
use table::MAX_CHANGES;

pub const PATTERN: Pattern = Pattern {
    id: "L3",
    name: "process-payment",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/ledger/transactions",
        scopes: &["ledger:write", "ledger:operate"],
        summary: "Post a transaction",
        problems: &with_rejections::<3, 9>([Problem::NotFound, Problem::ReferenceUsed, Problem::IdempotencyKeyReused]),
    }]),
    calls: &[
        Calls::new("", |case| case.posted(true).read(cost::LEDGER, case.looked_at())),
        // The guard of the reference.
        Calls::new(", reference", |case| case.posted(true).read(cost::LEDGER, case.looked_at()).write(cost::LEDGER, 2)),
        Calls::new(", grouped", |case| case.posted_to_inbox().read(cost::LEDGER, case.looked_at())),
    ],
    contract: function::contract(&process_payment),
    function: || function::http(process_payment, Ledger::warm_by_batch_get),
};

/// Maximum number of legs in one transaction. Each leg needs two actions of `TransactWriteItems`:
/// one for the leg, and one for its account or its inbox item. The header needs one, and so does
/// the guard of a reference. A reversal needs one for its marker and none for a reference, so every
/// posted transaction can be reversed.
const MAX_LEGS: usize = (MAX_CHANGES - 2) / 2;

/// The request body.
#[derive(Debug, Clone)]
pub struct ProcessPaymentInput {
    transaction_type: TransactionType,
    merchant: Option<MerchantId>,
    description: Option<Description>,
    reference: Option<Reference>,
    metadata: Option<TransactionMetadata>,
    postings: Vec<Posting>,
}

/// A leg of the request body.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NewLeg {
    account_id: AccountId,
    leg_type: LegType,
    amount: JsonDecimal,
    currency: Currency,
}

impl Input for ProcessPaymentInput {
    const BODY: bool = true;

    fn read(fields: &mut Fields) -> Option<Self> {
        fields.needs_header("idempotency-key");
        Self::read_body(fields)
    }

    fn describe(contract: &mut Contract) {
        contract.idempotency_key(true);
        describe_transaction(contract);
        contract.name_body("NewTransaction");
    }
}

impl ProcessPaymentInput {
    /// Reads the fields of the body.
    pub(crate) fn read_body(fields: &mut Fields) -> Option<Self> {
        let (merchant, description) = (fields.body_if_any("merchantId"), fields.body_if_any("description"));
        let (reference, metadata) = (fields.body_if_any("reference"), fields.body_if_any("metadata"));
        let metadata = metadata.filter(|metadata: &TransactionMetadata| !metadata.is_empty());
        let (transaction_type, postings) =
            if fields.has_body("legs") { read_legs(fields) } else { read_payment(fields) };
        let (transaction_type, postings) = (transaction_type?, postings?);
        Some(Self { transaction_type, merchant, description, reference, metadata, postings })
    }
}

/// Describes a transaction: a payment from one account to another, or legs.
pub(crate) fn describe_transaction(contract: &mut Contract) {
    contract.body::<PostedType>(
        "transactionType",
        "Without a type, a transaction with legs has the type `journal`.",
        false,
    );
    contract.body::<AccountId>("debitAccountId", "", false);
    contract.body::<AccountId>("creditAccountId", "", false);
    contract.body::<JsonDecimal>("amount", "", false);
    contract.body::<Currency>("currency", "", false);
    contract.body::<Vec<NewLeg>>("legs", "", false);
    contract.body::<MerchantId>("merchantId", "", false);
    contract.body::<Description>("description", "", false);
    contract.body::<Reference>("reference", "", false);
    contract.body::<TransactionMetadata>("metadata", "", false);
    contract.adapt_body(|body| {
        const OF_PAYMENT: [&str; 4] = ["debitAccountId", "creditAccountId", "amount", "currency"];
        let about = "A payment from one account to another, or legs with equal debits and credits in each currency. An \
            account is either debited or credited. The number of legs plus the number of distinct accounts is at most \
            98. Amounts are greater than 0.";
        body.insert("description".to_owned(), about.into());
        body["properties"]["legs"]["minItems"] = 2.into();
        body["properties"]["legs"]["maxItems"] = MAX_LEGS.into();
        let needed = [&["transactionType"], &OF_PAYMENT[..]].concat();
        let with_legs = OF_PAYMENT.map(|name| (name.to_owned(), false.into()));
        let shapes = json!([
            {"title": "OfPayment", "required": needed, "properties": {"legs": false}},
            {"title": "OfLegs", "required": ["legs"], "properties": Map::from_iter(with_legs)},
        ]);
        body.insert("allOf".to_owned(), json!([{"oneOf": shapes}]));
    });
}

/// A type that a caller may post.
struct PostedType;
keys::schema!(PostedType as "NewTransactionType", |generator| json_schema!({
    "description": "The types `reversal`, `closing`, `journal` and `capture` are reserved, in upper and lower case, with \
        `-` and `_` anywhere, and with digits that look like letters. The ledger itself writes these types.",
    "allOf": [generator.subschema_for::<TransactionType>()],
    "not": {"pattern": RESERVED.map(any_case).join("|")},
}));

/// A pattern of the word in upper and lower case.
fn any_case(word: &str) -> String {
    let letters = word.chars().map(|letter| format!("[{}{letter}]", letter.to_ascii_uppercase()));
    format!("^{}$", letters.collect::<String>())
}

/// Reads the type, which must not be one that the ledger itself writes.
fn read_type(fields: &mut Fields) -> Option<TransactionType> {
    let transaction_type = fields.body("transactionType")?;
    if is_reserved(&transaction_type) {
        let [others @ .., last] = &RESERVED;
        let reserved = others.join(", ");
        let detail = format!("must not be, or look like, {reserved} or {last}, which the ledger writes itself");
        return fields.fault("/body/transactionType", detail);
    }
    Some(transaction_type)
}

/// Reads a payment from one account to another.
fn read_payment(fields: &mut Fields) -> (Option<TransactionType>, Option<Vec<Posting>>) {
    let transaction_type = read_type(fields);
    let (debit, credit) = (fields.body::<AccountId>("debitAccountId"), fields.body("creditAccountId"));
    let (amount, currency) = (fields.body("amount"), fields.body("currency"));
    let amount = amount.zip(currency).and_then(|(amount, currency)| read_amount(fields, "/body", amount, currency));
    if debit.is_some() && debit == credit {
        fields.fault::<()>("/body/creditAccountId", "must be a different account from debitAccountId");
    }
    let postings = || {
        let (debit, credit, amount) = (debit?, credit?, amount?);
        Some(vec![
            Posting { leg_type: LegType::Debit, amount, account: debit },
            Posting { leg_type: LegType::Credit, amount, account: credit },
        ])
    };
    (transaction_type, postings())
}

/// Reads a transaction with any number of legs. The debits must equal the credits.
fn read_legs(fields: &mut Fields) -> (Option<TransactionType>, Option<Vec<Posting>>) {
    let transaction_type = if fields.has_body("transactionType") { read_type(fields) } else { JOURNAL.parse().ok() };
    // If the legs are unreadable, report only that error, not the errors that it causes.
    let Some(legs) = fields.body::<Vec<NewLeg>>("legs") else { return (transaction_type, None) };
    let count = legs.len();
    let mut postings = Vec::with_capacity(count);
    for (index, NewLeg { account_id: account, leg_type, amount, currency }) in legs.into_iter().enumerate() {
        let amount = read_amount(fields, &format!("/body/legs/{index}"), amount, currency);
        postings.extend(amount.map(|amount| Posting { leg_type, amount, account }));
    }
    if postings.len() == count {
        must_balance(fields, &postings);
        must_be_one_sided(fields, &postings);
    }
    (transaction_type, Some(postings))
}

/// Reads an amount, which must be positive and valid for its currency.
pub(crate) fn read_amount(fields: &mut Fields, at: &str, amount: JsonDecimal, currency: Currency) -> Option<Money> {
    let pointer = format!("{at}/amount");
    match Money::new(amount.0, currency) {
        Ok(money) if money.minor() > 0 => Some(money),
        Ok(_) => fields.fault(&pointer, "must be greater than 0"),
        Err(error) => fields.fault(&pointer, error),
    }
}

/// Checks that the legs name at least two accounts, fit into one transaction, and balance in each
/// currency.
fn must_balance(fields: &mut Fields, postings: &[Posting]) {
    let accounts: BTreeSet<_> = postings.iter().map(|posting| &posting.account).collect();
    if postings.len() > MAX_LEGS {
        fields.fault::<()>("/body/legs", format!("must have at most {MAX_LEGS} legs"));
    }
    if accounts.len() < 2 {
        fields.fault::<()>("/body/legs", "must name at least two different accounts");
    }
    for (currency, _) in unbalanced(postings) {
        fields.fault::<()>(
            "/body/legs",
            format!("must have equal debits and credits in {currency}, with at most 38 digits"),
        );
    }
}

/// Checks that each account is either debited or credited. Otherwise an account could pay with
/// money that it receives in the same transaction.
fn must_be_one_sided(fields: &mut Fields, postings: &[Posting]) {
    let mut sides = BTreeMap::new();
    for (index, posting) in postings.iter().enumerate() {
        let side = *sides.entry(&posting.account).or_insert(posting.leg_type);
        if side != posting.leg_type {
            let detail = format!("must be {side}, as in the first leg of the same account");
            fields.fault::<()>(&format!("/body/legs/{index}/legType"), detail);
        }
    }
}

impl ProcessPaymentInput {
    /// Returns the transaction that the request of this caller posts.
    pub(crate) fn draft(
        self,
        by: &UserId,
        key: Option<IdempotencyKey>,
        now: TimestampMillis,
        random: &Random,
    ) -> Draft {
        let request = self.fingerprint();
        let Self { transaction_type, merchant, description, reference, metadata, postings } = self;
        Draft {
            id: TransactionId::of_request(by, key.as_ref(), now.instant(), random),
            key,
            transaction_type,
            merchant,
            description,
            reference,
            metadata,
            postings,
            reverses: None,
            capture: None,
            by: by.clone(),
            request,
        }
    }

    fn fingerprint(&self) -> Fingerprint {
        let of = |text: Option<String>| text.unwrap_or_default();
        let (merchant, description) = (
            of(self.merchant.as_ref().map(ToString::to_string)),
            of(self.description.as_ref().map(ToString::to_string)),
        );
        let head = ["process-payment", self.transaction_type.as_str(), &merchant, &description];
        // A posting starts with neither word.
        let reference = self.reference.iter().map(|reference| format!("reference {reference}"));
        let metadata = self.metadata.iter().flat_map(TransactionMetadata::entries);
        let metadata = metadata.map(|(name, text)| format!("metadata {name} {text}"));
        let rest: Vec<String> =
            self.postings.iter().map(ToString::to_string).chain(reference).chain(metadata).collect();
        Fingerprint::of(&head.into_iter().chain(rest.iter().map(String::as_str)).collect::<Vec<_>>())
    }
}

/// Posts a transaction with all of its legs, atomically and exactly once. A debit must not overdraw
/// its account, unless the account allows a negative balance.
///
/// # Errors
/// Returns:
/// - 400 for an invalid request;
/// - 403 if the request debits another user's account, or if a caller who is not an operator debits
///   a missing account;
/// - 404 for a merchant that does not exist, and to operators for an account that does not exist;
/// - 409 if another transaction of the caller and type has the reference;
/// - 409 if an account rejects one of its legs. Callers who may not access the account get
///   `account-unavailable`, even if the account does not exist;
pub async fn process_payment(
    ledger: Ledger,
    request: Request<ProcessPaymentInput>,
) -> Result<Created<TransactionBody>, Error> {
    let by = user(&request.caller)?;
    let draft = request.input.draft(&by, request.idempotency_key.clone(), request.milli, &request.random);
    let posted =
        Box::pin(ledger.books.post(&draft, Payer::Caller(&request.caller), request.milli, &request.random)).await?;
    Ok(Created { id: draft.id.to_string(), body: posted.body(&request.caller) })
}
