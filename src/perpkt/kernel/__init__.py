"""System calls and the field's own tools, one file for each kernel interface."""
