"""What a reply may cost: tokens counted, texts cut, contents previewed by their kind, replies fitted to a ceiling."""
