"""Bursar entered into the configurations of MCP clients, and taken out again."""
