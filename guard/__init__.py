"""The gates to the machine: what tools may open, write, run and fetch, and how to end what runs too long."""
