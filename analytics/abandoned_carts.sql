-- Number and value of the abandoned cart items per week, SKU and currency.
-- Covers the current week and the 12 weeks before it, in UTC.
-- To cover more weeks, raise the intervals of 84 and 85 days.
--
-- expired: ACTIVE items past their expiry time, by the week of the expiry.
-- The table may still contain them, because TTL deletes expired items later.
-- untouched: ACTIVE items without a change for 7 days, by the week of their last change.
-- lines: the number of cart items. carts: the number of accounts that have these items.
-- pieces: the sum of the quantities.
-- value_at_stake: the sum of quantity x price, over the items that have a price.
-- Amounts of different currencies are never added.
-- cart_items_without_price: the number of items without a price, which value_at_stake leaves out.
-- Not counted: items that were saved, purchased, removed, or joined into another item.
-- An item counts as abandoned even if the customer later bought another item with the same SKU.
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
),
latest AS (
    SELECT *, CAST(current_timestamp AT TIME ZONE 'UTC' AS timestamp) AS moment
    FROM ranked
    WHERE place = 1
),
abandoned AS (
    SELECT
        account_id,
        sku,
        CASE WHEN operation = 'expire' OR expires_at <= moment THEN 'expired' ELSE 'untouched' END AS reason,
        CASE
            WHEN operation = 'expire' THEN coalesce(old_expires_at, changed_at)
            WHEN expires_at <= moment THEN expires_at
            ELSE changed_at
        END AS since,
        CASE WHEN operation = 'expire' THEN old_currency ELSE currency END AS currency,
        CASE WHEN operation = 'expire' THEN old_quantity ELSE quantity END AS quantity,
        CASE WHEN operation = 'expire' THEN old_price ELSE price END AS price
    FROM latest
    WHERE (operation = 'expire' AND old_status = 'ACTIVE')
        OR (status = 'ACTIVE' AND (expires_at <= moment OR changed_at < moment - interval '7' day))
)
SELECT
    CAST(date_trunc('week', since) AS date) AS week,
    reason,
    sku,
    currency,
    count(*) AS lines,
    count(DISTINCT account_id) AS carts,
    sum(quantity) AS pieces,
    sum(quantity * price) AS value_at_stake,
    sum(CASE WHEN price IS NULL THEN 1 ELSE 0 END) AS cart_items_without_price
FROM abandoned
WHERE since >= date_trunc('week', CAST(current_timestamp AT TIME ZONE 'UTC' AS timestamp)) - interval '84' day
GROUP BY CAST(date_trunc('week', since) AS date), reason, sku, currency
ORDER BY week DESC, reason, sku, currency
