-- View archived_payments: the current items, rebuilt from all rows of archived_payment_changes.
SELECT
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
    archived_at
FROM (
    SELECT
        *,
        row_number() OVER (PARTITION BY account_id, payment_id ORDER BY version DESC, lpad(coalesce(sequence_number, ''), 40, '0') DESC, changed_at DESC) AS place
    FROM archived_payment_changes
) AS ranked
WHERE place = 1
    AND operation NOT IN ('remove', 'expire')
