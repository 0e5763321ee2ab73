-- What is in every cart now: the lines of the table, rebuilt from their changes.
-- One row per line that customers see: ACTIVE, SAVED or PURCHASED.
--
-- Left out: lines that were removed or deleted by expiry, that became a part of another line, and ACTIVE lines past
-- expires_at, which readers no longer see although the table may still hold them.
-- The greatest version of a line is its state, so neither duplicates nor disorder matter. Two rows of the same version
-- are the same change twice, or the last change and the expiry that deletes it: then the expiry wins.
-- Rows of removals and expiries have no status.
--
-- It reads all that ever arrived, because a line saved two years ago is still saved. Where the scan limit stops it, add to
-- the innermost query: WHERE hour >= '2026-01-01-00' with a time of yours. Lines that did not change since are then missing.
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
