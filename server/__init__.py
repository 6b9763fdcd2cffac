"""What an MCP client talks to: transports, callers and their sessions, the choke point, settings, the command line."""
