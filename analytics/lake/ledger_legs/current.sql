-- View ledger_legs: the current items, from the state and the changes since then.
-- Placeholders: the state, and since, the first hour that it may lack.
WITH tail AS (
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
        posted_at
    FROM (
        SELECT
            *,
            row_number() OVER (PARTITION BY leg_id, entry ORDER BY version DESC, lpad(coalesce(sequence_number, ''), 40, '0') DESC, changed_at DESC) AS place
        FROM leg_changes
        WHERE hour >= '{since}'
    ) AS ranked
    WHERE place = 1
)
SELECT
    state.changed_at,
    state.leg_id,
    state.entry,
    state.version,
    state.transaction_id,
    state.account_id,
    state.user_id,
    state.leg_type,
    state.amount,
    state.currency,
    state.created_at,
    state.balance_after,
    state.posted_at
FROM {state} AS state
LEFT JOIN tail
    ON state.leg_id = tail.leg_id AND state.entry = tail.entry
    AND (tail.version > state.version OR (tail.version = state.version AND lpad(coalesce(tail.sequence_number, ''), 40, '0') > lpad(coalesce(state.sequence_number, ''), 40, '0')))
WHERE tail.version IS NULL
    AND state.operation NOT IN ('remove', 'expire')
UNION ALL
SELECT
    tail.changed_at,
    tail.leg_id,
    tail.entry,
    tail.version,
    tail.transaction_id,
    tail.account_id,
    tail.user_id,
    tail.leg_type,
    tail.amount,
    tail.currency,
    tail.created_at,
    tail.balance_after,
    tail.posted_at
FROM tail
LEFT JOIN {state} AS state
    ON state.leg_id = tail.leg_id AND state.entry = tail.entry
    AND NOT (tail.version > state.version OR (tail.version = state.version AND lpad(coalesce(tail.sequence_number, ''), 40, '0') > lpad(coalesce(state.sequence_number, ''), 40, '0')))
WHERE state.version IS NULL
    AND tail.operation NOT IN ('remove', 'expire')
