"""The walls around commands and workers: what they may reach, and how it is proved at every start."""
