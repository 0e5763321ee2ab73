-- State of orders: the newest row of every item, also of items that no longer exist.
-- Placeholders: the previous state, and since, the first hour of the changes that are merged.
SELECT
    event_id,
    operation,
    sequence_number,
    changed_at,
    account_id,
    order_id,
    version,
    placed_at,
    total,
    currency,
    status,
    status_changed_at,
    old_status,
    old_status_changed_at
FROM (
    SELECT
        *,
        row_number() OVER (PARTITION BY account_id, order_id ORDER BY version DESC, lpad(coalesce(sequence_number, ''), 40, '0') DESC, changed_at DESC) AS place
    FROM (
        SELECT
            event_id,
            operation,
            sequence_number,
            changed_at,
            account_id,
            order_id,
            version,
            placed_at,
            total,
            currency,
            status,
            status_changed_at,
            old_status,
            old_status_changed_at
        FROM {state}
        UNION ALL
        SELECT
            event_id,
            operation,
            sequence_number,
            changed_at,
            account_id,
            order_id,
            version,
            placed_at,
            total,
            currency,
            status,
            status_changed_at,
            old_status,
            old_status_changed_at
        FROM order_changes
        WHERE hour >= '{since}'
    ) AS rows_of_both
) AS ranked
WHERE place = 1
