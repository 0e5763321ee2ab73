-- View cart_items: the current items, from the state and the changes since then.
-- Placeholders: the state, and since, the first hour that it may lack.
WITH tail AS (
    SELECT
        event_id,
        operation,
        sequence_number,
        changed_at,
        account_id,
        item_id,
        sku,
        version,
        added_at,
        status,
        status_changed_at,
        quantity,
        price,
        currency,
        order_id,
        expires_at,
        joined_to,
        old_status,
        old_status_changed_at,
        old_quantity,
        old_price,
        old_currency,
        old_order_id,
        old_expires_at
    FROM (
        SELECT
            *,
            row_number() OVER (PARTITION BY account_id, item_id ORDER BY version DESC, lpad(coalesce(sequence_number, ''), 40, '0') DESC, changed_at DESC) AS place
        FROM cart_changes
        WHERE hour >= '{since}'
    ) AS ranked
    WHERE place = 1
)
SELECT
    state.changed_at,
    state.account_id,
    state.item_id,
    state.sku,
    state.version,
    state.added_at,
    state.status,
    state.status_changed_at,
    state.quantity,
    state.price,
    state.currency,
    state.order_id,
    state.expires_at,
    state.joined_to
FROM {state} AS state
LEFT JOIN tail
    ON state.account_id = tail.account_id AND state.item_id = tail.item_id
    AND (tail.version > state.version OR (tail.version = state.version AND lpad(coalesce(tail.sequence_number, ''), 40, '0') > lpad(coalesce(state.sequence_number, ''), 40, '0')))
WHERE tail.version IS NULL
    AND state.operation NOT IN ('remove', 'expire')
    AND state.status <> 'JOINED'
UNION ALL
SELECT
    tail.changed_at,
    tail.account_id,
    tail.item_id,
    tail.sku,
    tail.version,
    tail.added_at,
    tail.status,
    tail.status_changed_at,
    tail.quantity,
    tail.price,
    tail.currency,
    tail.order_id,
    tail.expires_at,
    tail.joined_to
FROM tail
LEFT JOIN {state} AS state
    ON state.account_id = tail.account_id AND state.item_id = tail.item_id
    AND NOT (tail.version > state.version OR (tail.version = state.version AND lpad(coalesce(tail.sequence_number, ''), 40, '0') > lpad(coalesce(state.sequence_number, ''), 40, '0')))
WHERE state.version IS NULL
    AND tail.operation NOT IN ('remove', 'expire')
    AND tail.status <> 'JOINED'
