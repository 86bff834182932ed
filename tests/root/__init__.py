"""The program as its users run it: as root, on the real kernel."""
