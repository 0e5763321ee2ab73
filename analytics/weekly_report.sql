-- Additions, saves, purchases and revenue per week, SKU and currency.
-- Covers the current week and the 12 weeks before it, in UTC. Raise both intervals to cover more.
--
-- adds: the number of new cart items, plus the number of quantity increases.
-- pieces_added: the total quantity of these additions.
-- saves: the number of times that an item was saved for later.
-- A move from saved to active is not counted.
-- purchases: the number of purchased items. orders: the number of orders with these items.
-- revenue: the sum of quantity x price, over the purchases that have a price.
-- Amounts of different currencies are never added.
-- purchases_without_price: the number of purchases without a price, which revenue leaves out.
-- Items without a price have no currency.
-- A cancelled order is no sale: it counts neither as purchases and orders nor as revenue.
-- cancelled: the number of items whose order was cancelled, at the time of the cancellation.
-- revenue_cancelled: the sum of quantity x price, over these items.
-- Not counted: decreases of a quantity, removals and expiries.
-- A join moves the pieces of one item into another item, whose quantity increases.
-- These pieces were already counted, so the joined item is subtracted from adds and pieces_added.
-- A change that arrives repeatedly is counted once.
WITH arrived AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY event_id ORDER BY hour) AS copy,
        max(CASE WHEN status = 'CANCELLED' THEN 1 ELSE 0 END) OVER (PARTITION BY account_id, item_id) AS is_cancelled
    FROM cart_changes
    WHERE hour >= CAST(CAST(date_trunc('week', CAST(current_timestamp AT TIME ZONE 'UTC' AS timestamp)) - interval '85' day AS date) AS varchar) || '-00'
),
changes AS (
    SELECT *
    FROM arrived
    WHERE copy = 1
        AND operation <> 'snapshot'
        AND changed_at >= date_trunc('week', CAST(current_timestamp AT TIME ZONE 'UTC' AS timestamp)) - interval '84' day
),
counted AS (
    SELECT
        CAST(date_trunc('week', changed_at) AS date) AS week,
        sku,
        -- A joined item has the currency of the item into which it was merged. A merge of carts
        -- joins items of two accounts.
        CASE
            WHEN status = 'JOINED'
                THEN max(CASE WHEN joined_to IS NULL THEN currency END) OVER (PARTITION BY coalesce(joined_to, item_id))
            ELSE currency
        END AS currency,
        CASE
            WHEN status = 'JOINED' THEN -1
            WHEN operation = 'insert' THEN 1
            WHEN quantity > old_quantity THEN 1
            ELSE 0
        END AS adds,
        CASE
            WHEN status = 'JOINED' THEN -coalesce(old_quantity, quantity, 0)
            WHEN operation = 'insert' THEN quantity
            WHEN quantity > old_quantity THEN quantity - old_quantity
            ELSE 0
        END AS pieces_added,
        CASE WHEN status = 'SAVED' AND coalesce(old_status, '') <> 'SAVED' THEN 1 ELSE 0 END AS saves,
        CASE
            WHEN status = 'PURCHASED' AND coalesce(old_status, '') <> 'PURCHASED' AND is_cancelled = 0 THEN 1
            ELSE 0
        END AS purchases,
        CASE WHEN status = 'CANCELLED' AND coalesce(old_status, '') <> 'CANCELLED' THEN 1 ELSE 0 END AS cancelled,
        quantity,
        price,
        order_id
    FROM changes
)
SELECT
    week,
    sku,
    currency,
    sum(adds) AS adds,
    sum(pieces_added) AS pieces_added,
    sum(saves) AS saves,
    sum(purchases) AS purchases,
    sum(CASE WHEN purchases = 1 THEN quantity ELSE 0 END) AS pieces_purchased,
    count(DISTINCT CASE WHEN purchases = 1 THEN order_id END) AS orders,
    sum(CASE WHEN purchases = 1 THEN quantity * price END) AS revenue,
    sum(CASE WHEN purchases = 1 AND price IS NULL THEN 1 ELSE 0 END) AS purchases_without_price,
    sum(cancelled) AS cancelled,
    sum(CASE WHEN cancelled = 1 THEN quantity * price END) AS revenue_cancelled
FROM counted
GROUP BY week, sku, currency
HAVING sum(adds) <> 0 OR sum(pieces_added) <> 0 OR sum(saves) > 0 OR sum(purchases) > 0 OR sum(cancelled) > 0
ORDER BY week DESC, sku, currency
