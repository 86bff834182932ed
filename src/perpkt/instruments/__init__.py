"""What answers a Plan: each instrument turns one into a Result."""
