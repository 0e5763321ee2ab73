-- Pairs of products that are bought together, with their share of the orders.
-- Covers the current week and the 12 weeks before it, in UTC. Raise both intervals to cover more.
--
-- sku, other_sku: two products of the same order. Each pair has two rows, one in each order.
-- orders_with_both: the number of orders that contain both products.
-- orders: the number of orders that contain sku.
-- both_percent: orders_with_both in percent of orders.
-- A cancelled order is no sale, so it does not count.
-- Only pairs of at least two orders are listed.
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
),
lines AS (
    SELECT DISTINCT account_id, order_id, sku
    FROM purchases
    WHERE order_id IS NOT NULL
),
totals AS (
    SELECT sku, count(*) AS orders
    FROM lines
    GROUP BY sku
)
SELECT
    one.sku,
    other.sku AS other_sku,
    count(*) AS orders_with_both,
    t.orders,
    round(CAST(100 * count(*) AS double) / nullif(t.orders, 0), 1) AS both_percent
FROM lines AS one
INNER JOIN lines AS other
    ON one.account_id = other.account_id
    AND one.order_id = other.order_id
    AND one.sku <> other.sku
INNER JOIN totals AS t
    ON one.sku = t.sku
GROUP BY one.sku, other.sku, t.orders
HAVING count(*) > 1
ORDER BY orders_with_both DESC, one.sku, other_sku
