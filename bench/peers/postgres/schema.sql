-- The ledger as a PostgreSQL schema, for the comparison with ours
-- (docs/decisions/ledger-costs.md). Legs and transactions are only inserted, never updated.

CREATE TABLE accounts (
    id bigint PRIMARY KEY,
    user_id text NOT NULL,
    currency char(3) NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'frozen', 'closed')),
    -- Whether credits wait in the inbox, so that payments do not lock the account.
    is_grouped boolean NOT NULL DEFAULT false,
    allow_negative boolean NOT NULL DEFAULT false,
    balance numeric(20, 2) NOT NULL DEFAULT 0,
    -- Number of legs of the account.
    entries bigint NOT NULL DEFAULT 0,
    CONSTRAINT sufficient_funds CHECK (allow_negative OR balance >= 0),
    -- The target of the legs' foreign key, so that a leg has the currency of its account.
    UNIQUE (id, currency)
)
-- An update of the balance changes no index. With free space in the page, it needs no new index
-- entries (a heap-only tuple).
WITH (fillfactor = 50);

CREATE INDEX accounts_by_user ON accounts (user_id);

CREATE TABLE transactions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    caller text NOT NULL,
    idempotency_key text NOT NULL,
    -- Hash of the request. A retry must have the same content.
    request bytea NOT NULL,
    transaction_type text NOT NULL,
    status text NOT NULL DEFAULT 'completed' CHECK (status IN ('completed')),
    amount numeric(20, 2) NOT NULL CHECK (amount > 0),
    currency char(3) NOT NULL,
    description text,
    reverses bigint REFERENCES transactions,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (caller, idempotency_key)
);

CREATE INDEX transactions_by_status ON transactions (status, created_at, id);
CREATE INDEX transactions_by_reversed ON transactions (reverses) WHERE reverses IS NOT NULL;

CREATE TABLE legs (
    account_id bigint NOT NULL,
    -- Position in the history of the account. The key rejects a second leg for the same position.
    entry bigint NOT NULL,
    transaction_id bigint NOT NULL REFERENCES transactions,
    leg_type text NOT NULL CHECK (leg_type IN ('debit', 'credit')),
    amount numeric(20, 2) NOT NULL CHECK (amount > 0),
    currency char(3) NOT NULL,
    balance_after numeric(20, 2) NOT NULL,
    posted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (account_id, entry),
    FOREIGN KEY (account_id, currency) REFERENCES accounts (id, currency)
);

CREATE INDEX legs_by_transaction ON legs (transaction_id);

-- Credits of grouped accounts that are not settled yet.
CREATE TABLE inbox (
    id bigint GENERATED ALWAYS AS IDENTITY,
    account_id bigint NOT NULL,
    transaction_id bigint NOT NULL REFERENCES transactions,
    amount numeric(20, 2) NOT NULL CHECK (amount > 0),
    currency char(3) NOT NULL,
    PRIMARY KEY (account_id, id),
    FOREIGN KEY (account_id, currency) REFERENCES accounts (id, currency)
);

CREATE INDEX inbox_by_transaction ON inbox (transaction_id);

-- The effect of each leg on its account, settled or not.
CREATE VIEW changes AS
SELECT account_id, transaction_id, currency, true AS is_settled,
    CASE leg_type WHEN 'debit' THEN -amount ELSE amount END AS change
FROM legs
UNION ALL
SELECT account_id, transaction_id, currency, false, amount FROM inbox;
