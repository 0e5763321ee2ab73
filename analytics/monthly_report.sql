-- Additions, saves, purchases and revenue of each month, by SKU and currency.
-- Covers the current month and the 12 months before it, in UTC. To cover more, raise both intervals.
--
-- adds: new cart items and raised quantities. pieces_added: the number of pieces that they added.
-- saves: items saved for later. An item saved twice counts twice. A move back to the cart does not count.
-- purchases: items bought. orders: the checkouts that bought them.
-- revenue: quantity x price of the purchases with a price. Amounts of different currencies are never added.
-- purchases_without_price: the purchases without a price, which revenue leaves out. Items without a price have no currency.
-- Not counted: lower quantities, removals, expiries and joins. A join adds the pieces of the joined item to another item.
-- They were counted when they were added, so the joined item is subtracted from adds and pieces_added.
-- A repeated change counts once.
WITH arrived AS (
    SELECT *, row_number() OVER (PARTITION BY event_id ORDER BY hour) AS copy
    FROM cart_changes
    WHERE hour >= CAST(CAST(date_trunc('month', CAST(current_timestamp AT TIME ZONE 'UTC' AS timestamp)) - interval '12' month - interval '1' day AS date) AS varchar) || '-00'
),
changes AS (
    SELECT *
    FROM arrived
    WHERE copy = 1
        AND changed_at >= date_trunc('month', CAST(current_timestamp AT TIME ZONE 'UTC' AS timestamp)) - interval '12' month
),
counted AS (
    SELECT
        CAST(date_trunc('month', changed_at) AS date) AS month,
        sku,
        -- The currency of a joined item is that of the item that it was merged into.
        CASE
            WHEN status = 'JOINED'
                THEN max(CASE WHEN joined_to IS NULL THEN currency END) OVER (PARTITION BY account_id, coalesce(joined_to, item_id))
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
        CASE WHEN status = 'PURCHASED' AND coalesce(old_status, '') <> 'PURCHASED' THEN 1 ELSE 0 END AS purchases,
        quantity,
        price,
        order_id
    FROM changes
)
SELECT
    month,
    sku,
    currency,
    sum(adds) AS adds,
    sum(pieces_added) AS pieces_added,
    sum(saves) AS saves,
    sum(purchases) AS purchases,
    sum(CASE WHEN purchases = 1 THEN quantity ELSE 0 END) AS pieces_purchased,
    count(DISTINCT CASE WHEN purchases = 1 THEN order_id END) AS orders,
    sum(CASE WHEN purchases = 1 THEN quantity * price END) AS revenue,
    sum(CASE WHEN purchases = 1 AND price IS NULL THEN 1 ELSE 0 END) AS purchases_without_price
FROM counted
GROUP BY month, sku, currency
HAVING sum(adds) <> 0 OR sum(pieces_added) <> 0 OR sum(saves) > 0 OR sum(purchases) > 0
ORDER BY month DESC, sku, currency
