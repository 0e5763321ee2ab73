\set debit random(1, :accounts)
\set credit 1 + mod(:debit + random(0, :accounts - 2), :accounts)
\set key random(1, 9223372036854775806)
SELECT * FROM transfer('operator', :key, 'payment', :debit, :credit, 0.01, 'USD');
