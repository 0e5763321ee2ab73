-- View cart_items: the current items, rebuilt from all rows of cart_changes.
SELECT
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
    joined_to
FROM (
    SELECT
        *,
        row_number() OVER (PARTITION BY account_id, item_id ORDER BY version DESC, lpad(coalesce(sequence_number, ''), 40, '0') DESC, changed_at DESC) AS place
    FROM cart_changes
) AS ranked
WHERE place = 1
    AND operation NOT IN ('remove', 'expire')
    AND status <> 'JOINED'
