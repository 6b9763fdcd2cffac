"""Many clients at once over Streamable HTTP: who they are, what they may do, and how they are served."""
