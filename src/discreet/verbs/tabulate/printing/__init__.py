"""Published tables as rows, HTML and workbooks, and the holder's copy."""
