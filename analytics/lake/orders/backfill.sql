-- Adds the items of a snapshot of orders to order_changes.
-- Placeholders: the snapshot, and the hour of arrival.
INSERT INTO order_changes
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
    old_status_changed_at,
    '{hour}' AS hour
FROM {snapshot} AS snapshot
