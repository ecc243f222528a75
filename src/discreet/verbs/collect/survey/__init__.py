"""Surveys: questions in a file, a page that randomises answers in the respondent's browser, and results."""
