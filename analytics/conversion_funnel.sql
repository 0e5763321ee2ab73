-- Outcome of the cart items added in a week, by SKU: saved, purchased, cancelled, removed or
-- expired.
-- Covers items added in the current week and in the 12 weeks before it, in UTC.
-- To cover more weeks, raise both intervals.
--
-- added: the number of items added in the week. saved: how many of them were ever saved.
-- The other columns are the current outcomes of the added items:
-- added = purchased + cancelled + removed + expired + joined + still_active + still_saved.
-- purchased: items of an order, also of a shipped one. cancelled: items of a cancelled order.
-- expired: ACTIVE items past their expiry time. The table may still contain them.
-- joined: items that were merged into another item of the same SKU. A join is not a removal.
-- purchased_percent: purchased items as a percentage of all added items except joined ones.
-- Not counted: pieces added to an existing item, and items added before the first week.
-- The row with the highest version is the state of an item. If TTL deleted the item, this is the
-- row of the deletion. Duplicates and the order of the rows do not matter.
WITH ranked AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY account_id, item_id
            ORDER BY version DESC, CASE WHEN operation IN ('remove', 'expire') THEN 0 WHEN operation = 'snapshot' THEN 2 ELSE 1 END
        ) AS place
    FROM cart_changes
    WHERE hour >= CAST(CAST(date_trunc('week', CAST(current_timestamp AT TIME ZONE 'UTC' AS timestamp)) - interval '85' day AS date) AS varchar) || '-00'
        AND added_at >= date_trunc('week', CAST(current_timestamp AT TIME ZONE 'UTC' AS timestamp)) - interval '84' day
),
lines AS (
    SELECT
        account_id,
        item_id,
        max(sku) AS sku,
        min(added_at) AS added_at,
        max(CASE WHEN status = 'SAVED' THEN 1 ELSE 0 END) AS saved,
        max(CASE WHEN place = 1 THEN operation END) AS operation,
        max(CASE WHEN place = 1 THEN status END) AS status,
        max(CASE WHEN place = 1 THEN expires_at END) AS expires_at
    FROM ranked
    GROUP BY account_id, item_id
),
outcomes AS (
    SELECT
        CAST(date_trunc('week', added_at) AS date) AS week,
        sku,
        saved,
        CASE
            WHEN operation = 'remove' THEN 'removed'
            WHEN operation = 'expire' THEN 'expired'
            WHEN status IN ('PURCHASED', 'SHIPPED') THEN 'purchased'
            WHEN status = 'CANCELLED' THEN 'cancelled'
            WHEN status = 'JOINED' THEN 'joined'
            WHEN status = 'SAVED' THEN 'still saved'
            WHEN expires_at <= CAST(current_timestamp AT TIME ZONE 'UTC' AS timestamp) THEN 'expired'
            ELSE 'still active'
        END AS outcome
    FROM lines
)
SELECT
    week,
    sku,
    count(*) AS added,
    sum(saved) AS saved,
    sum(CASE WHEN outcome = 'purchased' THEN 1 ELSE 0 END) AS purchased,
    sum(CASE WHEN outcome = 'cancelled' THEN 1 ELSE 0 END) AS cancelled,
    sum(CASE WHEN outcome = 'removed' THEN 1 ELSE 0 END) AS removed,
    sum(CASE WHEN outcome = 'expired' THEN 1 ELSE 0 END) AS expired,
    sum(CASE WHEN outcome = 'joined' THEN 1 ELSE 0 END) AS joined,
    sum(CASE WHEN outcome = 'still active' THEN 1 ELSE 0 END) AS still_active,
    sum(CASE WHEN outcome = 'still saved' THEN 1 ELSE 0 END) AS still_saved,
    round(
        CAST(100 * sum(CASE WHEN outcome = 'purchased' THEN 1 ELSE 0 END) AS double)
        / nullif(sum(CASE WHEN outcome <> 'joined' THEN 1 ELSE 0 END), 0),
        1
    ) AS purchased_percent
FROM outcomes
GROUP BY week, sku
ORDER BY week DESC, sku
