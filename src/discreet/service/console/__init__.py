"""The console: web pages for people, a module a page. They call the desk, and nothing else."""
