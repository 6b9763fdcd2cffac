"""What a program that runs agents needs beside the conversation: the results of tasks, each as one sentence."""
