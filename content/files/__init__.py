"""Reads files for what they are: documents as text, archives and mailboxes as lists of what they hold."""
