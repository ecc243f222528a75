"""Real public data sets, a module each; ``data/SOURCES.md`` has their sources and licences."""
