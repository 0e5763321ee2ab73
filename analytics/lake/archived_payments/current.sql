-- View archived_payments: the current items, from the state and the changes since then.
-- Placeholders: the state, and since, the first hour that it may lack.
WITH tail AS (
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
        FROM archived_payment_changes
        WHERE hour >= '{since}'
    ) AS ranked
    WHERE place = 1
)
SELECT
    state.changed_at,
    state.account_id,
    state.payment_id,
    state.version,
    state.scheduled_at,
    state.created_at,
    state.amount,
    state.currency,
    state.debit_account_id,
    state.credit_account_id,
    state.by_operator,
    state.retry_of,
    state.status,
    state.attempts,
    state.transaction_id,
    state.dispatched_at,
    state.settled_at,
    state.failure_reason,
    state.archived_at
FROM {state} AS state
LEFT JOIN tail
    ON state.account_id = tail.account_id AND state.payment_id = tail.payment_id
    AND (tail.version > state.version OR (tail.version = state.version AND lpad(coalesce(tail.sequence_number, ''), 40, '0') > lpad(coalesce(state.sequence_number, ''), 40, '0')))
WHERE tail.version IS NULL
    AND state.operation NOT IN ('remove', 'expire')
UNION ALL
SELECT
    tail.changed_at,
    tail.account_id,
    tail.payment_id,
    tail.version,
    tail.scheduled_at,
    tail.created_at,
    tail.amount,
    tail.currency,
    tail.debit_account_id,
    tail.credit_account_id,
    tail.by_operator,
    tail.retry_of,
    tail.status,
    tail.attempts,
    tail.transaction_id,
    tail.dispatched_at,
    tail.settled_at,
    tail.failure_reason,
    tail.archived_at
FROM tail
LEFT JOIN {state} AS state
    ON state.account_id = tail.account_id AND state.payment_id = tail.payment_id
    AND NOT (tail.version > state.version OR (tail.version = state.version AND lpad(coalesce(tail.sequence_number, ''), 40, '0') > lpad(coalesce(state.sequence_number, ''), 40, '0')))
WHERE state.version IS NULL
    AND tail.operation NOT IN ('remove', 'expire')
