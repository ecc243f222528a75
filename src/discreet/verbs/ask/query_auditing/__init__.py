"""Audited questions: exact answers without noise, or a denial, decided by what was asked and answered before."""
