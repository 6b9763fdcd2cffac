"""What is shown of a content that is too large to be shown whole, by its kind."""
