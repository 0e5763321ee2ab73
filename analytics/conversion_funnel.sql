-- Outcome of the cart items that were added in a week, by SKU: saved, purchased, removed or expired.
-- Covers items added in the current week and the 12 weeks before it, in UTC. To cover more, raise both intervals.
--
-- added: new items, in the week of the addition. saved: those of them that were saved for later at least once.
-- added = purchased + removed + expired + joined + still_active + still_saved: the current outcome of each item.
-- expired: ACTIVE items past their expiry time. The table may not have deleted them yet.
-- joined: items that were merged into another item of the same SKU. A join is not a removal.
-- purchased_percent: the share of purchased items. Joined items are left out of the total.
-- Not counted: pieces added to an item later, and items added before the first week.
-- The greatest version of an item is its state, so duplicates and the order of arrival do not matter.
-- An expiry has the version after that of the item that it deletes, so it is the latest state.
WITH ranked AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY account_id, item_id
            ORDER BY version DESC, CASE WHEN operation IN ('remove', 'expire') THEN 0 ELSE 1 END
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
            WHEN status = 'PURCHASED' THEN 'purchased'
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
