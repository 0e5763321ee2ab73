-- View orders: the current items, from the state and the changes since then.
-- Placeholders: the state, and since, the first hour that it may lack.
WITH tail AS (
    SELECT
        event_id,
        operation,
        sequence_number,
        changed_at,
        account_id,
        order_id,
        version,
        placed_at,
        total,
        currency,
        status,
        status_changed_at,
        old_status,
        old_status_changed_at
    FROM (
        SELECT
            *,
            row_number() OVER (PARTITION BY account_id, order_id ORDER BY version DESC, lpad(coalesce(sequence_number, ''), 40, '0') DESC, changed_at DESC) AS place
        FROM order_changes
        WHERE hour >= '{since}'
    ) AS ranked
    WHERE place = 1
)
SELECT
    state.changed_at,
    state.account_id,
    state.order_id,
    state.version,
    state.placed_at,
    state.total,
    state.currency,
    state.status,
    state.status_changed_at
FROM {state} AS state
LEFT JOIN tail
    ON state.account_id = tail.account_id AND state.order_id = tail.order_id
    AND (tail.version > state.version OR (tail.version = state.version AND lpad(coalesce(tail.sequence_number, ''), 40, '0') > lpad(coalesce(state.sequence_number, ''), 40, '0')))
WHERE tail.version IS NULL
    AND state.operation NOT IN ('remove', 'expire')
UNION ALL
SELECT
    tail.changed_at,
    tail.account_id,
    tail.order_id,
    tail.version,
    tail.placed_at,
    tail.total,
    tail.currency,
    tail.status,
    tail.status_changed_at
FROM tail
LEFT JOIN {state} AS state
    ON state.account_id = tail.account_id AND state.order_id = tail.order_id
    AND NOT (tail.version > state.version OR (tail.version = state.version AND lpad(coalesce(tail.sequence_number, ''), 40, '0') > lpad(coalesce(state.sequence_number, ''), 40, '0')))
WHERE state.version IS NULL
    AND tail.operation NOT IN ('remove', 'expire')
