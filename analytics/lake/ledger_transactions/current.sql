-- View ledger_transactions: the current items, from the state and the changes since then.
-- Placeholders: the state, and since, the first hour that it may lack.
WITH tail AS (
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
        created_by
    FROM (
        SELECT
            *,
            row_number() OVER (PARTITION BY transaction_id ORDER BY version DESC, lpad(coalesce(sequence_number, ''), 40, '0') DESC, changed_at DESC) AS place
        FROM transaction_changes
        WHERE hour >= '{since}'
    ) AS ranked
    WHERE place = 1
)
SELECT
    state.changed_at,
    state.transaction_id,
    state.version,
    state.transaction_type,
    state.status,
    state.merchant_id,
    state.amount,
    state.currency,
    state.legs,
    state.reverses_id,
    state.created_at,
    state.created_by
FROM {state} AS state
LEFT JOIN tail
    ON state.transaction_id = tail.transaction_id
    AND (tail.version > state.version OR (tail.version = state.version AND lpad(coalesce(tail.sequence_number, ''), 40, '0') > lpad(coalesce(state.sequence_number, ''), 40, '0')))
WHERE tail.version IS NULL
    AND state.operation NOT IN ('remove', 'expire')
UNION ALL
SELECT
    tail.changed_at,
    tail.transaction_id,
    tail.version,
    tail.transaction_type,
    tail.status,
    tail.merchant_id,
    tail.amount,
    tail.currency,
    tail.legs,
    tail.reverses_id,
    tail.created_at,
    tail.created_by
FROM tail
LEFT JOIN {state} AS state
    ON state.transaction_id = tail.transaction_id
    AND NOT (tail.version > state.version OR (tail.version = state.version AND lpad(coalesce(tail.sequence_number, ''), 40, '0') > lpad(coalesce(state.sequence_number, ''), 40, '0')))
WHERE state.version IS NULL
    AND tail.operation NOT IN ('remove', 'expire')
