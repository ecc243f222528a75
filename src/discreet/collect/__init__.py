"""Statistics from people who never hand over their data: each answer is randomised on the respondent's own device."""
