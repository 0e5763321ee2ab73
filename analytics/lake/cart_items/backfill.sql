-- Adds the items of a snapshot of cart_items to cart_changes.
-- Placeholders: the snapshot, and the hour of arrival.
INSERT INTO cart_changes
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
    old_expires_at,
    '{hour}' AS hour
FROM {snapshot} AS snapshot
