-- View ledger_transactions: the current items, rebuilt from all rows of transaction_changes.
SELECT
    changed_at,
    transaction_id,
    version,
    transaction_type,
    status,
    merchant_id,
    amount,
    currency,
    legs,
    reverses_id,
    created_at,
    created_by
FROM (
    SELECT
        *,
        row_number() OVER (PARTITION BY transaction_id ORDER BY version DESC, lpad(coalesce(sequence_number, ''), 40, '0') DESC, changed_at DESC) AS place
    FROM transaction_changes
) AS ranked
WHERE place = 1
    AND operation NOT IN ('remove', 'expire')
