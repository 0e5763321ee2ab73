-- Payments by scheduled day, outcome and currency.
-- Covers payments scheduled since the first day of the week 12 weeks ago, in UTC.
-- To cover more weeks, raise the interval.
--
-- outcome: the status, such as PROCESSED or FAILED. SCHEDULED and PENDING payments have none yet.
-- amount: the sum over the payments that name an amount. Different currencies are never added.
-- attempts: the number of attempts without an outcome.
-- retries: the number of payments that repeat a failed payment.
-- An archived payment counts once, even if its removal from the open payments arrives later.
WITH every_payment AS (
    SELECT account_id, payment_id, scheduled_at, status, currency, amount, attempts, retry_of
    FROM archived_payments
    UNION ALL
    SELECT o.account_id, o.payment_id, o.scheduled_at, o.status, o.currency, o.amount, o.attempts, o.retry_of
    FROM payments AS o
    LEFT JOIN archived_payments AS a
        ON o.account_id = a.account_id
        AND o.payment_id = a.payment_id
    WHERE a.payment_id IS NULL
)
SELECT
    CAST(scheduled_at AS date) AS day,
    status AS outcome,
    currency,
    count(*) AS payments,
    sum(amount) AS amount,
    sum(CASE WHEN amount IS NULL THEN 1 ELSE 0 END) AS payments_without_amount,
    sum(attempts) AS attempts,
    sum(CASE WHEN retry_of IS NOT NULL THEN 1 ELSE 0 END) AS retries
FROM every_payment
WHERE scheduled_at >= date_trunc('week', CAST(current_timestamp AT TIME ZONE 'UTC' AS timestamp)) - interval '84' day
GROUP BY CAST(scheduled_at AS date), status, currency
ORDER BY day DESC, outcome, currency
