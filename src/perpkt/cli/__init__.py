"""The command line: one file a verb. The only place that reads argv, prints, catches, or exits."""
