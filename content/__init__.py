"""Turns bytes of a kind into text and facts: pages, feeds, PDF, pictures, encodings."""
