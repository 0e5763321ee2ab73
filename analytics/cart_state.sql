-- Current items of every cart, rebuilt from the changes of the items.
-- Returns one row for each item that customers see: ACTIVE, SAVED, PURCHASED, SHIPPED or CANCELLED.
--
-- Left out: items that were removed, joined into another item, or deleted after their expiry.
-- ACTIVE items past their expiry time are also left out, even if the table still contains them.
-- The row with the highest version is the state of an item. Duplicates and the order of the rows do
-- not matter. If two rows of an item have the same version, removals and expiries take precedence.
-- Rows of removals and expiries have no status.
--
-- The query reads all rows, because saved items do not expire. If the query exceeds the scan limit,
-- add a filter to the innermost query, such as WHERE hour >= '2026-01-01-00'.
-- The result then lacks items without changes since that hour.
SELECT
    account_id,
    item_id,
    sku,
    status,
    quantity,
    price,
    currency,
    order_id,
    added_at,
    status_changed_at,
    expires_at,
    version
FROM (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY account_id, item_id
            ORDER BY version DESC, CASE WHEN operation IN ('remove', 'expire') THEN 0 WHEN operation = 'snapshot' THEN 2 ELSE 1 END
        ) AS place
    FROM cart_changes
) AS ranked
WHERE place = 1
    AND status IN ('ACTIVE', 'SAVED', 'PURCHASED', 'SHIPPED', 'CANCELLED')
    AND (status <> 'ACTIVE' OR expires_at IS NULL OR expires_at > CAST(current_timestamp AT TIME ZONE 'UTC' AS timestamp))
ORDER BY account_id, status, status_changed_at DESC, item_id
