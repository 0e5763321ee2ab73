-- View orders: the current items, rebuilt from all rows of order_changes.
SELECT
    changed_at,
    account_id,
    order_id,
    version,
    placed_at,
    total,
    currency,
    status,
    status_changed_at
FROM (
    SELECT
        *,
        row_number() OVER (PARTITION BY account_id, order_id ORDER BY version DESC, lpad(coalesce(sequence_number, ''), 40, '0') DESC, changed_at DESC) AS place
    FROM order_changes
) AS ranked
WHERE place = 1
    AND operation NOT IN ('remove', 'expire')
