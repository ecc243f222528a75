"""Which of some values do people have? Protocols that differ in accuracy, in bytes a report and in speed."""
