-- State of archived_payments: the newest row of every item, also of items that no longer exist.
-- Placeholders: the previous state, and since, the first hour of the changes that are merged.
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
    archived_at
FROM (
    SELECT
        *,
        row_number() OVER (PARTITION BY account_id, payment_id ORDER BY version DESC, lpad(coalesce(sequence_number, ''), 40, '0') DESC, changed_at DESC) AS place
    FROM (
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
            archived_at
        FROM {state}
        UNION ALL
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
            archived_at
        FROM archived_payment_changes
        WHERE hour >= '{since}'
    ) AS rows_of_both
) AS ranked
WHERE place = 1
