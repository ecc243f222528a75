"""The commands. A module a verb or noun; heavy imports wait until a command runs."""
