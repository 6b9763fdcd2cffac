"""Reading what the web sent: encodings, main content, Markdown, and the other kinds of document."""
