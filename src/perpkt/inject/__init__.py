"""The generators: what puts frames on a path, and counts them."""
