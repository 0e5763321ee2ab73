-- Differences between a snapshot of orders and the rows of order_changes.
-- Placeholders: the snapshot, at, its time, a state that is older than the snapshot, and since, the
-- first hour that the state may lack. Changes in the last minute before the snapshot are not
-- expected in it, because the times of changes are approximate.
WITH merged AS (
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
        old_status_changed_at,
        '' AS hour,
        0 AS delivery
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
        old_status_changed_at,
        hour,
        row_number() OVER (PARTITION BY event_id ORDER BY hour) AS delivery
    FROM order_changes
    WHERE hour >= '{since}'
),
copies AS (
    SELECT *, row_number() OVER (PARTITION BY event_id ORDER BY hour) AS copy
    FROM merged
),
rows_then AS (
    SELECT *
    FROM copies
    WHERE copy = 1 AND (changed_at IS NULL OR changed_at <= TIMESTAMP '{at}' + interval '1' minute)
),
ranked AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY account_id, order_id ORDER BY version DESC, lpad(coalesce(sequence_number, ''), 40, '0') DESC, changed_at DESC) AS age,
        row_number() OVER (PARTITION BY account_id, order_id, version ORDER BY version DESC, lpad(coalesce(sequence_number, ''), 40, '0') DESC, changed_at DESC) AS place
    FROM rows_then
),
compared AS (
    SELECT
        s.account_id || ' ' || s.order_id AS item,
        s.version AS version,
        CASE
            WHEN newest.version IS NULL THEN 'missing'
            WHEN newest.version < s.version THEN 'behind'
            WHEN l.version IS NULL THEN ''
            WHEN s.placed_at IS DISTINCT FROM l.placed_at
                OR s.total IS DISTINCT FROM l.total
                OR s.currency IS DISTINCT FROM l.currency
                OR s.status IS DISTINCT FROM l.status
                OR s.status_changed_at IS DISTINCT FROM l.status_changed_at THEN 'different'
            ELSE ''
        END AS kind,
        CASE
            WHEN l.version IS NULL THEN ''
            ELSE CASE WHEN s.placed_at IS DISTINCT FROM l.placed_at THEN 'placed_at ' ELSE '' END
                || CASE WHEN s.total IS DISTINCT FROM l.total THEN 'total ' ELSE '' END
                || CASE WHEN s.currency IS DISTINCT FROM l.currency THEN 'currency ' ELSE '' END
                || CASE WHEN s.status IS DISTINCT FROM l.status THEN 'status ' ELSE '' END
                || CASE WHEN s.status_changed_at IS DISTINCT FROM l.status_changed_at THEN 'status_changed_at ' ELSE '' END
        END AS detail
    FROM {snapshot} AS s
    LEFT JOIN ranked AS newest ON s.account_id = newest.account_id AND s.order_id = newest.order_id AND newest.age = 1
    LEFT JOIN ranked AS l ON s.account_id = l.account_id AND s.order_id = l.order_id AND l.place = 1 AND l.version = s.version
),
steps AS (
    SELECT
        *,
        lag(status) OVER (PARTITION BY account_id, order_id ORDER BY version) AS before_status,
        lag(status_changed_at) OVER (PARTITION BY account_id, order_id ORDER BY version) AS before_status_changed_at,
        lag(version) OVER (PARTITION BY account_id, order_id ORDER BY version) AS before_version
    FROM ranked
    WHERE place = 1
),
findings AS (
    SELECT kind, item, version, detail
    FROM compared
    WHERE kind <> ''
    UNION ALL
    SELECT 'extra' AS kind, l.account_id || ' ' || l.order_id AS item, l.version AS version, '' AS detail
    FROM ranked AS l
    LEFT JOIN {snapshot} AS s ON s.account_id = l.account_id AND s.order_id = l.order_id
    WHERE l.age = 1 AND s.version IS NULL AND l.operation NOT IN ('remove', 'expire') AND l.changed_at <= TIMESTAMP '{at}' - interval '1' minute
    UNION ALL
    SELECT 'gap' AS kind, r.account_id || ' ' || r.order_id AS item, r.version AS version, 'after version ' || CAST(coalesce(r.before_version, 0) AS varchar) AS detail
    FROM steps AS r
    WHERE r.operation <> 'snapshot' AND r.version > coalesce(r.before_version, 0) + 1
    UNION ALL
    SELECT 'altered' AS kind, r.account_id || ' ' || r.order_id AS item, r.before_version AS version, 'differs from the old values of the next row' AS detail
    FROM steps AS r
    WHERE r.version = r.before_version + 1 AND (r.old_status <> r.before_status
                OR r.old_status_changed_at <> r.before_status_changed_at)
    UNION ALL
    SELECT 'altered' AS kind, r.account_id || ' ' || r.order_id AS item, r.version AS version, 'differs in a value that never changes' AS detail
    FROM steps AS r
    INNER JOIN {snapshot} AS s ON s.account_id = r.account_id AND s.order_id = r.order_id AND s.version <> r.version
    WHERE s.placed_at IS DISTINCT FROM r.placed_at
                OR s.total IS DISTINCT FROM r.total
                OR s.currency IS DISTINCT FROM r.currency
    UNION ALL
    SELECT 'conflict' AS kind, r.account_id || ' ' || r.order_id AS item, r.version AS version, 'another change has the same version' AS detail
    FROM ranked AS r
    WHERE r.place > 1 AND r.operation <> 'snapshot'
    UNION ALL
    SELECT 'repeated' AS kind, r.account_id || ' ' || r.order_id AS item, r.version AS version, r.hour AS detail
    FROM merged AS r
    WHERE r.delivery > 1 AND r.operation <> 'snapshot'
    UNION ALL
    SELECT 'late' AS kind, r.account_id || ' ' || r.order_id AS item, r.version AS version, r.hour AS detail
    FROM merged AS r
    WHERE r.delivery = 1 AND r.operation <> 'snapshot'
        AND TRY_CAST(substr(r.hour, 1, 10) || ' ' || substr(r.hour, 12, 2) || ':00:00' AS timestamp) > r.changed_at + interval '2' hour
)
SELECT kind, item, version, detail
FROM findings
ORDER BY kind, item, version
