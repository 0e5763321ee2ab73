\set debit random(1, :accounts)
\set key random(1, 9223372036854775806)
SELECT * FROM transfer('operator', :key, 'payment', :debit, :merchant, 0.01, 'USD');
