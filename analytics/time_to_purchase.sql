-- How long lines stay from being added until they are purchased, by SKU.
-- Purchases of the running week and the 12 weeks before it, in UTC. To look further back, raise both intervals.
--
-- purchases: lines bought. average_seconds, median_seconds, slowest_seconds: from the time when the line was first added to
-- the purchase, the time that it was saved in between included.
-- Not counted: lines that are not purchased (yet), and the pieces that a line got later: the line keeps the time of its
-- first piece. Of lines that were joined, the one that stayed tells the time.
-- A change that arrived more than once counts once.
WITH arrived AS (
    SELECT *, row_number() OVER (PARTITION BY event_id ORDER BY hour) AS copy
    FROM cart_changes
    WHERE hour >= CAST(CAST(date_trunc('week', CAST(current_timestamp AT TIME ZONE 'UTC' AS timestamp)) - interval '85' day AS date) AS varchar) || '-00'
),
-- Whole seconds first: the engines round what is left of a second differently.
purchased AS (
    SELECT
        sku,
        date_diff('second', date_trunc('second', added_at), date_trunc('second', coalesce(status_changed_at, changed_at))) AS took
    FROM arrived
    WHERE copy = 1
        AND status = 'PURCHASED'
        AND coalesce(old_status, '') <> 'PURCHASED'
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
-- The median is the middle one, or the mean of the two in the middle.
SELECT
    sku,
    count(*) AS purchases,
    CAST(round(avg(took)) AS bigint) AS average_seconds,
    CAST(round(avg(CASE WHEN 2 * place BETWEEN total AND total + 2 THEN took END)) AS bigint) AS median_seconds,
    max(took) AS slowest_seconds
FROM ranked
GROUP BY sku
ORDER BY purchases DESC, sku
