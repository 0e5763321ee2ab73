-- State of ledger_transactions: the newest row of every item, also of items that no longer exist.
-- Placeholders: the previous state, and since, the first hour of the changes that are merged.
SELECT
    event_id,
    operation,
    sequence_number,
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
    FROM (
        SELECT
            event_id,
            operation,
            sequence_number,
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
        FROM {state}
        UNION ALL
        SELECT
            event_id,
            operation,
            sequence_number,
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
        FROM transaction_changes
        WHERE hour >= '{since}'
    ) AS rows_of_both
) AS ranked
WHERE place = 1
