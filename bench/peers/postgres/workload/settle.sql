SELECT settle(:merchant, 1000);
\sleep 20 ms
