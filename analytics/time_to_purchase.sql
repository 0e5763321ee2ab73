-- Time from the addition of a cart item to its purchase, by SKU.
-- Covers purchases of the current week and of the 12 weeks before it, in UTC.
-- To cover more weeks, raise both intervals.
--
-- purchases: the number of purchased items.
-- average_seconds, median_seconds, slowest_seconds: the time from the first addition of an item to
-- its purchase. This includes the time during which the item was saved for later.
-- Not counted: items that have not been purchased, and items whose order was cancelled.
-- Pieces added later do not change the time of the first addition.
-- If items were joined, only the remaining item counts.
-- A change that arrives repeatedly is counted once.
WITH arrived AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY event_id ORDER BY hour) AS copy,
        max(CASE WHEN status = 'CANCELLED' THEN 1 ELSE 0 END) OVER (PARTITION BY account_id, item_id) AS is_cancelled
    FROM cart_changes
    WHERE hour >= CAST(CAST(date_trunc('week', CAST(current_timestamp AT TIME ZONE 'UTC' AS timestamp)) - interval '85' day AS date) AS varchar) || '-00'
),
-- Truncate to whole seconds first, because DuckDB and Athena round fractions differently.
purchased AS (
    SELECT
        sku,
        date_diff('second', date_trunc('second', added_at), date_trunc('second', coalesce(status_changed_at, changed_at))) AS took
    FROM arrived
    WHERE copy = 1
        AND operation <> 'snapshot'
        AND status = 'PURCHASED'
        AND coalesce(old_status, '') <> 'PURCHASED'
        AND is_cancelled = 0
        AND added_at IS NOT NULL
        AND changed_at >= date_trunc('week', CAST(current_timestamp AT TIME ZONE 'UTC' AS timestamp)) - interval '84' day
),
ranked AS (
    SELECT
        sku,
        took,
        row_number() OVER (PARTITION BY sku ORDER BY took) AS place,
        count(*) OVER (PARTITION BY sku) AS total
    FROM purchased
)
-- The median is the middle value, or the mean of the two middle values.
SELECT
    sku,
    count(*) AS purchases,
    CAST(round(avg(took)) AS bigint) AS average_seconds,
    CAST(round(avg(CASE WHEN 2 * place BETWEEN total AND total + 2 THEN took END)) AS bigint) AS median_seconds,
    max(took) AS slowest_seconds
FROM ranked
GROUP BY sku
ORDER BY purchases DESC, sku
