from hypothesis import settings

# The first example that counts loads the vocabulary: time is no promise here.
settings.register_profile("budget", deadline=None)
settings.load_profile("budget")
