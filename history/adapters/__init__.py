"""Request budgets for agents' frameworks, each a module that imports its own: an extra of the same name installs it."""
