-- Current content of every cart: the items of the table, rebuilt from their changes.
-- Has one row per item that customers see: ACTIVE, SAVED or PURCHASED.
--
-- Left out: items that were removed, deleted by expiry or joined into another item, and ACTIVE items past expires_at.
-- Readers do not see the latter, although the table may still contain them.
-- The greatest version of an item is its state, so duplicates and the order of arrival do not matter.
-- Two rows of one version are a repeated change, or the last change and the expiry. The expiry takes precedence.
-- Rows of removals and expiries have no status.
--
-- Reads all rows, because an item that was saved two years ago is still saved. If this exceeds the scan limit, add a
-- filter to the innermost query: WHERE hour >= '2026-01-01-00'. Items without changes since then are then missing.
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
            ORDER BY version DESC, CASE WHEN operation IN ('remove', 'expire') THEN 0 ELSE 1 END
        ) AS place
    FROM cart_changes
) AS ranked
WHERE place = 1
    AND status IN ('ACTIVE', 'SAVED', 'PURCHASED')
    AND (status <> 'ACTIVE' OR expires_at IS NULL OR expires_at > CAST(current_timestamp AT TIME ZONE 'UTC' AS timestamp))
ORDER BY account_id, status, status_changed_at DESC, item_id
