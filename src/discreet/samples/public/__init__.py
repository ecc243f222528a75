"""Real public data sets, read from files of installed packages (``discreet[data]``). A file a data set."""
