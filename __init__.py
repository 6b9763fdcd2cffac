"""An MCP server whose tools never flood a model's context."""

__version__ = "0.1.0"
