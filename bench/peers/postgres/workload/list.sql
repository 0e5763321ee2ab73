SELECT t.id, t.transaction_type, t.status, t.amount, t.currency, t.description, t.caller, t.idempotency_key, t.created_at,
    (SELECT sum(r.amount) FROM transactions r WHERE r.reverses = t.id) AS reversed
FROM transactions t
WHERE t.status = 'completed' AND t.created_at >= '2020-01-01'
ORDER BY t.created_at, t.id LIMIT 100;
