-- What became of the lines that were added in a week, by SKU: saved, purchased, removed or expired.
-- Lines added in the running week and the 12 weeks before it, in UTC. To look further back, raise both intervals.
--
-- added: new lines, in the week when they were added. saved: those of them that were put aside at least once.
-- added = purchased + removed + expired + joined + still_active + still_saved: each line is in one of the six, as it is now.
-- expired: ACTIVE lines whose time ran out, whether or not the table has deleted them yet.
-- joined: lines that became a part of another line of the same SKU. That is no removal, and no line of its own any more:
-- purchased_percent is the share of purchased lines in those that were not joined.
-- Not counted: pieces that a line got later, and lines that were added before the first week.
-- The greatest version of a line is its state, so neither duplicates nor disorder matter. An expiry has the version of the
-- line that it deletes, and wins over it.
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
