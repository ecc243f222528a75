"""PostgreSQL's protocol, for BI tools and SQL clients: each question is a request of the API (``session.py``)."""
