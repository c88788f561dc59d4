"""Callbacks of a run: console, CSV and HTML files, loggers, evaluation."""
