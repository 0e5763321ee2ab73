-- Sales by hour and currency.
-- Covers the current week and the 12 weeks before it, in UTC. Raise both intervals to cover more.
--
-- sold_at: the beginning of the hour. Hours without a sale have no row.
-- orders: the number of orders.
-- cart_items: the number of purchased items. pieces: their quantities.
-- revenue: the sum of quantity x price, over the items that have a price.
-- Amounts of different currencies are never added. Items without a price have no currency.
-- A cancelled order is no sale, so it does not count.
-- A change that arrives repeatedly is counted once.
WITH arrived AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY event_id ORDER BY hour) AS copy,
        max(CASE WHEN status = 'CANCELLED' THEN 1 ELSE 0 END) OVER (PARTITION BY account_id, item_id) AS is_cancelled
    FROM cart_changes
    WHERE hour >= CAST(CAST(date_trunc('week', CAST(current_timestamp AT TIME ZONE 'UTC' AS timestamp)) - interval '85' day AS date) AS varchar) || '-00'
),
purchases AS (
    SELECT *
    FROM arrived
    WHERE copy = 1
        AND operation <> 'snapshot'
        AND status = 'PURCHASED'
        AND coalesce(old_status, '') <> 'PURCHASED'
        AND is_cancelled = 0
        AND changed_at >= date_trunc('week', CAST(current_timestamp AT TIME ZONE 'UTC' AS timestamp)) - interval '84' day
)
SELECT
    date_trunc('hour', changed_at) AS sold_at,
    currency,
    count(DISTINCT order_id) AS orders,
    count(*) AS cart_items,
    sum(quantity) AS pieces,
    sum(quantity * price) AS revenue
FROM purchases
GROUP BY date_trunc('hour', changed_at), currency
ORDER BY sold_at DESC, currency
