"""What has been spent, what is left, and the book it is written in before anything is answered.

`convert` restates losses, `filter` decides what a budget still admits, `ledger`
writes every charge down for good (in SQLite or PostgreSQL), `pld` reports on a batch.
"""
