"""The main content of a web page, as Markdown."""
