-- View ledger_legs: the current items, rebuilt from all rows of leg_changes.
SELECT
    changed_at,
    leg_id,
    entry,
    version,
    transaction_id,
    account_id,
    user_id,
    leg_type,
    amount,
    currency,
    created_at,
    balance_after,
    posted_at
FROM (
    SELECT
        *,
        row_number() OVER (PARTITION BY leg_id, entry ORDER BY version DESC, lpad(coalesce(sequence_number, ''), 40, '0') DESC, changed_at DESC) AS place
    FROM leg_changes
) AS ranked
WHERE place = 1
    AND operation NOT IN ('remove', 'expire')
