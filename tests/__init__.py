"""perpkt's tests, a folder for each tier."""
