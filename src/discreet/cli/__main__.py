"""`python -m discreet.cli`, for where no script is installed."""

from discreet.cli.main import run

run()
