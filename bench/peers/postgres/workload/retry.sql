\set number random(1, :keys)
SELECT * FROM transfer('operator', 'retry-' || :number, 'payment', :number, :number + 1, 0.01, 'USD');
