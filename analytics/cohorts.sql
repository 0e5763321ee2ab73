-- Buyers who buy again, by the month of their first purchase.
-- Covers the current month and the 12 months before it, in UTC. Raise both intervals to cover more.
--
-- cohort: the month of the first purchase of an account in the covered months.
-- buyers: the number of accounts of the cohort.
-- months_later: the number of months after the first purchase.
-- active: the number of these buyers who purchased in that month.
-- active_percent: active in percent of buyers.
-- A cancelled order is no sale, so it does not count.
-- An account is a customer. A guest whose cart is merged into an account counts as that account.
WITH arrived AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY event_id ORDER BY hour) AS copy,
        max(CASE WHEN status = 'CANCELLED' THEN 1 ELSE 0 END) OVER (PARTITION BY account_id, item_id) AS is_cancelled
    FROM cart_changes
    WHERE hour >= CAST(CAST(date_trunc('month', CAST(current_timestamp AT TIME ZONE 'UTC' AS timestamp)) - interval '12' month - interval '1' day AS date) AS varchar) || '-00'
),
purchases AS (
    SELECT *
    FROM arrived
    WHERE copy = 1
        AND operation <> 'snapshot'
        AND status = 'PURCHASED'
        AND coalesce(old_status, '') <> 'PURCHASED'
        AND is_cancelled = 0
        AND changed_at >= date_trunc('month', CAST(current_timestamp AT TIME ZONE 'UTC' AS timestamp)) - interval '12' month
),
months AS (
    SELECT DISTINCT account_id, date_trunc('month', changed_at) AS month
    FROM purchases
),
firsts AS (
    SELECT account_id, month, min(month) OVER (PARTITION BY account_id) AS cohort
    FROM months
),
sizes AS (
    SELECT cohort, count(DISTINCT account_id) AS buyers
    FROM firsts
    GROUP BY cohort
)
SELECT
    CAST(f.cohort AS date) AS cohort,
    s.buyers,
    date_diff('month', f.cohort, f.month) AS months_later,
    count(*) AS active,
    round(CAST(100 * count(*) AS double) / nullif(s.buyers, 0), 1) AS active_percent
FROM firsts AS f
INNER JOIN sizes AS s
    ON f.cohort = s.cohort
GROUP BY f.cohort, s.buyers, f.month
ORDER BY cohort DESC, months_later
