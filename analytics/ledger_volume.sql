-- Volume of the ledger by merchant, month and currency.
-- Covers the current month and the 12 months before it, in UTC. Raise the interval to cover more.
--
-- transactions, volume: the number and the sum of the transactions that pay the merchant.
-- reversals, reversed: the number and the sum of their reversals, in the month of the reversal.
-- net: volume minus reversed. Different currencies are never added.
-- Not counted: transactions without a merchant, and transactions with several currencies.
WITH posted AS (
    SELECT
        t.created_at,
        t.currency,
        t.amount,
        coalesce(t.merchant_id, o.merchant_id) AS merchant_id,
        CASE WHEN t.reverses_id IS NULL THEN 0 ELSE 1 END AS is_reversal
    FROM ledger_transactions AS t
    LEFT JOIN ledger_transactions AS o
        ON t.reverses_id = o.transaction_id
)
SELECT
    CAST(date_trunc('month', created_at) AS date) AS month,
    merchant_id,
    currency,
    sum(1 - is_reversal) AS transactions,
    sum(CASE WHEN is_reversal = 0 THEN amount ELSE 0 END) AS volume,
    sum(is_reversal) AS reversals,
    sum(CASE WHEN is_reversal = 1 THEN amount ELSE 0 END) AS reversed,
    sum(CASE WHEN is_reversal = 1 THEN -amount ELSE amount END) AS net
FROM posted
WHERE merchant_id IS NOT NULL
    AND amount IS NOT NULL
    AND created_at >= date_trunc('month', CAST(current_timestamp AT TIME ZONE 'UTC' AS timestamp)) - interval '12' month
GROUP BY CAST(date_trunc('month', created_at) AS date), merchant_id, currency
ORDER BY month DESC, net DESC, merchant_id, currency
