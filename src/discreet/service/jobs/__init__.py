"""What takes a while: publishing, tabulating, attacking and comparing, each in a process of its own."""
