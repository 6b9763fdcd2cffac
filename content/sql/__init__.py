"""Questions in SQL over stored contents: each is a table or several, and DuckDB in a worker answers."""
