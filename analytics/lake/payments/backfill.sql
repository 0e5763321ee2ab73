-- Adds the items of a snapshot of payments to payment_changes.
-- Placeholders: the snapshot, and the hour of arrival.
INSERT INTO payment_changes
SELECT
    event_id,
    operation,
    sequence_number,
    changed_at,
    account_id,
    payment_id,
    version,
    scheduled_at,
    created_at,
    amount,
    currency,
    debit_account_id,
    credit_account_id,
    by_operator,
    retry_of,
    status,
    attempts,
    transaction_id,
    dispatched_at,
    settled_at,
    failure_reason,
    execution,
    next_attempt_at,
    old_status,
    old_attempts,
    '{hour}' AS hour
FROM {snapshot} AS snapshot
