-- Adds the items of a snapshot of ledger_legs to leg_changes.
-- Placeholders: the snapshot, and the hour of arrival.
INSERT INTO leg_changes
SELECT
    event_id,
    operation,
    sequence_number,
    changed_at,
    leg_id,
    entry,
    version,
    transaction_id,
    account_id,
    user_id,
    leg_type,
    amount,
    currency,
    created_at,
    balance_after,
    posted_at,
    '{hour}' AS hour
FROM {snapshot} AS snapshot
