\set account random(1, :busy)
SELECT l.posted_at, l.leg_type, l.amount, l.balance_after, t.id, t.transaction_type, t.description, t.created_at,
    (SELECT sum(r.amount) FROM transactions r WHERE r.reverses = t.id) AS reversed,
    (SELECT o.account_id FROM legs o WHERE o.transaction_id = t.id AND o.account_id <> l.account_id LIMIT 1) AS counterparty
FROM (SELECT * FROM legs WHERE account_id = :account ORDER BY entry DESC LIMIT 100) l
JOIN transactions t ON t.id = l.transaction_id
ORDER BY l.entry DESC;
