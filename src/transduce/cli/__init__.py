"""The command line: one file a command, none of which imports anything heavy at its top."""
