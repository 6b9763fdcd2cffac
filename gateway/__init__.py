"""Other MCP servers behind the choke point: affordable lists, bounded replies, everything kept as artifacts."""
