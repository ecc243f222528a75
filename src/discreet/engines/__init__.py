"""Where rows live: DuckDB (embedded, the default), PostgreSQL, Spark. A module an engine, and `read` for all."""
