-- Adds the items of a snapshot of ledger_transactions to transaction_changes.
-- Placeholders: the snapshot, and the hour of arrival.
INSERT INTO transaction_changes
SELECT
    event_id,
    operation,
    sequence_number,
    changed_at,
    transaction_id,
    version,
    transaction_type,
    status,
    merchant_id,
    amount,
    currency,
    legs,
    reverses_id,
    created_at,
    created_by,
    '{hour}' AS hour
FROM {snapshot} AS snapshot
